"""`query` as people use it: on a directory, a saved plan and a state; verbs, formats, mistakes and limits."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import make_terminal
from planner.cli import main

SECRET = "hunter2-is-not-to-be-seen"
MAIN = """
variable "prefix" {
  default = "p"
}
variable "password" {
  default   = "%s"
  sensitive = true
}
locals {
  label = "${var.prefix}-label"
}
resource "terraform_data" "a" {
  input = [local.label, var.password]
}
resource "terraform_data" "b" {
  count            = 2
  input            = terraform_data.a.id
  triggers_replace = [terraform_data.a.output]
}
module "net" {
  source = "./net"
  id     = terraform_data.b[0].id
}
output "net" {
  value = module.net.id
}
output "password" {
  value     = var.password
  sensitive = true
}
""".replace("%s", SECRET)
NET = """
variable "id" {}
resource "terraform_data" "vpc" {
  input = var.id
}
resource "terraform_data" "subnet" {
  for_each = toset(["x", "y"])
  input    = "${each.key}-${terraform_data.vpc.id}"
}
output "id" {
  value = terraform_data.vpc.id
}
"""


def run(*words: str) -> tuple[int, str, str]:
    screen: Any = make_terminal()
    code = main.dispatch(list(words), screen)
    return code, screen.stdout.getvalue(), screen.stderr.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An applied configuration, then changed: a is to be updated, b replaced, module.net destroyed; with a plan of
    that, and the state of another module alone."""
    path = tmp_path_factory.mktemp("query")
    (path / "net").mkdir()
    (path / "net" / "main.tf").write_text(NET)
    (path / "main.tf").write_text(MAIN)
    before = os.getcwd()
    os.chdir(path)
    try:
        for words in (("get",), ("apply", "-auto-approve")):
            code, _, problems = run(*words)
            assert code == 0, problems
        state = (path / "terraform.tfstate").read_text()
        (path / "alone").mkdir()
        (path / "alone" / "terraform.tfstate").write_text(state)
        text = MAIN.replace('"p"', '"q"')
        start = text.index('module "net"')
        (path / "main.tf").write_text(text[:start] + text[text.index('output "password"') :])
        code, _, problems = run("plan", "-out=saved.plan")
        assert code == 0, problems
        (path / "full").mkdir()
        (path / "full" / "net").mkdir()
        (path / "full" / "main.tf").write_text(MAIN)
        (path / "full" / "net" / "main.tf").write_text(NET)
        os.chdir(path / "full")
        assert run("get")[0] == 0
    finally:
        os.chdir(before)
    return path


Ask = Callable[..., Any]


@pytest.fixture
def ask(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """The rows of an answer, in the folder of that name."""

    def asked(*words: str, where: str = ".") -> Any:
        monkeypatch.chdir(folder / where)
        code, out, problems = run("query", "-json", *words)
        assert code == 0, problems
        found = json.loads(out)
        assert list(found) == ["format_version", "columns", "rows"]
        assert found["format_version"] == "1.0"
        assert all(len(row) == len(found["columns"]) for row in found["rows"])
        return [row[0] if len(row) == 1 else tuple(row) for row in found["rows"]]

    return asked


@pytest.fixture
def say(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    def said(*words: str, where: str = "full") -> tuple[int, str, str]:
        monkeypatch.chdir(folder / where)
        return run("query", *words)

    return said


A, B = "terraform_data.a (expand)", "terraform_data.b (expand)"
VPC = "module.net.terraform_data.vpc (expand)"
PROVIDER = 'provider["terraform.io/builtin/terraform"]'


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('edge(X, "terraform_data.a"), not starts_with(X, "provider")', [B]),
        ('edge(X, "terraform_data.a (expand)"), ends_with(X, "(expand)")', [B]),
        ('edge(X, Y), Y = "terraform_data.a", X != "terraform_data.b"', [(f"{PROVIDER} (close)", A)]),
        ('edge("terraform_data.a", X), not edge(X, _)', [PROVIDER, "var.password"]),
        ('N = count : { edge(_, "terraform_data.a") }', [2]),
        ('edge("terraform_data.a", _)', [()]),
        ("edge(X, X)", []),
        ('vertex(N, "resource", M, _), N = count : { vertex(_, _, M, _) }', []),
        ('resource(R, "module.net", Mode, _), contains(R, "sub")', [("module.net.terraform_data.subnet", "managed")]),
        (f'waits_for("{VPC}", "var.prefix")', [()]),
        ('waits_for("var.prefix", X)', []),
        ('waits_for(X, "terraform_data.b"), matches(X, "net[.]output")', ["module.net.output.id (expand)"]),
        (
            'waits_for(X, Y), vertex(X, "root", _, _), vertex(Y, "root_variable", _, _)',
            [("root", "var.password"), ("root", "var.prefix")],
        ),
        ('reference("terraform_data.b", "terraform_data.a", P)', ["input", "triggers_replace"]),
    ],
)  # fmt: skip
def test_questions_about_a_configuration(ask: Ask, text: str, rows: list[Any]) -> None:
    found = ask(text, where="full")
    assert [tuple(row) if isinstance(row, list) else row for row in found] == rows


def test_a_question_about_configuration_state_and_plan(ask: Ask) -> None:
    text = 'action(I, "delete-then-create"), state_depends_on(I, R), reference("terraform_data.b", _, P), in_state(I)'
    replaced = [
        (f"terraform_data.b[{n}]", "terraform_data.a", p) for n in (0, 1) for p in ("input", "triggers_replace")
    ]
    assert ask(text) == replaced
    assert ask(text, "-plan=saved.plan") == replaced
    deleted = ask(
        'operation(X, "delete"), edge(X, Y), operation(Y, "delete"), starts_with(X, "module.net")', "-plan=saved.plan"
    )
    subnets = [f'module.net.terraform_data.subnet["{key}"] (destroy)' for key in "xy"]
    assert deleted == [("module.net.terraform_data.vpc (destroy)", subnet) for subnet in subnets]
    assert ask('edge("module.net.terraform_data.vpc", X), operation(X, "delete")', "-plan=saved.plan") == subnets


def test_the_kind_of_graph(ask: Ask) -> None:
    assert ask("walk(X)") == ["plan"]
    assert ask("walk(X)", "-type=plan-destroy") == ["plan-destroy"]
    assert ask("walk(X)", "-destroy") == ["plan-destroy"]
    assert ask("walk(X)", "-type=apply") == ["apply"]
    assert ask("walk(X)", "-plan=saved.plan") == ["apply"]
    assert ask("walk(X)", "-plan=saved.plan", "-type=plan") == ["plan"]
    assert ask('operation(X, "delete")', "-destroy", where="full") == []
    assert ask('action("terraform_data.a", X)', "-destroy") == ["delete"]


def test_a_state_alone(ask: Ask, say: Any, folder: Path) -> None:
    for words, where in ((("-state-only=alone/terraform.tfstate",), "."), ((), "alone")):
        assert ask('in_state(I), starts_with(I, "module.")', *words, where=where) == [
            'module.net.terraform_data.subnet["x"]',
            'module.net.terraform_data.subnet["y"]',
            "module.net.terraform_data.vpc",
        ]
        assert ask('state_depends_on("terraform_data.b[0]", R)', *words, where=where) == ["terraform_data.a"]
    orphan = "module.net.terraform_data.vpc (orphan)"
    assert ask('vertex(X, _, _, _), contains(X, "vpc")', where="alone") == [orphan]
    assert ask("blast", "module.net.terraform_data.vpc", where="alone")[0][3] == "delete"
    for text, summary in (
        ("edge(X, Y)", "Not a relation of a state"),
        ("in_stat(X)", "Did you mean in_state("),
        ("deps(a)", "No graph"),
    ):
        code, _, problems = say(text, "-state-only=terraform.tfstate", where="alone")
        assert code == 1 and summary in problems
    code, _, problems = say("in_state(X)", "-state-only=saved.plan", where=".")
    assert code == 1 and "is a plan file" in problems
    assert say("in_state(X)", "-state-only=missing")[0] == 1


# ---------------------------------------------------------------- verbs


def test_verbs(ask: Ask) -> None:
    assert ask("deps", "terraform_data.a", where="full") == sorted(
        [PROVIDER, A, "local.label (expand)", "var.password", "var.prefix"]
        + [f"var.{name} (expand, reference)" for name in ("password", "prefix")]
    )
    assert VPC in ask("rdeps", "var.prefix", where="full")
    assert ask("rdeps(terraform_data.a, 1) - provider*", where="full") == [A, B]
    assert ask("module.net.terraform_data.* + terraform_data.* & rdeps(terraform_data.b)", where="full") == [
        "module.net.terraform_data.subnet (expand)",
        VPC,
        B,
    ]
    assert ask("somepath", "terraform_data.b", "var.prefix (expand, reference)", where="full") == [
        (0, B),
        (1, A),
        (2, "local.label (expand)"),
        (3, "var.prefix (expand, reference)"),
    ]
    paths = ask("allpaths", "terraform_data.b", PROVIDER, where="full")
    assert paths == [(1, 0, B), (1, 1, PROVIDER), (2, 0, B), (2, 1, A), (2, 2, PROVIDER)]
    assert ask("somepath", "var.prefix", "terraform_data.b", where="full") == []


def test_tables_of_verbs_list_objects(say: Ask) -> None:
    def rows(*words: str) -> list[list[str]]:
        code, out, _ = say(*words, where="full")
        assert code == 0
        return [line.split() for line in out.splitlines()[2:]]

    assert [row[0] for row in rows("deps", "terraform_data.a")] == [
        "local.label", PROVIDER, "terraform_data.a", "var.password", "var.prefix",
    ]  # fmt: skip
    steps = [row[-1] for row in rows("allpaths", "terraform_data.b", "var.prefix")]
    assert steps == ["terraform_data.b", "terraform_data.a", "local.label", "var.prefix"]  # one path: a vertex less
    assert len(rows("allpaths", "terraform_data.b", "var.prefix", "-full")) > len(steps)
    reached = {row[0] for row in rows("rdeps", "terraform_data.a")}
    assert "terraform_data.b" in reached and not reached & {"root", f"{PROVIDER} (close)"}
    assert any(row[0] == "root" for row in rows("rdeps", "terraform_data.a", "-full"))


def test_how_far_a_change_reaches(ask: Ask) -> None:
    destroyed = ask("blast", "terraform_data.a (destroy)", "-destroy")
    assert destroyed[0] == (0, "terraform_data.a (destroy)", "terraform_data.a", "delete")
    rows = ask("blast", "terraform_data.a")
    assert rows[0] == (0, A, "terraform_data.a", "update")
    replaced = [(1, B, f"terraform_data.b[{n}]", "delete-then-create") for n in (0, 1)]
    assert [row for row in rows if row[1] == B] == replaced
    assert rows[-1][1:] == ("root", None, None)
    assert ask("blast", "terraform_data.a", "-plan=saved.plan", "-type=plan") == rows
    applied = ask("blast", "terraform_data.a", "-plan=saved.plan")
    assert applied[0] == (0, "terraform_data.a", "terraform_data.a", "update")
    assert (1, "terraform_data.b[1]", "terraform_data.b[1]", "create") in applied
    assert [row[3] for row in applied if row[2] == "terraform_data.b[1]"] == ["create"]
    created = ask("blast(terraform_data.b)", where="full")
    assert (0, B, "terraform_data.b[1]", "create") in created
    assert [row[2:] for row in created if row[1] == VPC] == [("module.net.terraform_data.vpc", "create")]


def test_the_limit_of_paths_is_said(say: Any) -> None:
    code, out, problems = say("allpaths", "root", "var.prefix", "-limit=2", "-json")
    assert code == 0
    assert {row[0] for row in json.loads(out)["rows"]} == {1, 2}
    assert "Only 2 of " in problems and "Warning: More paths exist" in problems
    assert "Only 2 of " in say("allpaths", "root", "var.prefix", "-limit=2")[2]


# ---------------------------------------------------------------- formats


def test_tables(say: Any) -> None:
    assert say('edge("terraform_data.b", X)')[1] == f"X\n{'-' * len(PROVIDER)}\n{PROVIDER}\n{A}\n"
    assert say("edge(X, X)")[1] == "No answer.\n"
    assert say('edge("terraform_data.b", "terraform_data.a")')[1] == "Yes.\n"
    assert say('edge("terraform_data.a", "terraform_data.b")')[1] == "No.\n"


def test_csv(say: Any) -> None:
    code, out, _ = say("-csv", 'edge("terraform_data.b", X), N = count : { edge(X, _) }')
    assert code == 0
    assert list(csv.reader(io.StringIO(out))) == [["X", "N"], [PROVIDER, "0"], [A, "4"]]
    assert say("-csv", "edge(X, X)")[1] == "X\n"


def test_json_keeps_types(ask: Ask) -> None:
    (row,) = ask('N = count : { edge(_, "terraform_data.a") }, T = to_symbol(N), F = 1.5, B = true', where="full")
    assert row == (2, "2", 1.5, True) and [type(v) for v in row] == [int, str, float, bool]


@pytest.mark.parametrize(
    ("words", "edges"),
    [
        (("terraform_data.*",), [(B, A)]),
        (('edge("terraform_data.b", X), ends_with(X, "(expand)")',), []),
        (("edge(X, Y), starts_with(X, \"terraform\"), starts_with(Y, \"terraform\")",), [(B, A)]),
        (("vertex(X, \"resource\", \"\", O)",), [(B, A)]),
        (("somepath", "terraform_data.b", "terraform_data.a"), [(B, A)]),
        (("edge(X, X)",), []),
    ],
)  # fmt: skip
def test_pictures(say: Any, words: tuple[str, ...], edges: list[tuple[str, str]]) -> None:
    code, out, _ = say("-dot", *words)
    lines = [line.strip() for line in out.splitlines()]
    assert code == 0 and lines[0] == "digraph {" and lines[-1] == "}"
    assert [line for line in lines if "->" in line] == [f'"[root] {a}" -> "[root] {b}"' for a, b in edges]
    for node in {n for edge in edges for n in edge}:
        assert f'"[root] {node}" [label = "{node}", shape = "box"]' in lines


def test_what_cannot_be_drawn(say: Any) -> None:
    assert "Nothing to draw" in say("-dot", "N = count : { edge(_, _) }")[2]
    assert "Nothing to draw" in say("-dot", "edge(X, Y), edge(Y, Z)")[2]
    assert say("-dot", "in_state(X)", "-state-only=terraform.tfstate", where="alone")[0] == 1


# ---------------------------------------------------------------- mistakes and limits


@pytest.mark.parametrize(
    ("words", "said", "caret"),
    [
        (("egde(X, Y)",), "Did you mean edge(", "egde(X, Y)"),
        (("edge(X)",), "has 2 columns, but is used with 1 argument", "edge(X)"),
        (('edge(X, "root"), X != Y',), "No literal assigns a value to Y", "Y"),
        (("edge(X, Y",), "Unexpected end of input.", "Y"),
        (("edge(X, 5)",), "", "5"),
        (('edge(X, "root"), X = lenght(Y)',), "Did you mean length?", None),
        (('edge(X, "terraform_dta.a")',), 'Did you mean "terraform_data.a"?', '"terraform_dta.a"'),
        (('edge(X, "root"), X != "terraform_dta.a"',), 'Did you mean "terraform_data.a"?', '"terraform_dta.a"'),
        (("deps", "terraform_dta.a"), 'Did you mean "terraform_data.a"?', "terraform_dta.a"),
        (("dep(terraform_data.a)",), 'Did you mean "deps"?', "dep"),
        (("desp", "terraform_data.a"), 'Did you mean "deps"?', None),
        (("deps",), "deps takes one set", "deps()"),
        (("deps(root",), "parenthesis in column 5", None),
        (("nothing.*",), "No vertex of the graph matches nothing.*", "nothing.*"),
    ],
)
def test_mistakes(say: Any, words: tuple[str, ...], said: str, caret: str | None) -> None:
    _, out, problems = say(*words)
    text = out + problems
    assert said in " ".join(text.split())
    if caret is not None:
        lines = text.splitlines()
        mark = next(n for n, line in enumerate(lines) if line.strip() and not line.strip("^ "))
        column = lines[mark].index("^")
        assert lines[mark - 1][column : column + lines[mark].count("^")] == caret


@pytest.mark.parametrize(
    "words",
    [
        ("-type=other", "edge(X, Y)"),
        ("-type=plan-destroy", "-plan=saved.plan", "edge(X, Y)"),
        ("-state-only=x", "-plan=saved.plan", "in_state(X)"),
        ("-json", "-csv", "edge(X, Y)"),
        ("-timeout=0", "edge(X, Y)"),
        ("-timeout=soon", "edge(X, Y)"),
        ("-limit=0", "edge(X, Y)"),
        (),
    ],
)
def test_wrong_words(say: Any, words: tuple[str, ...]) -> None:
    code, out, problems = say(*words)
    assert (code, out) == (1, "")
    assert problems.startswith("\nError: ")


def test_an_explosive_question_ends(folder: Path) -> None:
    """Through pyDatalog (goal-directed) and through our evaluator; nothing is left running, and nobody waits long."""
    goal = 'edge("root", A), ' + ", ".join(f'edge("root", {v}), {v} != "x{v}"' for v in "BCDEFGHIJ")
    for text in (goal, ", ".join(f"edge({v}, {v}1)" for v in "ABCDEFGH")):
        command = [sys.executable, "-m", "planner", "query", "-timeout=500ms", text]
        begin = time.monotonic()
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder / "full",
            start_new_session=True,
            text=True,
        )
        out, problems = process.communicate(timeout=60)
        assert time.monotonic() - begin < 30
        assert (process.returncode, out) == (1, "")
        assert "Query takes too long" in problems and "0.5 seconds" in problems
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)


@pytest.mark.parametrize("one_in", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_sensitive_values_never_appear(say: Any, one_in: int) -> None:
    """Every relation of the rules, about the plan, its graph and the state, in every format."""
    from planner.logic.graph.build import graph_program

    said = [say("-json", "blast", "terraform_data.a", where="."), say("-json", "deps", "root", where=".")]
    for name, predicate in sorted(graph_program().predicates.items())[::one_in]:
        variables = ", ".join(f"X{n}" for n in range(predicate.arity))
        said.append(say("-json", f"{name}({variables})", "-plan=saved.plan", where="."))
    said += [say(f"-{form}", "edge(X, Y)", where=".") for form in ("csv", "dot", "json")]
    assert all(code == 0 for code, _, _ in said)
    assert sum(len(out) for _, out, _ in said) > 10_000
    assert not any(SECRET in out + problems for _, out, problems in said)


@pytest.mark.parametrize("command", ["batch query", "batch policy"])
def test_the_help_of_fleets_names_relations_that_exist(command: str) -> None:
    import re

    from planner.cli import index
    from planner.logic.programs.rule_programs import product_program

    help_text = index.load(command).help
    sets = r"(?:deny|warn|deps|rdeps)"  # verdicts, and sets of units
    named = [n for n in re.findall(r"\b([a-z_]+)\([^()]*[^()]\)", help_text) if not re.fullmatch(sets, n)]
    assert "unit_planned" in named
    assert [name for name in named if name not in product_program("batch").predicates] == []


def test_the_help_names_relations_that_exist() -> None:
    import re

    from planner.cli import index
    from planner.language.syntax.node_sets import VERBS
    from planner.logic.graph.build import graph_program
    from planner.logic.programs.rule_programs import product_program

    predicates = {**product_program("policy").predicates, **graph_program().predicates}
    named = {
        name: text for name, text in re.findall(r"([a-z_]+)\(([^()]*)\)", index.load("query").help) if name not in VERBS
    }
    assert {"edge", "waits_for", "operation", "action", "in_state"} <= named.keys()
    for name, columns in named.items():
        assert name in predicates, name
        assert "..." in columns or len(columns.split(",")) == predicates[name].arity, name
    assert "planner rules doc" in index.load("query").help


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('action(X, "delete"), edge(X, _)', 'X is a vertex in edge, but in action an instance, such as "module.net'),
        ('action(X, "delete"), not edge(_, X)', "X is a vertex in edge"),
        ('action(X, "destroy")', 'No row of action has "destroy" as its action. Possible values: '),
        ('resource("terraform_data.b[0]", _, Mode, _)', 'Did you mean "terraform_data.b"?'),
        ('resource("terraform_data.aa", _, Mode, _)', 'Did you mean "terraform_data.a"?'),
        ('action("terraform_data.b", X)', 'Did you mean "terraform_data.b[0]"?'),
        ('action(X, "read")', ""),
        ('operation(X, "delete"), edge(X, Y)', ""),
        ("order_before(A, B), resource(A, _, _, _)", ""),
        ('in_state("terraform_data.nothing_like_that")', ""),
        ("vertex(N, _, _, O), resource(O, _, _, _)", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_right_in_a_question(say: Any, text: str, said: str) -> None:
    code, _, problems = say("-plan=saved.plan", text, where=".")
    assert code == 0
    told = " ".join(problems.split())
    assert said in told if said else not told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("move_statement(X, Y)", "planner why 'move_statement(...)'"),
        ("unit(X, Y)", "planner batch query"),
    ],
)
def test_relations_of_other_rules(say: Any, text: str, said: str) -> None:
    code, _, problems = say(text)
    assert code == 1 and "Not a relation of graphs" in problems and said in " ".join(problems.split())
