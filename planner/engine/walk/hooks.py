"""Hooks: the events of a walk while it runs. The walks call these; the command line turns them into text and JSON
lines.

A walk may call from several threads at once, so an implementation must guard what it shares. Nothing a hook does can
change the walk; an exception in one is a bug. `Hooks` itself ignores every call: implementations override what they
show.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class ObjectId(NamedTuple):
    """The identification of a remote object in messages: `[id=i-123]`. `key` is the attribute it was read from."""

    key: str
    value: str


class FoundResource(NamedTuple):
    """A result of a search. `identity` and `value` are in the form of JSON, the value None where it was not requested;
    `config` and `import_config` are the texts of its resource and import blocks, "" where there are none. `managed_as`
    is the address of the instance in the state whose object it is, `perhaps_as` of one that may be it, `imported_as` of
    the one that an import block names for it; "" for none. `id` is its attribute of that name, `source` its
    provider."""

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
    """The listener of a walk; this one ignores all events.

    `address` is a resource instance address, `deposed` the deposed key of the object ("" for the current one),
    `identity` the attribute that identifies the object (None when none is known), `elapsed` seconds since the
    operation started, `action` an action of `planner.logic.model.plan` as done: create, update, delete, read, no-op or
    forget. `show_sensitive`: it shows the output of provisioners whose configuration has sensitive values.
    """

    show_sensitive = False

    # ---- refresh

    def refresh_start(self, address: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        """The object is about to be read."""

    def refresh_complete(self, address: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        """The object was read; `identity` is of the object as found (None when it is gone)."""

    # ---- operations of providers

    def apply_start(self, address: str, action: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        """A provider call that changes something (or reads a data source) begins; `identity` is of the prior object,
        by `id` or else by `name`."""

    def apply_complete(
        self, address: str, action: str, identity: ObjectId | None = None, elapsed: float = 0.0, deposed: str = ""
    ) -> None:
        """The call ended well; `identity` is of the new object, by `id` only."""

    def apply_errored(self, address: str, action: str, elapsed: float = 0.0, deposed: str = "") -> None:
        """The call failed; its diagnostics are in the walk's answer."""

    # ---- provisioners

    def provision_start(self, address: str, type: str) -> None:
        """A provisioner of this type (`local-exec`) begins."""

    def provision_progress(self, address: str, type: str, output: str) -> None:
        """A provisioner wrote something: a line, or several."""

    def provision_secret(self, address: str, type: str, output: str, kind: str) -> None:
        """A provisioner wrote something, and has values in its configuration that are `sensitive` or `ephemeral`."""
        if not (self.show_sensitive and kind == "sensitive"):
            output = f"(output suppressed: the configuration has {kind} values)"
        self.provision_progress(address, type, output)

    def provision_complete(self, address: str, type: str) -> None:
        """The provisioner ended well."""

    def provision_errored(self, address: str, type: str) -> None:
        """The provisioner failed."""

    # ---- actions

    def action_start(self, address: str, caller: str) -> None:
        """An action begins, invoked by the change of an object ("" when the command line invokes it)."""

    def action_progress(self, address: str, caller: str, message: str) -> None:
        """The provider reports progress: a line, or several."""

    def action_complete(self, address: str, caller: str) -> None:
        """The action ended well."""

    def action_errored(self, address: str, caller: str) -> None:
        """The action failed; its diagnostics are in the walk's answer."""

    # ---- imports

    def import_planned(self, address: str, id: str) -> None:
        """The object with this id is about to be read in order to be imported."""

    def import_start(self, address: str, id: str) -> None:
        """The object is about to be recorded in the state."""

    def import_complete(self, address: str, id: str) -> None:
        """The object is recorded."""

    # ---- searches

    def list_start(self, address: str, type: str, config: dict[str, Any]) -> None:
        """A search for objects of a type begins, with this configuration in the form of JSON."""

    def list_found(self, address: str, result: FoundResource) -> None:
        """The search found an object."""

    def list_complete(self, address: str, type: str, total: int, managed: int = 0) -> None:
        """The search is over, well or not, with so many results, and so many of these managed already."""

    def discovered(self, coverage: dict[str, dict[str, int]]) -> None:
        """All searches are over: how many objects of each type were found, and how many are managed, pending (in import
        blocks), unmanaged or uncertain."""

    # ---- ephemeral resources

    def ephemeral_start(self, address: str, phase: str) -> None:
        """`phase` is open, renew or close."""

    def ephemeral_complete(self, address: str, phase: str) -> None:
        """The phase is over, well or not."""

    # ---- the walk itself

    def walk_start(self, name: str, total: int) -> None:
        """A walk over `total` nodes begins; `name` is a word for people: `plan`, `apply`, `refresh`."""

    def shows_progress(self) -> bool:
        """Whether `walk_progress` does anything: walks have ten thousands of nodes."""
        return False

    def walk_progress(self, done: int, total: int) -> None:
        """So many nodes are done; `total` grows when nodes expand. For displays of progress."""

    def walk_complete(self) -> None:
        """The walk is over."""

    def stopping(self) -> None:
        """An interrupt was received: nothing new starts."""

    def log(self, message: str) -> None:
        """A remark for people without a place of its own, such as "Acquiring state lock"."""

    # ---- walks of something larger

    def inside(self, component: str) -> Hooks:
        """The hooks for the work in a component of a stack."""
        return PrefixedHooks(self, f"{component}: ")


class HookGroup(Hooks):
    """Passes every call on to several listeners, in order."""

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
    """Passes on the events of walks of something larger, with its name before every address."""

    def __init__(self, hooks: Hooks, prefix: str) -> None:
        self.hooks, self.prefix = hooks, prefix


def _prefix(name: str) -> object:
    def call(self: PrefixedHooks, address: str, *args: object, **named: object) -> None:
        getattr(self.hooks, name)(f"{self.prefix}{address}", *args, **named)

    return call


for _name in ("refresh", "apply", "provision", "action", "import", "list", "ephemeral"):
    for _method in [m for m in vars(Hooks) if m.startswith(f"{_name}_")]:
        setattr(PrefixedHooks, _method, _prefix(_method))
