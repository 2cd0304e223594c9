"""Verdicts about every recorded case: what the policies derive is what an independent evaluation derives, and the proof
of every finding, undecided ones included, is accepted."""

from __future__ import annotations

from pathlib import Path

import pytest
from datalog.naive_model import Model
from datalog.proof_checker import check
from explain.explaining import options_of
from plan.test_recorded_plans import META, PLANNED, work_copy
from policy.test_facts import POLICIES, loaded
from thinned import thinned

from planner.answers.policy.facts.build import plan_facts
from planner.answers.policy.judge import judge
from planner.logic.datalog.engine.evaluate import evaluate
from planner.operations import policies
from planner.operations.plan_files import open_or_make_plan

MORE = """
@reason("{N} are lost")
deny("lost", "", "lost " ++ N) :- N = count : { acts(_, "delete") }, N > 0.
@reason("{A} reaches {N}")
warn("reach", A, "reaches " ++ N) :- N = max X : { blast_size(_, X) }, blast_size(A, N).
@reason("{A} is empty")
deny("empty", A, "is empty") :- acts(A, "create"), not planned(A, "input", _).
"""


@pytest.mark.parametrize("name", thinned(PLANNED, 3))
def test_every_finding_has_a_proof(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(work_copy(name, tmp_path))
    for variable, value in META[name].get("env", {}).items():
        monkeypatch.setenv(variable, value)
    given = options_of(META[name].get("plan_args", []))
    made = open_or_make_plan(given, None).made
    if made is None or made.plan.errored:
        return
    rules = loaded(POLICIES + MORE)
    facts = plan_facts(made.plan, made.loaded.config, rules.reads, lambda: policies.plan_graph(made))
    program = rules.modal_program
    database = evaluate(program, facts)
    model = Model.of(program, database)
    assert model.differences(program, database) == []
    texts = [{"name": rule.name, "text": rule.text} for rule in program.rules]
    for finding in judge(rules, facts).findings:
        if "(sensitive value)" not in str(finding.proof):
            check(texts, finding.proof, model.holds)
