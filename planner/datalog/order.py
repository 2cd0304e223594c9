"""In which order a body is joined.

The order of the text is the author's; the engine may take another. Here: an atom with all its columns known first, then
the one with the most known columns, of equals the first in the text; tests, negations and computations as soon as their
variables have values; aggregates last.
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.datalog.checks import assigned
from planner.datalog.literals import inner_variables, names
from planner.syntax.rule_syntax import Aggregate, Atom, Constant, Literal, Variable, Wildcard


def join_order(
    body: tuple[Literal, ...], bound: Iterable[str], outer: set[str], first: Atom | None = None
) -> list[Literal]:
    """The literals in joining order. `bound` have values before; `first` is taken first (the delta of a recursive
    rule); `outer` are the names that are not local to an aggregate."""
    known = set(bound)
    waiting = [x for x in body if x is not first]
    ordered: list[Literal] = []
    if first is not None:
        ordered.append(first)
        known |= names(first)
    while waiting:
        ready = [x for x in waiting if not isinstance(x, Atom | Aggregate) and is_ready(x, known, outer)]
        if ready:
            chosen: Literal = ready[0]
        else:
            atoms = [x for x in waiting if isinstance(x, Atom)]
            if atoms:
                chosen = max(atoms, key=lambda atom: _rank(atom, known, not ordered))
            else:
                chosen = next((x for x in waiting if is_ready(x, known, outer)), waiting[0])
        waiting.remove(chosen)
        ordered.append(chosen)
        known |= names(chosen.result) if isinstance(chosen, Aggregate) else names(chosen)
    return ordered


def is_ready(literal: Literal, known: set[str], outer: set[str]) -> bool:
    """Whether a literal that is not an atom can be decided, or can give its variable a value."""
    if assigned(literal, known, outer) is not None:
        return True
    if isinstance(literal, Aggregate):
        return {v.name for v in inner_variables(literal)} & outer <= known and names(literal.result) <= known
    return names(literal) <= known


def _rank(atom: Atom, known: set[str], is_first: bool) -> tuple[bool, int]:
    fixed = free = 0
    for argument in atom.arguments:
        if isinstance(argument, Constant) or (isinstance(argument, Variable) and argument.name in known):
            fixed += 1
        elif not isinstance(argument, Wildcard):
            free += 1
    return (free == 0 and fixed > 0 and not is_first, fixed)
