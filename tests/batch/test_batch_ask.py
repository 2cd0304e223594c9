"""Questions about all units together, policies over them, and reasons."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from batch.fleets import BACKEND, batch, chain, unit, write

SECRET = BACKEND + (
    'variable "password" {\n  sensitive = true\n  default = "hunter2"\n}\n'
    'resource "terraform_data" "s" {\n  input = { password = var.password, name = "bucket-1" }\n}\n'
    'output "p" {\n  value = var.password\n  sensitive = true\n}\n'
)
POLICY = """
@reason("{U} and {V} both own {N}")
deny("bucket", U, M) :- planned(U, A, "input.name", N), planned(V, B, "input.name", N), U < V, A != "", B != "",
    M = "shares " ++ N ++ " with " ++ V.
warn("unknown", U, A) :- unknown_after(U, A, "input.name").
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    chain(tmp_path, "a", "b")
    write(tmp_path, {f"s{i}/main.tf": SECRET for i in (1, 2)})
    return tmp_path


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("edge(U, V)", [["b", "a"]]),
        ('change(U, _, "read")', [["b"]]),
        (
            'planned(U, A, "input.name", "bucket-1"), starts_with(U, "s")',
            [["s1", "terraform_data.s"], ["s2", "terraform_data.s"]],
        ),
        ('status(U, "incomplete")', [["b"]]),
        ("wave(U, 1)", [["b"]]),
        ('N = count : { change(_, _, "create") }', [[4]]),
        ('reads_file("a", F)', [["a/main.tf"]]),
        ('kind_of("b", A, "data", T)', [["data.terraform_remote_state.up", "terraform_remote_state"]]),
        ('output(U, N, "create"), U = "a"', [["a", "id"]]),
        ('configured("s1", "var.password", P, V)', [["value", "(sensitive)"]]),
        ('planned("s1", "terraform_data.s", "input.password", V)', [["(sensitive)"]]),
        ('planned("s1", "output.p", P, V)', [["value", "(sensitive)"]]),
    ],
)
def test_questions(fleet: Path, question: str, rows: list[list[object]]) -> None:
    ran = batch(fleet, "query", "-json", question)
    found = ran.json
    if 'U = "a"' in question:
        assert ["a", "id"] in found["rows"]
    else:
        assert sorted(found["rows"], key=str) == sorted(rows, key=str)


def test_secrets_are_nowhere(fleet: Path) -> None:
    for _ in range(2):  # planned, and from before
        for question in ("planned(U, A, P, V)", "prior(U, A, P, V)", "configured(U, A, P, V)"):
            assert "hunter2" not in batch(fleet, "query", question).out
    kept = [p for p in fleet.glob(".planner/batch/**/*") if p.is_file() and "plans" not in p.parts]
    assert kept and not [p for p in kept if b"hunter2" in p.read_bytes()]


def test_questions_are_answered_from_before(fleet: Path) -> None:
    first = batch(fleet, "query", "-json", "planned(U, A, P, V)").out
    assert batch(fleet, "query", "-json", "planned(U, A, P, V)").out == first
    run = max(fleet.glob(".planner/batch/[0-9]*"))
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    assert [e["event"] for e in events] == ["finished"] * 4 + ["ended"]


@pytest.mark.parametrize("question", ["nonsense(X)", "edge(X)", "edge(X, Y", "not edge(X, Y)"])
def test_questions_without_sense(fleet: Path, question: str) -> None:
    ran = batch(fleet, "query", question)
    assert ran.code == 1 and "Error: " in ran.errors


def test_units_that_cannot_be_planned_are_said(fleet: Path) -> None:
    write(fleet, {"a/main.tf": unit(None, "var.nothing")})
    ran = batch(fleet, "query", 'change(U, A, "create")')
    assert "Nothing is known of the plans of a, b" in " ".join((ran.out + ran.errors).split())


def test_policies_see_all_units(fleet: Path) -> None:
    write(fleet, {"policies/p.dl": POLICY})
    ran = batch(fleet, "policy", "-policy=policies", "-json")
    found = ran.json
    assert (ran.code, found["denied"]) == (1, True)
    (finding,) = found["findings"]
    assert (finding["kind"], finding["code"], finding["unit"]) == ("deny", "bucket", "s1")
    assert finding["message"] == "shares bucket-1 with s2"
    assert finding["proof"]["proofs"]["p1"]["reason"] == "s1 and s2 both own bucket-1"
    text = batch(fleet, "policy", "-policy=policies/p.dl", "-why")
    assert "Policies: 1 denied, 0 warned." in text.out and "s1 and s2 both own bucket-1" in text.out
    write(fleet, {"s2/main.tf": SECRET.replace("bucket-1", "bucket-2")})
    assert batch(fleet, "policy", "-policy=policies").code == 0
    assert "No policies" in batch(fleet, "policy").errors
    write(fleet, {".planner/batch-policies/p.dl": "deny(X).\n"})
    ran = batch(fleet, "policy")
    assert ran.code == 1 and "p.dl" in ran.errors


def test_why(fleet: Path) -> None:
    chain(fleet, "a", "b", "c")
    text = batch(fleet, "why", "c", "a").out
    assert "c waits for a, through 1 other:" in text
    assert "c reads the state of b in data.terraform_remote_state.up [batch/edges.1]" in text
    assert "c/main.tf:6: config  = { path" in text
    proof = batch(fleet, "why", "-json", "c", "b").json
    leaves = [p["source"] for p in proof["proofs"].values() if p.get("input")]
    assert {"file": "c/main.tf", "line": 6, "column": 3, "snippet": leaves[0]["snippet"]} in leaves
    assert {leaf["file"] for leaf in leaves} == {"c/main.tf", "b/main.tf"}
    assert "No unit is called d." in batch(fleet, "why", "d", "a").errors
    assert batch(fleet, "why").code == 1
