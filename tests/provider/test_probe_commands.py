"""Identities and moves in commands: imports, states of earlier versions, moves between types."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from provider.probes import calls, fill, thing

from planner.cli import main
from planner.render.terminal import Terminal

REQUIRED = 'terraform {\n  required_providers {\n    probe = { source = "example.com/test/probe" }\n  }\n}\n'
THING = 'resource "probe_thing" "r" {\n  name = "a"\n}\n'


@pytest.fixture
def project(probe_world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = probe_world.parent / "project"
    found.mkdir()
    monkeypatch.chdir(found)
    return found


def run(*words: str, code: int = 0) -> str:
    out = io.StringIO()
    assert main.dispatch([*words, "-no-color"], Terminal(io.StringIO(), out, out)) == code, out.getvalue()
    return " ".join(out.getvalue().replace("│", " ").split())


def imported(identity: str, type: str = "probe_thing") -> str:
    return f"import {{\n  to       = {type}.r\n  identity = {identity}\n}}\n"


IMPORTS: dict[str, tuple[str, str]] = {
    # import block -> what the plan must report
    "the required part": (imported('{ name = "a" }'), "1 to import, 0 to add, 0 to change, 0 to destroy"),
    "all parts": (imported('{ name = "a", region = "home" }'), "1 to import, 0 to add, 0 to change, 0 to destroy"),
    "with for_each": (
        'import {\n  for_each = { r = "a" }\n  to = probe_thing.r\n  identity = { name = each.value }\n}\n',
        "1 to import, 0 to add, 0 to change, 0 to destroy",
    ),
    "an unknown part": (
        imported('{ name = "a", zone = "z" }'),
        'The identity has no attribute named "zone". It has name and region.',
    ),
    "a missing part": (imported('{ region = "home" }'), 'attribute "name" is required'),
    "null": (
        imported('{ name = null, region = "home" }'),
        "name must not be null: the provider needs it to find the object.",
    ),
    "both": (
        'import {\n  to = probe_thing.r\n  id = "a"\n  identity = { name = "a" }\n}\n',
        "id and identity both identify the object; use one of them.",
    ),
    "sensitive": (imported('{ name = sensitive("a") }'), "It is sensitive or ephemeral"),
    "known later": (imported("{ name = terraform_data.t.id }"), "It is only known after apply"),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_imports(project: Path, probe_world: Path, name: str) -> None:
    block, expected = IMPORTS[name]
    fill(probe_world, thing("a"))
    text = REQUIRED + THING + 'resource "terraform_data" "t" {}\n' + block
    if expected.startswith("1 to import"):
        text = REQUIRED + THING + block
    (project / "main.tf").write_text(text)
    is_good = expected.startswith("1 to import")
    assert expected in run("plan", code=0 if is_good else 1)
    sent = [c["request"] for c in calls(probe_world) if c["call"] == "ImportResourceState"]
    assert len(sent) == is_good
    if is_good:
        run("apply", "-auto-approve")
        (instance,) = json.loads((project / "terraform.tfstate").read_text())["resources"][0]["instances"]
        assert (instance["identity"], instance["identity_schema_version"]) == ({"name": "a", "region": "home"}, 1)


def test_a_type_without_identities(project: Path) -> None:
    plain = 'resource "probe_plain" "r" {\n  value = "a"\n}\n'
    (project / "main.tf").write_text(REQUIRED + plain + imported('{ name = "a" }', "probe_plain"))
    assert "Import by identity is not possible" in run("plan", code=1)


def state(project: Path, type: str, attributes: dict[str, Any], **more: Any) -> None:
    version = {"probe_thing": 2, "probe_aged": 1, "foreign_thing": 1}.get(type, 0)
    instance = {"schema_version": version, "attributes": attributes, **more}
    provider = 'provider["example.com/test/probe"]'
    resource = {"mode": "managed", "type": type, "name": "r", "provider": provider, "instances": [instance]}
    head = {"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l", "outputs": {}}
    (project / "terraform.tfstate").write_text(json.dumps({**head, "resources": [resource]}))


def recorded(project: Path) -> Any:
    return json.loads((project / "terraform.tfstate").read_text())["resources"][0]["instances"][0]


OLD: dict[str, tuple[dict[str, Any], str]] = {
    # the identity in the state -> what a plan reports, "" for nothing
    "version 0": ({"identity": {"ident": "a"}, "identity_schema_version": 0}, ""),
    "version 1": ({"identity": {"id_part": "a"}, "identity_schema_version": 1}, ""),
    "none": ({}, ""),
    "a later version": (
        {"identity": {"name": "a"}, "identity_schema_version": 9},
        "Error: Resource identity managed by newer provider version",
    ),
}


@pytest.mark.parametrize("name", OLD)
def test_identities_of_earlier_versions(project: Path, probe_world: Path, name: str) -> None:
    identity, expected = OLD[name]
    attributes = {"name": "a", "id": "aged-a"}
    fill(probe_world, probe_aged={"a": attributes})
    state(project, "probe_aged", attributes, **identity)
    (project / "main.tf").write_text(REQUIRED + 'resource "probe_aged" "r" {\n  name = "a"\n}\n')
    if expected:
        assert expected in run("plan", code=1)
        return
    run("apply", "-auto-approve")
    assert (recorded(project)["identity"], recorded(project)["identity_schema_version"]) == ({"name": "a"}, 2)
    upgrades = [c for c in calls(probe_world) if c["call"] == "UpgradeResourceIdentity"]
    assert len(upgrades) == name.startswith("version")
    run("plan", "-detailed-exitcode")


MOVES: dict[str, tuple[str, str]] = {
    "probe_twin": ("", "No changes"),
    "probe_plain": ("", "Unable to Move Resource State"),
    "a provider without moves": ("move", "Move not supported"),
}


@pytest.mark.parametrize("target", MOVES)
def test_moves(project: Path, probe_world: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    off, expected = MOVES[target]
    monkeypatch.setenv("PROBE_OFF", off)
    type = target if target.startswith("probe_") else "probe_twin"
    fill(probe_world, thing("a"))
    identity = {"identity": {"name": "a", "region": "home"}, "identity_schema_version": 1}
    state(project, "probe_thing", thing("a"), private="cHJpdmF0ZQ==", **identity)
    body = 'value = "a"' if type == "probe_plain" else 'name = "a"'
    moved = f"moved {{\n  from = probe_thing.r\n  to   = {type}.r\n}}\n"
    (project / "main.tf").write_text(REQUIRED + f'resource "{type}" "r" {{\n  {body}\n}}\n' + moved)
    if expected != "No changes":
        assert expected in run("plan", code=1)
        return
    run("plan")
    run("apply", "-auto-approve")
    assert "identity" not in recorded(project) and recorded(project)["private"] == "cHJpdmF0ZQ=="
    assert next(c["request"]["source_identity"] for c in calls(probe_world) if c["call"] == "MoveResourceState") == {
        "name": "a",
        "region": "home",
    }


def test_schemas(project: Path) -> None:
    (project / "main.tf").write_text(REQUIRED + 'resource "probe_thing" "r" {\n  name = "a"\n}\n')
    out = io.StringIO()
    assert main.dispatch(["providers", "schema", "-json"], Terminal(io.StringIO(), out, out)) == 0
    (found,) = json.loads(out.getvalue())["provider_schemas"].values()
    assert list(found["action_schemas"]) == ["probe_bare", "probe_faulty", "probe_note"]
    assert found["action_schemas"]["probe_note"]["block"]["attributes"]["secret_wo"]["write_only"] is True
    assert found["list_resource_schemas"]["probe_aged"]["block"]["attributes"]["zone"]["required"] is True


DEFERRED: dict[str, tuple[str, str, str, list[str]]] = {
    # provider configuration, object, reason of the deferral, what is planned without it
    "by an object": ("", 'resource "probe_thing" "r" {\n  name = "defercfg-a"\n}\n', "resource_config_unknown", ["b"]),
    "by a prerequisite": ("", 'resource "probe_thing" "r" {\n  name = "deferpre-a"\n}\n', "absent_prereq", ["b"]),
    "by a data source": ("", 'data "probe_lookup" "r" {\n  name = "defer-a"\n}\n', "absent_prereq", ["b"]),
    "by the provider": ("defer = true", THING, "provider_config_unknown", []),
}


@pytest.mark.parametrize("name", DEFERRED)
def test_deferral_by_a_provider(project: Path, probe_world: Path, name: str) -> None:
    settings, block, reason, planned = DEFERRED[name]
    address = "data.probe_lookup.r" if block.startswith("data") else "probe_thing.r"
    rest = f'resource "probe_plain" "after" {{\n  value = {address}.name\n}}\nresource "probe_plain" "b" {{}}\n'
    (project / "main.tf").write_text(REQUIRED + f'provider "probe" {{\n  {settings}\n}}\n' + block + rest)
    assert "-> " not in run("plan", code=0)  # where it is not allowed, well-behaved providers do not defer
    text = run("plan", "-allow-deferral", "-out=p")
    out = io.StringIO()
    assert main.dispatch(["show", "-json", "p"], Terminal(io.StringIO(), out, out)) == 0
    document = json.loads(out.getvalue())
    changes = [c["name"] for c in document.get("resource_changes", []) if c["change"]["actions"] != ["no-op"]]
    assert (changes, document["complete"]) == (planned, False)
    deferred = {d["resource_change"]["address"]: d["reason"] for d in document["deferred_changes"]}
    assert deferred[address] == reason and f"- {address}: " in text
    assert (set(deferred) == {address}) is bool(planned)
    run("apply", "-auto-approve", "-allow-deferral")
    names = json.loads((project / "terraform.tfstate").read_text())["resources"]
    assert [r["name"] for r in names if r["mode"] == "managed"] == planned


def test_a_deferral_that_is_over(project: Path, probe_world: Path) -> None:
    """The next plan has what was deferred."""
    text = REQUIRED + 'provider "probe" {\n  defer = SET\n}\n' + THING
    (project / "main.tf").write_text(text.replace("SET", "true"))
    assert "Left for a later plan" in run("apply", "-auto-approve", "-allow-deferral")
    (project / "main.tf").write_text(text.replace("SET", "false"))
    assert "1 to add" in run("plan", "-allow-deferral")
    assert "1 added" in run("apply", "-auto-approve", "-allow-deferral")
