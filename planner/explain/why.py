"""Why does the plan say what it says: proofs of actions and of what is not known yet, from the rules of rules/plan.

`Explainer` has a plan with the values that go with it, and answers with proofs in the documented format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.config.model import Config
from planner.config.variables import RootVariable
from planner.datalog.engine.evaluate import evaluate
from planner.datalog.explain.proof import proof_json
from planner.datalog.explain.search import Prover
from planner.datalog.explain.why_not_deep import obstacles, obstacles_text
from planner.evaluation.context import EvaluationContext
from planner.explain.places import Place, Places
from planner.explain.trace import Trace, label
from planner.model.plan import Plan, ResourceChange
from planner.model.sources import source_json
from planner.programs.actions import actions, does
from planner.programs.rule_programs import cause_program
from planner.values.short_text import short_text
from planner.values.value import Value, is_wholly_known
from planner.vocabulary.diagnostic import Failure, error
from planner.vocabulary.nearest import did_you_mean


def verb_of(action: str) -> str:
    """What people call an action: replace, or by its own name."""
    return "replace" if does(action, "replaces") else action


def verbs() -> dict[str, tuple[str, ...]]:
    """What people call actions -> the actions."""
    named: dict[str, tuple[str, ...]] = {}
    for action in actions():
        named[verb_of(action)] = (*named.get(verb_of(action), ()), action)
    return named


class Explainer:
    """Proofs about one plan. `context` holds the planned values (planner.evaluation.planned_values)."""

    def __init__(
        self, plan: Plan, config: Config, context: EvaluationContext, variables: Mapping[str, RootVariable]
    ) -> None:
        self.plan, self.config, self.variables = plan, config, variables
        self.places = Places(context)

    def trace(self) -> Trace:
        """A gatherer of facts for one question."""
        return Trace(self.plan, self.config, self.places, self.variables)

    # ---------------------------------------------------------------- actions

    def action(self, address: str, verb: str = "") -> dict[str, Any]:
        """The proof of a change's action, followed to what set it off. With `verb` (a key of `verbs`) it must be one of
        those actions. Raises Failure, with what keeps every rule from deriving it."""
        change = self.find(address)
        name = label(change)
        trace = self.trace()
        trace.change(change)
        base = trace.build()
        database = evaluate(cause_program(), base)
        prover = Prover(cause_program(), database)
        if verb and verb_of(change.action) != verb:
            word = verb_of(change.action)
            detail = f"The plan is to {word} {name}: ask why {word}." if word != "no-op" else f"{name} does not change."
            text = obstacles_text(self._not_planned(prover, name, verb), ["action", name, verb])
            raise Failure(error("why.other_action", f"No {verb} is planned for {name}", f"{detail}\n{text}"))
        proof = prover.why("explained", (name, change.action))
        if proof is None:
            detail = f"The plan does not say what the action of {name} was decided from."
            raise Failure(error("why.no_facts", "Nothing to explain", detail))
        return proof_json(proof, base, source_json)

    def not_action(self, address: str, verb: str) -> dict[str, Any]:
        """Why the change is none of the actions of a verb. Raises Failure if it is one."""
        change = self.find(address)
        name = label(change)
        if verb_of(change.action) == verb:
            raise Failure(error("why.holds", "It does hold", f"The plan is to {verb} {name}; ask why without -not."))
        trace = self.trace()
        trace.change(change)
        prover = Prover(cause_program(), evaluate(cause_program(), trace.build()))
        found = self._not_planned(prover, name, verb)
        return {"format_version": "1.0", "goal": ["action", name, verbs()[verb][0]], "holds": False, "rules": found}

    def _not_planned(self, prover: Prover, name: str, verb: str) -> list[dict[str, Any]]:
        found = []
        for action in verbs()[verb]:
            fitting = obstacles(prover, "action", (name, action))
            found += [o for o in fitting if o["head_fits"]]
        return found

    def find(self, address: str) -> ResourceChange:
        """The change that somebody means. Raises Failure."""
        known = {label(change): change for change in self.plan.changes}
        change = known.get(address)
        if change is None:
            detail = f'The plan has no change for "{address}".{did_you_mean(address, known)}'
            raise Failure(error("why.no_change", "Nothing to explain", detail))
        return change

    # ---------------------------------------------------------------- unknown values

    def unknown(self, text: str) -> dict[str, Any]:
        """The proof that a value is not known yet. Raises Failure when it is known, or there is no such value."""
        trace = self.trace()
        found = self._values(trace, text)
        open_ones = [str(at) for at, value in found if not is_wholly_known(value)]
        if not open_ones:
            values = [short_text(value, self.places.is_sensitive(at)) for at, value in found]
            raise Failure(error("why.known", "Nothing to explain", f"{text} is known: {', '.join(values)}."))
        base = trace.build()
        proof = Prover(cause_program(), evaluate(cause_program(), base)).why("unknown", (open_ones[0],))
        assert proof is not None, open_ones
        return proof_json(proof, base, source_json)

    def not_unknown(self, text: str) -> dict[str, Any]:
        """Why a value is known: what keeps every rule from deriving that it is not. Raises Failure when it is not
        known, or there is no such value."""
        trace = self.trace()
        found = self._values(trace, text)
        if not all(is_wholly_known(value) for _, value in found):
            raise Failure(error("why.holds", "It does hold", f"{text} is not known yet; ask why without -not."))
        prover = Prover(cause_program(), evaluate(cause_program(), trace.build()))
        goal = ["unknown", str(found[0][0])]
        rules = obstacles(prover, "unknown", (goal[1],))
        return {"format_version": "1.0", "goal": goal, "holds": False, "rules": rules}

    def _values(self, trace: Trace, text: str) -> list[tuple[Place, Value]]:
        """The places that somebody names, with their values; the trace knows of them then. Raises Failure."""
        place = self.places.read(text)
        found = trace.value(place) if place is not None else []
        if not found:
            detail = (
                f'There is no planned value "{text}". Name an attribute of an instance (terraform_data.web[0].id), '
                "output.NAME, local.NAME, var.NAME, or one of these in a module (module.net.id, module.net.local.x)."
            )
            raise Failure(error("why.no_value", "Nothing to explain", detail))
        return found
