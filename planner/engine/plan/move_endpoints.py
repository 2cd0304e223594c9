"""The two ends (from and to) of move statements. An end is a pattern that selects addresses: a sequence of module steps
(name and key), and for a resource its type, name and key. The steps up to the module that declares the statement match
any key. If neither end has a key, the statement moves a whole resource or module call, and each instance keeps its
key."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from planner.foundation.vocabulary.address import Address, ModuleAddress, ResourceAddress, format_module
from planner.foundation.vocabulary.records import frozen
from planner.language.config.model import ModulePath

ANY: Any = object()  # matches any key

Kind: TypeAlias = Literal["module call", "module instance", "resource", "resource instance"]
Steps: TypeAlias = tuple[tuple[str, Any], ...]


@frozen
class Endpoint:
    """One end of a move statement that the module `base` declares. `steps`: module steps from the root module; the
    first len(base) steps match any key. `resource`: (mode, type, name); None if the end selects modules. `key`: the
    instance key, or ANY for a whole resource."""

    base: ModulePath
    kind: Kind
    steps: Steps
    resource: tuple[str, str, str] | None = None
    key: Any = None

    def selects_module(self, steps: Steps) -> bool:
        """Whether the module steps of this end match the module instance with these steps."""
        return len(steps) == len(self.steps) and _matches(self.steps, steps)

    def mentions(self, address: Address) -> bool:
        """Whether this end selects the module instance or resource at this address, or an instance of this resource."""
        if isinstance(address, ModuleAddress):
            return self.selects_module(address.steps)
        return self.resource == (address.mode, address.type, address.name) and self.selects_module(address.module.steps)

    def chains_from(self, other: Endpoint) -> bool:
        """Whether a statement that begins with this end can move an object that was moved to `other`."""
        if len(self.steps) != len(other.steps) or not _overlap(other.steps, self.steps):
            return False
        if self.resource is None or other.resource is None:
            return self.resource is other.resource
        return self.kind == other.kind and self.resource == other.resource and self.key == other.key

    def within(self, other: Endpoint) -> bool:
        """Whether the object of this end is inside the object of `other`."""
        if len(other.steps) > len(self.steps) or not _overlap(other.steps, self.steps):
            return False
        if other.resource is None:
            same_kind = self.kind == "module call" or (self.kind == other.kind == "module instance")
            return len(self.steps) > len(other.steps) if same_kind else True
        return (
            other.kind == "resource"
            and self.kind == "resource instance"
            and len(self.steps) == len(other.steps)
            and self.resource == other.resource
        )


def _matches(pattern: Steps, steps: Steps) -> bool:
    return all(p[0] == s[0] and (p[1] is ANY or p[1] == s[1]) for p, s in zip(pattern, steps, strict=False))


def _overlap(a: Steps, b: Steps) -> bool:
    return all(x[0] == y[0] and (x[1] is ANY or y[1] is ANY or x[1] == y[1]) for x, y in zip(a, b, strict=False))


def endpoints(base: ModulePath, from_: Address, to: Address) -> tuple[Endpoint, Endpoint]:
    """Both ends of a statement in the module `base`. If only one of the addresses has a key, the other end selects the
    instance without a key."""
    keyed = from_.key is not None or to.key is not None
    return _endpoint(base, from_, keyed), _endpoint(base, to, keyed)


def _endpoint(base: ModulePath, address: Address, keyed: bool) -> Endpoint:
    above: Steps = tuple((name, ANY) for name in base)
    if isinstance(address, ModuleAddress):
        steps: Steps = address.steps
        if keyed:
            return Endpoint(base, "module instance", above + steps)
        return Endpoint(base, "module call", (*above, *steps[:-1], (steps[-1][0], ANY)))
    resource = (address.mode, address.type, address.name)
    kind: Kind = "resource instance" if keyed else "resource"
    return Endpoint(base, kind, above + address.module.steps, resource, address.key if keyed else ANY)


def implied_endpoints(from_: Address, to: Address) -> tuple[Endpoint, Endpoint]:
    """Both ends of an implied move. Each end selects exactly one instance, by its address from the root module."""
    return _endpoint((), from_, True), _endpoint((), to, True)


def changes_key_only(from_: Endpoint, to: Endpoint) -> bool:
    if from_.resource is not None or "module instance" not in (from_.kind, to.kind):
        return False
    return [name for name, _ in from_.steps] == [name for name, _ in to.steps]


def address_after(from_: Endpoint, to: Endpoint, at: ResourceAddress) -> tuple[ResourceAddress, str, str] | None:
    """The effect of a move statement on the instance `at`: (new address of the instance, kind, destination). None if
    the statement does not select the instance. The kind is "module", "resource" or "instance", depending on what the
    statement moves as a whole. The destination is the new address of this module, resource or instance; it must not be
    in use."""
    # decided in Python: the address to which a single move statement moves an object -- patterns are matched key by key
    steps = at.module.steps
    if from_.resource is None:
        if len(steps) < len(from_.steps) or not _matches(from_.steps, steps):
            return None
        module = ModuleAddress(_target_steps(from_, to, steps) + steps[len(from_.steps) :])
        return ResourceAddress(module, at.mode, at.type, at.name, at.key), "module", format_module(module.steps)
    if (
        from_.resource != (at.mode, at.type, at.name)
        or (from_.key is not ANY and from_.key != at.key)
        or not from_.selects_module(steps)
        or to.resource is None
    ):
        return None
    module = ModuleAddress(_target_steps(from_, to, steps))
    mode, type_, name = to.resource
    if from_.key is ANY:
        there = ResourceAddress(module, mode, type_, name, at.key)
        return there, "resource", str(there.resource)
    there = ResourceAddress(module, mode, type_, name, to.key)
    return there, "instance", str(there)


def _target_steps(from_: Endpoint, to: Endpoint, steps: Steps) -> Steps:
    """The module steps of an object after the move. They are the steps of `to`, but where `to` matches any key, the key
    comes from `steps` (the object's steps before the move)."""
    base = len(from_.base)
    target = list(steps[:base]) + list(to.steps[base:])
    if to.kind == "module call":
        target[-1] = (target[-1][0], steps[len(from_.steps) - 1][1])
    return tuple(target)


def absolute(end: Endpoint, base: ModuleAddress) -> str:
    """The address that an end denotes in the instance `base` of the module that declares the statement. Where the end
    matches any key, the address has no key."""
    steps = base.steps + tuple((name, None if key is ANY else key) for name, key in end.steps[len(end.base) :])
    if end.resource is None:
        return format_module(steps)
    return str(ResourceAddress(ModuleAddress(steps), *end.resource, None if end.key is ANY else end.key))
