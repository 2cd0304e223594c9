"""The states of deployments. Each component instance has a workspace with its state. The deployment itself has a
workspace, too; its state contains the deployment's outputs, so that programs that read states can read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.foundation.support.exact_json import dumps, loads
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Value, type_of, unmark_deep
from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve, frozen
from planner.workflows.stacks.names import Path, PromiseName, Wild
from planner.world.state.backend import DEFAULT_WORKSPACE, STACK, Backend, Store
from planner.world.state.model import OutputState, State

FOLDER = "stack-states"
"""default directory for states, in the directory of the stack"""
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


@frozen(eq=False)
class Notes:
    """Data that is stored next to the state of a deployment. `made_from`: {instance: its dependencies}, from which the
    order of destruction is determined."""

    made_from: Mapping[str, tuple[str, ...]]
    is_damaged: bool = False


class States:
    """The states of one deployment."""

    def __init__(self, backend: Backend, deployment: str) -> None:
        self.backend, self.deployment = backend, deployment
        self._stores: dict[str, Store] = {}
        self._created: list[PromiseName | None] = []

    def workspace(self, name: PromiseName | None = None) -> str:
        """The name of the workspace of an instance, or of the deployment if `name` is None."""
        return workspace_of(self.deployment, name)

    def store(self, name: PromiseName | None = None) -> Store:
        """The store for the state of an instance (None: of the deployment). All calls for one state return the same
        object, because the object holds the lock. Raises Failure."""
        workspace = self.workspace(name)
        if workspace not in self._stores:
            try:
                self._stores[workspace] = self.backend.store(workspace)
            except OSError as problem:
                raise _failed(workspace, problem) from None
        return self._stores[workspace]

    def create(self, name: PromiseName | None = None) -> None:
        """Create the workspace of an instance (None: of the deployment) if it does not exist. From then on, `recorded`
        lists the instance. Raises Failure."""
        workspace = self.workspace(name)
        try:
            if workspace not in self.backend.workspaces():
                self.backend.create_workspace(workspace)
                self._created.append(name)
        except OSError as problem:
            raise _failed(workspace, problem) from None

    def recorded(self) -> list[PromiseName]:
        """The instances that have workspaces, sorted by name. Raises Failure."""
        try:
            workspaces = self.backend.workspaces()
        except OSError as problem:
            raise _failed(self.deployment, problem) from None
        begin = f"{self.deployment}."
        items = [decoded(w.removeprefix(begin)) for w in workspaces if w.startswith(begin)]
        return sorted((name for name in items if name is not None), key=str)

    def read(self, name: PromiseName | None = None) -> State | None:
        """The state of an instance (None: of the deployment). Returns None if there is no state. Raises Failure."""
        workspace = self.workspace(name)
        try:
            if workspace not in self.backend.workspaces():
                return None
        except OSError as problem:
            raise _failed(workspace, problem) from None
        state, problems = self.store(name).read()
        if has_errors(problems):
            raise Failure(problems)
        return state

    def forget(self, name: PromiseName | None) -> list[Diagnostic]:
        """Remove the workspace and state of an instance (None: of the deployment). Returns errors."""
        workspace = self.workspace(name)
        self._stores.pop(workspace, None)
        try:
            self.backend.delete_workspace(workspace)
        except OSError as problem:
            return list(_failed(workspace, problem).diagnostics)
        return []

    def leave(self) -> list[Diagnostic]:
        """Release all locks, and remove the workspaces that `create` made and to which no state was written. Returns
        errors."""
        problems: list[Diagnostic] = []
        for store in self._stores.values():
            if store.is_locked:
                problems += store.unlock()
        for name in self._created:
            state, item = self.store(name).read()
            if name is None and self.store().beside(STACK) is not None:
                continue
            if state is None and not has_errors(item):
                problems += self.forget(name)
        self._created = []
        return problems

    # ------------------------------------------------------------ the deployment

    def write_outputs(self, outputs: Mapping[str, tuple[Value, bool]]) -> list[Diagnostic]:
        """Write outputs, {name: (value, whether it is sensitive)}, to the deployment's state. Returns errors. Raises
        Failure."""
        self.create()
        store = self.store()
        state, problems = store.read()
        if has_errors(problems):
            return problems
        recorded = {
            name: OutputState(unmark_deep(value)[0], type_of(unmark_deep(value)[0]) or DYNAMIC, sensitive)
            for name, (value, sensitive) in sorted(outputs.items())
        }
        _, problems = store.write(evolve(state or State(), outputs=recorded))
        return problems

    def notes(self) -> Notes:
        """The notes of the deployment. Empty if there are none; if they are damaged, empty with `is_damaged`."""
        data = self.store().beside(STACK)
        if not data:
            return Notes({})
        try:
            raw: Any = loads(data)
            return Notes({str(k): tuple(map(str, v)) for k, v in raw["made_from"].items()})
        except (ValueError, KeyError, TypeError, AttributeError):
            return Notes({}, is_damaged=True)

    def note(self, notes: Notes) -> list[Diagnostic]:
        self.create()
        made_from = {name: list(others) for name, others in sorted(notes.made_from.items())}
        return self.store().put_beside(STACK, dumps({"made_from": made_from}))


def recorded_instances(backend: Backend) -> list[tuple[str, PromiseName]]:
    """(deployment, instance) for each workspace of a component instance in the backend. Raises Failure."""
    try:
        parts = [workspace.partition(".") for workspace in backend.workspaces()]
    except OSError as problem:
        raise _failed(FOLDER, problem) from None
    items = [(deployment, decoded(rest)) for deployment, _, rest in parts if valid_identifier(deployment)]
    return [(deployment, name) for deployment, name in items if name is not None]


def _failed(workspace: str, problem: OSError) -> Failure:
    detail = f"The state {workspace} cannot be reached: {problem.strerror or problem}."
    return Failure(error("stack.state", "State cannot be used", detail))


# ---------------------------------------------------------------- names of workspaces


def workspace_of(deployment: str, name: PromiseName | None = None) -> str:
    """The name of the workspace of a deployment or, with `name`, of an instance in it."""
    if name is not None:
        return f"{deployment}.{encoded(name)}"
    # the default workspace belongs to a root module in the same directory, and cannot be deleted
    return f"{deployment}~" if deployment == DEFAULT_WORKSPACE else deployment


def encoded(name: PromiseName) -> str:
    """The name of an instance as in the name of its workspace: `web~eu-west-1`, or `net~a.web` in a child stack. In a
    key, ASCII letters, digits, dashes and underscores are unchanged. Each byte of another character becomes `~` and two
    hexadecimal digits."""
    return ".".join(_segment(part, key) for part, key in (*name.path, (name.name, name.key)))


def _segment(name: str, key: Any) -> str:
    assert not isinstance(key, Wild), "a wildcard has no state"
    return name if key is None else f"{name}~{''.join(map(_character, str(key)))}"


def _character(character: str) -> str:
    return character if character in _PLAIN else "".join(f"~{byte:02x}" for byte in character.encode())


def decoded(text: str) -> PromiseName | None:
    """The instance with this encoded name; None if the text is not a valid encoded name."""
    parts: list[tuple[str, str | None]] = []
    for segment in text.split("."):
        name, mark, rest = segment.partition("~")
        key = _key(rest) if mark else None
        if not name or (mark and key is None):
            return None
        parts.append((name, key))
    *above, (last, key) = parts
    path: Path = tuple(above)
    result = PromiseName("component", last, path, key)
    return result if encoded(result) == text else None  # each state has exactly one valid name


def _key(text: str) -> str | None:
    data = bytearray()
    at = 0
    while at < len(text):
        if text[at] == "~":
            try:
                data.append(int(text[at + 1 : at + 3], 16))
            except ValueError:
                return None
            at += 3
        else:
            data += text[at].encode()
            at += 1
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
