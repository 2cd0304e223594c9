"""`what-if` about objects of which both plans have the same action: the values that differ, and the cause of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.foundation.vocabulary.records import evolve
from planner.operations.options import OperationOptions
from planner.operations.what_if import what_if

CONFIGURATION = """variable "engine" { default = "15" }
variable "size" { default = "1" }
variable "name" { default = "a" }
variable "secret" {
  default   = "s"
  sensitive = true
}
resource "terraform_data" "database" {
  triggers_replace = var.engine
}
resource "terraform_data" "server" {
  count = var.size
  input = {
    database = terraform_data.database.id
    name     = var.name
    secret   = var.secret
  }
}
"""
BY_ENGINE = [
    "    -> terraform_data.database (main.tf:9)",
]


@pytest.mark.parametrize(
    ("tried", "lines"),
    [
        pytest.param(
            "engine=15",
            ["created with a known input.database", 'because var.engine "16" -> "15" (-var=engine)', *BY_ENGINE],
            id="known",
        ),
        pytest.param(
            "name=b",
            ['created with input.name "b" instead of "a"', 'because var.name "a" -> "b" (-var=name)'],
            id="value",
        ),
        pytest.param(
            "secret=t",
            ["created with another input.secret", "because var.secret (sensitive, -var=secret)"],
            id="sensitive",
        ),
    ],
)
def test_values_that_differ(
    tried: str, lines: list[str], tmp_path: Path, planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(CONFIGURATION)
    assert planner("apply", "-auto-approve").code == 0
    Path("terraform.tfvars").write_text('engine = "16"\nsize = "2"\n')
    head, *rest = lines
    ran = planner("what-if", f"-var={tried}").out.splitlines()
    start = ran.index(f"  terraform_data.server[1]: {head}")
    cause, *hops = rest
    assert cause in ran[:start]
    assert [*ran[start + 1 : start + 1 + len(hops)], ran[start + 1 + len(hops)]] == [*hops, ""]


def test_values_of_an_object_that_only_one_plan_changes(
    tmp_path: Path, planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(CONFIGURATION)
    assert planner("apply", "-auto-approve").code == 0
    base = OperationOptions(directory=".")
    compared, problems = what_if(evolve(base, var_args=(("var", "name=b"),)), base)
    assert compared is not None and not problems
    (difference,) = compared.differences
    assert (difference.without, difference.within) == ("no-op", "update")
    value = difference.values[0]
    assert (value.what, value.without, value.within) == ("terraform_data.server[0].input.name", '"a"', '"b"')
    assert '"values"' not in planner("what-if", "-var=name=b", "-json").out  # those of an action are in the plan


def test_a_value_that_the_other_plan_lacks(tmp_path: Path, planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    part = 'resource "terraform_data" "part" { count = var.number }\n'
    whole = 'resource "terraform_data" "whole" { input = terraform_data.part[*].id }\n'
    Path("main.tf").write_text(f'variable "number" {{ default = 2 }}\n{part}{whole}')
    assert "terraform_data.whole: created with no input[1]" in planner("what-if", "-var=number=1").out


def test_sensitive_outputs_are_not_shown(tmp_path: Path, planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    output = 'output "%s" {\n  value = %s\n  sensitive = true\n}\n'
    outputs = output % ("a", '"hunter-${var.x}"') + output % ("b", '{ c = ["hunter-${var.x}"] }')
    Path("main.tf").write_text(f'variable "x" {{ default = "one" }}\n{outputs}')
    for words in ((), ("-json",)):
        assert "hunter" not in planner("what-if", "-var=x=two", *words).out
    assert "output.a: created with another value" in planner("what-if", "-var=x=two").out


def test_all_variables_that_differ_between_two_plans_are_causes(
    tmp_path: Path, planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(
        'variable "one" { default = "a" }\nvariable "two" { default = "a" }\n'
        'resource "terraform_data" "both" { input = [var.one, var.two] }\n'
    )
    assert planner("apply", "-auto-approve").code == 0
    back = planner("what-if", "-base-var=one=b", "-base-var=two=b", "-var=one=c", "-var=two=a").out
    assert back.startswith('because var.one "b" -> "c" (-var=one), var.two "b" -> "a" (-var=two)\n')
    one = planner("what-if", "-base-var=one=b", "-base-var=two=b", "-var=one=c").out
    assert one.startswith('because var.one "b" -> "c" (-var=one)\n')
