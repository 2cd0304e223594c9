"""The selected workspace: TF_WORKSPACE, otherwise the file `environment` in the data directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from planner.foundation.support.disk import read_whole, replace_file
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.records import field, frozen
from planner.world.state.backend import DEFAULT_WORKSPACE

_ALLOWED = frozenset("-_.~$&+=:@")


def valid_workspace_name(name: str) -> bool:
    """Whether a string is a valid name of a workspace. Paths and URLs can contain valid names unchanged."""
    return bool(name) and all(c in _ALLOWED or (c.isascii() and c.isalnum()) for c in name)


def data_directory(environment: Mapping[str, str]) -> str:
    return environment.get("TF_DATA_DIR") or ".terraform"


def current_workspace(directory: str, environment: Mapping[str, str]) -> tuple[str, bool, list[Diagnostic]]:
    """The selected workspace, whether TF_WORKSPACE selects it, and problems.

    If the data directory cannot be read, the default workspace is selected."""
    forced = environment.get("TF_WORKSPACE")
    if forced:
        if valid_workspace_name(forced):
            return forced, True, []
        problem = error(
            "state.workspace_name",
            "Invalid workspace name",
            f'TF_WORKSPACE names the workspace "{forced}", but names can contain only letters, digits and -_.~$&+=:@.',
        )
        return forced, True, [problem]
    path = os.path.join(directory, data_directory(environment), "environment")
    try:
        name = read_whole(path).decode("utf-8").strip()
    except OSError:
        return DEFAULT_WORKSPACE, False, []
    except UnicodeDecodeError:
        name = "\N{REPLACEMENT CHARACTER}"
    if name and not valid_workspace_name(name):
        detail = (
            f"{path} names the selected workspace, but its content is not a valid name. Remove the file, then select "
            "a workspace again."
        )
        return name, False, [error("state.workspace_file", "Cannot determine the selected workspace", detail)]
    return name or DEFAULT_WORKSPACE, False, []


def select_workspace(directory: str, environment: Mapping[str, str], name: str) -> list[Diagnostic]:
    folder = os.path.join(directory, data_directory(environment))
    try:
        os.makedirs(folder, exist_ok=True)
        replace_file(os.path.join(folder, "environment"), name.encode())
    except OSError as e:
        return [
            error("state.workspace_file", "Cannot select the workspace", f"{e.filename or folder}: {e.strerror or e}.")
        ]
    return []


# The backend that `init` has set up: `terraform.tfstate` in the data directory, in the ecosystem's format. The file is
# not a state. It has the type and the settings of a backend (also those from the command line), and a hash of the
# backend block, so that every other command notices changes of the block.


FILE = "terraform.tfstate"
_FORMAT = 3


@frozen
class BackendPointer:
    """A backend that was set up: its type, all its settings (None: not set), and the hash of its block."""

    type: str
    settings: dict[str, Any] = field(factory=dict)
    hash: int = 0


def read_pointer(data_directory: str) -> tuple[BackendPointer | None, list[Diagnostic]]:
    """The backend that was set up; None if there is none, or on an error."""
    path = os.path.join(data_directory, FILE)
    try:
        data = read_whole(path)
    except (FileNotFoundError, NotADirectoryError):
        return None, []
    except OSError as problem:
        return None, [_damaged_file(path, problem.strerror or str(problem))]
    return _pointer(data, path) if data.strip() else (None, [])


def _pointer(data: bytes, path: str) -> tuple[BackendPointer | None, list[Diagnostic]]:
    import json

    try:
        backend = json.loads(data).get("backend") or {}
        settings, hash = backend.get("config") or {}, backend.get("hash") or 0
        if settings.__class__ is not dict or hash.__class__ is not int:
            raise TypeError("it has no settings, or no hash of them")
        pointer = BackendPointer(str(backend.get("type") or ""), settings, hash)
    except (ValueError, TypeError, AttributeError, RecursionError) as problem:
        return None, [_damaged_file(path, f"it does not describe a backend ({problem})")]
    return (pointer if pointer.type else None), []


def write_pointer(data_directory: str, pointer: BackendPointer | None) -> list[Diagnostic]:
    """Record the backend that was set up. `pointer`: None if no backend is set up now."""
    path = os.path.join(data_directory, FILE)
    import json

    document: dict[str, Any] = {"version": _FORMAT}
    if pointer is not None:
        settings = dict(sorted(pointer.settings.items()))
        document["backend"] = {"type": pointer.type, "config": settings, "hash": pointer.hash}
    try:
        os.makedirs(data_directory, exist_ok=True)
        text = json.dumps(document, indent=4, ensure_ascii=False) + "\n"
        replace_file(path, text.encode(), durable=False)
    except OSError as problem:
        detail = f"{path}: {problem.strerror or problem}. Other commands read it to find the state."
        return [error("backend.unwritable_pointer", "Cannot record the backend", detail)]
    return []


def _damaged_file(path: str, why: str) -> Diagnostic:
    detail = f"{path}: {why}. Remove it and run init."
    return error("backend.unreadable_pointer", "Cannot read the configured backend", detail)
