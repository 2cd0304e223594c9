"""Former names of objects, as of the last apply: where objects have moved, the record has their former names."""

from __future__ import annotations

from collections.abc import Iterable

from planner.foundation.vocabulary.address import parse_resource_instance
from planner.foundation.vocabulary.records import field, frozen
from planner.logic.model.plan import ResourceChange


@frozen(eq=False)
class FormerNames:
    """The former names of resources and modules: of `instances`, and of `blocks`, which have no keys."""

    instances: dict[str, str] = field(factory=dict)
    blocks: dict[str, str] = field(factory=dict)

    @classmethod
    def of(cls, changes: Iterable[ResourceChange]) -> FormerNames:
        """The former names of a plan's objects that have moved."""
        names = cls()
        for change in changes:
            if change.deposed or change.previous_address in ("", change.address):
                continue
            now, was = parse_resource_instance(change.address), parse_resource_instance(change.previous_address)
            names.instances[str(now.resource)] = str(was.resource)
            names.blocks[str(now.config)] = str(was.config)
            if (now.type, now.name) == (was.type, was.name) and now.module.steps and was.module.steps:
                names.instances[str(now.module)] = str(was.module)
                names.blocks[str(now.module.config)] = str(was.module.config)
        return names

    def value(self, name: str) -> str:
        """The former name of a value: `module.new["a"].var.size`."""
        return _renamed(name, self.instances)

    def text(self, name: str) -> str:
        """The former name of an object with an expression: `module.new.var.size`."""
        return _renamed(name, self.blocks)


def _renamed(name: str, names: dict[str, str]) -> str:
    """The name with the longest part in front that has another one."""
    if not names:
        return name
    for end in (len(name), *(at for at in range(len(name) - 1, 0, -1) if name[at] in ".[")):
        if name[:end] in names:
            return names[name[:end]] + name[end:]
    return name
