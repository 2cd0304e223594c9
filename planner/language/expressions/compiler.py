"""State passed down the tree of an expression during compilation; a table holds the compile function for each kind of
node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from planner.language.expressions.environment import Reference, Run


class Compiler:
    """Compiles one expression: knows the local names in scope (each has a slot) while it goes down the tree."""

    def __init__(self) -> None:
        self.slots = 0
        self.locals: dict[str, int] = {}
        self.index_slots: set[int] = set()  # those of the first of two `for` names: an index, when the source is a list
        self.element = -1  # slot of the innermost splat's element
        self.laziness = 0
        self.references: list[Reference] = []
        self.lazy: list[Reference] = []
        self.local_names: list[tuple[int, int, dict[str, int]]] = []

    def compile(self, node: Any) -> Run:
        return COMPILERS[node.__class__](self, node)

    def new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def note_reference(self, node: Reference) -> None:
        self.references.append(node)
        if self.laziness:
            self.lazy.append(node)


Compile: TypeAlias = Callable[[Compiler, Any], Run]
COMPILERS: dict[type, Compile] = {}
"""by the class of a node; planner.language.expressions.compile fills it"""
