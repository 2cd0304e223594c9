"""Runs files of cases, each case in a separate process with limits of time and memory, and checks that every rule for a
verdict is tested in both ways. A rule whose head is a verdict (`deny`, `warn`) needs two cases in one file: a case that
expects the verdict, and a case that expects no verdict. The first case alone would also pass if the rule denied
everything, and the second case alone if the rule denied nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.records import frozen
from planner.logic.datalog.ask.limit import run_limited
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.checks import at
from planner.logic.datalog.language.model import Rule
from planner.logic.datalog.language.values import Row
from planner.logic.datalog.tools.cases import Case, compare

T = TypeVar("T")
Derive: TypeAlias = Callable[[RuleProgram, Case], Database]

VERDICTS = ("deny", "warn")  # predicates whose rules need two cases: a case with a result, and a case without a result

SECONDS = 30.0  # time limit, in seconds, for rules that do not belong to the product
MAX_ROWS = 20  # maximum number of rows stored for one mismatch


class CaseDifference(NamedTuple):
    """A predicate whose rows differ from the expected rows: its first missing rows, its first unexpected rows, and the
    total numbers of both."""

    predicate: str
    missing: tuple[Row, ...]
    unexpected: tuple[Row, ...]
    missing_count: int
    unexpected_count: int


@frozen
class CaseResult:
    """The result of running a case. `differences`: the predicates with wrong rows. `fired`: the names of the rules that
    derived rows. `problem`: the errors because of which the case could not be completed."""

    case: Case
    differences: tuple[CaseDifference, ...] = ()
    fired: frozenset[str] = frozenset()
    problem: tuple[Diagnostic, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.differences and not self.problem


def bounded(work: Callable[[], T], seconds: float, problem: Callable[[str], Diagnostic]) -> T:
    """The result of `work()`, computed in a separate process. Raises Failure with `problem("time")` or
    `problem("memory")` if a limit is exceeded, and any Failure of `work`."""
    try:
        return run_limited(work, seconds)
    except Failure as failure:
        (first, *_others) = failure.diagnostics
        if first.code in ("query.time", "query.memory"):  # the original message is about queries
            raise Failure(problem(first.code.removeprefix("query."))) from None
        raise


def try_out(program: RuleProgram, facts: FactBase, want: Iterable[str] | None, files: str) -> None:
    """Evaluate rules that do not belong to the product in a separate process, where they can neither block this process
    nor use up its memory. `want`: the predicates to derive (None: all). `files`: the names of the rule files, for
    messages. Raises Failure if the rules exceed a limit."""
    wanted = None if want is None else tuple(want)

    def problem(what: str) -> Diagnostic:
        limit = f"within {SECONDS:g} seconds" if what == "time" else "into memory"
        verb = "are not evaluated" if what == "time" else "do not fit"
        detail = (
            f"The rules in {files} {verb} {limit}. Look for a rule that joins all rows with all rows, or that derives "
            "very many tuples. To see the time of each rule: planner rules stats."
        )
        return error(f"rules.{what}", f"Rules need too much {what}", detail)

    program.functions  # noqa: B018  loaded here, not in the other process, so that it is loaded once
    bounded(lambda: evaluate(program, facts, wanted) and None, SECONDS, problem)


def run(program: RuleProgram, cases: Iterable[Case], seconds: float, derive: Derive | None = None) -> list[CaseResult]:
    """The results of running cases one after the other, each within `seconds`. `derive`: returns the derived rows of a
    case (None: the rows that follow from its facts)."""
    program.functions, program.rules  # noqa: B018  loaded here once, not in each process
    return [_outcome(program, case, seconds, derive or derive_case) for case in cases]


def derive_case(program: RuleProgram, case: Case) -> Database:
    return evaluate(program, case.facts, case.wanted)


def _outcome(program: RuleProgram, case: Case, seconds: float, derive: Derive) -> CaseResult:
    def problem(what: str) -> Diagnostic:
        if what == "time":
            detail = f"Evaluating the rules did not end within {seconds:g} seconds. "
        else:
            detail = "The tuples that the rules derive do not fit into memory. "
        detail += "Look for a rule that joins all rows with all rows, or that derives very many tuples."
        return error(f"rules.{what}", f"The case needs too much {what}", detail, case.span)

    try:
        differences, fired = bounded(partial(_evaluate_case, program, case, derive), seconds, problem)
    except Failure as failure:
        return CaseResult(case, problem=tuple(failure.diagnostics))
    return CaseResult(case, differences, fired)


def _evaluate_case(
    program: RuleProgram, case: Case, derive: Derive
) -> tuple[tuple[CaseDifference, ...], frozenset[str]]:
    try:
        database = derive(program, case)
    except ValueError as problem:  # the case has facts with values that a column cannot contain
        raise Failure(error("rules.case", "Invalid fact", f"{problem}.", case.span)) from None
    differences = [
        CaseDifference(m.predicate, m.missing[:MAX_ROWS], m.unexpected[:MAX_ROWS], len(m.missing), len(m.unexpected))
        for m in compare(case, database)
    ]
    fired = (database.program.rules[number].name for number, rows in database.produced.items() if rows)
    return tuple(differences), frozenset(fired)


def untested(rules: Iterable[Rule], files: Sequence[Sequence[CaseResult]]) -> list[Diagnostic]:
    """An error for each rule for a verdict that does not have both required cases. `files`: the results of the cases of
    each file."""
    return [d for rule in rules if rule.head.predicate in VERDICTS for d in _untested_parts(rule, files)]


def _untested_parts(rule: Rule, files: Sequence[Sequence[CaseResult]]) -> Iterable[Diagnostic]:
    verdict = rule.head.predicate
    denying = [
        outcomes
        for outcomes in files
        if any(o.holds and rule.name in o.fired and o.case.wanted.get(verdict) for o in outcomes)
    ]
    needs = f"A {verdict} rule needs two cases in one file: one with the {verdict} and one without."
    if not denying:
        detail = f"{needs} There is no passing case that expects a {verdict} from {rule.name}."
        yield error("rules.untested", f"No case expects this {verdict}", detail, at(rule, rule.head))
    elif not any(o.holds and o.case.wanted.get(verdict) == set() for outcomes in denying for o in outcomes):
        detail = f"{needs} The case for {rule.name} needs a counterpart: a passing case with `.want none {verdict}.`"
        yield error("rules.untested", f"No case without this {verdict}", detail, at(rule, rule.head))
