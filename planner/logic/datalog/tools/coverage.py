"""Measures the coverage of rules by cases, and creates mutants of rules. A rule is covered if it derives a row in at
least one case. A literal is covered if it is true in at least one case, and false in at least one case in which all
earlier literals are true. If a literal is never false, the cases also pass without the literal. If a literal is never
true, it is not tested, or can never be true."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from planner.foundation.vocabulary.records import define, frozen
from planner.language.syntax import rule_syntax as syntax
from planner.language.syntax.rule_parse import tokens_of
from planner.language.syntax.rule_syntax import Aggregate, Atom, Comparison, Literal
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.interpret import Assignment
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.explain.search import Relations
from planner.logic.datalog.language.model import Rule, names, outer_names
from planner.logic.datalog.language.order import join_order
from planner.logic.datalog.tools.cases import Case

MAX_FOLLOWED = 100  # maximum number of solutions of one rule that are examined in one case


@define
class LiteralCoverage:
    """The coverage of a literal of a rule. `held`, `failed`: whether it was true and whether it was false in at least
    one case. `chooses`: whether the literal tests values of earlier literals, so that it can be false; other literals
    only assign values."""

    text: str
    chooses: bool
    held: bool = False
    failed: bool = False

    @property
    def ways(self) -> int:
        """The number of possible outcomes of the literal."""
        return 2 if self.chooses else 1

    @property
    def taken(self) -> int:
        """The number of possible outcomes of the literal that occurred."""
        return self.held + (self.failed and self.chooses)


@frozen
class RuleCoverage:
    """The coverage of a rule and of its literals, in the order of the source. `fired`: whether each literal was true in
    at least one case."""

    rule: Rule
    literals: tuple[LiteralCoverage, ...]

    @property
    def fired(self) -> bool:
        return all(literal.held for literal in self.literals)

    @property
    def covered(self) -> int:
        """The number of the possible outcomes of all literals that occurred."""
        return sum(literal.taken for literal in self.literals)

    @property
    def ways(self) -> int:
        """The number of possible outcomes of all literals."""
        return sum(literal.ways for literal in self.literals)


def coverage(program: RuleProgram, cases: Iterable[Case], rules: Sequence[Rule]) -> list[RuleCoverage]:
    """The coverage of these rules by the cases. Facts in rule files are left out. Raises ValueError and Failure like
    `evaluate`."""
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
        """Record for each literal whether it is true, and whether it is false, in a database. Only assignments that
        make all literals before it true are considered."""
        known: list[Assignment] = [{}]
        for literal in self.ordered:
            after: list[Assignment] = []
            for assignment in known:
                ways = list(islice(relations.extensions(literal, assignment, self.outer), MAX_FOLLOWED))
                after += [extended for _, extended in ways]
                if ways:
                    self.seen[id(literal)].held = True
                else:
                    self.seen[id(literal)].failed = True
            known = after[:MAX_FOLLOWED]


def _chooses(literal: Literal, bound: set[str]) -> bool:
    """Whether a literal tests values that earlier literals have bound."""
    if isinstance(literal, Atom):
        return any(names(a) & bound for a in literal.arguments)
    if isinstance(literal, Comparison) and literal.operator == "=":
        return names(literal) <= bound
    return not isinstance(literal, Aggregate) or names(literal.result) <= bound


# Mutants: rules with one small mistake. If the cases are good, at least one case fails for every mutant. A mutant omits
# a literal or a `not`, changes a constant, or changes the boundary of a comparison. Invalid rules, for example with an
# unbound variable, do not count.


_TURNED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "=": "!=", "!=": "="}
"""{comparison operator: operator in the mutant}. The results of the two operators differ only for equal values; for =
and !=, they are opposite"""


@frozen
class Mutant:
    """A deliberate mistake in a rule file. `text` replaces the text of the file from `start` to `end` (in code points).
    `what`: describes the mistake."""

    rule: str
    file: str
    start: int
    end: int
    text: str
    what: str

    def of(self, text: str) -> str:
        return text[: self.start] + self.text + text[self.end :]


def mutants(rules: Iterable[Rule]) -> Iterator[Mutant]:
    """The mutants of rules, in the order of their positions."""
    for rule in rules:
        text = rule.span.source.text
        for literal in rule.body:
            yield from _of_literal(rule, text, literal, len(rule.body) > 1)


def _of_literal(rule: Rule, text: str, literal: syntax.Literal, may_go: bool) -> Iterator[Mutant]:
    start, end = literal.start, literal.end
    if end <= start:
        return
    written = text[start:end]

    def mutant(at: int, until: int, new: str, what: str) -> Mutant:
        return Mutant(rule.name, rule.file, at, until, new, what)

    if may_go:
        yield mutant(*_with_comma(text, start, end), "", f"without {written}")
    if isinstance(literal, syntax.Negation) and written.startswith("not"):
        atom = literal.atom
        yield mutant(start, end, text[atom.start : atom.end], f"{text[atom.start : atom.end]} instead of {written}")
    if isinstance(literal, syntax.Test) and written.startswith("not"):
        yield mutant(start, end, written.removeprefix("not").lstrip(), f"without the not in {written}")
    if isinstance(literal, syntax.Comparison) and literal.operator in _TURNED:
        yield from _turn(rule, text, literal)
    for constant in _constants(literal):
        new = _other_constant(constant)
        if new and start <= constant.start < constant.end <= end:
            changed = text[start : constant.start] + new + text[constant.end : end]
            yield mutant(constant.start, constant.end, new, f"{changed} instead of {written}")


def _with_comma(text: str, start: int, end: int) -> tuple[int, int]:
    """(start, end) of a literal together with the comma after it or, if no comma follows, with the comma before it. If
    there is no comma at all, the range is returned unchanged."""
    for _, word, at, until in tokens_of(text[end : end + 200]):
        if word == ",":
            return start, end + until
        if not word.startswith("/"):
            break
        del at
    comma = text.rfind(",", 0, start)
    return (comma, end) if comma >= 0 else (start, end)


def _turn(rule: Rule, text: str, literal: syntax.Comparison) -> Iterator[Mutant]:
    if literal.operator == "=" and not _compares(literal):
        return
    for _, word, at, until in tokens_of(text[literal.start : literal.end]):
        if word == literal.operator:
            new = _TURNED[word]
            place = literal.start + at, literal.start + until
            written = text[literal.start : literal.end]
            what = f"{written[:at]}{new}{written[until:]} instead of {written}"
            yield Mutant(rule.name, rule.file, *place, new, what)
            return


def _compares(literal: syntax.Comparison) -> bool:
    """Whether an equation compares a value with a constant, instead of assigning a value to a variable."""
    return any(isinstance(side, syntax.Constant) for side in literal.children())


def _constants(literal: syntax.Literal) -> list[syntax.Constant]:
    read = literal.atom if isinstance(literal, syntax.Negation) else literal
    terms = [] if isinstance(read, syntax.Aggregate | syntax.Builtin) else read.children()
    return [term for term in terms if isinstance(term, syntax.Constant)]


def _other_constant(constant: syntax.Constant) -> str:
    value = constant.value
    if isinstance(value, bool):
        return "false" if value else "true"
    if isinstance(value, str):
        return syntax.quote(f"{value}?")
    return str(value + 1) if isinstance(value, int) else ""
