"""Differences: a tree of the changes at each place in a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from planner.foundation.values.value import Value

Path: TypeAlias = tuple[Any, ...]


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()
"""placeholder for an absent value"""


class Digits(str):
    """A number as it is written in a JSON string."""

    __slots__ = ()


class Paths:
    """Attribute paths relative to a place in a value. `deep`: whether a path includes all paths below it."""

    __slots__ = ("deep", "paths")

    def __init__(self, paths: Iterable[Path] = (), deep: bool = False) -> None:
        self.paths = tuple(paths)
        self.deep = deep

    def child(self, key: Any) -> Paths:
        if not self.paths:
            return self
        inner = [path[1:] for path in self.paths if path and _same_step(path[0], key)]
        if self.deep and any(not path for path in self.paths):
            inner.append(())
        return Paths(inner, self.deep)

    @property
    def here(self) -> bool:
        """Whether this place itself is included."""
        return any(not path for path in self.paths)

    @property
    def somewhere(self) -> bool:
        """Whether this place, or a place below it, is included."""
        return bool(self.paths)


EVERYWHERE = Paths([()], deep=True)
NOWHERE = Paths()


def _same_step(step: Any, key: Any) -> bool:
    value = step[1] if isinstance(step, tuple) and len(step) == 2 else step
    return bool(value == key) or str(value) == str(key)


class ValueChange:
    """The values at a place before and after a change. `after` may contain unknown values, and both may have marks.
    `replace`: the paths that force replacement. `relevant`: the paths to compare; values at other paths are treated as
    unchanged."""

    __slots__ = ("after", "before", "relevant", "replace")

    def __init__(self, before: Value, after: Value, replace: Paths = NOWHERE, relevant: Paths = EVERYWHERE) -> None:
        self.before = before
        self.after = after
        self.replace = replace
        self.relevant = relevant

    def child(self, key: Any, before: Value, after: Value) -> ValueChange:
        """The change at the place `key` below this place. The values there are treated as unchanged if no path in
        `relevant` includes them."""
        relevant = self.relevant.child(key)
        if not relevant.somewhere:
            after = before
        return ValueChange(before, after, self.replace.child(key), relevant)

    @property
    def is_whole(self) -> bool:
        """Whether all parts are compared and none forces replacement."""
        return self.relevant is EVERYWHERE and not self.replace.paths

    def but(self, before: Value, after: Value) -> ValueChange:
        return ValueChange(before, after, self.replace, self.relevant)


class Diff:
    """The change at a place. `action`: create, update, delete or no-op. `replace`: whether the change forces
    replacement."""

    __slots__ = ("action", "replace")

    def __init__(self, action: str, replace: bool = False) -> None:
        self.action = action
        self.replace = replace


class PrimitiveDiff(Diff):
    """The change of a string, number, bool or null. The value is MISSING on a side without a value."""

    __slots__ = ("after", "before")

    def __init__(self, action: str, replace: bool, before: Value, after: Value) -> None:
        super().__init__(action, replace)
        self.before = before
        self.after = after


class UnknownDiff(Diff):
    """A value that is known only after apply. `before`: the former value, in the form of the difference that its
    deletion would be."""

    __slots__ = ("before",)

    def __init__(self, action: str, replace: bool, before: Diff | None) -> None:
        super().__init__(action, replace)
        self.before = before


class SensitiveDiff(Diff):
    """A hidden value. `inner`: the difference without hiding. `was`, `is_now`: whether the former and the new value are
    sensitive."""

    __slots__ = ("inner", "is_block", "is_now", "was")

    def __init__(self, action: str, replace: bool, inner: Diff, was: bool, is_now: bool, is_block: bool) -> None:
        super().__init__(action, replace)
        self.inner = inner
        self.was = was
        self.is_now = is_now
        self.is_block = is_block


class WriteOnlyDiff(Diff):
    """A write-only attribute, whose value is never stored."""

    __slots__ = ()


class TypeChange(Diff):
    """A value whose type changes."""

    __slots__ = ("after", "before")

    def __init__(self, action: str, replace: bool, before: Diff, after: Diff) -> None:
        super().__init__(action, replace)
        self.before = before
        self.after = after


class SequenceDiff(Diff):
    """The change of a list, tuple or set. `ordered`: whether changes are shown with the unchanged items next to them.
    `nested`: whether the items are objects with nested attributes in the schema."""

    __slots__ = ("items", "nested", "ordered")

    def __init__(self, action: str, replace: bool, items: list[Diff], ordered: bool, nested: bool = False) -> None:
        super().__init__(action, replace)
        self.items = items
        self.ordered = ordered
        self.nested = nested


class MappingDiff(Diff):
    """The change of a map (with `quoted` keys) or of an object."""

    __slots__ = ("items", "nested", "quoted")

    def __init__(self, action: str, replace: bool, items: dict[str, Diff], quoted: bool, nested: bool = False) -> None:
        super().__init__(action, replace)
        self.items = items
        self.quoted = quoted
        self.nested = nested


class BlockGroup:
    """All blocks of one type in a block. `blocks`: pairs (key, difference); the key is "" unless the blocks are a map.
    `was`, `is_now`: whether the former and the new blocks are sensitive."""

    __slots__ = ("blocks", "is_now", "is_set", "replace", "was")

    def __init__(self, blocks: list[tuple[str, Diff]], replace: bool, was: bool, is_now: bool, is_set: bool) -> None:
        self.blocks = blocks
        self.replace = replace
        self.was = was
        self.is_now = is_now
        self.is_set = is_set


class BlockDiff(Diff):
    """The change of a block: its attributes, then nested blocks by type."""

    __slots__ = ("attributes", "blocks")

    def __init__(self, action: str, replace: bool, attributes: dict[str, Diff], blocks: dict[str, BlockGroup]) -> None:
        super().__init__(action, replace)
        self.attributes = attributes
        self.blocks = blocks
