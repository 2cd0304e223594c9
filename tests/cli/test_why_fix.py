"""`why -fix`: the smallest sets of places that make something go away, each checked or with the reason why it was
not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.test_why import CONFIG


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(CONFIG, encoding="utf-8")
    return tmp_path


def told(planner, *words):
    ran = planner("why", "-fix", *words)
    assert ran.code == 0, ran.err
    return ran.out.rstrip("\n").split("\n")


def test_a_way_by_either_of_its_edges(planner):
    assert told(planner, "terraform_data.c", "terraform_data.a") == [
        "terraform_data.c waits for terraform_data.a. To avoid this, do one of these:",
        '  1. main.tf:3: resource "terraform_data" "b" { input = terraform_data.a.id } [checked]',
        "  2. main.tf:5: input = terraform_data.b.output [checked]",
    ]
    document = json.loads(planner("why", "-fix", "-json", "terraform_data.c", "terraform_data.a").out)
    assert [fix["places"][0]["source"]["line"] for fix in document["fixes"]] == [3, 5]
    assert all(fix["checked"] for fix in document["fixes"]) and document["goal"][0] == "waits_for"
    none = planner("why", "-fix", "terraform_data.a", "terraform_data.c")
    assert none.code == 1 and "is a path in the opposite direction" in " ".join(none.err.split())


def test_two_ways_take_two_lines(planner, work: Path):
    text = CONFIG.replace("  lifecycle", "  triggers_replace = terraform_data.a.id\n  lifecycle")
    (work / "main.tf").write_text(text, encoding="utf-8")
    document = json.loads(planner("why", "-fix", "-json", "terraform_data.c", "terraform_data.a").out)
    lines = [[place["source"]["line"] for place in fix["places"]] for fix in document["fixes"]]
    assert lines == [[3, 6], [5, 6]]
    one = text.replace("= terraform_data.b.output", "= [terraform_data.b.output, terraform_data.a.id]")
    (work / "main.tf").write_text(one.replace("  triggers_replace = terraform_data.a.id\n", ""), encoding="utf-8")
    document = json.loads(planner("why", "-fix", "-json", "terraform_data.c", "terraform_data.a").out)
    assert [[p["source"]["line"] for p in fix["places"]] for fix in document["fixes"]] == [[5]]
    # what is claimed is so
    (work / "main.tf").write_text(
        text.replace("input = terraform_data.a.id", "").replace("= terraform_data.a.id", "= 1")
    )
    assert planner("why", "terraform_data.c", "terraform_data.a").code == 1


def test_what_is_declared_alone_cannot_be_taken_away(planner):
    lines = told(planner, 'selected("terraform_data.alone")')
    assert len(lines) == 2 and lines[1].startswith("There is no line, option or rule to remove")


def test_facts_of_a_graph(planner):
    lines = told(planner, "forced", "terraform_data.a")
    assert lines[-1] == "  3. main.tf:7: create_before_destroy = true [checked]" and len(lines) == 4
    lines = told(planner, "excluded", "-exclude=terraform_data.a", "terraform_data.b")
    assert any("-exclude=terraform_data.a [checked]" in line for line in lines)


@pytest.mark.slow
def test_a_rule_of_the_users(planner, work: Path):
    rules = work / ".planner/rules"
    rules.mkdir(parents=True)
    (rules / "own.dl").write_text(
        '@name("house.order") @reason("alone goes first")\norder_before("terraform_data.alone", "terraform_data.a").\n'
        '@name("house.too") order_before("terraform_data.alone", "terraform_data.b").\n',
        encoding="utf-8",
    )
    assert told(planner, "terraform_data.a", "terraform_data.alone")[1:] == [
        "  1. your rule house.order (.planner/rules/own.dl:2) [checked]"
    ]
    assert told(planner, "terraform_data.b", "terraform_data.alone")[1:] == [
        '  1. main.tf:3: resource "terraform_data" "b" { input = terraform_data.a.id }',
        "     and your rule house.too (.planner/rules/own.dl:3) [checked]",
        "  2. your rule house.order (.planner/rules/own.dl:2)",
        "     and your rule house.too (.planner/rules/own.dl:3) [checked]",
    ]


def test_a_change_is_planned_again_as_it_was(planner):
    assert planner("apply", "-auto-approve").code == 0
    assert told(planner, "terraform_data.a", "-var=x=3") == [
        "terraform_data.a will be replaced. To keep it:",
        '  1. set var.x back to "2" (-var=x)',
        "     [checked: then no change]",
    ]
    lines = told(planner, "replace", "terraform_data.b", "-replace=terraform_data.b", "-var=x=3")
    assert lines == [
        "terraform_data.b will be replaced. To keep it, do one of these:",
        "  1. plan without -replace=terraform_data.b",
        "     [checked: then updated in place instead]",
        "  2. plan without -replace=terraform_data.b",
        '     and set var.x back to "2" (-var=x)',
        "     [checked: then no change]",
    ]
    lines = told(planner, "terraform_data.a", "-destroy")
    assert lines[1:] == ["  1. plan without -destroy", "     [checked: then no change]"]
    assert planner("plan", "-out=plan", "-var=x=3").code == 0
    lines = told(planner, "terraform_data.a", "-plan=plan")
    assert (
        lines[1].startswith("  1. set var.x back")
        and lines[2] == "     [not checked: a saved plan cannot be made again]"
    )


def test_a_text_is_not_checked(planner, work: Path):
    assert planner("apply", "-auto-approve").code == 0
    (work / "main.tf").write_text(CONFIG.replace("= var.x", '= "other"'), encoding="utf-8")
    lines = told(planner, "terraform_data.a")
    assert lines[1:] == [
        '  1. set terraform_data.a.triggers_replace back to "2" (main.tf:2)',
        "     [not checked: this needs an edit]",
    ]


def test_files_and_keys_are_taken_back(planner, work: Path):
    configuration = """variable "keys" { default = { a = 1 } }
resource "terraform_data" "f" { input = file("f.txt") }
resource "terraform_data" "k" {
  for_each = var.keys
  input    = each.value
}
"""
    (work / "main.tf").write_text(configuration, encoding="utf-8")
    (work / "f.txt").write_text("one", encoding="utf-8")
    assert planner("apply", "-auto-approve").code == 0
    (work / "f.txt").write_text("two", encoding="utf-8")
    (work / "main.tf").write_text(configuration.replace("a = 1 }", "a = 1, b = 2 }"), encoding="utf-8")
    assert told(planner, "terraform_data.f")[1:] == [
        "  1. undo the edit of f.txt (read at main.tf:2)",
        "     [checked: then no change]",
    ]
    assert told(planner, 'terraform_data.k["b"]') == [
        'terraform_data.k["b"] will be created. To avoid that:',
        "  1. remove b from var.keys (main.tf:1)",
        "     [checked: then not created]",
    ]


def test_a_key_that_was_removed_is_added_again(planner, work: Path):
    configuration = """variable "keys" { default = { a = { n = 1, s = ["x"] }, b = {} } }
resource "terraform_data" "k" { input = keys(var.keys) }
"""
    (work / "main.tf").write_text(configuration, encoding="utf-8")
    assert planner("apply", "-auto-approve").code == 0
    (work / "main.tf").write_text(configuration.replace('a = { n = 1, s = ["x"] }, ', ""), encoding="utf-8")
    assert told(planner, "terraform_data.k")[1:] == [
        '  1. add a = { n = 1, s = ["x"] } to var.keys again (main.tf:1)',
        "     [checked: then no change]",
    ]


def test_what_was_is_not_on_record(planner, work: Path):
    """Several certain causes go together, candidates alone; what nobody knows may have been the default."""
    text = 'variable "x" { default = "2" }\nvariable "y" { default = "3" }\n'
    text += 'resource "terraform_data" "a" { input = "${var.x}-${var.y}" }\n'
    (work / "main.tf").write_text(text, encoding="utf-8")
    assert planner("apply", "-auto-approve").code == 0
    lines = told(planner, "terraform_data.a", "-var=x=3", "-var=y=4")
    assert lines[1:] == [
        '  1. set var.x back to "2" (-var=x)',
        '     and set var.y back to "3" (-var=y)',
        "     [checked: then no change]",
    ]
    assert planner("apply", "-auto-approve", "-var=x=7").code == 0
    lines = told(planner, "terraform_data.a", "-var=x=3")
    assert lines[1] == '  1. set var.x back to "7" (-var=x)'
    assert lines[2] == "     [checked: then no change]"
    (work / ".terraform.tfstate.applied.json").unlink()
    lines = told(planner, "terraform_data.a", "-var=x=3", "-var=y=4")
    assert lines[-1].startswith("No earlier apply is recorded here, so the causes are only") and len(lines) == 6
    assert lines[-1].endswith("apply once with planner, or compare with a commit: -since=REF")
    note = f"\nNote: {lines[-1]}\n"
    for question in ((), ("terraform_data.a",)):
        assert planner("why", *question, "-var=x=3", "-var=y=4").out.count(note) == 1


def test_an_unknown_value(planner):
    lines = told(planner, "unknown", "terraform_data.c.input")
    assert lines == [
        "terraform_data.c.input is not known yet. To avoid this, do one of these:",
        "  1. main.tf:5: input = terraform_data.b.output [checked]",
        "  2. terraform_data.b: apply it first (planner apply '-target=terraform_data.b') [checked]",
    ]
    assert planner("apply", "-auto-approve", "-target=terraform_data.b").code == 0
    assert planner("why", "unknown", "terraform_data.c.input").code == 1  # it is known now, as was said
    assert planner("why", "-fix", "unknown", "terraform_data.c.input").code == 1


POLICY = """@reason("{A} has no owner")
deny("owner", A, "has no Owner") :- planned(A, "input.size", _), not planned(A, "input.tags.Owner", _).
@reason("{A} is too large")
deny("size", A, "is too large") :- planned(A, "input.size", N), N > 10.
deny("size", A, "is too large") :- planned(A, "input.other", N), N > 10.
"""
LARGE = """variable "size" { default = 20 }
resource "terraform_data" "a" {
  input = {
    size  = var.size
    other = 30
    tags  = {}
  }
}
"""


def test_a_denial(planner, work: Path):
    (work / "main.tf").write_text(LARGE, encoding="utf-8")
    (work / "p.dl").write_text(POLICY, encoding="utf-8")
    lines = told(planner, "-policy=p.dl", "deny", "size", "terraform_data.a")
    assert lines[1:] == [
        "  1. another value of terraform_data.a.input.other: main.tf:5: other = 30",
        "     and another value of var.size, which terraform_data.a.input.size copies: "
        'main.tf:1: variable "size" { default = 20 } [checked]',
    ]
    lines = told(planner, "-policy=p.dl", "deny", "owner", "terraform_data.a")
    assert lines[1:] == ["  1. give terraform_data.a.input.tags.Owner a value: main.tf:6: tags  = {} [checked]"]
    assert planner("why", "-fix", "-not", "terraform_data.a", "terraform_data.b").code == 1


def test_an_object_that_does_not_change_has_nothing_to_avoid(planner, work: Path):
    assert planner("apply", "-auto-approve").code == 0
    assert told(planner, "terraform_data.a") == [
        "terraform_data.a does not change.",
        "There is no cause that could be removed.",
    ]
    without = planner("why", "-fix", "replace")
    assert without.code == 1 and "planner why -fix replace ADDRESS" in without.err
