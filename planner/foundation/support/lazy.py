"""Sequences that are computed on first use, and a limit for regular expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class Later(Sequence[T], Generic[T]):
    """A sequence that `make` computes on first use. The inputs of `make` must not change before the first use."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], tuple[T, ...]]) -> None:
        self._make: Callable[[], tuple[T, ...]] | None = make
        self._made: tuple[T, ...] = ()

    @property
    def _items(self) -> tuple[T, ...]:
        if self._make is not None:
            self._made, self._make = self._make(), None
        return self._made

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._items[index]


# The memory for compiling a regular expression grows with the square of its nesting depth.


MAX_NESTED = 1000  # the maximum nesting of groups, as in Go's regular expressions


def is_too_deep(pattern: str) -> bool:
    """Whether the groups of a regular expression may be nested more than MAX_NESTED levels deep. A parenthesis is
    counted if it is unclear whether it opens a group."""
    if pattern.count("(") <= MAX_NESTED:
        return False
    depth = 0
    is_escaped = False
    for character in pattern:
        if is_escaped:
            is_escaped = False
        elif character == "\\":
            is_escaped = True
        elif character == "(":
            depth += 1
            if depth > MAX_NESTED:
                return True
        elif character == ")":
            depth -= 1
    return False
