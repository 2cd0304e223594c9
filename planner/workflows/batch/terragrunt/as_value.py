"""Converts a Terragrunt file to the value that other files see (`read_terragrunt_config`, exposed includes), with
Terragrunt's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Null, Value, is_null

_NOTHING: Value = Null(DYNAMIC)
WHOLE: dict[str, Value] = {
    "dependencies": _NOTHING,
    "dependency": {},
    "download_dir": "",
    "feature": {},
    "generate": {},
    "iam_assume_role_duration": _NOTHING,
    "iam_assume_role_session_name": "",
    "iam_role": "",
    "iam_web_identity_token": "",
    "inputs": _NOTHING,
    "locals": _NOTHING,
    "terraform_binary": "",
    "terraform_version_constraint": "",
    "terragrunt_version_constraint": "",
}
"""{argument or block type: its value in a file that does not set it}"""


def _all(*names: str) -> dict[str, Value]:
    return dict.fromkeys(names, _NOTHING)


_BLOCKS: dict[str, dict[str, Value]] = {
    "terraform": {
        **_all("copy_terraform_lock_file", "exclude_from_copy", "include_in_copy", "source"),
        **{name: {} for name in ("after_hook", "before_hook", "error_hook", "extra_arguments")},
    },
    "remote_state": {
        "disable_init": False,
        "disable_dependency_optimization": False,
        **_all("encryption", "generate"),
    },
    "exclude": {"exclude_dependencies": False, "no_run": False},
    "errors": {"ignore": (), "retry": ()},
}
_HOOK = _all("if", "run_on_error", "suppress_stdout", "working_dir")
_LABELLED: dict[str, dict[str, Value]] = {
    "before_hook": _HOOK,
    "after_hook": _HOOK,
    "error_hook": _all("suppress_stdout", "working_dir"),
    "extra_arguments": _all("arguments", "env_vars", "optional_var_files", "required_var_files"),
    "generate": {
        "comment_prefix": "# ",
        "disable": False,
        "disable_signature": False,
        "if_disabled": "skip",
        **_all("hcl_fmt", "mutable"),
    },
    "ignore": {"message": "", "signals": {}},
}


def complete_part(name: str, value: Value) -> Value:
    """The value of a block, with defaults for missing arguments. The value of an argument is returned unchanged."""
    if value.__class__ is not dict:
        return value
    if name == "generate":
        return {label: _labelled(name, label, one, False) for label, one in value.items()}
    if name not in _BLOCKS:
        return value
    return {**_BLOCKS[name], **{key: _inner(key, one) for key, one in value.items()}}


def _inner(kind: str, value: Value) -> Value:
    if kind in ("ignore", "retry"):
        return tuple(_labelled(kind, label, one) for label, one in _entries(value).items())
    if kind in _LABELLED and not is_null(value):
        return {label: _labelled(kind, label, one) for label, one in _entries(value).items()}
    return value


def _labelled(kind: str, label: str, value: Value, is_named: bool = True) -> Value:
    if value.__class__ is not dict:
        return value
    return {**_LABELLED.get(kind, {}), **({"name": label} if is_named else {}), **value}


def _entries(value: Any) -> Mapping[str, Value]:
    return value if isinstance(value, dict) else {}
