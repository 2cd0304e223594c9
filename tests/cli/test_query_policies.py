"""One space of relations: what policies read and derive, asked by `query` and `why` beside the relations of graphs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import make_terminal
from planner.cli import main

SECRET = "hunter2-is-not-to-be-seen"
MAIN = f"""
variable "password" {{
  default   = "{SECRET}"
  sensitive = true
}}
resource "terraform_data" "db" {{
  input = {{ size = 10, password = var.password }}
}}
resource "terraform_data" "web" {{
  input            = {{ size = 20, db = terraform_data.db.id }}
  triggers_replace = [terraform_data.db.id]
}}
"""
POLICIES = """
/// large(addr): the object is large. Example: large("terraform_data.web")
.decl large(addr: instance)
large(A) :- planned(A, "input.size", N), is_number(N), N > 15.

/// tells(addr, text): what is told of it. Example: tells("terraform_data.web", "x")
.decl tells(addr: instance, text: text)
tells(A, T) :- planned(A, "input.password", P), T = "it is " ++ P.

/// ours(addr): has a database that begins so. Example: ours("terraform_data.web")
.decl ours(addr: instance)
ours(A) :- change(A, _, _, _, _, _), not planned(A, "input.db", _).

deny("size", A, "is too large") :- large(A), acts(A, "create").
deny("told", A, T) :- tells(A, T).
deny("ours", A, "is not ours") :- change(A, _, _, _, _, _), not ours(A).
"""


def run(*words: str) -> tuple[int, str, str]:
    screen: Any = make_terminal()
    code = main.dispatch(list(words), screen)
    return code, screen.stdout.getvalue(), screen.stderr.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration of two objects, policies beside it, and a saved plan that was judged by them."""
    path = tmp_path_factory.mktemp("space")
    (path / "main.tf").write_text(MAIN)
    (path / "own").mkdir()
    (path / "own" / "house.dl").write_text(POLICIES)
    (path / "small").mkdir()
    (path / "small" / "house.dl").write_text('warn("any", A, "is there") :- change(A, _, _, _, _, _).\n')
    before = os.getcwd()
    os.chdir(path)
    try:
        code, _, problems = run("plan", "-out=saved.plan", "-policy=small")
        assert code == 0, problems
    finally:
        os.chdir(before)
    return path


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def rows(*words: str) -> list[list[Any]]:
    code, out, problems = run("query", "-json", *words)
    assert code == 0, problems
    found: list[list[Any]] = json.loads(out)["rows"]
    return found


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ('planned(A, "input.size", N)', [["terraform_data.db", 10], ["terraform_data.web", 20]]),
        ("large(A)", [["terraform_data.web"]]),
        ('deny("size", A, M)', [["terraform_data.web", "is too large"]]),
        ('policy.deny("size", A, M)', [["terraform_data.web", "is too large"]]),
        ('policy.large(A), action(A, Act)', [["terraform_data.web", "create"]]),
        # what waits for a value that is not known does not certainly hold
        ("ours(A)", [["terraform_data.db"]]),
        # relations that both have come from the plan
        ('large(A), action(A, "create")', [["terraform_data.web"]]),
        ('planned(A, "input.size", 10), action(A, Act), reason(A, R)', []),
        # the graph of planning, as policies see it
        ("large(A), vertex(N, _, _, A), edge(N, M), vertex(M, _, _, O), acts(O, X)",
         [["terraform_data.web", "terraform_data.web (expand)", "terraform_data.db (expand)", "terraform_data.db",
           "create"]]),
        # that of applying, where a question is about it
        ('large(A), operation(N, "create"), instance_node(N, A)', [["terraform_data.web", "terraform_data.web"]]),
        ("N = count : { large(_) }", [[1]]),
        ('change(A, _, _, _, _, _), not large(A)', [["terraform_data.db"]]),
    ],
)  # fmt: skip
def test_questions(question: str, answer: list[list[Any]]) -> None:
    assert rows(question, "-policy=own") == answer


def test_secrets_are_not_shown() -> None:
    assert rows("tells(A, T)", "-policy=own") == [["terraform_data.db", "it is (sensitive value)"]]
    assert rows('planned(A, "input.password", V)') == [["terraform_data.db", "(sensitive value)"]]
    assert SECRET not in str(rows("planned(A, P, V)"))


def test_the_policies_of_a_saved_plan_are_asked_too() -> None:
    found = rows("warn(C, A, M)", "-plan=saved.plan")
    assert found == [["any", "terraform_data.db", "is there"], ["any", "terraform_data.web", "is there"]]
    assert rows("large(A)", "-plan=saved.plan", "-policy=own") == [["terraform_data.web"]]


def test_verdicts_without_policies_are_no_pass() -> None:
    code, _, problems = run("query", "deny(C, A, M)")
    assert code == 0 and "No policies are named" in problems


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ('large("terraform_data.web")', "main.tf:10"),
        ('policy.large("terraform_data.web")', "main.tf:10"),
        ('planned("terraform_data.db", "input.size", 10)', "main.tf:7"),
        ('deny("size", "terraform_data.web", "is too large")', "own/house.dl:4"),
    ],
)
def test_why(fact: str, said: str) -> None:
    code, out, problems = run("why", "-full", "-policy=own", fact)
    assert code == 0, problems
    assert said in out


def test_why_not_and_what_is_unsure() -> None:
    code, out, _ = run("why", "-not", "-policy=own", 'large("terraform_data.db")')
    assert code == 0 and "would need N > 15" in out  # no values where some are sensitive
    code, _, problems = run("why", "-policy=own", 'large("terraform_data.db")')
    assert code == 1 and "would need N > 15" in problems
    fact = 'deny("ours", "terraform_data.web", "is not ours")'
    code, _, problems = run("why", "-policy=own", fact)
    assert code == 1 and "terraform_data.web" in problems
    code, out, problems = run("why", "-policy=own", 'tells("terraform_data.db", "it is x")')
    assert code == 1 and SECRET not in out + problems


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("plannd(A, P, V)", "Did you mean planned? Policies have planned(addr: address, path: text, value: any)."),
        ("policy.plannd(A, P, V)", "Policies have no relation plannd. Did you mean planned? It is planned("),
        ("planned(A, P)", "path: text, value: any) has 3 columns, but is used with 2 arguments."),
    ],
)
def test_mistakes_name_the_relation_and_its_columns(question: str, said: str) -> None:
    code, _, problems = run("query", question)
    assert code == 1 and said in " ".join(problems.split())


@pytest.mark.parametrize("question", ["mine(A)", "policy.mine(A)"])
def test_relations_of_packs_are_found_by_their_last_name(
    question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = tmp_path / ".planner" / "policies" / "p"
    pack.mkdir(parents=True)
    (tmp_path / "main.tf").write_text("")
    (pack / "pack.toml").write_text('name = "acme.p"\n')
    rules = '/// mine(a): it is so. Example: mine("a")\n.decl mine(a: instance)\nmine(A) :- action(A, "delete").\n'
    (pack / "r.dl").write_text(f'{rules}deny("x", A, "m") :- mine(A).\n')
    monkeypatch.chdir(tmp_path)
    code, _, problems = run("query", question)
    wanted = "Policies have no relation mine. Did you mean acme.p.mine? It is acme.p.mine(a: instance)."
    assert code == 1 and wanted in " ".join(problems.split())


def test_policies_in_the_place_of_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.tf").write_text(MAIN)
    (tmp_path / ".planner" / "rules").mkdir(parents=True)
    (tmp_path / ".planner" / "rules" / "house.dl").write_text('deny("x", A, "no") :- change(A, _, _, _, _, _).\n')
    monkeypatch.chdir(tmp_path)
    code, _, problems = run("plan")
    told = " ".join(problems.split())
    assert code == 1 and "deny is a relation of policies, not of graphs: put rules about it into .planner/pol" in told


def test_relations_and_parameters_of_packs() -> None:
    assert rows("planner.tags.required_tag(T)", "-policy=builtin:tags") == [["Owner"]]
    code, _, problems = run("query", "policy.planner.tags.taggabl(T)", "-policy=builtin:tags")
    assert code == 1 and "Did you mean planner.tags.taggable?" in " ".join(problems.split())
