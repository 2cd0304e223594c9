"""Which instance of a resource a reference means: found in the configuration, or left undecided."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from cli.conftest import make_terminal

from planner.answers.policy.facts.relations import PolicyInputs
from planner.answers.policy.from_json.document import parse
from planner.answers.policy.from_json.facts import shown_facts
from planner.answers.policy.judge import judge
from planner.answers.policy.program import Policies, load_policies
from planner.cli import main
from planner.engine.walk.hooks import Hooks
from planner.operations.get import get
from planner.operations.options import OperationOptions
from planner.operations.plan import plan
from planner.operations.policies import facts_of

SHARED = """
variable "pick"  { default = "x" }
variable "names" {
  type    = set(string)
  default = ["x", "y"]
}
variable "table" { default = { x = "y", y = "x" } }
variable "on"    { default = true }
locals {
  ids   = { x = terraform_data.b["x"].id, y = terraform_data.b["y"].id }
  all   = terraform_data.b
  swap  = { x = "y", y = "x" }
  pairs = [for k, v in terraform_data.b : "${k}=${v.id}"]
  by    = { for k, v in terraform_data.b : k => v.id }
  deep  = { x = { of = { id = local.ids["x"] } }, y = { of = { id = local.ids["y"] } } }
}
resource "terraform_data" "b" {
  for_each = toset(["x", "y"])
}
resource "terraform_data" "c" {
  count = 2
}
resource "terraform_data" "one" {}
module "m" {
  source   = "./m"
  for_each = toset(["x", "y"])
  id       = terraform_data.b[each.key].id
  all      = terraform_data.b
}
module "n" {
  source   = "./n"
  for_each = toset(["x", "y"])
}
"""
PLAIN = """
resource "terraform_data" "given" {}
output "id" { value = terraform_data.given.id }
"""
MODULE = """
variable "id" {}
variable "all" {}
resource "terraform_data" "given" { input = var.id }
resource "terraform_data" "own" {
  for_each = toset(["x", "y"])
  input    = var.all[each.value].id
}
resource "terraform_data" "beside" {
  for_each = toset(["x", "y"])
  input    = terraform_data.own[each.key].id
}
output "own" { value = terraform_data.own }
"""
EACH = 'for_each = toset(["x", "y"])\n'
BX, BY = 'terraform_data.b["x"]', 'terraform_data.b["y"]'
B, C = {BX, BY}, {"terraform_data.c[0]", "terraform_data.c[1]"}
GIVEN = {k: f'module.n["{k}"].terraform_data.given' for k in "xy"}
# a block, the instance that is looked at, what it depends on, and what it may depend on
CASES: dict[str, tuple[str, str, set[str], set[str]]] = {
    "constant": ('input = terraform_data.b["x"].id', "", {BX}, set()),
    "constant_index": ("input = terraform_data.c[1].id", "", {"terraform_data.c[1]"}, set()),
    "single": ("input = terraform_data.one.id", "", {"terraform_data.one"}, set()),
    "each_key": (EACH + "input = terraform_data.b[each.key].id", '["x"]', {BX}, set()),
    "each_value": (EACH + "input = terraform_data.b[each.value].id", '["y"]', {BY}, set()),
    "count_index": ("count = 2\ninput = terraform_data.c[count.index].id", "[0]", {"terraform_data.c[0]"}, set()),
    "counted": (
        "count = length(terraform_data.c)\ninput = terraform_data.c[count.index].id",
        "[1]",
        {"terraform_data.c[1]"},
        set(),
    ),
    "chained": ("for_each = terraform_data.b\ninput = each.value.id", '["x"]', {BX}, set()),
    "chained_alone": ("for_each = terraform_data.b", '["x"]', set(), {BX}),
    "chained_local": ("for_each = local.all\ninput = each.value.id", '["x"]', {BX}, set()),
    "chained_for": (
        "for_each = { for k, v in terraform_data.b : k => v }\ninput = each.value.id",
        '["y"]',
        {BY},
        set(),
    ),
    "of_input": ("for_each = var.names\ninput = terraform_data.b[each.value].id", '["x"]', {BX}, set()),
    "of_map": ("for_each = var.table\ninput = terraform_data.b[each.value].id", '["x"]', {BY}, set()),
    "of_object": (
        'for_each = { x = { to = "y" }, y = { to = "x" } }\ninput = terraform_data.b[each.value.to].id',
        '["x"]',
        {BY},
        set(),
    ),
    "holds": ('for_each = { x = terraform_data.b["y"].id }\ninput = each.value', '["x"]', {BY}, set()),
    "local": (EACH + "input = local.ids[each.key]", '["x"]', {BX}, set()),
    "local_deep": (EACH + "input = local.deep[each.key].of.id", '["x"]', {BX}, set()),
    "local_for": (EACH + "input = local.by[each.key]", '["x"]', {BX}, set()),
    "local_resource": (EACH + "input = local.all[each.key].id", '["x"]', {BX}, set()),
    "local_key": (EACH + "input = terraform_data.b[local.swap[each.key]].id", '["x"]', {BY}, set()),
    "variable": ("input = terraform_data.b[var.pick].id", "", {BX}, set()),
    "lookup": (EACH + "input = lookup(local.ids, each.key)", '["x"]', {BX}, set()),
    "template": (EACH + 'input = "${terraform_data.b["${each.key}"].id}!"', '["x"]', {BX}, set()),
    "computed": (EACH + "input = terraform_data.b[lower(each.key)].id", '["x"]', set(), B),
    "from_list": ("count = 2\ninput = element(terraform_data.c[*].id, count.index)", "[0]", set(), C),
    "one_of_values": ("input = values(terraform_data.b)[0].id", "", set(), B),
    "splat": ("input = terraform_data.c[*].id", "", C, set()),
    "splat_one": ("input = (terraform_data.c[*].id)[1]", "", {"terraform_data.c[1]"}, set()),
    "each_of_all": ("input = [for b in terraform_data.b : b.id]", "", B, set()),
    "some_of_all": ('input = [for k, b in terraform_data.b : b.id if k != "x"]', "", set(), B),
    "joined": ("input = local.pairs", "", B, set()),
    "whole": ("input = terraform_data.b", "", B, set()),
    "chosen": (f"input = var.on ? {BX}.id : {BY}.id", "", {BX}, set()),
    "chosen_by_key": (EACH + f'input = each.key == "x" ? {BY}.id : {BX}.id', '["x"]', {BY}, set()),
    "chosen_late": (f'input = terraform_data.one.id == "" ? {BX}.id : {BY}.id', "", {"terraform_data.one"}, B),
    "first_that_works": (f"input = try({BX}.id, {BY}.id)", "", set(), B),
    "waits": ("depends_on = [terraform_data.b]", "", set(), B),
    "waits_for_one": (f"depends_on = [{BX}]", "", {BX}, set()),
    "waits_for_two": (f"depends_on = [{BX}, terraform_data.b]", "", {BX}, {BY}),
    "waits_too": (f"input = {BX}.id\ndepends_on = [terraform_data.b]", "", {BX}, {BY}),
    "triggered": (
        EACH + "lifecycle {\n  replace_triggered_by = [terraform_data.b[each.key]]\n}",
        '["x"]',
        {BX},
        set(),
    ),
    "output": ('input = module.n["x"].id', "", {GIVEN["x"]}, set()),
    "output_each": (EACH + "input = module.n[each.key].id", '["y"]', {GIVEN["y"]}, set()),
    "outputs": ("input = [for n in module.n : n.id]", "", set(GIVEN.values()), set()),
    "output_of_some": ("input = values(module.n)[0].id", "", set(), set(GIVEN.values())),
    "output_deep": (
        EACH + 'input = module.m["x"].own[each.key].id',
        '["y"]',
        {'module.m["x"].terraform_data.own["y"]'},
        set(),
    ),
}
INSIDE = {
    'module.m["x"].terraform_data.given': ({BX}, set()),
    'module.m["x"].terraform_data.own["y"]': ({BY}, set()),
    'module.m["y"].terraform_data.beside["x"]': ({'module.m["y"].terraform_data.own["x"]'}, set()),
}
EXPECTED: dict[str, tuple[set[str], set[str]]] = {
    **{f"terraform_data.{name}{key}": (sure, maybe) for name, (_, key, sure, maybe) in CASES.items()},
    **INSIDE,
}


def blocks() -> str:
    written = (f'resource "terraform_data" "{name}" {{\n{body}\n}}\n' for name, (body, *_) in CASES.items())
    return SHARED + "".join(written)


def links(facts: Any) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """What objects depend on, and what they may depend on besides, but for the own object."""
    assert not facts.untold
    sure: dict[str, set[str]] = {}
    maybe: dict[str, set[str]] = {}
    for address, other in facts.relation("depends"):
        sure.setdefault(address, set()).add(other)
    groups: dict[str, set[str]] = {}
    for group, other in facts.relation("maybe_reached"):
        groups.setdefault(group, set()).add(other)
    for address, _, group in facts.relation("maybe_through"):
        maybe.setdefault(address, set()).update(groups.get(group, ()))
    return sure, {address: others - sure.get(address, set()) for address, others in maybe.items()}


GUARDS = """
/// guard(name): objects of this name guard others. Example: guard("constant")
.decl guard(name: symbol)
guard("constant"). guard("computed").
deny(N, A, "is not guarded") :- instance_of(A, "terraform_data.b"), guard(N), not guarded(A, N).

/// guarded(addr, name): something of this name guards it. Example: guarded("a", "constant")
.decl guarded(addr: instance, name: symbol)
guarded(A, N) :- depends(B, A), guard(N), change(B, _, N, _, _, _).
"""


@cache
def asked() -> Policies:
    rules, problems = load_policies((("guards.dl", GUARDS),))
    assert rules is not None, problems
    return rules


READS = PolicyInputs(frozenset(("depends", "maybe_through", "maybe_reached")))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is known by the plan, by its JSON with the configuration at hand, and by the JSON alone."""
    path = tmp_path_factory.mktemp("references")
    for name, text in (("main.tf", blocks()), ("m/main.tf", MODULE), ("n/main.tf", PLAIN)):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        get(OperationOptions(str(path)))
        made = plan(OperationOptions(str(path)), Hooks()).made
        assert made is not None
        first: Any = make_terminal()
        assert main.dispatch(["plan", "-out=plan.bin"], first) == 0, first.stderr.getvalue()
        second: Any = make_terminal()
        assert main.dispatch(["show", "-json", "plan.bin"], second) == 0
        data = second.stdout.getvalue().encode()
    document = parse(data, "plan.json")
    return {
        "facts": facts_of(made, asked().reads),
        "own": links(facts_of(made, READS)),
        "with configuration": links(shown_facts(document, READS, made.loaded.config)),
        "alone": links(shown_facts(document, READS)),
        "changes": {entry["address"] for entry in json.loads(data)["resource_changes"]},
    }


@pytest.mark.parametrize("how", ["own", "with configuration"])
@pytest.mark.parametrize("address", EXPECTED)
def test_what_a_reference_means(told: dict[str, Any], how: str, address: str) -> None:
    assert address in told["changes"]
    sure, maybe = told[how]
    assert (sure.get(address, set()), maybe.get(address, set())) == EXPECTED[address]


@pytest.mark.parametrize("address", EXPECTED)
def test_json_alone_never_says_more_and_rules_nothing_out(told: dict[str, Any], address: str) -> None:
    sure, maybe = (one.get(address, set()) for one in told["alone"])
    expected, possible = EXPECTED[address]
    if "triggered" in address:  # no document has it
        return
    assert sure <= expected | possible
    assert expected <= sure | maybe


def test_json_alone_knows_constant_keys(told: dict[str, Any]) -> None:
    sure, maybe = told["alone"]
    for name in ("constant", "constant_index", "single"):
        assert sure[f"terraform_data.{name}"] == CASES[name][2] and not maybe.get(f"terraform_data.{name}")


def test_an_instance_that_nothing_means_is_not_guarded(told: dict[str, Any]) -> None:
    undecided = "depends on which instances of terraform_data.b are referenced"
    assert [(f.kind, f.code, f.address, f.message) for f in judge(asked(), told["facts"]).findings] == [
        ("deny", "constant", BY, "is not guarded"),
        ("undecided", "computed", BX, undecided),
        ("undecided", "computed", BY, undecided),
    ]
