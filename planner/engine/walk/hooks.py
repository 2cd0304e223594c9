"""Hooks receive the events of a running walk. The command line has hooks that print the events as text or JSON lines.

Several threads may call hooks at the same time, so implementations must protect shared data. Hooks cannot influence the
walk, and must not raise exceptions. The methods of `Hooks` do nothing; implementations override the methods that they
need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class ObjectId(NamedTuple):
    """The attribute that identifies a remote object in messages, such as `[id=i-123]`. `key` is the name of the
    attribute."""

    key: str
    value: str


class FoundResource(NamedTuple):
    """A result of a search. `identity`, `value`: JSON values (`value` is None if not requested). `config`,
    `import_config`: the texts of the resource block and the import block. `managed_as`: the address of the managed
    instance that is this object. `perhaps_as`: the address of a managed instance that may be this object.
    `imported_as`: the target address of the import block for this object. `id`: the value of the attribute `id`.
    `source`: the source address of the provider. Missing strings are ""."""

    type: str
    display_name: str
    identity: dict[str, Any]
    identity_version: int
    value: dict[str, Any] | None
    config: str
    import_config: str
    managed_as: str
    perhaps_as: str
    imported_as: str = ""
    id: str = ""
    source: str = ""


class Hooks:
    """The base class of listeners for the events of a walk. Its methods ignore all events.

    `address`: a resource instance. `deposed`: the deposed key of the object ("" for the current one). `identity`: the
    attribute that identifies the object (None if unknown). `elapsed`: seconds since the operation started. `action`:
    create, update, delete, read, no-op or forget. `show_sensitive`: whether the listener shows the output of
    provisioners whose configuration has sensitive values."""

    show_sensitive = False

    # ---- refresh

    def refresh_start(self, address: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        """The object is about to be read."""

    def refresh_complete(self, address: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        """The object was read; `identity` identifies the current object (None if it no longer exists)."""

    # ---- operations of providers

    def apply_start(self, address: str, action: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        """A provider call that changes an object (or reads a data source) begins. `identity` is the `id` of the prior
        object, or its `name` if it has no `id`."""

    def apply_complete(
        self, address: str, action: str, identity: ObjectId | None = None, elapsed: float = 0.0, deposed: str = ""
    ) -> None:
        """The provider call succeeded. `identity` is the `id` of the new object."""

    def apply_errored(self, address: str, action: str, elapsed: float = 0.0, deposed: str = "") -> None:
        """The provider call failed. Its diagnostics are in the result of the walk."""

    # ---- provisioners

    def provision_start(self, address: str, type: str) -> None:
        """A provisioner of this type (`local-exec`) begins."""

    def provision_progress(self, address: str, type: str, output: str) -> None:
        """A provisioner printed one or more lines."""

    def provision_secret(self, address: str, type: str, output: str, kind: str) -> None:
        """A provisioner printed something, and its configuration has values that are `sensitive` or `ephemeral`
        (`kind`)."""
        if not (self.show_sensitive and kind == "sensitive"):
            output = f"(output suppressed: the configuration has {kind} values)"
        self.provision_progress(address, type, output)

    def provision_complete(self, address: str, type: str) -> None:
        """The provisioner succeeded."""

    def provision_errored(self, address: str, type: str) -> None:
        """The provisioner failed."""

    # ---- actions

    def action_start(self, address: str, caller: str) -> None:
        """An action begins. `caller`: the object whose change invokes the action; "" if the command line requested
        it."""

    def action_progress(self, address: str, caller: str, message: str) -> None:
        """The provider reported one or more lines of progress."""

    def action_complete(self, address: str, caller: str) -> None:
        """The action succeeded."""

    def action_errored(self, address: str, caller: str) -> None:
        """The action failed. Its diagnostics are in the result of the walk."""

    # ---- imports

    def import_planned(self, address: str, id: str) -> None:
        """The object with this id is about to be read for an import."""

    def import_start(self, address: str, id: str) -> None:
        """The imported object is about to be recorded in the state."""

    def import_complete(self, address: str, id: str) -> None:
        """The imported object was recorded."""

    # ---- searches

    def list_start(self, address: str, type: str, config: dict[str, Any]) -> None:
        """A search for objects of this type begins. `config`: the configuration of the search as a JSON value."""

    def list_found(self, address: str, result: FoundResource) -> None:
        """The search found an object."""

    def list_complete(self, address: str, type: str, total: int, managed: int = 0) -> None:
        """The search ended, successfully or not. It found `total` objects, of which `managed` are already managed."""

    def discovered(self, coverage: dict[str, dict[str, int]]) -> None:
        """All searches ended. `coverage` has, for each type, the numbers of objects found, managed, pending (in import
        blocks), unmanaged and uncertain."""

    # ---- ephemeral resources

    def ephemeral_start(self, address: str, phase: str) -> None:
        """A phase of an ephemeral resource begins: `phase` is open, renew or close."""

    def ephemeral_complete(self, address: str, phase: str) -> None:
        """The phase ended, successfully or not."""

    # ---- the walk itself

    def walk_start(self, name: str, total: int) -> None:
        """A walk over `total` vertices begins. `name` is the name of the walk in output, such as `plan` or `apply`."""

    def shows_progress(self) -> bool:
        """Whether the walk should call `walk_progress`. A large walk would call it tens of thousands of times."""
        return False

    def walk_progress(self, done: int, total: int) -> None:
        """`done`: the number of vertices that are done. `total`: the current number of all vertices, which grows when
        vertices add children."""

    def walk_complete(self) -> None:
        """The walk ended."""

    def stopping(self) -> None:
        """A stop was requested, so no new work is started."""

    def log(self, message: str) -> None:
        """A message to the user that does not belong to an object, such as "Acquiring state lock"."""

    # ---- walks within a larger operation

    def inside(self, component: str) -> Hooks:
        """The hooks for the walk of a component of a stack."""
        return PrefixedHooks(self, f"{component}: ")


class HookGroup(Hooks):
    """Passes each event to several hooks, one after the other."""

    def __init__(self, hooks: Iterable[Hooks]) -> None:
        self.hooks = tuple(hooks)

    def inside(self, component: str) -> Hooks:
        return HookGroup(hook.inside(component) for hook in self.hooks)

    def shows_progress(self) -> bool:
        return any(hook.shows_progress() for hook in self.hooks)


def _forward(name: str) -> object:
    def call(self: HookGroup, *args: object, **named: object) -> None:
        for hook in self.hooks:
            getattr(hook, name)(*args, **named)

    call.__name__ = name
    return call


for _name in [
    name for name in vars(Hooks) if not name.startswith("_") and name not in {*vars(HookGroup), "show_sensitive"}
]:
    setattr(HookGroup, _name, _forward(_name))
del _name


class PrefixedHooks(Hooks):
    """Passes the events of a walk within a larger operation to other hooks, with a prefix before every address."""

    def __init__(self, hooks: Hooks, prefix: str) -> None:
        self.hooks, self.prefix = hooks, prefix


def _prefix(name: str) -> object:
    def call(self: PrefixedHooks, address: str, *args: object, **named: object) -> None:
        getattr(self.hooks, name)(f"{self.prefix}{address}", *args, **named)

    return call


for _name in ("refresh", "apply", "provision", "action", "import", "list", "ephemeral"):
    for _method in [m for m in vars(Hooks) if m.startswith(f"{_name}_")]:
        setattr(PrefixedHooks, _method, _prefix(_method))
