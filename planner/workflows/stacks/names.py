"""Names of the values, component instances and for_each expansions of a deployment."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from planner.foundation.vocabulary.address import InstanceKey, format_key
from planner.foundation.vocabulary.records import frozen


class Wild(Enum):
    """The key that represents all instances of a block while its for_each is unknown."""

    ALL = "*"


Key: TypeAlias = "InstanceKey | Wild"
Path: TypeAlias = tuple[tuple[str, Key], ...]
"""the child stacks that enclose an object, outermost first, as (name, key)"""


def key_text(key: Key) -> str:
    """The text of an instance key in an address: `["k"]`, `[*]` for Wild.ALL, or "" for None."""
    return "[*]" if isinstance(key, Wild) else format_key(key)


def path_text(path: Path) -> str:
    """The prefix of addresses in a child stack, such as `stack.a["k"].stack.b.`; "" for the stack itself."""
    return "".join(f"stack.{name}{key_text(key)}." for name, key in path)


@frozen
class PromiseName:
    """The name of a value of a deployment that is evaluated at most once. `kind`: var, local, output, component or
    stack (an instance), provider (a configuration), or each (the for_each of a component, stack or provider block).
    `name`: TYPE.ALIAS for a provider, KIND.NAME for `each`, otherwise the name of the block."""

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
        """Whether the name represents all instances of a block, or an object in all instances of a child stack."""
        return any(isinstance(key, Wild) for key in (self.key, *(key for _, key in self.path)))

    @property
    def is_component(self) -> bool:
        return self.kind == "component"
