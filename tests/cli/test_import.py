"""`import`: what ends up in the state, and what is refused."""

from __future__ import annotations

import json

import pytest

CONFIGURATION = """
resource "terraform_data" "a" {
  input = "x"
  count = 2
}
module "m" {
  source   = "./m"
  for_each = toset(["k"])
}
"""


@pytest.fixture
def project(tmp_path, planner, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(CONFIGURATION)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "main.tf").write_text('resource "terraform_data" "x" { input = 1 }\n')
    assert planner("get").code == 0
    return tmp_path


@pytest.mark.parametrize("address", ["terraform_data.a[0]", 'module.m["k"].terraform_data.x'])
def test_the_object_is_in_the_state(project, planner, address):
    ran = planner("import", "-no-color", address, "my-id")
    assert (ran.code, ran.err) == (0, "")
    assert f'{address}: Importing from ID "my-id"...' in ran.out
    assert "Import successful!" in ran.out
    (resource,) = json.loads((project / "terraform.tfstate").read_text())["resources"]
    (instance,) = resource["instances"]
    assert instance["attributes"] == {"id": "my-id", "input": None, "output": None, "triggers_replace": None}
    assert planner("state", "list").out == f"{address}\n"
    assert f"# {address} will be updated in-place" in planner("plan", "-no-color").out


@pytest.mark.parametrize(
    ("address", "summary"),
    [
        ("terraform_data.nope", "Resource not in configuration"),
        ("terraform_data.a", "Configuration for import target does not exist"),
        ("terraform_data.a[2]", "Configuration for import target does not exist"),
        ("module.no.terraform_data.x", "Import to non-existent module"),
        ("data.x.y", "Invalid target resource address"),
        ("a b", "Invalid address"),
    ],
)
def test_what_cannot_be_imported(project, planner, address, summary):
    ran = planner("import", "-no-color", address, "my-id")
    assert ran.code == 1
    assert f"Error: {summary}\n" in ran.err
    assert "Warning" not in ran.out + ran.err
    assert not (project / "terraform.tfstate").exists()


def test_nothing_is_imported_twice(project, planner):
    assert planner("import", "terraform_data.a[0]", "one").code == 0
    before = (project / "terraform.tfstate").read_bytes()
    ran = planner("import", "-no-color", "terraform_data.a[0]", "two")
    assert ran.code == 1
    assert "Error: Resource already managed" in ran.err
    assert (project / "terraform.tfstate").read_bytes() == before


def test_outputs_are_recorded_with_the_object(tmp_path, planner, monkeypatch):
    """As the peer does: what is not known yet is null, what is null or no longer declared is not there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(
        """
resource "terraform_data" "a" {}
resource "terraform_data" "b" {}
output "known" { value = terraform_data.a.id }
output "partly" { value = [terraform_data.a.id, terraform_data.b.id, "x"] }
output "nothing" { value = null }
output "secret" {
  value     = "s"
  sensitive = true
}
"""
    )
    assert planner("import", "terraform_data.a", "one").code == 0
    outputs = json.loads((tmp_path / "terraform.tfstate").read_text())["outputs"]
    assert outputs == {
        "known": {"value": "one", "type": "string"},
        "partly": {"value": ["one", None, "x"], "type": ["tuple", ["string", "string", "string"]]},
        "secret": {"value": "s", "type": "string", "sensitive": True},
    }
    (tmp_path / "main.tf").write_text(
        'resource "terraform_data" "a" {}\nresource "terraform_data" "b" {}\noutput "n" { value = 1 }\n'
    )
    assert planner("import", "terraform_data.b", "two").code == 0
    assert list(json.loads((tmp_path / "terraform.tfstate").read_text())["outputs"]) == ["n"]


def test_programs_get_the_reading_and_the_end(project, planner):
    lines = [json.loads(line) for line in planner("import", "-json", "terraform_data.a[0]", "my-id").out.splitlines()]
    assert [line.get("type") for line in lines] == ["version", "refresh_start", "refresh_complete", None]
    assert lines[1]["hook"]["id_value"] == "my-id"
