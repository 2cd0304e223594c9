"""The user's own rules: what they add to graph, questions and advice, and what is said when they are wrong."""

from __future__ import annotations

import json

import pytest

CONFIGURATION = """
resource "terraform_data" "a" { input = "a" }
resource "terraform_data" "b" { input = "b" }
module "m" { source = "./m" }
"""
RULES = """
order_before("terraform_data.b", "terraform_data.a").
order_before("terraform_data.a", "module.m").

/// team(object, name): who owns a resource. Example: team("terraform_data.a", "net")
.decl team(object: object, name: text)
team("terraform_data.a", "net").
@reason("{N} is somebody's")
advice("owned", O, M) :- team(O, N), resource(O, _, _, _), M = O ++ " belongs to " ++ N.
"""


@pytest.fixture(autouse=True)
def _there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def project(tmp_path, planner):
    (tmp_path / "main.tf").write_text(CONFIGURATION)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "main.tf").write_text('resource "terraform_data" "x" { input = 1 }\n')
    folder = tmp_path / ".planner" / "rules"
    folder.mkdir(parents=True)
    (folder / "order.dl").write_text(RULES)
    assert planner("get").code == 0
    return tmp_path


def test_order_before_is_an_edge_and_why_names_the_rule(project, planner):
    edges = json.loads(planner("graph", "-json").out)["edges"]
    assert ["terraform_data.a (expand)", "terraform_data.b (expand)"] in edges
    assert ["module.m (expand)", "terraform_data.a (expand)"] in edges
    proof = json.loads(planner("why", "-json", "terraform_data.a", "terraform_data.b").out)
    rules = {step.get("rule") for step in proof["proofs"].values()}
    assert ".planner/rules/order.1" in rules


def test_the_apply_keeps_the_order(project, planner):
    ran = planner("apply", "-auto-approve", "-no-color")
    assert ran.code == 0
    done = [line.split(":")[0] for line in ran.out.splitlines() if "Creation complete" in line]
    assert done == ["terraform_data.b", "terraform_data.a", "module.m.terraform_data.x"]


def test_a_saved_plan_keeps_the_rules_it_was_made_with(project, planner):
    assert planner("plan", "-out=p").code == 0
    (project / ".planner" / "rules" / "order.dl").unlink()
    assert "net" in planner("query", "-plan=p", 'team("terraform_data.a", T)').out
    assert planner("why", "-plan=p", "terraform_data.a", "terraform_data.b").code == 0
    ran = planner("apply", "p")
    done = [line.split(":")[0] for line in ran.out.splitlines() if "Creation complete" in line]
    assert done == ["terraform_data.b", "terraform_data.a", "module.m.terraform_data.x"]


def test_another_folder_takes_the_place_of_the_configuration_s_own(project, planner):
    (project / "other").mkdir()
    edges = json.loads(planner("graph", "-json", "-rules=other").out)["edges"]
    assert ["terraform_data.a (expand)", "terraform_data.b (expand)"] not in edges
    assert "is not a directory" in planner("graph", "-rules=nowhere").err


def test_own_relations_answer_questions_and_own_advice_is_given(project, planner):
    assert "net" in planner("query", 'team("terraform_data.a", T)').out
    advice = json.loads(planner("suggest", "-json").out)["advice"]
    assert {"code": "owned", "address": "terraform_data.a", "message": "terraform_data.a belongs to net"} in advice


def test_a_cycle_through_a_rule_is_found_at_plan_time(project, planner):
    (project / ".planner" / "rules" / "back.dl").write_text('order_before("terraform_data.a", "terraform_data.b").\n')
    ran = planner("plan", "-no-color")
    assert ran.code == 1
    assert "Error: Cycle: terraform_data.a (expand), terraform_data.b (expand)" in ran.err


def test_cut_knows_a_cycle_that_a_rule_makes_only_when_applying(project, planner):
    more = 'order_before("terraform_data.a", "terraform_data.b") :- action(_, "create").\n'
    (project / ".planner" / "rules" / "back.dl").write_text(more)
    assert planner("cycles").out.startswith("Cycle: terraform_data.a, terraform_data.b\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('order_before("terraform_data.bx", "terraform_data.a").', 'Did you mean "terraform_data.b"?'),
        ('order_before("terraform_data.a").', "order_before"),
        ('edge("a", "b").', "Rule for a built-in predicate"),
        ("nosuch(X) :- resource(X, _, _, _).", "nosuch"),
        ("order_before(X, Y) :- resource(X, _, _, _).", "Y"),
        ("order_before(", "rules/bad.dl"),
    ],
)
def test_wrong_rules_are_refused(project, planner, text, message):
    (project / ".planner" / "rules" / "bad.dl").write_text(text + "\n")
    ran = planner("plan", "-no-color")
    assert ran.code == 1
    assert message in ran.err
    assert "bad.dl line 1" in ran.err


HANGING = """
/// d(x): a digit. Example: d(1)
.decl d(x: number)
d(0). d(1). d(2). d(3). d(4). d(5). d(6). d(7). d(8). d(9).
/// many(a, b, c, d, e, f, g, h, i): all of them. Example: many(1, 2, 3, 4, 5, 6, 7, 8, 9)
.decl many(a: number, b: number, c: number, d: number, e: number, f: number, g: number, h: number, i: number)
many(A, B, C, D, E, F, G, H, I) :- d(A), d(B), d(C), d(D), d(E), d(F), d(G), d(H), d(I).
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "more"),
    [
        ("rules", 'order_before("terraform_data.a", "terraform_data.b") :- many(A, B, C, D, E, F, G, H, I), A > B.'),
        ("policies", 'deny("x", "terraform_data.a", "no") :- many(A, B, C, D, E, F, G, H, I), A > B.'),
    ],
)
def test_rules_that_would_never_end_are_ended(project, planner, monkeypatch, folder, more):
    from planner.logic.datalog.tools import suite

    monkeypatch.setattr(suite, "SECONDS", 2.0)
    place = project / ".planner" / folder
    place.mkdir(exist_ok=True)
    (place / "hanging.dl").write_text(HANGING + more)
    ran = planner("plan", "-no-color")
    assert ran.code == 1
    assert "Error: Rules need too much" in ran.err
    assert "hanging.dl" in ran.err
