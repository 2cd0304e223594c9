"""A graph with numbers for nodes: lists of numbers are gone through several times faster than dictionaries of names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


class Numbered:
    """A graph for walks: nodes as numbers in the order of their `names`, with how many nodes each waits for, and which
    ones wait for it. Whoever changes anything makes a copy."""

    __slots__ = ("dependents", "names", "numbers", "waits_for")

    def __init__(self, dependencies: Mapping[str, Iterable[str]], reverse: bool = False) -> None:
        """`dependencies`: every node with those that it waits for (or, `reverse`, that wait for it). Names that are no
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
