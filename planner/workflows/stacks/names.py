"""Names of the parts of a deployment: values, instances and repetitions."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from planner.foundation.vocabulary.address import InstanceKey, format_key
from planner.foundation.vocabulary.records import frozen


class Wild(Enum):
    """The key that means all instances of a block whose number of instances is unknown."""

    ALL = "*"


Key: TypeAlias = "InstanceKey | Wild"
Path: TypeAlias = tuple[tuple[str, Key], ...]
"""child stacks around an object, outermost first, as (name, key)"""


def key_text(key: Key) -> str:
    """A key as in addresses: `["k"]`, `[*]` for all keys, or "" for none."""
    return "[*]" if isinstance(key, Wild) else format_key(key)


def path_text(path: Path) -> str:
    """The prefix of addresses in a child stack, such as `stack.a["k"].stack.b.`; "" for the stack itself."""
    return "".join(f"stack.{name}{key_text(key)}." for name, key in path)


@frozen
class PromiseName:
    """A value of a deployment that is evaluated at most once. `kind`: var, local, output, component or stack (an
    instance), provider (a configuration), or each (the repetition of a component, stack or provider). `name`:
    TYPE.ALIAS for a provider, KIND.NAME for a repetition."""

    kind: str
    name: str
    path: Path = ()
    key: Key = None

    def __str__(self) -> str:
        if self.kind == "each":
            return f"for_each of {path_text(self.path)}{self.name}"
        return f"{path_text(self.path)}{self.kind}.{self.name}{key_text(self.key)}"

    @property
    def is_wild(self) -> bool:
        """Whether the name means all instances of a block."""
        return any(isinstance(key, Wild) for key in (self.key, *(key for _, key in self.path)))

    @property
    def is_component(self) -> bool:
        return self.kind == "component"
