"""Determines the order of joins in a body, which may differ from the source text. Tests, negations and computations
come as soon as their variables are bound. Next come atoms that only need a lookup, then built-in relations whose inputs
are bound. Of the remaining atoms, the next is the atom with the most bound columns; of several such atoms, the one with
the most constants; of several such atoms, the first in the source text. Aggregates come last."""

from __future__ import annotations

from collections.abc import Iterable

from planner.language.syntax.rule_syntax import Aggregate, Atom, Builtin, Constant, Literal, RuleCall, RuleVariable
from planner.logic.datalog.language.checks import assigned, generated
from planner.logic.datalog.language.model import inner_names, names


def join_order(
    body: tuple[Literal, ...], bound: Iterable[str], outer: set[str], first: Atom | None = None
) -> list[Literal]:
    """The literals of a body in the order in which they are joined. `bound`: the variables that already have values.
    `outer`: the names that are not local to an aggregate. `first`: the literal that comes first (the atom that reads
    only new rows in a recursive rule)."""
    known = set(bound)
    waiting = [x for x in body if x is not first]
    ordered: list[Literal] = []
    if first is not None:
        ordered.append(first)
        known |= names(first)
    while waiting:
        ready = [x for x in waiting if not isinstance(x, Atom | Aggregate) and is_ready(x, known, outer)]
        giving = [x for x in ready if isinstance(x, Builtin) and generated(x, known)]
        deciding = [x for x in ready if x not in giving] if giving else ready
        if deciding:
            chosen: Literal = deciding[0]
        else:
            atoms = [x for x in waiting if isinstance(x, Atom)]
            best = max(atoms, key=lambda atom: _rank(atom, known)) if atoms else None
            if giving and (best is None or not _rank(best, known)[0]):
                chosen = giving[0]
            elif best is not None:
                chosen = best
            else:
                chosen = next((x for x in waiting if is_ready(x, known, outer)), waiting[0])
        waiting.remove(chosen)
        ordered.append(chosen)
        known |= names(chosen.result) if isinstance(chosen, Aggregate) else names(chosen)
    return ordered


def is_ready(literal: Literal, known: set[str], outer: set[str]) -> bool:
    """Whether a literal that is not an atom can be decided, or can assign a value to its variable."""
    if assigned(literal, known, outer) is not None:
        return True
    return needed_names(literal, outer) <= known


def needed_names(literal: Literal, outer: set[str]) -> set[str]:
    """The variables that must be bound before a literal can be decided."""
    if isinstance(literal, Builtin) and not literal.negated:
        return names(*literal.inputs, *(a for a in literal.outputs if isinstance(a, RuleCall)))
    if isinstance(literal, Aggregate):
        return names(literal.result) | (inner_names(literal) & outer)
    return names(literal)


def _rank(atom: Atom, known: set[str]) -> tuple[bool, int, int]:
    bound = constant = free = 0
    for argument in atom.arguments:
        if isinstance(argument, Constant):
            constant += 1
        elif isinstance(argument, RuleVariable):
            if argument.name in known:
                bound += 1
            else:
                free += 1
    return (free == 0, bound, constant)
