"""What rules look at: which values of a column can make a difference to what is derived.

A memory of results, such as that of plan/decide.py, may put one word in the place of all values that nothing looks at.
Which those are is read off the rules, so that a new rule cannot be overlooked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.language.syntax.rule_syntax import Aggregate, Atom, Constant, Negation, RuleVariable
from planner.logic.datalog.engine.compiled import UNSEEN, Look
from planner.logic.datalog.language.literals import inner_variables, variables
from planner.logic.datalog.language.model import Predicate, Rule

if TYPE_CHECKING:
    from planner.logic.datalog.engine.program import RuleProgram

_Place = tuple[str, int]
_Looks = dict[_Place, Look]


def looks(rules: Iterable[Rule], predicates: Mapping[str, Predicate]) -> dict[str, tuple[Look, ...]]:
    """For each input, what the rules look at in each of its columns."""
    seen: _Looks = {}
    passed: dict[_Place, set[_Place]] = {}
    """column -> the columns of heads to which its values go"""
    for predicate in predicates.values():
        for name in predicate.inputs:  # of a native operator, which compares whole rows
            _see(seen, ((name, n) for n in range(predicates[name].arity)), Look(compared=True))
        if predicate.is_output:
            _see(seen, ((predicate.name, n) for n in range(predicate.arity)), Look(shown=True))
    for rule in rules:
        _look(rule, seen, passed)
    changed = True
    while changed:
        changed = False
        for place, heads in passed.items():
            before = seen.get(place, UNSEEN)
            _see(seen, (place,), _together(seen.get(head, UNSEEN) for head in heads))
            changed |= seen.get(place, UNSEEN) != before
    one = {look: look for look in (UNSEEN, *seen.values())}  # shared, so that the stored form is small
    return {
        p.name: tuple(one[seen.get((p.name, n), UNSEEN)] for n in range(p.arity))
        for p in predicates.values()
        if p.is_input
    }


def collapsed(program: RuleProgram, name: str, column: int) -> RuleProgram:
    """The program, whose evaluator puts one word in the place of several values of this column. Raises Failure when a
    rule looks at them: it could not fire as it is written."""
    look = program.compiled.looks[name][column]
    if look.constants or look.compared:
        predicate = program.predicates[name]
        detail = f"A rule looks at {predicate.columns[column].name} of {name}, which is only there to be named."
        raise Failure(error("rules.collapsed_column", "Rule about a value that is not there", detail, predicate.span))
    return program


def _look(rule: Rule, seen: _Looks, passed: dict[_Place, set[_Place]]) -> None:
    times: dict[str, int] = {}
    for literal in rule.body:
        inner = inner_variables(literal) if isinstance(literal, Aggregate) else ()
        for variable in chain(variables(literal), inner):
            times[variable.name] = times.get(variable.name, 0) + 1
    heads: dict[str, set[_Place]] = {}
    for n, argument in enumerate(rule.head.arguments):
        place = (rule.head.predicate, n)
        if isinstance(argument, RuleVariable):
            heads.setdefault(argument.name, set()).add(place)
        else:
            for variable in variables(argument):  # something is computed from it
                times[variable.name] = 2
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            for atom in (x.atom if isinstance(x, Negation) else x for x in literal.body):
                if isinstance(atom, Atom):  # its rows are counted
                    _see(seen, ((atom.predicate, n) for n in range(len(atom.arguments))), Look(compared=True))
            continue
        atom = literal.atom if isinstance(literal, Negation) else literal
        if not isinstance(atom, Atom):
            continue
        for n, argument in enumerate(atom.arguments):
            place = (atom.predicate, n)
            if isinstance(argument, Constant):
                _see(seen, (place,), Look(frozenset((argument.value,))))
            elif isinstance(argument, RuleVariable) and times[argument.name] > 1:
                _see(seen, (place,), Look(compared=True))
            elif isinstance(argument, RuleVariable):
                passed.setdefault(place, set()).update(heads.get(argument.name, ()))


def _see(seen: _Looks, places: Iterable[_Place], look: Look) -> None:
    for place in places:
        seen[place] = _together((seen.get(place, UNSEEN), look))


def _together(parts: Iterable[Look]) -> Look:
    constants: frozenset[object] = frozenset()
    compared = shown = False
    for part in parts:
        constants |= part.constants
        compared |= part.compared
        shown |= part.shown
    return Look(constants, compared, shown)
