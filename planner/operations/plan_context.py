"""The context of a plan that policies can read: facts about the run, locked providers, versions of modules, origins of
variable values, and values of data sources."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Iterator
from typing import Any

from planner.engine.evaluation.schemas import marked_by_schema
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.address import format_key
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.release import RELEASE
from planner.language.config.directory import read_manifest
from planner.language.config.variables import RootVariable
from planner.operations.plan import MadePlan
from planner.world.provider.lock_file import read_locks
from planner.world.state.workspace import data_directory

_KINDS = {
    "default": "default",
    "command line": "cli",
    "named file": "file",
    "automatic file": "auto_file",
    "environment": "environment",
    "input": "input",
}
Rows = tuple[tuple[str, ...], ...]


def record_rows(made: MadePlan[Any]) -> Rows:
    """The rows (relation, columns...) about the run that a plan contains; if it contains none, the rows about the
    current run. Raises Failure if the lock file or the list of installed modules cannot be read."""
    record = made.plan.policy
    return record.facts if record is not None and record.facts else tuple(sorted(_rows(made)))


def _rows(made: MadePlan[Any]) -> Iterator[tuple[str, ...]]:
    loaded = made.loaded
    directory = loaded.options.directory
    if made.plan.timestamp:
        yield ("plan_time", made.plan.timestamp)
    for key, value in (
        ("workspace", loaded.workspace),
        ("command", loaded.options.command),
        ("user", _user()),
        ("commit", head_commit(directory)),
        ("version", RELEASE),
        *loaded.options.about,
    ):
        if value:
            yield ("run", key, value)
    for name, variable in made.variables.items():
        if variable.origin in _KINDS:
            yield ("variable_origin", f"var.{name}", _KINDS[variable.origin], _place(name, variable))
    manifest, problems = read_manifest(directory, data_directory(os.environ))
    if problems:
        raise Failure(problems)
    for module in loaded.config.root.walk():
        installed = manifest.get(".".join(module.path))
        if installed is not None and installed.version and module.path:
            yield ("module_version", ".".join(f"module.{name}" for name in module.path), installed.version)
    for lock in read_locks(directory)[0].values():
        yield ("locked_provider", lock.address, str(lock.version), lock.constraints)


def _place(name: str, variable: RootVariable) -> str:
    if variable.origin == "environment":
        return f"TF_VAR_{name}"
    if variable.origin in ("named file", "automatic file") and variable.span is not None:
        return variable.span.filename
    return ""


def _user() -> str:
    """The name of the user who runs this process, or the numeric ID if the user has no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def values_read(made: MadePlan[Any]) -> Iterator[tuple[str, Value]]:
    """(address, value) of each data source that was read. The values have the types of the provider schemas. Raises
    Failure."""
    from planner.answers.documents.json_state import object_value, resource_schema

    schemas = made.loaded.schemas
    deferred = {c.address for c in made.plan.changes}
    for resource in made.plan.prior_state.resources.values():
        if resource.mode != "data":
            continue
        source = parse_provider_configuration(resource.provider).source
        schema = resource_schema(schemas.schema, source, "data", resource.type, resource.address)
        for key, instance in resource.instances.items():
            address = resource.address + format_key(key)
            if instance.current is not None and address not in deferred:
                value = object_value(instance.current, schema, address)
                yield address, marked_by_schema(value, schema.block)


_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"refs/[A-Za-z0-9_./+@{}=,~#%-]{1,500}")
_MOST = 1 << 24
"""maximum number of bytes that are read from a file; the file packed-refs of a very large repository has several
megabytes"""


def head_commit(directory: str) -> str:
    """The commit of HEAD (hexadecimal) in the repository that contains a directory; "" if there is no repository, or if
    the commit cannot be determined."""
    folder = _git_folder(os.path.realpath(directory))
    if folder is None:
        return ""
    head = _text(os.path.join(folder, "HEAD"))
    if not head.startswith("ref:"):
        return head if _COMMIT.fullmatch(head) else ""
    ref = head.removeprefix("ref:").strip()
    if _REF.fullmatch(ref) is None or ".." in ref:
        return ""
    common = _text(os.path.join(folder, "commondir"))
    for place in (folder, os.path.normpath(os.path.join(folder, common)) if common else folder):
        commit = _text(os.path.join(place, ref))
        if _COMMIT.fullmatch(commit):
            return commit
        for line in _text(os.path.join(place, "packed-refs")).splitlines():
            commit, _, name = line.partition(" ")
            if name == ref and _COMMIT.fullmatch(commit):
                return commit
    return ""


def _git_folder(directory: str) -> str | None:
    """The nearest repository directory `.git`, in this directory or a parent directory. (In a worktree, `.git` is a
    file that contains the path of this directory.) None outside of repositories."""
    while True:
        path = os.path.join(directory, ".git")
        if os.path.isdir(path):
            return path
        link = _text(path)
        if link.startswith("gitdir:"):
            return os.path.normpath(os.path.join(directory, link.removeprefix("gitdir:").strip()))
        above = os.path.dirname(directory)
        if above == directory:
            return None
        directory = above


def _text(path: str) -> str:
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            return file.read(_MOST).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return ""
