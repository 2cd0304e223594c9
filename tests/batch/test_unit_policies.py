"""Policies about the plans of single units in a fleet: of the command line, of packs, with parameters of each unit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from batch.fleets import BACKEND, batch, write
from batch.test_saved import edit

PACK = """
name = "acme.names"
version = "1.0.0"
description = "Names that may be"

[parameters.forbidden]
type = "list(string)"
default = ["bad"]
description = "names that nothing has"

[policies.names]
severity = "low"
title = "Names are allowed"
"""
RULE = """
@name("acme/names")
@reason("{A} has the name {N}")
deny("names", A, "the name is not allowed") :- planned(A, "input", N), forbidden(N).
"""
PLAIN = '@reason("{A}")\ndeny("x", A, "nothing is called bad") :- planned(A, "input", "bad").\n'


def unit(name: str) -> str:
    return f'{BACKEND}resource "terraform_data" "x" {{ input = "{name}" }}\noutput "name" {{ value = "{name}" }}\n'


def test_packs_judge_units_with_their_own_parameters(tmp_path: Path) -> None:
    """The builtin pack of changes: what may be deleted is a parameter, which one unit sets for itself."""
    write(tmp_path, {f"{name}/main.tf": unit(name) for name in "ab"})
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    for name in "ab":
        (tmp_path / name / "main.tf").write_text(BACKEND)
    limit = '[packs."planner.changes".parameters]\ndelete_limit = 0\n'
    write(tmp_path, {"a/.planner/policy.toml": '[packs."planner.changes"]\n' + limit})
    ran = batch(tmp_path, "plan", "-json", "-policy=builtin:max_deletes")
    assert ran.outcomes == {"a": "denied", "b": "changes"}, ran.errors
    assert "max_deletes" in json.dumps(ran.unit("a")["diagnostics"])


def test_a_pack_of_ones_own(tmp_path: Path) -> None:
    write(tmp_path, {"a/main.tf": unit("bad"), "b/main.tf": unit("worse"), "c/main.tf": unit("bad")})
    write(tmp_path, {"pack/pack.toml": PACK, "pack/names.dl": RULE})
    settings = '[packs."acme.names".parameters]\nforbidden = ["worse"]\n'
    write(tmp_path, {f"{name}/.planner/policy.toml": settings for name in "ab"})
    ran = batch(tmp_path, "plan", "-json", "-policy=pack")
    assert ran.outcomes == {"a": "changes", "b": "denied", "c": "denied"}, ran.errors


def test_policies_of_the_command_line_judge_each_unit(tmp_path: Path) -> None:
    write(tmp_path, {"a/main.tf": unit("good"), "b/main.tf": unit("bad"), "p/x.dl": PLAIN})
    assert batch(tmp_path, "plan", "-json").outcomes == {"a": "changes", "b": "changes"}
    ran = batch(tmp_path, "plan", "-json", "-policy=p")
    assert ran.code == 1 and ran.outcomes == {"a": "changes", "b": "denied"}
    assert "nothing is called bad" in json.dumps(ran.unit("b")["diagnostics"])
    assert batch(tmp_path, "apply", "-auto-approve", "-json", "-policy=p").outcomes == {"a": "applied", "b": "denied"}
    assert "needs a reason" in batch(tmp_path, "plan", "-policy=p", "-policy-override=x").errors
    assert "does not exist" in batch(tmp_path, "plan", "-policy=nowhere").errors
    allowed = ("-policy-override=x", "-override-reason=just this once")
    assert batch(tmp_path, "apply", "-auto-approve", "-json", "-policy=p", *allowed).outcomes["b"] == "applied"


def test_a_policy_that_comes_later_counts(tmp_path: Path) -> None:
    """What was planned before is judged anew."""
    write(tmp_path, {"a/main.tf": unit("bad")})
    settings = '[policies.x]\nlevel = "warn"\n'
    for files, outcome in (
        ({}, "changes"),
        ({"a/.planner/policies/x.dl": PLAIN}, "denied"),
        ({"a/.planner/policy.toml": settings}, "changes"),
    ):
        write(tmp_path, files)
        assert batch(tmp_path, "plan", "-json").outcomes == {"a": outcome}


def test_policies_of_the_fleets_directory_judge_each_unit(tmp_path: Path) -> None:
    """With its settings, next to those of the unit; a unit in the directory itself has them once."""
    write(tmp_path, {"main.tf": unit("bad"), "a/main.tf": unit("bad"), "b/main.tf": unit("good")})
    write(tmp_path, {"planner.batch.hcl": 'unit "top" { path = "." }\nunit "a" {}\nunit "b" {}\n'})
    write(tmp_path, {".planner/policies/x.dl": PLAIN, "a/.planner/policies/y.dl": PLAIN.replace('"x"', '"y"')})
    ran = batch(tmp_path, "plan", "-json", "-out=out")
    assert ran.code == 1 and ran.outcomes == {"top": "denied", "a": "denied", "b": "changes"}, ran.errors
    assert [d["code"] for d in ran.unit("a")["diagnostics"]] == ["policy.denied"] * 2
    assert batch(tmp_path, "apply", "-auto-approve", "-json").outcomes == {
        "top": "denied",
        "a": "denied",
        "b": "applied",
    }
    write(tmp_path, {".planner/policy.toml": '[policies.x]\nlevel = "warn"\n'})
    write(tmp_path, {"a/.planner/policy.toml": '[policies.y]\nlevel = "warn"\n'})
    ran = batch(tmp_path, "plan", "-json")
    assert ran.outcomes == {"top": "changes", "a": "changes", "b": "unchanged"}, ran.errors
    write(tmp_path, {"a/.planner/policy.toml": '[policies.x]\nlevel = "deny"\n[policies.y]\nlevel = "warn"\n'})
    assert batch(tmp_path, "plan", "-json").outcomes["a"] == "denied"


FLEET = """
@reason("{A} of {U}")
deny("kept", U, A ++ " holds data") :- unit_change(U, A, "delete"), unit_prior(U, A, "input", "data").
deny("twice", U, "shares " ++ N) :- unit_planned(U, _, "input", N), unit_planned(V, _, "input", N), U < V, N != "data".
"""


def test_policies_about_the_fleet_gate_plans_and_applies(tmp_path: Path) -> None:
    """A denial prevents saving and applying, of all units; an accepted one does not."""
    write(tmp_path, {f"{name}/main.tf": unit("data") for name in "ab"})
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    write(tmp_path, {".planner/batch-policies/f.dl": FLEET, "a/main.tf": BACKEND, "b/main.tf": unit("new")})
    ran = batch(tmp_path, "plan", "-json", "-out=out")
    assert ran.code == 1 and ran.outcomes == {"a": "denied", "b": "changes"}, ran.errors
    assert [d["code"] for d in ran.unit("a")["diagnostics"]] == ["policy.denied"]
    assert ran.unit("a")["counts"]["remove"] == 1 and not (tmp_path / "out/manifest.json").exists()
    for command in (("apply", "-auto-approve"), ("destroy", "-auto-approve")):
        ran = batch(tmp_path, *command, "-json")
        assert ran.code == 1 and ran.outcomes["a"] == "denied" and "applied" not in ran.outcomes.values(), ran.errors
    allowed = ("-policy-override=kept", "-override-reason=moved")
    ran = batch(tmp_path, "plan", "-json", "-out=out", *allowed)
    assert ran.code == 0 and [d["code"] for d in ran.unit("a")["diagnostics"]] == ["policy.overridden"]
    ran = batch(tmp_path, "apply", "out", "-auto-approve", "-json")
    assert ran.outcomes == {"a": "applied", "b": "applied"}, ran.errors


def test_the_review_of_a_denied_fleet(tmp_path: Path) -> None:
    """It shows the denied plan with its causes, and is not green."""
    file = 'unit "a" {}\nunit "b" { inputs = { up = unit.a.name } }\nunit "c" {}\n'
    down = f'{BACKEND}variable "up" {{}}\nresource "terraform_data" "x" {{ input = var.up }}\n'
    write(tmp_path, {"planner.batch.hcl": file, "b/main.tf": down, "c/main.tf": "nonsense"})
    write(tmp_path, {"a/main.tf": unit("bad"), ".planner/policies/x.dl": PLAIN})
    assert batch(tmp_path, "plan", "-markdown=r.md", "-review=r.json").code == 1
    text, review = (tmp_path / "r.md").read_text(), json.loads((tmp_path / "r.json").read_text())
    kinds = [(one["kind"], one["objects"]) for one in review["decisions"]]
    assert kinds == [("deny", ["a: terraform_data.x"]), ("failed", ["c"]), ("skipped", ["b"])]
    assert "Nothing is destroyed" not in text and "<code>terraform_data.x</code> created" in text
    waves = [line[2] for line in text.splitlines() if line.startswith(("| 0 ", "| 1 "))]
    assert waves == ["0", "0", "1"]
    write(tmp_path, {".planner/policies/x.dl": PLAIN.replace("bad", "worse"), "c/main.tf": BACKEND})
    batch(tmp_path, "plan", "-markdown=r.md")
    assert "Nothing is destroyed" in (tmp_path / "r.md").read_text()


def test_policies_about_the_fleet_judge_denied_plans(tmp_path: Path) -> None:
    write(tmp_path, {"a/main.tf": unit("bad"), ".planner/policies/x.dl": PLAIN})
    write(tmp_path, {"p/f.dl": 'deny("late", U, "is bad") :- unit_planned(U, _, "input", "bad").\n'})
    verdict = batch(tmp_path, "policy", "-json", "-policy=p").json
    assert [one["code"] for one in verdict["findings"]] == ["late"] and not verdict["diagnostics"]


def test_a_saved_plan_that_policies_about_the_fleet_did_not_judge(tmp_path: Path) -> None:
    write(tmp_path, {"a/main.tf": unit("x"), "b/main.tf": unit("y")})
    assert batch(tmp_path, "plan", "-out=out").code == 0
    write(tmp_path, {".planner/batch-policies/f.dl": FLEET})
    ran = batch(tmp_path, "apply", "out")
    assert ran.code == 1 and "did not check the saved plan" in " ".join(ran.errors.split())


def test_policies_about_the_fleet_judge_what_becomes_known_late(tmp_path: Path) -> None:
    file = 'unit "a" {}\nunit "b" { inputs = { up = unit.a.out } }\nunit "c" {}\n'
    up = f'{BACKEND}resource "terraform_data" "x" {{ input = "name" }}\n'
    up += 'output "out" { value = terraform_data.x.output }\n'
    down = f'{BACKEND}variable "up" {{}}\nresource "terraform_data" "x" {{ input = upper(var.up) }}\n'
    write(tmp_path, {"planner.batch.hcl": file, "a/main.tf": up, "b/main.tf": down, "c/main.tf": unit("NAME")})
    write(tmp_path, {".planner/batch-policies/f.dl": FLEET})
    ran = batch(tmp_path, "apply", "-auto-approve", "-json")
    assert ran.code == 1 and ran.outcomes == {"a": "applied", "b": "denied", "c": "applied"}, ran.errors


def test_a_saved_plan_keeps_the_policies(tmp_path: Path) -> None:
    """Also for units that are planned again."""
    file = 'unit "a" {}\nunit "b" { inputs = { up = unit.a.id } }\n'
    down = f'{BACKEND}variable "up" {{}}\nresource "terraform_data" "x" {{ input = upper(var.up) }}\n'
    up = f'{BACKEND}resource "terraform_data" "x" {{}}\noutput "id" {{ value = terraform_data.x.id }}\n'
    late = '@reason("{A}")\ndeny("late", A, "no names from above") :- planned(A, "input", N), N != "none".\n'
    write(tmp_path, {"planner.batch.hcl": file, "a/main.tf": up, "b/main.tf": down, "p/x.dl": late})
    ran = batch(tmp_path, "plan", "-json", "-policy=p", "-out=out")
    assert ran.outcomes == {"a": "changes", "b": "incomplete"}, ran.errors
    assert "cannot be combined" in batch(tmp_path, "apply", "out", "-policy=p").errors
    ran = batch(tmp_path, "apply", "out", "-json", "-auto-approve")
    assert ran.outcomes == {"a": "applied", "b": "denied"}, ran.errors


@pytest.mark.parametrize("path", ["/etc/x.dl", "../x.dl"])
def test_a_saved_plan_names_no_policies_elsewhere(tmp_path: Path, path: str) -> None:
    write(tmp_path, {"a/main.tf": unit("a")})
    assert batch(tmp_path, "plan", "-out=out").code == 0
    edit(tmp_path / "out/manifest.json", lambda found: found["units"]["a"]["asked"].update(policies=[path]))
    ran = batch(tmp_path, "apply", "out")
    assert ran.code == 1 and "names policies outside the fleet" in " ".join(ran.errors.split())


def test_policies_of_a_unit_of_terragrunt_count(tmp_path: Path) -> None:
    """Those beside its file, in the folder that it is run in, too."""
    write(tmp_path, {"m/main.tf": unit("bad"), "a/terragrunt.hcl": 'terraform {\n  source = "../m"\n}\n'})
    write(tmp_path, {"a/.planner/policies/x.dl": PLAIN})
    assert batch(tmp_path, "plan", "-json").outcomes == {"a": "denied"}
    write(tmp_path, {"a/.planner/policy.toml": '[policies.x]\nlevel = "warn"\n'})
    assert batch(tmp_path, "plan", "-json").outcomes == {"a": "changes"}
