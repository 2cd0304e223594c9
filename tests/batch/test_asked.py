"""What a command line asks of single units: variables, targets, replacements; other kinds of plans; plan JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from batch.fleets import BACKEND, batch, inside, write

from planner.workflows.batch.record import json_path

MAIN = (
    BACKEND
    + """
variable "size" {
  type    = number
  default = 1
}
resource "terraform_data" "one" {
  input = var.size
}
resource "terraform_data" "two" {
}
"""
)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    write(tmp_path, {"a/main.tf": MAIN, "b/main.tf": MAIN, "c/main.tf": BACKEND + 'resource "terraform_data" "x" {}\n'})
    return tmp_path


def applied(root: Path) -> Path:
    assert batch(root, "apply", "-auto-approve").code == 0
    return root


def inputs(root: Path) -> list[list[object]]:
    rows = batch(root, "query", "-json", 'unit_configured(U, "var.size", "value", V)', "-no-cache").json["rows"]
    return list(rows)


def changes(root: Path, *words: str) -> dict[str, list[str]]:
    ran = batch(root, "plan", "-json", *words)
    assert ran.code == 0, ran.out
    return {u["unit"]: [f"{c['action']} {c['address']}" for c in u["changes"]] for u in ran.json["units"]}


def test_variables_go_to_those_that_declare_them(fleet: Path) -> None:
    applied(fleet)
    one = ["update terraform_data.one"]
    assert changes(fleet, "-var=size=2") == {"a": one, "b": one, "c": []}
    assert changes(fleet, "-var=b:size=2") == {"a": [], "b": one, "c": []}
    assert changes(fleet, "-var=size=2", "-var=a:size=1") == {"a": [], "b": one, "c": []}
    write(fleet, {"big.tfvars": "size = 9\n"})
    assert changes(fleet, "-var-file=a:big.tfvars") == {"a": one, "b": [], "c": []}
    assert changes(fleet) == {"a": [], "b": [], "c": []}


TAKES = (
    BACKEND
    + """
variable "v" { default = "" }
variable "w" { default = "" }
variable "x" { default = "" }
resource "terraform_data" "x" {
  input = "${var.v} ${var.w} ${var.x}"
}
"""
)
FLEET = """
unit "a" {}
unit "b" {
  variables = { w = "file" }
  inputs    = { v = unit.a.o }
}
group "g" {
  units  = ["b"]
  inputs = { x = unit.a.o }
}
"""


def test_the_command_line_wins_over_the_file_of_the_fleet(tmp_path: Path) -> None:
    write(tmp_path, {
        "planner.batch.hcl": FLEET,
        "a/main.tf": BACKEND + 'output "o" {\n  value = "a"\n}\n',
        "b/main.tf": TAKES,
        "v.tfvars": 'v = "named"\nw = "named"\n',
        "b/terraform.tfvars": 'x = "automatic"\n',
    })  # fmt: skip

    def made(*words: str) -> str:
        assert batch(tmp_path, "plan", f"-json-out-dir={tmp_path}/out", *words).code == 0
        document = json.loads((tmp_path / "out/b/tfplan.json").read_text())
        return str(document["resource_changes"][0]["change"]["after"]["input"])

    assert made() == "a file a"
    assert made("-var=v=asked") == "asked file a"
    assert made("-var=b:w=asked", "-var=x=asked") == "a asked asked"
    assert made("-var-file=v.tfvars") == "named named a"


def test_targets_and_replacements(fleet: Path) -> None:
    assert changes(fleet, "-target=a:terraform_data.two") == {"a": ["create terraform_data.two"]}
    assert set(changes(fleet, "-target=a:terraform_data.two", "a", "c")) == {"a", "c"}
    applied(fleet)
    replaced = changes(fleet, "-replace=a:terraform_data.two")
    assert [len(done) for done in replaced.values()] == [1, 0, 0]
    assert replaced["a"][0].endswith(" terraform_data.two") and "create" in replaced["a"][0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-var=sise=2"], 'None of the selected units declares a variable sise. Did you mean "size"?'),
        (["-var=c:size=2"], "The unit c declares no variable size."),
        (["-var=d:size=2"], "No unit is called d."),
        (["-var=size"], "is not NAME=VALUE"),
        (["-var-file=no.tfvars"], "There is no file no.tfvars"),
        (["-target=terraform_data.two"], "is not UNIT:ADDRESS"),
        (["-target=d:terraform_data.two"], "No unit is called d."),
        (["-target=a:..."], "has no valid address after the unit"),
        (["-replace=b:terraform_data.one", "-exclude=b"], "The unit b is not among the units"),
        (["-destroy", "-refresh-only"], "choose one"),
        (["-refresh-only", "-refresh=false"], "Conflicting options"),
    ],
)
def test_what_names_nothing_is_an_error(fleet: Path, words: list[str], said: str) -> None:
    ran = batch(fleet, "plan", *words)
    assert ran.code == 1
    assert said in " ".join(ran.errors.split())
    assert "started" not in ran.out


def test_an_address_that_a_unit_does_not_have(fleet: Path) -> None:
    ran = batch(fleet, "plan", "-json", "-replace=a:terraform_data.twoo")
    assert ran.code == 1 and ran.outcomes == {"a": "failed", "b": "changes", "c": "changes"}
    assert "matches no object" in ran.unit("a")["diagnostics"][0]["detail"]


def test_plans_that_destroy_go_backwards(tmp_path: Path) -> None:
    reads = (
        'data "terraform_remote_state" "a" {\n  backend = "local"\n  config = { path = "../a/terraform.tfstate" }\n}\n'
    )
    write(tmp_path, {"a/main.tf": MAIN, "b/main.tf": MAIN + reads})
    applied(tmp_path)
    ran = batch(tmp_path, "plan", "-json", "-destroy", "-detailed-exitcode")
    assert ran.code == 2 and ran.outcomes == {"a": "changes", "b": "changes"}
    assert {c["action"] for u in ran.json["units"] for c in u["changes"]} == {"delete"}
    text = batch(tmp_path, "plan", "-destroy").out
    assert text.index("b: started") < text.index("a: started")
    assert batch(tmp_path, "plan", "-json").outcomes == {"a": "unchanged", "b": "unchanged"}


def test_plan_json_of_each_unit(fleet: Path) -> None:
    for _ in range(2):  # also where nothing has changed since
        assert batch(fleet, "plan", "-json-out-dir=out").code == 0
        files = sorted(path for path in (fleet / "out").rglob("*") if path.is_file())
        documents = {path.parent.name: json.loads(path.read_text()) for path in files}
        assert files == [fleet / "out" / unit / "tfplan.json" for unit in "abc"]
        assert [c["address"] for c in documents["c"]["resource_changes"]] == ["terraform_data.x"]
        modes = {path.stat().st_mode & 0o777 for path in files}
        (fleet / "out/a/tfplan.json").unlink()
    assert modes == {0o600}
    assert (fleet / "out").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("unit", "path"),
    [
        ("a", "a/tfplan.json"),
        ("live/eu/a b", "live/eu/a b/tfplan.json"),
        (".", "tfplan.json"),
        ("../a", "%2E%2E/a/tfplan.json"),
        ("stack/x/../../../y", "stack/x/%2E%2E/%2E%2E/%2E%2E/y/tfplan.json"),
        ("a/.hidden", "a/.hidden/tfplan.json"),
    ],
)
def test_names_of_plan_json_stay_in_the_folder(unit: str, path: str) -> None:
    assert json_path("/out", unit) == f"/out/{path}"


def test_plan_json_has_numbers_in_full(tmp_path: Path) -> None:
    write(tmp_path, {"a/main.tf": f'{BACKEND}output "x" {{ value = {{ half = 0.02 }} }}\n'})
    assert batch(tmp_path, "plan", "-json-out-dir=out").code == 0
    assert '{"half":0.02}' in (tmp_path / "out/a/tfplan.json").read_text()


def test_a_run_with_variables_is_not_resumed(fleet: Path) -> None:
    assert batch(fleet, "plan", "-var=size=77123").code == 0
    with inside(fleet):
        ran = batch(fleet, "resume")
    assert ran.code == 1 and "Start it again" in " ".join(ran.errors.split())
    records = [path.read_text() for path in (fleet / ".planner").rglob("*.json*")]
    assert records and not any("77123" in text for text in records)


def test_what_is_destroyed_can_be_named(fleet: Path) -> None:
    applied(fleet)
    ran = batch(fleet, "destroy", "-auto-approve", "-json", "-target=a:terraform_data.two")
    assert ran.code == 0 and ran.outcomes == {"a": "applied"}
    assert [c["address"] for c in ran.unit("a")["changes"]] == ["terraform_data.two"]
