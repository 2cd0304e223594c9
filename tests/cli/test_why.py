"""`why` and `cut` as commands: words, depth, one step, JSON, and what does not hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CONFIG = """variable "x" { default = "2" }
resource "terraform_data" "a" { triggers_replace = var.x }
resource "terraform_data" "b" { input = terraform_data.a.id }
resource "terraform_data" "c" {
  input = terraform_data.b.output
  lifecycle {
    create_before_destroy = true
  }
}
resource "terraform_data" "alone" {}
"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(CONFIG, encoding="utf-8")
    return tmp_path


def test_unknown(planner):
    ran = planner("why", "unknown", "terraform_data.c.input")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.split("\n") == [
        "terraform_data.c.input is not known before the apply (main.tf:5):",
        "  <- terraform_data.b.output: assigned by the provider when the object is created (main.tf:3)",
        "",
    ]
    known = planner("why", "unknown", "var.x")
    assert known.code == 1 and 'var.x is known: "2".' in known.err


def test_depth_and_one_step(planner):
    whole = planner("why", "unknown", "terraform_data.c.input", "-json")
    document = json.loads(whole.out)
    short = planner("why", "-depth=1", "unknown", "terraform_data.c.input")
    assert "... (p" in short.out and "main.tf:3" not in short.out
    name = short.out.split("... (")[1].split(":")[0]
    step = document["proofs"][name]
    one = planner("why", "unknown", "terraform_data.c.input", f"-expand={name}")
    assert one.out.startswith(f'{step["tuple"][0]}("{step["tuple"][1]}")') and f"[{step['rule']}]" in one.out
    none = planner("why", "unknown", "terraform_data.c.input", "-expand=p999")
    assert none.code == 1 and "p999" in none.err
    same = planner("why", "-depth=1", "-json", "unknown", "terraform_data.c.input")
    assert json.loads(same.out) == document


def test_another_action(planner):
    ran = planner("why", "replace", "terraform_data.a")
    assert ran.code == 1 and "No replace is planned for terraform_data.a" in ran.err
    assert "use planner why create" in ran.err and "it has no object yet" in ran.err
    ran = planner("why", "-not", "replace", "terraform_data.a")
    head, _, _ = ran.out.partition("\n")
    assert (ran.code, head) == (0, "terraform_data.a is created, not replaced: it has no object yet")
    ran = planner("why", "-not", "-full", "replace", "terraform_data.a")
    assert ran.code == 0 and "would need replaced(terraform_data.a)" in ran.out
    assert planner("why", "-not", "create", "terraform_data.a").code == 1
    assert planner("why", "create", "terraform_data.a").code == 0


def test_without_a_key_all_instances_are_meant(planner, work: Path):
    with (work / "main.tf").open("a") as file:
        file.write('resource "terraform_data" "many" { count = 2 }\n')
    ran = planner("why", "create", "terraform_data.many")
    assert ran.code == 0 and ran.out.startswith("terraform_data.many[0, 1] are created")


def test_what_a_failed_plan_does_not_have(planner, work: Path):
    """Whoever asks about what was not planned is told why it was not."""
    with (work / "main.tf").open("a") as file:
        file.write('resource "terraform_data" "d" { input = tonumber(var.x) }\n')
    for words in (["update", "terraform_data.d"], ["terraform_data.d"], ["-not", "replace", "terraform_data.d"]):
        ran = planner("why", *words, "-var=x=many")
        assert ran.code == 1 and "Invalid function argument" in ran.err, words
        assert 'The plan has no change for "terraform_data.d"' in ran.err
    assert planner("why", "create", "terraform_data.a", "-var=x=many").code == 0  # it was planned


def test_within_and_out_of_targets(planner):
    ran = planner("why", "targeted", "-target=terraform_data.b", "terraform_data.a")
    assert ran.code == 0 and "command line -target=terraform_data.b" in ran.out and "main.tf:3" in ran.out
    ran = planner("why", "-not", "targeted", "-target=terraform_data.b", "terraform_data.alone")
    assert (
        ran.code == 0
        and "does not hold" in ran.out
        and "would need covers(T, terraform_data.alone (expand))" in ran.out
    )
    ran = planner("why", "excluded", "-exclude=terraform_data.a", "terraform_data.b")
    assert ran.code == 0 and "command line -exclude=terraform_data.a" in ran.out
    ran = planner("why", "excluded", "-exclude=terraform_data.a", "terraform_data.alone")
    assert ran.code == 1 and "does not hold" in ran.err
    ran = planner("why", "targeted", "terraform_data.nobody")
    assert ran.code == 1 and "No such vertex" in ran.err


def test_forced(planner):
    ran = planner("why", "forced", "terraform_data.a")
    assert ran.code == 0
    assert ran.out.startswith("something to which create_before_destroy applies depends on terraform_data.a")
    assert ran.out.rstrip("\n").split("\n")[1:] == [
        "  terraform_data.c sets create_before_destroy: main.tf:7: create_before_destroy = true",
        "  terraform_data.c (expand) depends on terraform_data.b (expand): main.tf:5: input = terraform_data.b.output",
        "  terraform_data.b (expand) depends on terraform_data.a (expand): "
        'main.tf:3: resource "terraform_data" "b" { input = terraform_data.a.id }',
    ]
    itself = planner("why", "forced", "terraform_data.c")
    assert itself.code == 1 and "main.tf:7: create_before_destroy = true" in " ".join(itself.err.split())
    assert planner("why", "-not", "forced", "terraform_data.alone").code == 0


def test_what_forces_a_replacement_to_come_first(planner):
    """In the plan graph and in that of applying it, down to the line that asks for it."""
    asks = "  terraform_data.c sets create_before_destroy: main.tf:7: create_before_destroy = true"
    assert planner("apply", "-auto-approve").code == 0
    ran = planner("why", "replace", "terraform_data.a", "-var=x=3")
    assert ran.code == 0 and ran.out.split("\n")[-5:-3] == [
        "The replacement of terraform_data.a is created before the old object is destroyed:",
        asks,
    ]
    document = json.loads(planner("why", "replace", "terraform_data.a", "-var=x=3", "-json").out)
    assert document["chains"][0]["steps"][0]["sources"][0]["line"] == 7
    assert planner("plan", "-var=x=3", "-out=plan").code == 0
    for more in ([], ["-type=apply"]):
        ran = planner("why", "-plan=plan", *more, "forced", "terraform_data.a")
        assert ran.code == 0 and asks in ran.out


READ_LATER = """variable "x" { default = "2" }
resource "terraform_data" "a" { input = var.x }
data "terraform_remote_state" "r" {
  backend    = "local"
  config     = { path = "terraform.tfstate" }
  depends_on = [
    terraform_data.a,
  ]
}
module "m" {
  source     = "./m"
  depends_on = [terraform_data.a]
}
"""


def test_what_makes_a_data_source_wait(planner, work: Path):
    """The line of the depends_on, of the data source itself or of the call around it."""
    (work / "m").mkdir()
    (work / "m/main.tf").write_text(
        'data "terraform_remote_state" "r" {\n  backend = "local"\n  config = { path = "terraform.tfstate" }\n}\n'
    )
    (work / "main.tf").write_text(READ_LATER, encoding="utf-8")
    assert planner("init").code == 0 and planner("apply", "-auto-approve").code == 0
    ran = planner("why", "data.terraform_remote_state.r", "-var=x=3")
    name = "data.terraform_remote_state.r"
    assert ran.out.rstrip("\n").split("\n")[-2:] == [
        f"{name} is read only after terraform_data.a:",
        f"  {name} names terraform_data.a in depends_on: main.tf:7: terraform_data.a,",
    ]
    ran = planner("why", f"module.m.{name}", "-var=x=3")
    assert "  module.m names terraform_data.a in depends_on: main.tf:12: depends_on = [terraform_data.a]\n" in ran.out


def test_what_the_command_line_left_out_has_no_change(planner):
    ran = planner("why", "-target=terraform_data.a", "terraform_data.b")
    assert (
        ran.code == 1
        and "left out of this graph" in " ".join(ran.err.split())
        and "-target=terraform_data.a" in ran.err
    )
    ran = planner("why", "-exclude=terraform_data.a", "terraform_data.b")
    assert ran.code == 1 and "which is excluded at least in part" in " ".join(ran.err.split())


def test_an_instance_that_the_command_line_left_out(planner, work: Path):
    (work / "main.tf").write_text(INSTANCES, encoding="utf-8")
    a, b = 'terraform_data.web["a"]', 'terraform_data.web["b"]'
    ran = planner("why", f"-target={a}", b)
    told = " ".join(ran.err.split())
    assert ran.code == 1 and f"terraform_data.web (expand) is included, but {b} is left out (-target={a})" in told


def test_cut(planner, work):
    ran = planner("cycles")
    assert (ran.code, ran.out) == (0, "There are no cycles.\n")
    (work / "main.tf").write_text("locals {\n  a = local.b\n  b = local.a\n}\n", encoding="utf-8")
    ran = planner("cycles")
    assert ran.code == 1 and ran.out.endswith(
        "To break it, remove one of these:\n"
        "  - the reference from local.a to local.b (main.tf:2: a = local.b)\n"
        "  - the reference from local.b to local.a (main.tf:3: b = local.a)\n"
    )
    document = json.loads(planner("cycles", "-json").out)
    assert document["format_version"] == "1.0"
    (cycle,) = document["cycles"]
    assert cycle["cycle"] == ["local.a (expand)", "local.b (expand)"]
    assert cycle["cut"] == [
        {
            "object": "local.a",
            "targets": ["local.b"],
            "paths": ["value"],
            "sources": [{"file": "main.tf", "line": 2, "column": 7, "snippet": "  a = local.b"}],
        }
    ]
    assert [one["object"] for one in cycle["alternatives"]] == ["local.a", "local.b"]
    assert (cycle["smallest"], cycle["stuck"]) == (True, [])
    assert cycle["edges"][0]["rule"].startswith("graph/references.")
    assert planner("cycles", "-type=nothing").code == 1
    assert planner("cycles", "word").code == 1


INSTANCES = """resource "terraform_data" "net" {}
resource "terraform_data" "web" {
  for_each = toset(["a", "b"])
  input    = terraform_data.net.id
}
"""


def test_single_instances_within_and_out_of_targets(planner, work: Path):
    (work / "main.tf").write_text(INSTANCES, encoding="utf-8")
    a, b = 'terraform_data.web["a"]', 'terraform_data.web["b"]'
    ran = planner("why", "targeted", f"-target={a}", a)
    assert ran.code == 0 and f"command line -target={a}" in ran.out and "main.tf:2" in ran.out
    ran = planner("why", "targeted", f"-target={a}", b)
    assert ran.code == 1 and f"would need covers_instance(T, {b})" in ran.err
    assert planner("why", "-not", "targeted", f"-target={a}", b).code == 0
    ran = planner("why", "targeted", f"-target={a}", 'terraform_data.web["c"]')
    assert ran.code == 1 and 'would need walked(terraform_data.web["c"], ' in ran.err
    ran = planner("why", "excluded", f"-exclude={a}", a)
    assert ran.code == 0 and f"command line -exclude={a}" in ran.out
    ran = planner("why", "excluded", "-exclude=terraform_data.net", a)
    assert ran.code == 0 and "main.tf:4" in ran.out
    assert planner("why", "excluded", f"-exclude={a}", b).code == 1


def test_facts_about_instances(planner, work: Path):
    text = INSTANCES + 'resource "terraform_data" "self" {\n  count = 2\n  depends_on = [terraform_data.self]\n}\n'
    (work / "main.tf").write_text(INSTANCES, encoding="utf-8")
    ran = planner("why", 'unmatched("target", "terraform_data.wep")', "-target=terraform_data.wep")
    assert ran.code == 0 and "neither the configuration nor the state has terraform_data.wep" in ran.out
    ran = planner("query", "takes_part(I)", '-target=terraform_data.web["a"]')
    assert ran.out.split() == ["I", "-" * 23, "terraform_data.net", 'terraform_data.web["a"]']
    (work / "main.tf").write_text(text, encoding="utf-8")
    ran = planner("why", "terraform_data.self[1]", "terraform_data.self[0]")
    assert (
        ran.code == 0
        and "which is not the address of one instance, so all instances are meant" in ran.out
        and "main.tf:8" in ran.out
    )


def test_moved(planner, work: Path):
    (work / "main.tf").write_text('resource "terraform_data" "a" {}\n', encoding="utf-8")
    assert planner("apply", "-auto-approve").code == 0
    text = 'resource "terraform_data" "b" {}\nmoved {\n  from = terraform_data.a\n  to   = terraform_data.b\n}\n'
    (work / "main.tf").write_text(text, encoding="utf-8")
    for address in ("terraform_data.a", "terraform_data.b"):
        ran = planner("why", "moved", address)
        assert ran.code == 0 and "main.tf:2: moved {" in ran.out and "state terraform_data.a" in ran.out
    assert planner("why", "moved", "terraform_data.c").code == 1
    ran = planner("why", "-not", "moved", "terraform_data.c")
    assert ran.code == 0 and "does not hold" in ran.out
    ran = planner("why", 'outside_limits("terraform_data.a")', "-target=terraform_data.b")
    assert ran.code == 0 and "no -target matches terraform_data.a" in ran.out
    assert planner("plan", "-out=p.tfplan").code == 0
    assert planner("why", "-plan=p.tfplan", "moved", "terraform_data.b").code == 0


def test_removed(planner, work: Path):
    (work / "main.tf").write_text('resource "terraform_data" "a" {}\n', encoding="utf-8")
    assert planner("apply", "-auto-approve").code == 0
    (work / "main.tf").write_text("removed {\n  from = terraform_data.a\n}\n", encoding="utf-8")
    ran = planner("why", 'removed_by("terraform_data.a", 0, "keep")')
    assert ran.code == 0 and "main.tf:1: removed {" in ran.out and "no later removed block" in ran.out
    ran = planner("why", "forget", "terraform_data.a")
    assert ran.code == 0 and "main.tf:1: removed {" in ran.out


def test_what_contributed(planner, work: Path):
    ran = planner("why", 'relevant("terraform_data.a.id")')
    assert ran.code == 0 and "contributes to a change: main.tf:3" in ran.out
    assert planner("why", 'relevant("terraform_data.alone.id")').code == 1
    ran = planner("why", 'unknown_cause("terraform_data.b", "input", "terraform_data.a")')
    assert ran.code == 0 and "input mentions terraform_data.a, which may be unknown: main.tf:3" in ran.out
    ran = planner("why", 'recorded_dependency("terraform_data.c", "terraform_data.a")')
    assert ran.code == 0 and "main.tf:3" in ran.out and "main.tf:5" in ran.out
    assert planner("why", "-not", 'recorded_dependency("terraform_data.a", "terraform_data.c")').code == 0
    ran = planner("query", 'recorded_dependency("terraform_data.c", O)')
    assert ran.out.split()[2:] == ["terraform_data.a", "terraform_data.b"]


@pytest.mark.slow
def test_facts_that_only_a_plan_can_tell(planner, work: Path):
    for fact in ('action("terraform_data.a", "create")', 'operation("terraform_data.a", "create")'):
        ran = planner("why", fact)
        assert ran.code == 0, ran.err
        assert "main.tf:2" in ran.out or "terraform_data.a" in ran.out
    wrong = planner("why", 'action("terraform_data.a", "delete")')
    assert wrong.code == 1 and "It does not hold" in wrong.err
    rules = work / ".planner" / "rules"
    rules.mkdir(parents=True)
    own = """/// made(instance): it is created. Example: made("terraform_data.a")
.decl made(instance: instance)
.output made
@reason("{I} is new")
made(I) :- action(I, "create"), instance(I, _, _, _, _).
"""
    (rules / "own.dl").write_text(own, encoding="utf-8")
    mine = planner("why", 'made("terraform_data.a")')
    assert mine.code == 0 and mine.out.startswith("terraform_data.a is new [.planner/rules/own.dl:5]: main.tf:2")


def test_a_fact_about_what_is_no_vertex(planner):
    for words in (('edge("terraform_data.a", "terraform_data.aa")',), ("-not", 'edge("terraform_data.a", "nonsense")')):
        ran = planner("why", *words)
        assert "No such vertex" in ran.err, ran.err


@pytest.mark.slow
def test_an_order_of_a_rule_is_no_reference(planner, work: Path):
    rules = work / ".planner" / "rules"
    rules.mkdir(parents=True)
    order = (
        '@name("house.order") @reason("alone goes first")\norder_before("terraform_data.alone", "terraform_data.a").\n'
    )
    (rules / "own.dl").write_text(order, encoding="utf-8")
    ran = planner("why", "terraform_data.a", "terraform_data.alone")
    assert ran.code == 0 and "refers to" not in ran.out
    assert "one of your rules orders terraform_data.alone before terraform_data.a\n" in ran.out
    assert "alone goes first [house.order, .planner/rules/own.dl:2]" in ran.out
    (rules / "own.dl").write_text(order.replace("alone", "b"), encoding="utf-8")
    cycle = " ".join(planner("plan").err.split())
    assert "terraform_data.a needs terraform_data.b (.planner/rules/own.dl:2)" in cycle
    removal = "your rule that orders terraform_data.b before terraform_data.a"
    assert f"{removal} (house.order; .planner/rules/own.dl:2)" in cycle


def test_no_edge_is_told_by_what_comes_nearest(planner):
    ran = planner("why", "-not", "terraform_data.a", "terraform_data.c")
    assert ran.code == 0 and ran.out.split("\n") == [
        "Nothing in terraform_data.a (expand) refers to terraform_data.c (expand).",
        "terraform_data.a (expand) refers to:",
        '  var.x (triggers_replace, main.tf:2: resource "terraform_data" "a" { triggers_replace = var.x })',
        "There is a path in the opposite direction: terraform_data.c (expand) waits for terraform_data.a (expand):",
        "  terraform_data.c (expand) -> terraform_data.b (expand)",
        "  terraform_data.b (expand) -> terraform_data.a (expand)",
        "To see all rules that were tried: -full",
        "",
    ]
    document = json.loads(planner("why", "-not", "-json", "terraform_data.a", "terraform_data.c").out)
    assert [near["kind"] for near in document["nearest"]] == ["nothing-refers", "mentions", "other-way"]
    assert document["rules"] and document["nearest"][1]["sources"][0]["line"] == 2
    full = planner("why", "-not", "-full", "terraform_data.a", "terraform_data.c").out
    assert "would need" in full and "other way" not in full
    direct = planner("why", "-not", "terraform_data.b", "terraform_data.c").out
    assert "terraform_data.c (expand) waits for terraform_data.b (expand) (main.tf:5" in direct
    through = planner("why", "-not", "terraform_data.c", "terraform_data.a").out
    assert through.startswith("terraform_data.c (expand) waits for terraform_data.a (expand) through other vertices:\n")
    assert planner("why", "-not", 'edge("terraform_data.c", "terraform_data.a")').out == through
    same = planner("why", "-not", "terraform_data.a", "terraform_data.a").out
    assert "no vertex waits for itself" in same
    assert planner("why", "-not", "terraform_data.b", "terraform_data.a").code == 1  # it does hold
    error = planner("why", "terraform_data.alone", "terraform_data.a")
    assert error.code == 1 and "Nothing in terraform_data.alone" in error.err and "] would need" not in error.err


def test_no_edge_of_what_is_left_out(planner):
    ran = planner("why", "-not", "-target=terraform_data.b", "terraform_data.c", "terraform_data.b")
    assert (
        ran.out.startswith("terraform_data.c (expand) is left out of this graph: ")
        and "-target=terraform_data.b" in ran.out
    )
    ran = planner("why", "-not", "-exclude=terraform_data.b", "terraform_data.c", "terraform_data.a")
    assert "is left out of this graph: terraform_data.c (expand) depends on terraform_data.b (expand)" in ran.out


def test_module_instances_refer_within_themselves(planner, work: Path):
    (work / "m").mkdir()
    (work / "m/main.tf").write_text(
        'resource "terraform_data" "a" {}\nresource "terraform_data" "b" { input = terraform_data.a.id }\n'
    )
    (work / "main.tf").write_text('module "m" {\n  source = "./m"\n  count = 2\n}\n')
    assert planner("init").code == 0 and planner("plan", "-out=p").code == 0
    b, a = "module.m[0].terraform_data.b", "module.m[1].terraform_data.a"
    ran = planner("why", "-not", "-plan=p", b, a)
    assert ran.out.startswith(f"{b} refers to an object in its own module instance, module.m[0], not to {a}.")


def test_an_instance_falls_back_to_what_stands_for_it(planner, work: Path):
    (work / "main.tf").write_text(INSTANCES, encoding="utf-8")
    b = 'terraform_data.web["b"]'
    told = "The answer is about {} as a whole, because this graph has no vertices for instances such as {}."
    note = told.format("terraform_data.web", b)
    ran = planner("why", b, "terraform_data.net")
    assert ran.code == 0 and ran.out.startswith(f"{note}\nterraform_data.web waits for terraform_data.net")
    assert json.loads(planner("why", "-json", b, "terraform_data.net").out)["notes"] == [note]
    ran = planner("why", "terraform_data.net", b)
    assert ran.code == 1 and "as a whole, because this graph" in ran.err and "not the other way round" in ran.err
    (work / "main.tf").write_text(INSTANCES.replace('"net" {}', '"net" { count = 2 }').replace("net.id", "net[*].id"))
    ran = planner("why", b, "terraform_data.net[1]")
    assert (
        ran.code == 0
        and told.format("terraform_data.net", "terraform_data.net[1]") in ran.out
        and ran.out.startswith(note)
    )
    ran = planner("query", "deps(terraform_data.web[0])")
    assert ran.code == 0 and "terraform_data.net" in ran.out and "is about terraform_data.web as a" in ran.err
    ran = planner("query", 'edge("terraform_data.web[0]", X)')
    assert ran.code == 0 and "terraform_data.net" in ran.out and "is about terraform_data.web as a" in ran.err


def test_unknown_addresses_get_names_that_there_are(planner):
    for words in (("why", "terraform_data.zzz", "terraform_data.a"), ("query", "deps(terraform_data.zzz)")):
        ran = planner(*words)
        told = " ".join(ran.err.split())
        assert (
            ran.code == 1 and "The objects of type terraform_data are terraform_data.a, terraform_data.alone" in told
        ), words
    for words, name in (
        (("unknown", "terraform_data.c.inptu"), "terraform_data.c.input"),
        (("terraform_data.alon",), "terraform_data.alone"),
        (("module.m.terraform_data.alone",), "terraform_data.alone"),
    ):
        ran = planner("why", *words)
        assert ran.code == 1 and f'Did you mean "{name}"?' in " ".join(ran.err.split()), words
    assert planner("why", "-not", "unknown", "var.x").out.startswith('var.x is known: "2".\n')
    ran = planner("why", "module.m.terraform_data.alone", "terraform_data.a")
    assert 'Did you mean "terraform_data.alone"?' in " ".join(ran.err.split())
