"""Decides whether the time of evaluating policies is certainly proportional to the size of the plan. If so, no trial
run is needed. This is the case if all rules are simple. A simple rule is not recursive, is about one address, and has
at most one literal about a value at an arbitrary path. In its other literals about values, the path is constant,
computed, or determined by another literal. A simple rule may also read the user's own relations, if shared variables
connect these relations with the other literals. In addition, it may read one unconnected relation that consists of
facts in rule files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.answers.policy.facts.relations import KEYED
from planner.answers.policy.values_read import READERS
from planner.language.syntax.rule_syntax import Aggregate, Atom, Builtin, Comparison, Literal, Wildcard
from planner.logic.datalog.language.model import Rule, atoms, names

_MOST_FREE = 1
"""maximum number of literals of a simple rule that read values at arbitrary paths"""
_MOST_RULES = 2_000


def is_tame(rules: Iterable[Rule]) -> bool:
    """Whether all of the user's rules are simple (see the module docstring), so that the time of an evaluation is
    proportional to the number of facts."""
    own = [rule for rule in rules if not rule.is_core]
    small = frozenset(rule.head.predicate for rule in own if not rule.body)
    small -= {rule.head.predicate for rule in own if rule.body}
    return len(own) <= _MOST_RULES and not _recur(own) and all(_is_tame(rule.body, small) for rule in own)


def _recur(rules: list[Rule]) -> bool:
    reads: dict[str, set[str]] = {}
    for rule in rules:
        reads.setdefault(rule.head.predicate, set()).update(atom.predicate for atom, _ in atoms(rule.body))
    left = set(reads)
    while left:
        settled = {name for name in left if not reads[name] & left}
        if not settled:
            return True
        left -= settled
    return False


def _is_tame(body: tuple[Literal, ...], small: frozenset[str]) -> bool:
    read = [literal for literal in body if isinstance(literal, Atom)]
    if any(isinstance(x, Builtin) and not x.negated and len(x.outputs) > 1 for x in body):
        return False  # these relations can have many rows for one string
    keyed = {str(atom.arguments[0]) for atom in read if atom.predicate in KEYED or atom.predicate in READERS}
    if len(keyed) > 1 or _free(body) > _MOST_FREE or not _is_connected(read, small):
        return False
    return all(_is_tame(x.body, small) for x in body if isinstance(x, Aggregate))


def _free(body: tuple[Literal, ...]) -> int:
    """The number of literals about a value at an arbitrary path."""
    placed = set(_placed(body))
    read = [x for x in body if isinstance(x, Atom) and x.predicate in READERS]
    paths = [x.arguments[1] for x in read]
    paths += [x.arguments[2] for x in read if x.predicate in ("json_value", "json_part")]
    return sum(1 for path in paths if isinstance(path, Wildcard) or (names(path) and not names(path) <= placed))


def _placed(body: tuple[Literal, ...]) -> Iterator[str]:
    """The variables that get their values from literals that do not read values at a path. A path that is the value of
    such a variable is not arbitrary."""
    for literal in body:
        if isinstance(literal, Comparison) and literal.operator == "=":
            yield from names(literal)
        elif isinstance(literal, Builtin):
            yield from names(*literal.outputs)
        elif isinstance(literal, Atom) and literal.predicate in ("part", "json_part"):
            yield from names(literal.arguments[-1])
        elif isinstance(literal, Atom) and literal.predicate not in READERS:
            yield from names(literal)


def _is_connected(read: list[Atom], small: frozenset[str]) -> bool:
    """Whether shared variables connect all atoms. One atom may be unconnected if its predicate consists only of facts
    (`small`)."""
    waiting = [(names(atom), atom.predicate) for atom in read]
    if not waiting:
        return True
    waiting.sort(key=lambda one: one[1] not in small)
    reached, _ = waiting.pop()
    while waiting:
        near = next((i for i, (one, _) in enumerate(waiting) if one & reached or not one), None)
        if near is None:
            return len(waiting) == 1 and waiting[0][1] in small
        reached |= waiting.pop(near)[0]
    return True
