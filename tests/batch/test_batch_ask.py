"""Questions about all units together, policies over them, and reasons."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from batch.fleets import BACKEND, batch, chain, unit, write

from planner.workflows.batch.cache_files import FLEETS, entry_names

SECRET = BACKEND + (
    'variable "password" {\n  sensitive = true\n  default = "hunter2"\n}\n'
    'resource "terraform_data" "s" {\n  input = { password = var.password, name = "bucket-1" }\n}\n'
    'output "p" {\n  value = var.password\n  sensitive = true\n}\n'
)
POLICY = """
@reason("{U} and {V} both own {N}")
deny("bucket", U, M) :-
    unit_planned(U, A, "input.name", N), unit_planned(V, B, "input.name", N), U < V, A != "", B != "",
    M = "shares " ++ N ++ " with " ++ V.
warn("unknown", U, A) :- unit_unknown_after(U, A, "input.name").
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
        ('unit_change(U, _, "read")', [["b"]]),
        (
            'unit_planned(U, A, "input.name", "bucket-1"), starts_with(U, "s")',
            [["s1", "terraform_data.s"], ["s2", "terraform_data.s"]],
        ),
        ('status(U, "incomplete")', [["b"]]),
        ("wave(U, 1)", [["b"]]),
        ('N = count : { unit_change(_, _, "create") }', [[4]]),
        ('reads_file("a", F)', [["a/main.tf"]]),
        ('kind_of("b", A, "data", T)', [["data.terraform_remote_state.up", "terraform_remote_state"]]),
        ('unit_output(U, N, "create"), U = "a"', [["a", "id"]]),
        ('unit_configured("s1", "var.password", P, V)', [["value", "(sensitive)"]]),
        ('unit_planned("s1", "terraform_data.s", "input.password", V)', [["(sensitive)"]]),
        ('unit_planned("s1", "output.p", P, V)', [["value", "(sensitive)"]]),
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
        for question in ("unit_planned(U, A, P, V)", "unit_prior(U, A, P, V)", "unit_configured(U, A, P, V)"):
            assert "hunter2" not in batch(fleet, "query", question).out
    kept = [p for p in fleet.glob(".planner/batch/**/*") if p.is_file() and "plans" not in p.parts]
    assert kept and not [p for p in kept if b"hunter2" in p.read_bytes()]
    entries = [bytes(FLEETS.load(name) or b"") for name in entry_names(str(fleet))]
    assert entries[0] and not [data for data in entries if b"hunter2" in data]


def test_what_is_kept_is_not_for_version_control(tmp_path: Path) -> None:
    chain(tmp_path, "a")
    assert batch(tmp_path, "plan").code == 0
    assert (tmp_path / ".planner/batch/.gitignore").read_text() == "*\n"


def test_questions_are_answered_from_before(fleet: Path) -> None:
    first = batch(fleet, "query", "-json", "unit_planned(U, A, P, V)").out
    assert batch(fleet, "query", "-json", "unit_planned(U, A, P, V)").out == first
    run = max(fleet.glob(".planner/batch/[0-9]*"))
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    assert [e["event"] for e in events] == ["finished"] * 4 + ["ended"]


@pytest.mark.parametrize("question", ["nonsense(X)", "edge(X)", "edge(X, Y", "not edge(X, Y)"])
def test_questions_without_sense(fleet: Path, question: str) -> None:
    ran = batch(fleet, "query", question)
    assert ran.code == 1 and "Error: " in ran.errors


def test_units_that_cannot_be_planned_are_said(fleet: Path) -> None:
    write(fleet, {"a/main.tf": unit(None, "var.nothing")})
    ran = batch(fleet, "query", 'unit_change(U, A, "create")')
    assert "The plans of a, b are not known" in " ".join((ran.out + ran.errors).split())


def test_policies_see_all_units(fleet: Path) -> None:
    write(fleet, {"policies/p.dl": POLICY})
    ran = batch(fleet, "policy", "-policy=policies", "-json")
    found = ran.json
    assert (ran.code, found["denied"]) == (1, True)
    (finding,) = found["findings"]
    assert (finding["kind"], finding["code"], finding["unit"]) == ("deny", "bucket", "s1")
    assert finding["message"] == "shares bucket-1 with s2"
    assert finding["proof"]["proofs"]["p1"]["reason"] == "s1 and s2 both own bucket-1"
    text = batch(fleet, "policy", "-policy=policies/p.dl", "-proofs")
    assert "Policies: 1 denied." in text.out and "s1 and s2 both own bucket-1" in text.out
    write(fleet, {"s2/main.tf": SECRET.replace("bucket-1", "bucket-2")})
    assert batch(fleet, "policy", "-policy=policies").code == 0
    assert "No policies" in batch(fleet, "policy").errors
    write(fleet, {".planner/batch-policies/below/p.dl": "deny(X).\n"})
    ran = batch(fleet, "policy")
    assert ran.code == 1 and "p.dl" in ran.errors


UNDECIDED = """
/// named(unit, name): the unit plans the name. Example: named("a", "x")
.decl named(unit: unit, name: any)
named(U, N) :- unit_planned(U, _, "input[0]", N).
deny("name", U, "is called x") :- named(U, "x").
warn("unnamed", U, "has no name") :- unit(U, _), not named(U, _).
"""


class TestUndecided:
    """a plans "x"; what b plans comes from a."""

    @pytest.fixture
    def pair(self, tmp_path: Path) -> Path:
        chain(tmp_path, "a", "b")
        write(tmp_path, {"p.dl": UNDECIDED})
        return tmp_path

    def found(self, root: Path) -> list[tuple[str, str, str]]:
        findings = batch(root, "policy", "-policy=p.dl", "-json").json["findings"]
        return [(f["kind"], f["code"], f["unit"]) for f in findings]

    def test_unknown_values_leave_verdicts_open(self, pair: Path) -> None:
        ran = batch(pair, "policy", "-policy=p.dl", "-json")
        assert (ran.code, ran.json["verdict"], ran.json["denied"]) == (1, "deny", True)
        assert self.found(pair) == [("deny", "name", "a"), ("undecided", "name", "b"), ("undecided", "unnamed", "b")]
        finding = ran.json["findings"][1]
        assert finding["would"] == "deny"
        assert {"unit": "b", "address": "terraform_data.main", "path": "input[0]"} in finding["waits_for"]
        assert ran.json["counts"] == {"deny": 1, "undecided": 2, "warn": 0}
        text = batch(pair, "policy", "-policy=p.dl").out
        assert "is decided when terraform_data.main.input[0] of b is known" in text
        assert "Policies: 1 denied, 2 undecided." in text

    def test_what_has_no_value_is_broken(self, pair: Path) -> None:
        write(pair, {"q.dl": 'deny("size", U, "is large") :- unit_planned(U, _, "input[0]", N), N > 10.\n'})
        ran = batch(pair, "policy", "-policy=q.dl", "-json")
        assert (ran.code, ran.json["verdict"], ran.json["counts"]["broken"]) == (1, "broken", 1)
        (finding,) = [f for f in ran.json["findings"] if f["kind"] == "broken"]
        assert (finding["code"], finding["unit"]) == ("size", "a") and "N is x" in finding["message"]
        assert "1 broken" in batch(pair, "policy", "-policy=q.dl").out

    def test_undecided_alone_is_no_denial(self, pair: Path) -> None:
        write(pair, {"a/main.tf": unit(None, '"y"')})
        ran = batch(pair, "policy", "-policy=p.dl", "-json")
        assert (ran.code, ran.json["verdict"]) == (0, "undecided")

    def test_what_is_applied_is_decided(self, pair: Path) -> None:
        assert batch(pair, "apply", "-auto-approve").code == 0
        assert self.found(pair) == [("deny", "name", "a")]

    def test_inputs_that_wait_for_another_unit(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            {
                "a/main.tf": unit(),
                "b/main.tf": BACKEND + 'variable "v" {}\nresource "terraform_data" "r" {\n  input = var.v\n}\n',
                "planner.batch.hcl": 'unit "a" {}\nunit "b" {\n  inputs = { v = unit.a.id }\n}\n',
                "p.dl": 'deny("v", U, "is x") :- unit_configured(U, "var.v", "value", "x").\n',
            },
        )
        assert self.found(tmp_path) == [("undecided", "v", "b")]

    def test_a_unit_without_a_plan_is_an_error(self, pair: Path) -> None:
        write(
            pair, {"a/main.tf": unit(None, "var.nothing"), "p.dl": 'warn("w", U, "w") :- unit_planned(U, _, _, 7).\n'}
        )
        ran = batch(pair, "policy", "-policy=p.dl", "-json")
        assert ran.code == 1
        assert [d["summary"] for d in ran.json["diagnostics"]] == ["Units without a plan"]


def test_why(fleet: Path) -> None:
    chain(fleet, "a", "b", "c")
    text = batch(fleet, "why", "c", "a").out
    assert "c waits for a, through 1 other:" in text
    assert "c reads the state of b in data.terraform_remote_state.up\n" in text
    assert "c/main.tf:6: config  = { path" in text
    proof = batch(fleet, "why", "-json", "c", "b").json
    leaves = [p["source"] for p in proof["proofs"].values() if p.get("input")]
    assert {"file": "c/main.tf", "line": 6, "column": 3, "snippet": leaves[0]["snippet"]} in leaves
    assert {leaf["file"] for leaf in leaves} == {"c/main.tf", "b/main.tf"}
    assert "No unit is called d." in batch(fleet, "why", "d", "a").errors
    assert batch(fleet, "why").code == 1
