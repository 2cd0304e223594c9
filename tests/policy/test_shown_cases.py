"""Every recorded plan of OpenTofu, judged as JSON: the facts are those of our own plan of the same configuration,
except for what JSON cannot say, and the library says the same."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from explain.explaining import options_of
from plan.test_recorded_plans import CASES, META, PLANNED, work_copy
from thinned import thinned

from planner.answers.policy.facts.build import plan_facts
from planner.answers.policy.facts.relations import PolicyFacts, PolicyInputs
from planner.answers.policy.from_json.document import parse
from planner.answers.policy.from_json.facts import shown_facts
from planner.answers.policy.judge import judge
from planner.answers.policy.program import Policies, load_policies
from planner.answers.policy.sources import policy_files
from planner.logic.datalog.language.model import atoms
from planner.operations import policies
from planner.operations.plan import MadePlan
from planner.operations.plan_files import open_or_make_plan

TOLD = frozenset(
    (
        *("change", "action", "undecided", "reason", "replace_path", "moved_from", "deposed", "instance_of", "drifted"),
        *("planned", "configured", "prior", "size_of", "part", "unknown_after", "sensitive_at"),
        *("output", "variable", "plan_mode", "check_result", "resource", "module_call"),
        *("provider_argument", "import_block"),
    )
)
RECORDED = [name for name in PLANNED if (CASES / name / "expected" / "plan.json").exists()]


def made_plan(name: str) -> MadePlan[Any] | None:
    made = open_or_make_plan(options_of(META[name].get("plan_args", [])), None).made
    return made if made is not None and not made.plan.errored else None


def both(name: str, reads: PolicyInputs) -> tuple[PolicyFacts, PolicyFacts] | None:
    """The facts of our own plan and of OpenTofu's."""
    made = made_plan(name)
    if made is None:
        return None
    own = plan_facts(made.plan, made.loaded.config, reads, lambda: policies.plan_graph(made))
    document = parse((CASES / name / "expected" / "plan.json").read_bytes(), "plan.json")
    return own, shown_facts(document, reads)


@pytest.fixture
def case(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = str(request.param)
    monkeypatch.chdir(work_copy(name, tmp_path))
    for variable, value in META[name].get("env", {}).items():
        monkeypatch.setenv(variable, value)
    return name


@pytest.mark.parametrize("case", RECORDED, indirect=True)
def test_the_facts_are_those_of_our_own_plan(case: str) -> None:
    facts = both(case, PolicyInputs(TOLD | {"maybe_open", "maybe"}))
    if facts is None:
        return
    own, shown = facts
    hidden = {row[0] for row in own.relation("change") if row[5] == "data"}
    gone = {row[0] for row in own.relation("action") if row[0] in hidden and row[1] == "delete"}
    for relation in sorted(TOLD - shown.untold):
        expected = {row for row in own.relation(relation) if relation == "resource" or row[0] not in gone}
        found = set(shown.relation(relation))
        if relation == "size_of":  # of a list with unknown elements, which JSON does not tell from a set
            assert found <= expected
            assert {row[:2] for row in expected - found} <= set(shown.relation("maybe_open"))
        else:
            assert found == expected, relation


@cache
def library() -> Policies:
    rules, problems = load_policies(policy_files(["builtin:all"]))
    assert rules is not None, problems
    return rules


@pytest.mark.parametrize("case", thinned(RECORDED, 30), indirect=True)
def test_the_library_says_the_same(case: str) -> None:
    facts = both(case, library().reads)
    if facts is None:
        return
    reports = [judge(library(), one) for one in facts]
    verdicts = [
        {(f.kind, f.code, f.address, "" if f.kind == "undecided" else f.message) for f in report.findings}
        for report in reports
    ]
    untold = {f.code for f in reports[1].findings if "document does not have" in f.message}
    own, shown = ({said for said in verdict if said[1] not in untold} for verdict in verdicts)
    waiting = {said[1:3] for said in shown if said[0] == "undecided"}  # JSON tells less of unknown values
    assert {said for said in own if said[1:3] not in waiting} == {said for said in shown if said[1:3] not in waiting}
    assert {said[:3] for said in shown if said[0] != "undecided"} <= {said[:3] for said in own}
    assert len(untold) < len(reports[1].codes) / 2
    assert all(reads_of(code) & facts[1].untold for code in untold)


def reads_of(code: str) -> set[str]:
    """What the rules of a policy read of a plan."""
    program = library().program
    heads = {
        atom.predicate
        for rule in program.rules
        if rule.head.predicate in ("deny", "warn") and str(rule.head.arguments[0]) == f'"{code}"'
        for atom, _ in atoms(rule.body)
    }
    needed = program.needed(heads)
    return {p.name for p in program.predicates.values() if p.number in needed and p.is_input}


ONLY_IN_LIFECYCLE = (
    "own-forget-references",
    "own-precondition-fails-apply",
    "replace-triggered-by",
    "replace-triggered-by-attr",
)
"""cases in which something refers to an object in its lifecycle block and nowhere else, which JSON does not tell"""


@pytest.mark.parametrize("case", thinned(RECORDED, 3), indirect=True)
def test_what_depends_on_what_is_that_of_our_own_plan_or_may_be(case: str) -> None:
    reads = PolicyInputs(frozenset(("depends", "maybe_through", "maybe_reached", "change")))
    facts = both(case, reads)
    if facts is None:
        return
    shown = facts[1]
    there = {row[0] for row in shown.relation("change")}
    expected, certain = ({row for row in one.relation("depends") if there.issuperset(row)} for one in facts)
    through, reached = shown.relation("maybe_through"), shown.relation("maybe_reached")
    possible = {(about, other) for about, _, group in through for module, other in reached if group == module}
    assert certain <= expected
    assert expected <= certain | possible or case in ONLY_IN_LIFECYCLE
    made = made_plan(case)
    assert made is not None
    document = parse((CASES / case / "expected" / "plan.json").read_bytes(), "plan.json")
    at_hand = shown_facts(document, reads, made.loaded.config)
    assert {row for row in at_hand.relation("depends") if there.issuperset(row)} == expected
    assert set(at_hand.relation("maybe_through")) == set(facts[0].relation("maybe_through"))
