"""Why does the plan say what it says about an object: the proof of its action from the facts of the decision."""

from __future__ import annotations

from typing import Any

from planner.config.model import Config
from planner.datalog.evaluate import evaluate
from planner.datalog.explain import Prover
from planner.datalog.fact_base import FactBuilder
from planner.datalog.proof import proof_json
from planner.facts.from_changes import declaration
from planner.facts.from_state import StateEntry
from planner.facts.sources import source_json
from planner.plan.model import Plan
from planner.plan.rule_programs import decision_program
from planner.vocabulary.diagnostic import Failure, error
from planner.vocabulary.nearest import did_you_mean


def prove_action(plan: Plan, config: Config | None, address: str) -> dict[str, Any]:
    """The proof that the change of an object has its action. Its leaves are the facts that the plan kept; they come
    from the resource block where there is one, else from the state. Raises Failure."""
    change = next((c for c in plan.changes if c.address == address and not c.deposed), None)
    if change is None:
        known = [c.address for c in plan.changes]
        detail = f'The plan has no change for "{address}".{did_you_mean(address, known)}'
        raise Failure(error("why.no_change", "Nothing to explain", detail))
    facts = FactBuilder()
    source = (declaration(config, change) if config else None) or StateEntry(address)
    for predicate, *columns in change.facts:
        facts.add(predicate, *columns, source=source)
    base = facts.build()
    database = evaluate(decision_program(), base)
    proof = Prover(decision_program(), database).why("action", (address, change.action))
    if proof is None:
        detail = f"The plan does not say what the action of {address} was decided from."
        raise Failure(error("why.no_facts", "Nothing to explain", detail))
    return proof_json(proof, base, source_json)
