"""The former names of objects whose addresses changed since the last apply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.foundation.vocabulary.address import (
    InstanceKey,
    ModuleAddress,
    format_key,
    join,
    parse_module,
    parse_resource_instance,
)
from planner.foundation.vocabulary.records import field, frozen
from planner.language.config.model import ModulePath
from planner.language.config.references import Ref, parse_reference
from planner.language.syntax.nodes import GetAttr, Traversal
from planner.logic.model.plan import ResourceChange


def former_addresses(changes: Iterable[ResourceChange], recorded: Mapping[str, str]) -> dict[str, str]:
    """{current address: former address} of moved instances. `recorded`: {address: former address} of moves that earlier
    commands made."""
    present = {c.previous_address: c.address for c in changes if not c.deposed and c.previous_address}
    pairs = {present.get(address, address): was for address, was in recorded.items()}
    return {now: was for was, now in present.items() if was not in recorded} | pairs


@frozen(eq=False)
class FormerNames:
    """The former addresses of moved objects. `_names`: {current address: former address} of instances, resources and
    module instances."""

    _names: dict[str, str] = field(factory=dict)
    _paths: dict[ModulePath, ModulePath] = field(factory=dict)
    """{module path: former path}, without instance keys"""

    @classmethod
    def of(cls, changes: Iterable[ResourceChange], recorded: Mapping[str, str]) -> FormerNames:
        """The former names of the objects that a plan moves. `recorded`: {address: former address} of moves that
        earlier commands made."""
        names: dict[str, str] = {}
        paths: dict[ModulePath, ModulePath] = {}
        for address, former in former_addresses(changes, recorded).items():
            if address == former:
                continue
            now, was = parse_resource_instance(address), parse_resource_instance(former)
            names[address] = former
            names.setdefault(str(now.resource), str(was.resource))
            if (now.type, now.name) == (was.type, was.name) and now.module.steps and was.module.steps:
                names[str(now.module)] = str(was.module)
                paths[now.module.path] = was.module.path
        return cls(names, paths)

    @property
    def has_any(self) -> bool:
        return bool(self._names)

    def path(self, path: ModulePath) -> ModulePath:
        known = next((n for n in range(len(path), 0, -1) if path[:n] in self._paths), 0)
        return (*self._paths[path[:known]], *path[known:]) if known else path

    def is_former(self, address: str) -> bool:
        return address in self._names.values()

    def module(self, address: str) -> ModuleAddress:
        here = parse_module(address)
        if not self._names:
            return here
        rest: list[tuple[str, InstanceKey]] = []
        while here.steps:
            if str(here) in self._names:
                here = parse_module(self._names[str(here)])
                break
            rest.append(here.steps[-1])
            here = here.parent
        for name, key in reversed(rest):
            here = here.child(name, key)
        return here

    def reference(self, module: str, node: Traversal) -> Traversal:
        """A reference as it was written before moves: the former name replaces the name of a resource or module call
        that was renamed within its module. Other references are returned unchanged."""
        ref = parse_reference(node) if self._names else None
        if not isinstance(ref, Ref):
            return node
        if ref.kind == "resource":
            former, name, _ = self.resource(module, ref.name, None)
            is_here = str(former) == str(self.module(module))
            words = name.split(".") if is_here and name != ref.name else []
        elif ref.kind in ("module", "output"):
            here = self.module(join(module, f"module.{ref.name}"))
            is_here = here.steps[:-1] == self.module(module).steps
            words = ["module", here.steps[-1][0]] if is_here and here.steps[-1][0] != ref.name else []
        else:
            return node
        if not words:
            return node
        inner = [GetAttr(word, step.start, step.end) for word, step in zip(words[1:], node.steps, strict=False)]
        steps = (*inner, *node.steps[len(inner) :])
        return Traversal(words[0], node.root_end, steps, node.start, node.end)

    def resource(self, module: str, name: str, key: InstanceKey) -> tuple[ModuleAddress, str, InstanceKey]:
        """The former (module instance, `type.name`, key) of an instance, or of a resource if `key` is None."""
        if not self._names:
            return parse_module(module), name, key
        here = join(module, name)
        for address, has_key in ((f"{here}{format_key(key)}", True), (here, False)):
            if address in self._names:
                was = parse_resource_instance(self._names[address])
                return was.module, was.resource.relative, was.key if has_key else key
        return self.module(module), name, key
