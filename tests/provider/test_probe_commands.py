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
    "sensitive": (imported('{ name = sensitive("a") }'), "The value is sensitive or ephemeral"),
    "known later": (imported("{ name = terraform_data.t.id }"), "The value is known only after apply"),
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


@pytest.mark.parametrize("probe_world", [6], indirect=True)
def test_explanations_and_documents_have_the_identity(project: Path, probe_world: Path) -> None:
    fill(probe_world, thing("a"))
    (project / "main.tf").write_text(REQUIRED + THING + imported('{ name = "a" }'))
    identity = 'probe_thing.r is imported by its identity name="a", region="home": main.tf:10:'
    assert identity in run("why", "probe_thing.r")
    run("plan", "-out=p")
    change = plan_json("show", "-json", "p")["resource_changes"][0]["change"]
    assert change["importing"] == {"identity": {"name": "a", "region": None}}
    assert change["before_identity"] == change["after_identity"] == {"name": "a", "region": "home"}
    run("apply", "p")
    (shown,) = plan_json("show", "-json")["values"]["root_module"]["resources"]
    assert (shown["identity"], shown["identity_schema_version"]) == ({"name": "a", "region": "home"}, 1)
    moved = "moved {\n  from = probe_thing.r\n  to   = probe_thing.s\n}\n"
    (project / "main.tf").write_text(REQUIRED + THING.replace('"r"', '"s"') + moved)
    assert 'probe_thing.r has moved to probe_thing.s with its identity name="a"' in run("why", "probe_thing.s")


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
    assert deferred["probe_plain.after"] == "deferred_prereq"
    assert ("No changes. The rest is left for a later plan." in text) == (not planned)
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


def plan_json(*words: str) -> Any:
    out = io.StringIO()
    assert main.dispatch([*words], Terminal(io.StringIO(), out, out)) == 0, out.getvalue()
    return json.loads(out.getvalue())


@pytest.mark.parametrize("probe_world", [6], indirect=True)
def test_what_a_deferred_object_would_become(project: Path, probe_world: Path) -> None:
    """The plan that its provider has made goes into the document, one with each instance; of others it is known that
    they exist."""
    settled = 'resource "probe_plain" "after" {\n  value = probe_thing.r[0].id\n}\n'
    block = 'resource "probe_thing" "r" {\n  count = 2\n  name  = "PRE${count.index}"\n  size  = SIZE\n}\n'
    (project / "main.tf").write_text(REQUIRED + block.replace("PRE", "").replace("SIZE", "1") + settled)
    run("apply", "-auto-approve")
    text = block.replace("PRE", "deferpre-").replace("SIZE", "2")
    (project / "main.tf").write_text(REQUIRED + text + settled)
    run("plan", "-allow-deferral", "-out=p")
    found = plan_json("show", "-json", "p")["deferred_changes"]
    assert [
        (d["reason"], d["resource_change"]["address"], d["resource_change"]["change"]["actions"]) for d in found
    ] == [
        ("absent_prereq", "probe_thing.r[0]", ["delete", "create"]),
        ("absent_prereq", "probe_thing.r[1]", ["delete", "create"]),
        ("deferred_prereq", "probe_plain.after", ["update"]),
    ]
    change = found[0]["resource_change"]["change"]
    assert (change["before"]["size"], change["after"]["size"], change["after"]["name"]) == (1, 2, "deferpre-0")
    assert change["before"]["token"] == "token-0" and change["before_sensitive"]["token"] is True
    assert found[2]["resource_change"]["change"]["before"]["value"] == "thing-0"


WHY_DEFERRED: dict[str, tuple[str, str, str]] = {
    # configuration, what is asked about, what the answer has
    "by its provider's configuration": (
        'provider "probe" {\n  region = terraform_data.t.id\n}\n' + THING,
        "probe_thing.r",
        "the provider cannot plan probe_thing.r yet: region of "
        'provider["example.com/test/probe"] is not known, and refers to terraform_data.t: main.tf:7: region = '
        "terraform_data.t.id",
    ),
    "by its own": (
        'resource "probe_thing" "r" {\n  name = "defercfg-a"\n  note = terraform_data.t.id\n}\n',
        "probe_thing.r",
        "the provider cannot plan probe_thing.r yet: note is not known, and refers to terraform_data.t: main.tf:8:",
    ),
    "without a value": (
        'resource "probe_thing" "r" {\n  name = "defercfg-a"\n}\n',
        "probe_thing.r",
        "the provider cannot plan probe_thing.r yet: too much of its configuration is unknown: main.tf:6:",
    ),
    "by the provider": (
        'provider "probe" {\n  defer = true\n}\n' + THING,
        "probe_thing.r",
        "the provider cannot plan probe_thing.r yet: too much of the provider configuration is unknown: main.tf:",
    ),
    "as a dependent": (
        'resource "probe_thing" "r" {\n  name = "deferpre-a"\n}\n'
        'resource "terraform_data" "d" {\n  input = probe_thing.r.id\n}\n',
        "terraform_data.d",
        "terraform_data.d depends on probe_thing.r: main.tf:10: input = probe_thing.r.id the provider "
        "cannot plan probe_thing.r yet: something that probe_thing.r needs does not exist: main.tf:6:",
    ),
    "as a data source": (
        'data "probe_lookup" "r" {\n  name = "defer-a"\n}\n',
        "data.probe_lookup.r",
        "the provider cannot plan data.probe_lookup.r yet: something that data.probe_lookup.r "
        "needs does not exist: main.tf:6:",
    ),
    "by an action": (
        'action "probe_note" "a" {\n  config {\n    text  = "x"\n    defer = true\n  }\n}\n'
        'resource "probe_thing" "r" {\n  name = "a"\n  lifecycle {\n    action_trigger {\n'
        "      events  = [after_create]\n      actions = [action.probe_note.a]\n    }\n  }\n}\n",
        "probe_thing.r",
        "probe_thing.r invokes action.probe_note.a, whose provider defers the invocation: absent_prereq: main.tf:12:",
    ),
}


@pytest.mark.parametrize("probe_world", [6], indirect=True)
@pytest.mark.parametrize("name", WHY_DEFERRED)
def test_why_an_object_is_deferred(project: Path, probe_world: Path, name: str) -> None:
    text, address, expected = WHY_DEFERRED[name]
    (project / "main.tf").write_text(REQUIRED + text + 'resource "terraform_data" "t" {}\n')
    assert expected in run("why", "deferred", address)
    assert address in run("why", "deferred")
    assert "does not hold" in run("why", "-not", "deferred", "terraform_data.t")


@pytest.mark.parametrize("probe_world", [6], indirect=True)
def test_an_object_waits_with_the_action_that_it_invokes(project: Path, probe_world: Path) -> None:
    text = REQUIRED + WHY_DEFERRED["by an action"][0]
    after = 'resource "probe_plain" "after" {\n  value = probe_thing.r.id\n}\n'
    (project / "main.tf").write_text(text + after)
    run("plan", "-allow-deferral", "-out=p")
    document = plan_json("show", "-json", "p")
    assert "action_invocations" not in document and "resource_changes" not in document
    found = {d["resource_change"]["address"]: d["reason"] for d in document["deferred_changes"]}
    assert found == {"probe_thing.r": "absent_prereq", "probe_plain.after": "deferred_prereq"}
    run("apply", "p")
    assert not [c for c in calls(probe_world) if c["call"] in ("ApplyResourceChange", "InvokeAction")]
    assert "action.probe_note.a: something that its provider needs" in run(
        "plan", "-allow-deferral", "-invoke=action.probe_note.a"
    )
    (project / "main.tf").write_text(text.replace("defer = true", "defer = false") + after)
    assert "1 invoked" in run("apply", "-auto-approve", "-allow-deferral")


WAITS = 'resource "probe_thing" "w" {\n  name = "deferuntil-a"\n}\n' + THING
FLEET = 'unit "a" {}\nunit "b" {\n  inputs = { id = unit.a.id }\n}\n'


@pytest.mark.parametrize("probe_world", [6], indirect=True)
@pytest.mark.parametrize("way", [("-auto-approve",), ()], ids=["at once", "wave by wave"])
def test_the_units_of_a_fleet_resolve_their_deferred_parts(
    project: Path, probe_world: Path, monkeypatch: pytest.MonkeyPatch, way: tuple[str, ...]
) -> None:
    for unit in "ab":
        (project / unit).mkdir()
    (project / "planner.batch.hcl").write_text(FLEET)
    (project / "a" / "main.tf").write_text(REQUIRED + WAITS + 'output "id" {\n  value = probe_thing.w.id\n}\n')
    (project / "b" / "main.tf").write_text('variable "id" {}\nresource "terraform_data" "b" {\n  input = var.id\n}\n')
    text = run("batch", "plan", "-allow-deferral")
    assert "a incomplete 1 1 b incomplete 1 because of a" in text and "Some blocks are deferred" in text
    out = io.StringIO()
    terminal = Terminal(io.StringIO("yes\n" * 3), out, out)
    assert main.dispatch(["batch", "apply", "-allow-deferral", *way], terminal) == 0, out.getvalue()
    assert "Batch apply: 2 applied. Objects: 3 added." in " ".join(out.getvalue().split())
    made = [c["request"]["config"]["name"] for c in calls(probe_world) if c["call"] == "ApplyResourceChange"]
    assert made == ["a", "deferuntil-a"]


@pytest.mark.parametrize("probe_world", [6], indirect=True)
def test_a_unit_that_waits_for_nothing_of_its_own_fails(project: Path, probe_world: Path) -> None:
    (project / "a").mkdir()
    (project / "a" / "main.tf").write_text(REQUIRED + WAITS.replace("deferuntil-a", "deferpre-a"))
    assert "probe_thing.w: something that its provider needs does not exist yet" in run(
        "batch", "apply", "-allow-deferral", "-auto-approve", code=1
    )


COMPONENT = 'component "c" {\n  source    = "./c"\n  providers = { probe = provider.probe.p }\n}\n'


@pytest.mark.parametrize("probe_world", [6], indirect=True)
def test_the_next_round_of_a_stack_resolves_what_its_provider_deferred(project: Path, probe_world: Path) -> None:
    (project / "c").mkdir()
    (project / "c" / "main.tf").write_text(REQUIRED + WAITS)
    required = REQUIRED.removeprefix("terraform {\n").removesuffix("}\n")
    (project / "x.tfcomponent.hcl").write_text(required + 'provider "probe" "p" {}\n' + COMPONENT)
    (project / "x.tfdeploy.hcl").write_text('deployment "d" {\n  inputs = {}\n}\n')
    run("stacks", "init")
    assert "parts of component.c deferred" in run("stacks", "plan")
    cause = "of component.c is deferred to a later round: something that its provider needs does not exist yet"
    assert cause in run("stacks", "why", "deferred", "component.c")
    assert "2 added" in run("stacks", "apply", "-auto-approve")
    main_file = REQUIRED + 'provider "probe" {}\n'
    search = 'list "probe_thing" "x" {\n  provider = probe\n}\n'
    (project / "search").mkdir()
    (project / "search" / "main.tf").write_text(main_file)
    (project / "search" / "q.tfquery.hcl").write_text(search)
    found = run("discover", "-fleet=.", "search")  # its objects are managed, for a search in the whole fleet
    assert "managed as d: component.c: probe_thing.r" in found and "2 results, 2 managed" in found
