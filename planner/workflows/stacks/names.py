"""Names of the parts of a deployment: one for each value, instance and expansion of a stack."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from planner.foundation.vocabulary.address import InstanceKey, format_key
from planner.foundation.vocabulary.records import frozen


class Wild(Enum):
    """Represents all instances of a block if their number is unknown."""

    ALL = "*"


Key: TypeAlias = "InstanceKey | Wild"
Path: TypeAlias = tuple[tuple[str, Key], ...]
"""the child stacks that contain the named object, outermost first, each with its key"""


def key_text(key: Key) -> str:
    """`["k"]`, `[*]`, or the empty string."""
    return "[*]" if isinstance(key, Wild) else format_key(key)


def path_text(path: Path) -> str:
    """`stack.a["k"].stack.b.`, with the last dot; "" for the stack itself."""
    return "".join(f"stack.{name}{key_text(key)}." for name, key in path)


@frozen
class PromiseName:
    """A promise: a value of a deployment that is evaluated at most once. `kind`: var, local, output, component and
    stack (an instance), provider (a configuration), or `each`: the repetition of one of these three. `name` is
    TYPE.ALIAS for providers, and KIND.NAME for repetitions."""

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
        """Whether the name represents all instances of a block."""
        return any(isinstance(key, Wild) for key in (self.key, *(key for _, key in self.path)))

    @property
    def is_component(self) -> bool:
        return self.kind == "component"
