"""Evaluates cases (tests of policies) with unknown values. In a case, `unknown_after("a", "tags")` makes a value
unknown, and `.want unsettled("CODE", "a")` expects an undecided verdict. All other relations contain the rows that
certainly hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from planner.answers.policy.facts.contents import beginnings
from planner.answers.policy.facts.relations import PolicyFacts, PolicyInputs
from planner.answers.policy.judge import judge
from planner.answers.policy.program import Policies
from planner.answers.policy.secrets import Curtain
from planner.answers.policy.three_valued import VERDICTS
from planner.foundation.values.value import Unknown
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Span
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.datalog.explain.search import Prover
from planner.logic.datalog.explain.why_not import obstacles
from planner.logic.datalog.language.values import Row
from planner.logic.datalog.tools.cases import Case
from planner.logic.model.plan import ResourceChange
from planner.logic.programs.rule_programs import files_of

UNSETTLED = "unsettled"
"""the relation of undecided verdicts, which exists only in cases"""


Given: TypeAlias = Callable[[Case, PolicyInputs], PolicyFacts | None]
"""converts the files in `.given` of a case to facts"""


def with_unknown(facts: FactBase) -> FactBase:
    """The facts of a case, with added facts about its unknown values."""
    builder = FactBuilder(facts)
    for address, path in facts.sorted("unknown_after"):
        builder.add("maybe_exact", address, path)
        builder.add("maybe_open", address, path)
        for begin in beginnings(path):
            builder.add("maybe", address, path, begin)
    return builder.build()


def with_plan(policies: Policies, case: Case, given: Given, names: Collection[str]) -> Case:
    """The case with the facts of the plan, state or configuration that it names (`.given`). Raises Failure."""
    plan = given(case, evolve(needs(policies, names), given=FactBase({}, {})))
    return evolve(case, facts=_together(case.facts, plan), given=())


def what_holds(policies: Policies, case: Case, given: Given | None = None) -> Database:
    """The certain rows of the relations that a case expects, and its undecided verdicts. `given` converts the `.given`
    files of the case to facts; None: these files are not read. Raises Failure."""
    program = policies.modal_program
    wants_verdicts = bool(case.wanted.keys() & {UNSETTLED, *VERDICTS})
    names = sorted({*case.wanted.keys() - {UNSETTLED}, *(policies.modal.verdicts if wants_verdicts else ())})
    plan = None
    if case.given and given is not None:  # the case already has the facts of packs
        plan = given(case, evolve(needs(policies, names), given=FactBase({}, {})))
    facts = _together(with_unknown(case.facts), plan)
    database = evaluate(program, facts, [name for name in case.wanted if name != UNSETTLED])
    unknown: Mapping[tuple[str, str], Unknown] | None
    unknown = {(str(address), str(path)): Unknown() for address, path in case.facts.relation("unknown_after")}
    if plan is not None:
        unknown = {**plan.unknown, **unknown} if plan.unknown is not None else None
    if not facts.relation("maybe") or not wants_verdicts:
        return database.beside(program, {UNSETTLED: set()}) if UNSETTLED in case.wanted else database
    relations = {name: facts.rows(name) for name in facts.predicates}
    hidden = plan.hidden if plan is not None else {}
    verdict = judge(policies, PolicyFacts(relations, hidden, Nobody(facts), unknown=unknown))
    beside: dict[str, set[Row]] = {UNSETTLED: {(f.code, f.address) for f in verdict.of("undecided")}}
    for name in VERDICTS:
        if name in case.wanted:
            by_cases = {(f.code, f.address, f.message) for f in verdict.findings if f.by_cases and f.kind == name}
            beside[name] = {*database[name], *by_cases}
    holds = database.beside(program, {name: rows for name, rows in beside.items() if name in case.wanted})
    decided = {f.rule for f in verdict.findings if f.by_cases and f.kind in case.wanted}
    # the rules of verdicts that the case analysis decides, instead of the rules for certain results
    fired = {rule.number: 1 for rule in program.rules if rule.name in decided}
    holds.produced = {**holds.produced, **fired}
    return holds


def _together(facts: FactBase, plan: FactBase | None) -> FactBase:
    if plan is None:
        return facts
    builder = FactBuilder(facts)
    for name in plan.predicates:
        builder.extend(name, plan.rows(name), None)
    return builder.build()


@frozen(eq=False)
class Nobody:
    """Implements Owners of planner.answers.policy.facts.relations for the facts of a case. The addresses in a case do
    not belong to a configuration, so objects and declarations are never found."""

    facts: FactBase

    @property
    def changes(self) -> dict[str, ResourceChange]:
        return {}

    def about(self, address: str) -> None:
        return None

    def span(self, address: str, path: str = "") -> Span | None:
        return None

    def given(self, address: str) -> frozenset[str]:
        return frozenset()

    def source(self, predicate: str, row: Row) -> Any | None:
        return self.facts.source(predicate, row)


# The certain rows of single relations for a plan, without secrets


def needs(policies: Policies, names: Collection[str]) -> PolicyInputs:
    """The inputs from a plan on which the relations with these names depend."""
    program, product = policies.modal_program, dict(files_of("policy"))
    needed = program.needed(names)
    given = {p.name for p in program.predicates.values() if p.number in needed and p.is_input}
    return PolicyInputs(
        frozenset(n for n in given if program.predicates[n].span.filename in product), None, policies.given
    )


def visible_rows(policies: Policies, names: Collection[str], facts: PolicyFacts) -> dict[str, list[Row]]:
    """{relation: its certain rows, sorted} for the relations with these names, without secrets."""
    program = policies.modal_program
    database = evaluate(program, facts, names)
    curtain = Curtain(Prover(program, database), facts)
    return {name: [curtain.row(name, row) for row in sorted(database[name], key=str)] for name in names}


class Relation:
    """One relation, with proofs of its rows by the rules as written."""

    def __init__(self, policies: Policies, name: str, facts: PolicyFacts) -> None:
        self.name = name
        self.certain = evaluate(policies.modal_program, facts, [name])[name]
        self.prover = Prover(policies.program, evaluate(policies.program, facts, [name]))
        self.curtain = Curtain(self.prover, facts)

    def is_unsure(self, row: Row) -> bool:
        """Whether a row holds only if unknown values are treated as missing."""
        return row not in self.certain and row in self.prover.database[self.name]

    def proof(self, row: Row) -> dict[str, Any] | None:
        """The proof, without sensitive values, that a row certainly holds; None if it does not certainly hold."""
        proof = self.prover.why(self.name, row) if row in self.certain else None
        return self.curtain.proof(proof) if proof is not None else None

    def obstacles(self, row: Row) -> list[dict[str, Any]]:
        """For each rule, the conditions because of which it does not derive a row. They contain no values if the plan
        has sensitive values."""
        return self.curtain.obstacles(obstacles(self.prover, self.name, row))
