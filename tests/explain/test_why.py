"""Every action and every unknown value of every recorded case has a proof that an independent checker accepts, down to
places in files, state entries or the command line."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from datalog.naive_model import Model
from datalog.proof_checker import check
from explain.explaining import explain_recorded
from plan.test_recorded_plans import PLANNED
from thinned import thinned

from planner.answers.explain.places import ValueLocation, open_parts
from planner.answers.explain.why import Explainer
from planner.foundation.values.value import Unknown, unmark
from planner.foundation.vocabulary.address import format_resource, parse_module
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.explain.proof import proof_json
from planner.logic.datalog.explain.search import Prover
from planner.logic.model.graph import source_json
from planner.logic.model.plan import change_name
from planner.logic.programs.rule_programs import product_program


@cache
def rules() -> list[dict[str, str]]:
    return [{"name": rule.name, "text": rule.text} for rule in product_program("causes").rules]


@pytest.mark.parametrize("name", thinned(PLANNED, 8))
def test_every_action_and_unknown_value_has_a_proof(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explained = explain_recorded(name, tmp_path, monkeypatch)
    if explained is None:
        return
    everything = explained.trace()
    places = unknown_places(explained)
    for change in explained.plan.changes:
        everything.change(change)
    for place in places:
        everything.value(place)
    database = evaluate(product_program("causes"), everything.build())
    model = Model.of(product_program("causes"), database)
    assert model.differences(product_program("causes"), database) == []
    for change in explained.plan.changes:
        accept(explained.action(change_name(change)), ["explained", change_name(change), change.action], model.holds)
    for place in places:
        accept(explained.unknown(str(place)), ["unknown", str(place)], model.holds)
    prover = Prover(product_program("causes"), database)
    for predicate, row in [(name, row) for name in ("because", "leaf") for row in sorted(database[name])]:
        proof = prover.why(predicate, row)
        assert proof is not None, row
        check(rules(), proof_json(proof, database.facts, source_json), model.holds)


def accept(document: dict[str, Any], goal: list[str], holds: Any) -> None:
    assert document["goal"] == goal
    check(rules(), document, holds)
    for step in document["proofs"].values():
        if step.get("input"):
            source = step["source"]
            # a line with a secret has no snippet
            assert {"file", "line"} <= set(source) or set(source) <= {"state", "command_line"}, step


def unknown_places(explained: Explainer) -> list[ValueLocation]:
    """What `after_unknown` of the plan's JSON says is not known: of planned objects, and of root outputs."""
    context = explained.places.context
    found = []
    for change in explained.plan.changes:
        module = context.module(parse_module(change.module))
        if module is None or change.deposed:
            continue
        key = format_resource("", change.mode, change.type, change.name)
        found += [ValueLocation(module, "resource", key, change.key, path) for path in open_parts(change.after)]
    for output in explained.plan.outputs:
        if unmark(output.after)[0].__class__ is Unknown:
            found.append(ValueLocation(context.root, "output", output.name))
    return found
