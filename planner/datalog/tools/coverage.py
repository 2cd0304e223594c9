"""What cases exercise: for each rule whether it derives something in one, for each of its literals whether it holds in
one and fails in one, the literals before it holding. A literal that never fails could be left out for all the cases
say; one that never holds is dead, or untested.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from attrs import define, frozen

from planner.datalog.engine.evaluate import evaluate
from planner.datalog.engine.program import Program
from planner.datalog.engine.terms import Assignment
from planner.datalog.explain.search import Relations
from planner.datalog.front.literals import outer_names
from planner.datalog.front.model import Rule
from planner.datalog.front.order import join_order
from planner.datalog.tools.cases import Case
from planner.syntax.rule_syntax import Literal

MOST_FOLLOWED = 100
"""of the ways in which the literals of one rule hold, in one case"""


@define
class LiteralCoverage:
    """A literal of a rule: its text, and whether it held and failed in some case."""

    text: str
    start: int
    held: bool = False
    failed: bool = False


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
        """How many of the ways literals can go were taken: two for each."""
        return sum(literal.held + literal.failed for literal in self.literals)


def coverage(program: Program, cases: Iterable[Case], rules: Sequence[Rule]) -> list[RuleCoverage]:
    """What the cases exercise of some rules (facts written in rule files are no rules here)."""
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
        seen = {id(x): LiteralCoverage(str(x), x.start) for x in rule.body}
        return cls(rule, join_order(rule.body, (), outer), outer, seen)

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
