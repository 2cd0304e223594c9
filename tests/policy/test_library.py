"""Every policy of the library: its cases, as written and in three values, and for every rule a case that needs it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from attrs import evolve
from thinned import thinned

from planner.answers.policy.library import library
from planner.answers.policy.program import Policies, load_policies
from planner.answers.policy.sources import policy_files
from planner.answers.policy.three_valued import VERDICTS
from planner.foundation.support.assets import rules_path
from planner.foundation.vocabulary.diagnostic import Failure
from planner.logic.datalog.tools.cases import Case, load_cases, run_case
from planner.logic.programs.rule_programs import files_of
from planner.operations.rule_tests import run_tests

FOLDER = rules_path() / "packs"
PATHS = {entry.name: FOLDER / entry.info.pack.removeprefix("planner.") for entry in library()}
NAMES = sorted(PATHS)


PACKS = sorted(path.parent for path in FOLDER.glob("*/pack.toml"))
HELPERS = {path.stem: path.parent for path in FOLDER.glob("*/*.dl") if path.stem not in PATHS}
"""the files that policies of a pack share"""
WHERE = PATHS | HELPERS


@cache
def loaded(name: str) -> Policies:
    """A policy, or all those of a pack."""
    policies, problems = load_policies(policy_files([f"builtin:{name}"]))
    assert policies is not None and problems == []
    return policies


def policies_of(name: str) -> Policies:
    return loaded(name if name in PATHS else HELPERS[name].name)


def cases_of(name: str, policies: Policies) -> list[Case]:
    """The cases of a file in which everything is known: those that hold for the rules as they are written."""
    path = WHERE[name] / f"{name}.case"
    space = next(iter(policies.packs.packs))
    cases, problems = load_cases(policies.program, path.name, path.read_text(encoding="utf-8"), space)
    assert problems == []
    known = [case for case in cases if "unsettled" not in case.wanted]
    return [evolve(case, facts=policies.packs.with_defaults(case.facts, policies.program)) for case in known]


def test_there_is_a_library() -> None:
    assert len(NAMES) >= 15
    assert [entry.name for entry in library()] == NAMES
    assert all(entry.summary and entry.doc for entry in library())


@pytest.mark.parametrize("pack", thinned(PACKS, 16), ids=lambda path: path.name)
def test_cases(pack: Path) -> None:
    tested = run_tests([str(pack)])
    assert [d for d in tested.diagnostics if d.is_error] == []
    assert len(tested.outcomes) == len(list(pack.glob("*.dl")))
    failed = [
        (path, o.case.name, o.differences, o.problem) for path, f in tested.outcomes.items() for o in f if not o.holds
    ]
    assert failed == []


@pytest.mark.parametrize("name", NAMES)
def test_there_are_cases_for_and_against(name: str) -> None:
    policies = loaded(PATHS[name].name)
    wanted = [{p: rows for p, rows in case.wanted.items() if p in VERDICTS} for case in cases_of(name, policies)]
    assert any(rows for case in wanted for rows in case.values())
    codes = {row[0] for case in wanted for rows in case.values() for row in rows}
    assert codes == {name}
    constants = {rule.head.arguments[0].value for rule in policies.program.rules if is_verdict(rule, name)}
    assert constants == {name}


def is_verdict(rule, name: str) -> bool:
    """Whether a rule of a file is one for a verdict."""
    return rule.head.predicate in VERDICTS and Path(rule.file).stem == name


@pytest.mark.parametrize("name", thinned(sorted(WHERE), 6))
def test_every_rule_has_a_case_that_fails_without_it(name: str) -> None:
    program = policies_of(name).program
    cases = cases_of(name, policies_of(name))
    functions: dict[int, list[str]] = {}
    for step in program.compiled.steps:
        for function in step.functions:
            functions.setdefault(function.rule, []).append(f"f{function.number}")
    unneeded = []
    for rule in program.rules:
        if rule.is_core or Path(rule.file).stem != name:
            continue
        kept = {f: program.functions[f] for f in functions[rule.number]}
        program.functions.update(dict.fromkeys(kept, lambda *_: set()))
        try:
            if not any(run_case(program, case) for case in cases):
                unneeded.append(rule.name)
        finally:
            program.functions.update(kept)
    assert unneeded == []


def test_every_verdict_says_why() -> None:
    for name in NAMES:
        for rule in loaded(PATHS[name].name).program.rules:
            if is_verdict(rule, name):
                assert rule.reason != "the plan must not be applied", rule.name


@pytest.mark.slow
def test_all_of_them_go_together() -> None:
    policies, problems = load_policies(policy_files(["builtin:all"]))
    assert policies is not None and problems == []


def test_the_steps_of_actions_are_those_of_the_plan() -> None:
    from planner.logic.datalog.engine.evaluate import evaluate
    from planner.logic.datalog.engine.fact_base import FactBase
    from planner.logic.programs.actions import actions, does, words

    rows = [(action, action) for action in actions()]
    database = evaluate(policies_of("frozen").program, FactBase.build({"action": rows}), ["acts"])
    for action in actions():
        acts = words(action)
        found = {act for address, act in database["acts"] if address == action}
        assert found == set(acts) - {"no-op"} | ({"replace"} if does(action, "replaces") else set())


def test_every_policy_file_of_the_core_is_read() -> None:
    assert {name for name, _ in files_of("policy")} >= {
        f"policy/{p.name}" for p in (rules_path() / "policy").glob("*.dl")
    }


def test_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.dl").write_text("// b")
    (tmp_path / "deep" / "a.dl").write_text("// a")
    (tmp_path / "c.case").write_text("// c")
    assert [text for _, text in policy_files([str(tmp_path), str(tmp_path / "b.dl")])] == ["// b", "// a"]
    for word, code in (("builtin:frozzen", "policy.unknown"), (str(tmp_path / "no.dl"), "policy.unreadable")):
        with pytest.raises(Failure) as caught:
            policy_files([word])
        assert [d.code for d in caught.value.diagnostics] == [code]
    with pytest.raises(Failure, match="No policies"):
        policy_files(
            [
                str(tmp_path / "deep" / "..") + "/deep/../empty"
                if (tmp_path / "empty").mkdir()
                else str(tmp_path / "empty")
            ]
        )


def test_folders_that_links_lead_to_are_read(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "a.dl").write_text("")
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "shared").symlink_to(tmp_path / "shared")
    (tmp_path / "policies" / "circle").symlink_to(tmp_path / "policies")
    assert [name for name, _ in policy_files([str(tmp_path / "policies")])] == [
        str(tmp_path / "policies" / "shared" / "a.dl")
    ]


def test_a_folder_called_like_a_rule_file_is_no_policy(tmp_path: Path) -> None:
    (tmp_path / "a.dl").mkdir()
    with pytest.raises(Failure) as caught:
        policy_files([str(tmp_path)])
    assert [d.code for d in caught.value.diagnostics] == ["policy.unreadable"]
