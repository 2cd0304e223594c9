"""A plan as facts: every relation of rules/policy/inputs.dl, and that looking at fewer values changes no verdict."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from datalog.naive_model import Model
from datalog.proof_checker import check
from thinned import thinned

from planner.answers.policy.facts.build import plan_facts
from planner.answers.policy.facts.relations import PolicyFacts, PolicyInputs
from planner.answers.policy.judge import judge
from planner.answers.policy.model import Verdict
from planner.answers.policy.program import Policies, load_policies
from planner.answers.policy.sources import policy_files
from planner.engine.walk.hooks import Hooks
from planner.logic.datalog.language.values import decode
from planner.operations import policies
from planner.operations.apply import apply
from planner.operations.get import get
from planner.operations.options import OperationOptions
from planner.operations.plan import plan

MAIN = """
terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
  }
}
variable "region" {
  default = "eu-west-1"
}
variable "token" {
  default   = "t0k3n"
  sensitive = true
}
resource "terraform_data" "a" {
  input = { port = 22, tags = { Owner = "x", "a.b" = "dotted" }, list = [1, 1.5, true, null], none = [] }
  provisioner "local-exec" {
    command = "true"
  }
  lifecycle {
    create_before_destroy = true
    prevent_destroy       = 1 > 2
    ignore_changes        = [triggers_replace]
  }
}
resource "terraform_data" "b" {
  count = 2
  input = [terraform_data.a.output, var.token]
}
removed {
  from = terraform_data.gone
  lifecycle {
    destroy = true
  }
  provisioner "local-exec" {
    command = "true"
    when    = destroy
  }
}
module "m" {
  source = "./m"
  x      = terraform_data.b[0].id
}
output "port" {
  value = terraform_data.a.input.port
}
output "secret" {
  value     = { token = var.token }
  sensitive = true
}
check "fine" {
  assert {
    condition     = terraform_data.a.id != ""
    error_message = "no"
  }
}
"""
MODULE = """
variable "x" {}
resource "terraform_data" "c" {
  input = var.x
}
"""


@cache
def planned(folder: str) -> Any:
    answer = plan(OperationOptions(folder), Hooks())
    assert answer.made is not None and not answer.made.plan.errored, answer.diagnostics
    return answer.made


@pytest.fixture(scope="module")
def made_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("facts")
    (path / "m").mkdir()
    (path / "main.tf").write_text(MAIN)
    (path / "m" / "main.tf").write_text(MODULE)
    get(OperationOptions(str(path)))
    return str(path)


@pytest.fixture
def folder(made_folder: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(made_folder)
    return made_folder


def facts_of(folder: str, *predicates: str) -> PolicyFacts:
    made = planned(folder)
    reads = PolicyInputs(frozenset(predicates))
    return plan_facts(made.plan, made.loaded.config, reads, lambda: policies.plan_graph(made))


def rows(folder: str, predicate: str, about: str = "") -> set[tuple[Any, ...]]:
    found = facts_of(folder, predicate).relation(predicate)
    return {tuple(map(decode, row))[bool(about) :] for row in found if not about or row[0] == about}


TERRAFORM = 'provider["terraform.io/builtin/terraform"]'
A, B0, C = "terraform_data.a", "terraform_data.b[0]", "module.m.terraform_data.c"


def test_changes(folder: str) -> None:
    assert rows(folder, "change", C) == {("terraform_data", "c", "module.m", TERRAFORM, "managed")}
    assert ("create",) in rows(folder, "action", A) and len(rows(folder, "action")) == 4
    assert rows(folder, "instance_of", B0) == {("terraform_data.b",)}
    assert rows(folder, "plan_mode") == {("normal",)}
    assert rows(folder, "output") == {("output.port", "port", "create"), ("output.secret", "secret", "create")}
    assert rows(folder, "variable") == {("var.region", "region"), ("var.token", "token")}
    assert rows(folder, "check_result", "check.fine") == {("check", "unknown")}
    assert ("input", A) in rows(folder, "unknown_because", B0)


def test_values_at_every_depth(folder: str) -> None:
    assert rows(folder, "planned", A) == {
        ("input.port", 22),
        ("input.tags.Owner", "x"),
        ('input.tags["a.b"]', "dotted"),
        ("input.list[0]", 1),
        ("input.list[1]", 1.5),
        ("input.list[2]", True),
    }
    assert rows(folder, "planned", "output.port") == {("value", 22)}
    assert rows(folder, "size_of", A) == {("input", 4), ("input.tags", 2), ("input.list", 4), ("input.none", 0)}
    assert ("input.tags", "a.b", 'input.tags["a.b"]') in rows(folder, "part", A)
    assert ("input.list", 3, "input.list[3]") in rows(folder, "part", A)
    assert rows(folder, "unknown_after", B0) == {("id",), ("input[0]",), ("output",)}
    assert rows(folder, "configured", "var.region") == {("value", "eu-west-1")}
    assert {path for path, _ in rows(folder, "configured", A)} == {path for path, _ in rows(folder, "planned", A)}
    assert rows(folder, "prior") == set()


def test_sensitive_paths(folder: str) -> None:
    assert rows(folder, "sensitive_at", B0) >= {("input[1]",)}
    assert rows(folder, "sensitive_at", "output.secret") == {("value",), ("value.token",)}
    assert rows(folder, "sensitive_at", "var.token") == {("value",)}
    assert rows(folder, "sensitive_at", A) == rows(folder, "sensitive_at", "var.region") == set()


def test_configuration(folder: str) -> None:
    assert rows(folder, "resource", "module.m.terraform_data.c") == {("module.m", "managed", "terraform_data")}
    removed = ("terraform_data.gone", "local-exec", "destroy")
    assert rows(folder, "provisioner") == {(A, "local-exec", "create"), removed}
    assert rows(folder, "lifecycle", A) == {
        ("create_before_destroy", "true"),
        ("prevent_destroy", "1 > 2"),
        ("ignore_changes", "triggers_replace"),
    }
    assert rows(folder, "module_call") == {("module.m", "./m", "")}
    assert rows(folder, "required_provider") == {("", "terraform", "terraform.io/builtin/terraform", "")}
    assert ("module.m", "terraform", "terraform.io/builtin/terraform") in rows(folder, "uses_provider")


def test_what_depends_on_what(folder: str) -> None:
    assert rows(folder, "depends") == {(B0, A), ("terraform_data.b[1]", A), (C, B0)}
    assert (f"{A} (expand)", "resource", A) in rows(folder, "node")
    assert ("terraform_data.b (expand)", f"{A} (expand)") in rows(folder, "edge")
    assert rows(folder, "blast") == set()  # nothing exists yet


OLD = """
{"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "a", "outputs": {}, "resources": [
  {"mode": "managed", "type": "terraform_data", "name": "d",
   "provider": "provider[\\"terraform.io/builtin/terraform\\"]",
   "instances": [
    {"schema_version": 0, "attributes": {"id": "1", "input": null, "output": null, "triggers_replace": null}},
    {"schema_version": 0, "deposed": "0a1b2c3d", "attributes":
     {"id": "2", "input": {"type": "string", "value": "old"}, "output": null, "triggers_replace": null}}]}]}
"""


def test_deposed_objects_are_objects_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text('resource "terraform_data" "d" {\n}\n')
    (tmp_path / "terraform.tfstate").write_text(OLD)
    folder, deposed = str(tmp_path), "terraform_data.d (deposed 0a1b2c3d)"
    assert rows(folder, "deposed") == {("terraform_data.d", "0a1b2c3d", "delete")}
    assert rows(folder, "action") == {("terraform_data.d", "no-op"), (deposed, "delete")}
    assert rows(folder, "change", deposed) == {("terraform_data", "d", "", TERRAFORM, "managed")}
    assert rows(folder, "instance_of", deposed) == {("terraform_data.d",)}
    assert ("input", "old") in rows(folder, "prior", deposed)
    assert not rows(folder, "planned", deposed)
    rules, problems = load_policies((("d.dl", 'deny("d", A, T) :- acts(A, "delete"), change(A, T, _, _, _, _).'),))
    assert rules is not None, problems
    made = planned(folder)
    verdict = judge(rules, plan_facts(made.plan, made.loaded.config, rules.reads, lambda: policies.plan_graph(made)))
    assert [(f.kind, f.address, f.message) for f in verdict.findings] == [("deny", deposed, "terraform_data")]


def test_providers_that_only_the_state_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text("")
    gone = OLD.replace('"name": "d",', '"name": "d", "module": "module.old",')
    (tmp_path / "terraform.tfstate").write_text(gone)
    assert rows(str(tmp_path), "uses_provider") == {("module.old", "terraform", "terraform.io/builtin/terraform")}


def test_the_blast_of_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(
        'resource "terraform_data" "a" {\n  input = var.x\n}\nvariable "x" {\n  default = 1\n}\n'
        "locals {\n  l = terraform_data.a.output\n}\n"
        'resource "terraform_data" "b" {\n  count = 2\n  input = local.l\n}\n'
        'resource "terraform_data" "c" {\n  input = terraform_data.b[*].id\n}\n'
        'resource "terraform_data" "d" {\n}\n'
    )
    folder = str(tmp_path)
    assert not apply(OperationOptions(folder), plan(OperationOptions(folder), Hooks()), Hooks()).diagnostics
    made = plan(OperationOptions(folder, var_args=(("var", "x=2"),)), Hooks()).made
    assert made is not None
    found = plan_facts(
        made.plan,
        made.loaded.config,
        PolicyInputs(frozenset(("blast", "blast_size"))),
        lambda: policies.plan_graph(made),
    )
    b = ("terraform_data.b[0]", "terraform_data.b[1]")
    a = "terraform_data.a"
    blast = {row[1:] for row in found.relation("blast") if row[0] == a}
    assert blast == {(b[0], 1), (b[1], 1), ("terraform_data.c", 2)}
    assert (a, 3) in found.relation("blast_size") and (b[0], 1) in found.relation("blast_size")
    # without the configuration, the state remembers
    (tmp_path / "main.tf").write_text("")
    assert ("terraform_data.b[0]", "terraform_data.a") in rows(folder, "depends")
    assert (a, 3) in rows(folder, "blast_size")


def test_sources(folder: str) -> None:
    facts = facts_of(folder, "planned", "action")
    span = facts.source("planned", (A, "input.port", 22))
    assert span is not None and span.text.startswith("input = {")
    assert facts.source("action", (C, "create")).filename.endswith("main.tf")
    assert facts.source("planned", ("output.port", "value", 22)).text == 'output "port"'


POLICIES = """
/// big(addr, n): a number. Example: big("a", 1)
.decl big(addr: address, n: any)
big(A, V) :- planned(A, P, V), starts_with(P, "input."), V > 20.
/// owned(addr): has an owner. Example: owned("a")
.decl owned(addr: address)
owned(A) :- part(A, "input.tags", "Owner", _).
@reason("{A} holds {V}")
deny("big", A, "holds " ++ V) :- change(A, "terraform_data", _, _, _, _), big(A, V).
@reason("{A} has no owner")
deny("owner", A, "has no owner") :- acts(A, "create"), not owned(A).
@reason("{N} values")
deny("count", "", "there are " ++ N) :- N = count : { planned(_, _, _) }, N > 1.
@reason("{A} is {V}")
warn("output", A, "is " ++ V) :- output(A, _, _), planned(A, "value", V).
@reason("{A} is configured")
warn("configured", A, "is " ++ V) :- configured(A, _, V), variable(A, _).
@reason("{A} is not empty")
deny("size", A, "has " ++ N) :- size_of(A, P, N), P = "input.none", N > 0.
@reason("{A} waits at {P}")
warn("waits", A, "waits at " ++ P) :- unknown_after(A, P), action(A, "create").
"""


def loaded(text: str) -> Policies:
    found, problems = load_policies((("p.dl", text),))
    assert found is not None, problems
    return found


def findings(verdict: Verdict) -> list[tuple[Any, ...]]:
    return [(f.kind, f.code, f.address, f.message, f.waits_for) for f in verdict.findings]


def judged(folder: str, rules: Policies, reads: PolicyInputs) -> tuple[PolicyFacts, Verdict]:
    made = planned(folder)
    facts = plan_facts(made.plan, made.loaded.config, reads, lambda: policies.plan_graph(made))
    return facts, judge(rules, facts)


@pytest.mark.parametrize("which", thinned(["own", *POLICIES.strip().split("\n@reason")[1:], "library"], 3))
def test_values_that_nobody_looks_at_change_no_verdict(folder: str, which: str) -> None:
    if which == "library":
        rules, _ = load_policies(policy_files(["builtin:all"]))
        assert rules is not None
    elif which == "own":
        rules = loaded(POLICIES)
    else:
        rules = loaded(POLICIES[: POLICIES.index("@reason")] + "@reason" + which)
    few, narrow = judged(folder, rules, rules.reads)
    all_, wide = judged(folder, rules, PolicyInputs(rules.reads.predicates, given=rules.given))
    if which != "library":
        assert findings(narrow) == findings(wide)
    # Where it is not known at which path a rule looks, what nobody looks at seems to be waited for, too.
    assert [found[:3] for found in findings(narrow)] == [found[:3] for found in findings(wide)]
    for found, other in zip(findings(narrow), findings(wide), strict=True):
        assert set(found[4]) <= set(other[4]) and (found[4] or not other[4])
        assert found[3] == other[3] or found[0] == "undecided"
    assert len(few) <= len(all_)


def test_only_what_is_read_is_built(folder: str) -> None:
    rules = loaded('@reason("no")\ndeny("c", A, "m") :- planned(A, "id", "x").\n')
    facts, _ = judged(folder, rules, rules.reads)
    assert set(facts.predicates) <= {"maybe", "maybe_exact"}
    assert {row[1] for row in facts.relation("maybe")} == {"id"}
    rules = loaded('@reason("no")\ndeny("c", A, "m") :- action(A, "delete").\n')
    assert judged(folder, rules, rules.reads)[0].predicates == ["action"]


def test_proofs_hold_for_an_independent_checker(folder: str) -> None:
    rules = loaded(POLICIES)
    made = planned(folder)
    facts, verdict = judged(folder, rules, rules.reads)
    assert made.plan is not None and {f.kind for f in verdict.findings} == {"deny", "warn", "undecided"}
    from planner.logic.datalog.engine.evaluate import evaluate

    database = evaluate(rules.modal_program, facts)
    model = Model.of(rules.modal_program, database)
    assert model.differences(rules.modal_program, database) == []
    texts = [{"name": rule.name, "text": rule.text} for rule in rules.modal_program.rules]
    checked = 0
    for finding in verdict.findings:
        if "(sensitive value)" not in str(finding.proof):
            check(texts, finding.proof, model.holds)
            checked += 1
    assert checked >= 7
