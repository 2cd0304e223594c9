"""Cases of policies about whole plans: of a small configuration, or as somebody printed them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.operations import rule_tests

CONFIGURATION = """
resource "terraform_data" "a" {
  input = { tags = { Owner = "x" } }
}
resource "terraform_data" "b" {
  input = { tags = {} }
}
resource "terraform_data" "c" {
  input = { tags = terraform_data.a.output }
}
"""
RULE = 'deny("owner", A, "x") :- change(A, "terraform_data", _, _, _, _), not planned(A, "input.tags.Owner", _).\n'
NONE = '.case "none"\nchange("x", "t", "x", "", "p", "managed").\n.want none deny.\n'


def change(address: str, after: object, unknown: object) -> dict[str, object]:
    name = address.rpartition(".")[2]
    provider = "terraform.io/builtin/terraform"
    what = {"actions": ["create"], "before": None, "after": after, "after_unknown": unknown, "after_sensitive": {}}
    place = {"address": address, "mode": "managed", "type": "terraform_data", "name": name, "provider_name": provider}
    return {**place, "change": what}


PLAN = {
    "format_version": "1.2",
    "terraform_version": "1.9.0",
    "resource_changes": [
        change("terraform_data.a", {"input": {"tags": {"Owner": "x"}}}, {}),
        change("terraform_data.b", {"input": {"tags": {}}}, {}),
        change("terraform_data.c", {"input": {}}, {"input": {"tags": True}}),
    ],
}


def ran(folder: Path, case: str) -> rule_tests.Tested:
    (folder / "house.dl").write_text(RULE)
    (folder / "house.case").write_text(f"{case}\n\n{NONE}")
    return rule_tests.run_tests([str(folder)])


@pytest.mark.parametrize("given", ["small", "plan.json"])
def test_plans(tmp_path: Path, given: str) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "main.tf").write_text(CONFIGURATION)
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    wanted = '.want deny("owner", "terraform_data.b", "x"). .want unsettled("owner", "terraform_data.c").'
    found = ran(tmp_path, f'.case "a plan"\n.given "{given}"\n{wanted}')
    assert found.diagnostics == []
    assert [outcome.holds for outcome in found.outcomes[str(tmp_path / "house.case")]] == [True, True]


@pytest.mark.parametrize(
    ("given", "files", "said"),
    [
        ("gone", {}, "There is no file or directory"),
        ("plan.json", {"plan.json": "{"}, "it is not JSON"),
        ("small", {"small/main.tf": "resource {"}, "cannot be planned"),
    ],
)
def test_plans_that_cannot_be_had(tmp_path: Path, given: str, files: dict[str, str], said: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = ran(tmp_path, f'.case "a plan"\n.given "{given}"\n.want none deny.')
    (broken, _) = found.outcomes[str(tmp_path / "house.case")]
    assert not found.passed and any(said in problem.detail for problem in broken.problem)


def test_plans_in_cases_of_other_rules(tmp_path: Path) -> None:
    (tmp_path / "own.dl").write_text('advice("x", A, "y") :- action(A, "delete"), edge(A, _), waits_for(A, _).\n')
    (tmp_path / "own.case").write_text('.case "a"\n.given "x"\nedge("a", "b").\n.want none advice.\n')
    found = rule_tests.run_tests([str(tmp_path)])
    assert "Only cases of policies can contain plans" in " ".join(d.detail for d in found.diagnostics)


PACK = 'name = "acme.x"\nversion = "1.0.0"\ndescription = "x"\n'


@pytest.mark.parametrize(
    ("given", "files", "said"),
    [
        ("small", {"small/.terraform/x": ""}, "has .terraform"),
        ("small", {"small/more.tf": 'resource "evil_thing" "a" {}'}, "needs the provider registry.opentofu.org/"),
        ("small", {"small/more.tf": 'terraform {\n  backend "http" {}\n}'}, "configures where states are"),
        ("small", {"small/more.tf": 'data "terraform_remote_state" "x" {\n  backend = "http"\n}'}, "states of other"),
        ("../outside", {"../outside/main.tf": ""}, "is outside the pack"),
        ("link", {}, "is outside the pack"),
        ("small", {}, ""),
    ],
)
def test_configurations_in_cases_of_packs_start_nothing(
    tmp_path: Path, given: str, files: dict[str, str], said: str
) -> None:
    pack = tmp_path / "pack"
    (tmp_path / "outside").mkdir()
    everything = {"pack.toml": PACK, "small/main.tf": CONFIGURATION, **files}
    for name, text in everything.items():
        (pack / name).parent.mkdir(parents=True, exist_ok=True)
        (pack / name).write_text(text)
    (pack / "link").symlink_to(tmp_path / "outside")
    wanted = '.want deny("owner", "terraform_data.b", "x").'
    found = ran(pack, f'.case "a plan"\n.given "{given}"\n{wanted}')
    (first, _) = found.outcomes[str(pack / "house.case")]
    assert any(said in problem.detail for problem in first.problem) if said else first.holds
