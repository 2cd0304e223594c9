"""Coverage of rules by cases: for each rule whether it derives something in one, for each of its literals whether it
holds in one and fails in one, the literals before it holding. A literal that never fails could be left out without any
case failing; one that never holds is dead, or untested."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from planner.foundation.vocabulary.records import define, frozen
from planner.language.syntax.rule_syntax import Aggregate, Atom, Comparison, Literal
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.interpret import Assignment
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.explain.search import Relations
from planner.logic.datalog.language.model import Rule, names, outer_names
from planner.logic.datalog.language.order import join_order
from planner.logic.datalog.tools.cases import Case

MOST_FOLLOWED = 100
"""of the ways in which the literals of one rule hold, in one case"""


@define
class LiteralCoverage:
    """A literal of a rule: its text, and whether it held and failed in some case. `chooses`: it can fail, because it
    tests values of the literals before it; others only give variables their values."""

    text: str
    chooses: bool
    held: bool = False
    failed: bool = False

    @property
    def ways(self) -> int:
        """How many ways it can go."""
        return 2 if self.chooses else 1

    @property
    def taken(self) -> int:
        """How many of them it went."""
        return self.held + (self.failed and self.chooses)


@frozen
class RuleCoverage:
    """A rule with its literals in the order in which they are written. `fired`: all held together in some case."""

    rule: Rule
    literals: tuple[LiteralCoverage, ...]

    @property
    def fired(self) -> bool:
        return all(literal.held for literal in self.literals)

    @property
    def covered(self) -> int:
        """How many of the ways literals can go were taken."""
        return sum(literal.taken for literal in self.literals)

    @property
    def ways(self) -> int:
        """How many there are: each literal holds, and those that choose fail."""
        return sum(literal.ways for literal in self.literals)


def coverage(program: RuleProgram, cases: Iterable[Case], rules: Sequence[Rule]) -> list[RuleCoverage]:
    """The coverage of some rules by the cases (facts written in rule files are not rules here)."""
    watched = [_Watch.of(rule) for rule in rules if rule.body]
    want = sorted({w.rule.head.predicate for w in watched})
    for case in cases:
        relations = Relations(evaluate(program, case.facts, want))
        for watch in watched:
            watch.look(relations)
    return [RuleCoverage(watch.rule, tuple(watch.seen[id(x)] for x in watch.rule.body)) for watch in watched]


@frozen(eq=False)
class _Watch:
    rule: Rule
    ordered: list[Literal]
    outer: set[str]
    seen: dict[int, LiteralCoverage]

    @classmethod
    def of(cls, rule: Rule) -> _Watch:
        outer = outer_names(rule.head, rule.body)
        ordered = join_order(rule.body, (), outer)
        seen: dict[int, LiteralCoverage] = {}
        bound: set[str] = set()
        for literal in ordered:
            seen[id(literal)] = LiteralCoverage(str(literal), _chooses(literal, bound))
            bound |= names(literal)
        return cls(rule, ordered, outer, seen)

    def look(self, relations: Relations) -> None:
        """Follow the literals, one after the other, in one database."""
        known: list[Assignment] = [{}]
        for literal in self.ordered:
            after: list[Assignment] = []
            for assignment in known:
                ways = list(islice(relations.extensions(literal, assignment, self.outer), MOST_FOLLOWED))
                after += [extended for _, extended in ways]
                if ways:
                    self.seen[id(literal)].held = True
                else:
                    self.seen[id(literal)].failed = True
            known = after[:MOST_FOLLOWED]


def _chooses(literal: Literal, bound: set[str]) -> bool:
    """Whether a literal tests values that were bound before."""
    if isinstance(literal, Atom):
        return any(names(a) & bound for a in literal.arguments)
    if isinstance(literal, Comparison) and literal.operator == "=":
        return names(literal) <= bound
    return not isinstance(literal, Aggregate) or names(literal.result) <= bound
