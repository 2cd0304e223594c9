"""The relations of policies one by one: their certain rows over a plan, as they may be shown."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from planner.answers.policy.facts.relations import PolicyFacts, PolicyInputs
from planner.answers.policy.program import Policies
from planner.answers.policy.secrets import Curtain
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.explain.search import Prover
from planner.logic.datalog.explain.why_not import obstacles
from planner.logic.datalog.language.values import Row
from planner.logic.programs.rule_programs import files_of


def needs(policies: Policies, names: Collection[str]) -> PolicyInputs:
    """The inputs of a plan that these relations need."""
    program, product = policies.modal_program, dict(files_of("policy"))
    needed = program.needed(names)
    given = {p.name for p in program.predicates.values() if p.number in needed and p.is_input}
    return PolicyInputs(
        frozenset(n for n in given if program.predicates[n].span.filename in product), None, policies.given
    )


def visible_rows(policies: Policies, names: Collection[str], facts: PolicyFacts) -> dict[str, list[Row]]:
    """The rows of these relations, as they may be shown."""
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
        """Whether a row holds only as long as values that are not known yet count as absent."""
        return row not in self.certain and row in self.prover.database[self.name]

    def proof(self, row: Row) -> dict[str, Any] | None:
        """Why a row certainly holds, in the documented format, without sensitive values; None if it does not."""
        proof = self.prover.why(self.name, row) if row in self.certain else None
        return self.curtain.proof(proof) if proof is not None else None

    def obstacles(self, row: Row) -> list[dict[str, Any]]:
        """The reasons why each rule does not derive a row: without values where the plan has sensitive ones."""
        return self.curtain.obstacles(obstacles(self.prover, self.name, row))
