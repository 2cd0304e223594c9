"""Compact sets of addresses.

Thousands of objects depend on mostly the same addresses. All sets share one list of addresses, and each set is a whole
number (bit n for address n). Such numbers need a hundredth of the memory of tuples of strings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any, overload

_DIGITS = bytes.maketrans(b"01", b"\0\1")


class Addresses:
    """Sorted addresses with their positions, shared by many sets."""

    __slots__ = ("names", "places")

    def __init__(self, names: Iterable[str]) -> None:
        self.names = sorted(set(names))
        self.places = {name: place for place, name in enumerate(self.names)}


class AddressSet(Sequence[str]):
    """A subset of shared addresses. Behaves like a sorted tuple of its addresses, and compares equal to that tuple."""

    __slots__ = ("bits", "shared")

    def __init__(self, shared: Addresses, bits: int) -> None:
        self.shared = shared
        self.bits = bits

    def __iter__(self) -> Iterator[str]:
        # selecting names by the binary digits, lowest first, is much faster than testing single bits of a long number
        return compress(self.shared.names, bin(self.bits)[:1:-1].encode().translate(_DIGITS))

    def __len__(self) -> int:
        return self.bits.bit_count()

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        return tuple(self)[index]

    def __contains__(self, name: object) -> bool:
        place = self.shared.places.get(name) if isinstance(name, str) else None
        return place is not None and bool(self.bits >> place & 1)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, AddressSet) and other.shared is self.shared:
            return self.bits == other.bits
        if not isinstance(other, (AddressSet, tuple)):
            return NotImplemented
        return len(self) == len(other) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def holds(self, names: Sequence[str]) -> bool:
        if isinstance(names, AddressSet) and names.shared is self.shared:
            return not names.bits & ~self.bits
        return all(name in self for name in names)

    def union(self, names: Sequence[str]) -> Sequence[str]:
        """The sorted union. An AddressSet if all names are shared addresses, otherwise a tuple."""
        if isinstance(names, AddressSet) and names.shared is self.shared:
            return AddressSet(self.shared, self.bits | names.bits)
        places = self.shared.places
        digits = bytearray(b"0") * len(places)  # the last digit represents the first address
        for name in names:
            place = places.get(name)
            if place is None:
                return tuple(sorted({*self, *names}))
            digits[~place] = 49
        return AddressSet(self.shared, self.bits | int(digits or b"0", 2))


NO_ADDRESSES = AddressSet(Addresses(()), 0)


# A graph with numbers as nodes: lists of numbers are several times faster than dictionaries of names.


class Numbered:
    """A graph for walks. Nodes are numbers, indexes into the sorted `names`. `waits_for` is the number of dependencies
    of each node, `dependents` the list of its dependents. Copy the graph before changing it."""

    __slots__ = ("dependents", "names", "numbers", "waits_for")

    def __init__(self, dependencies: Mapping[str, Iterable[str]], reverse: bool = False) -> None:
        """`dependencies` maps every node to its dependencies (with `reverse`, to its dependents). Names that are not
        keys are ignored."""
        self.names = sorted(dependencies)
        numbers = self.numbers = {name: number for number, name in enumerate(self.names)}
        waits_for = self.waits_for = [0] * len(numbers)
        dependents: list[Any] = [()] * len(numbers)
        for node, name in enumerate(self.names):
            others = dependencies[name]
            for wanted in others if others.__class__ is tuple and len(others) < 2 else set(others):
                other = numbers.get(wanted)
                if other is not None:
                    dependent, dependency = (other, node) if reverse else (node, other)
                    waits_for[dependent] += 1
                    if dependents[dependency]:
                        dependents[dependency].append(dependent)
                    else:
                        dependents[dependency] = [dependent]
        self.dependents: list[Sequence[int]] = dependents
