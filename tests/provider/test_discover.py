"""Searches: list blocks of query files, their order, results, mistakes, and the configuration of what is found."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from provider.probes import calls, fill, thing

MAIN = """
terraform {
  required_providers {
    probe = { source = "example.com/test/probe" }
  }
}
provider "probe" {}
"""
Run = Callable[..., Any]


def search(name: str = "x", config: str = "", more: str = "", type: str = "probe_thing") -> str:
    body = f"  config {{\n{config}\n  }}\n" if config else ""
    return f'list "{type}" "{name}" {{\n  provider = probe\n{body}{more}\n}}\n'


@pytest.fixture
def project(probe_world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = probe_world.parent / "project"
    found.mkdir()
    (found / "main.tf").write_text(MAIN)
    fill(probe_world, *map(thing, ("a", "b", "c")))
    monkeypatch.chdir(found)
    return found


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("list.")]


FOUND: dict[str, tuple[str, list[str]]] = {
    "all": (search(), ["a", "b", "c"]),
    "with a configuration": (search(config='prefix = "b"'), ["b"]),
    "with a limit": (search(more="limit = 1 + 1"), ["a", "b"]),
    "without end": (search(config='mode = "endless"', more="limit = 3"), ["again"] * 3),
    "with no limit": (search(config='mode = "endless"'), ["again"] * 100),
    "by a variable and a local value": (
        search(config="prefix = local.p") + 'variable "v" {\n  default = "c"\n}\nlocals {\n  p = var.v\n}\n',
        ["c"],
    ),
    "count and for_each": (
        search(config='prefix = ["a", "b"][count.index]', more="count = 2")
        + search("y", config="prefix = each.key", more='for_each = toset(["c"])'),
        ["x[0] a", "x[1] b", 'y["c"] c'],
    ),
    "after another": (
        search("first", config="prefix = list.probe_thing.x.data[1].state.name")
        + search(more="include_resource = true"),
        ["x a", "x b", "x c", "first b"],
    ),
    "after another, by depends_on": (
        search("first", more="depends_on = [list.probe_thing.x]") + search(config='prefix = "c"'),
        ["x c", "first a", "first b", "first c"],
    ),
    "by identity and name": (
        search("first", config="prefix = list.probe_thing.x.data[0].identity.name") + search(config='prefix = "c"'),
        ["x c", "first c"],
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_is_found(project: Path, planner: Run, name: str) -> None:
    text, expected = FOUND[name]
    (project / "q.tfquery.hcl").write_text(text)
    ran = planner("discover")
    assert ran.code == 0, ran.err
    results = [line.removeprefix("list.probe_thing.").split("   ") for line in lines(ran.out) if "   " in line]
    shown = [f"{address} {identity.split('=')[1].split(',')[0]}" for address, identity, _ in results]
    events = [json.loads(line).get("list_resource_found") for line in planner("query", "-json").out.splitlines()]
    found = [f"{one['address'].removeprefix('list.probe_thing.')} {one['identity']['name']}" for one in events if one]
    assert shown == sorted(found, key=lambda line: line.split()[0])
    if any(" " in line for line in expected):
        assert sorted(found) == sorted(expected) and (found == expected or "count" in name)
    else:
        assert found == [f"x {line}" for line in expected]
    assert planner("validate", "-query").code == 0


WRONG: dict[str, tuple[str, str]] = {
    # query file -> the error
    "no list block": ("locals {}\n", "No resource to query"),
    "no provider": ('list "probe_thing" "x" {}\n', "Missing provider of a list block"),
    "an unknown type": (search(type="probe_absent"), "has no list resource of the type probe_absent"),
    "a type that is only managed": (search(type="probe_plain"), "has no list resource of the type probe_plain"),
    "a missing argument": (search(type="probe_aged", config='prefix = "a"'), '"zone" is required'),
    "a missing block": (search(type="probe_aged"), "config"),
    "an unknown argument": (search(config='nope = "a"'), "nope"),
    "both count and for_each": (search(more='count = 1\n  for_each = toset(["a"])'), "Invalid combination"),
    "a name twice": (search() + search(), "Duplicate list resource"),
    "a limit of nothing": (search(more="limit = 0"), "Invalid limit"),
    "a limit beyond the protocol": (search(more="limit = 10000000000000000000"), "Invalid limit"),
    "a limit of parts": (search(more="limit = 1.5"), "Invalid limit"),
    "a resource": ('resource "probe_thing" "r" {\n  name = "a"\n}\n', "Unsupported block type"),
    "a cycle": (
        search("y", config="prefix = list.probe_thing.x.data[0].identity.name")
        + search(config="prefix = list.probe_thing.y.data[0].identity.name"),
        "Cycle",
    ),
    "an undeclared one": (search(config="prefix = list.probe_thing.y.data[0].identity.name"), "undeclared"),
    "values that were not requested": (
        search("y", config="prefix = list.probe_thing.x.data[0].state.name") + search(),
        'no attribute named "state"',
    ),
    "depends_on of others": (search(more="depends_on = [terraform_data.t]"), "can only depend on other list blocks"),
    "the provider's objection": (search(config='mode = "bad"'), "Bad mode"),
    "a value of later": (
        search(config="prefix = terraform_data.t.id"),
        "uses values that are known only after an apply",
    ),
    "a variable without value": (
        search(config="prefix = var.v") + 'variable "v" {}\n',
        "No value for required variable",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong(project: Path, probe_world: Path, planner: Run, name: str) -> None:
    text, expected = WRONG[name]
    (project / "q.tfquery.hcl").write_text(text)
    (project / "t.tf").write_text('resource "terraform_data" "t" {}\n')
    ran = planner("discover", "-input=false")
    assert ran.code == 1 and expected in " ".join(ran.err.split()), ran.err
    assert sum(c["call"] == "ListResource" for c in calls(probe_world)) == (name == "values that were not requested")


def test_where_searches_are(project: Path, planner: Run) -> None:
    (project / ".tfquery.hcl").write_text(search())
    assert "No resource to query" in planner("discover").err
    assert "No resource to query" in " ".join(planner("query").err.split())
    (project / "q.tfquery.hcl").write_text(search())
    assert planner("plan").code == 0 and planner("validate").code == 0  # they are of no account there
    assert len(lines(planner("query").out)) == len(lines(planner("query", ".").out)) == 4
    assert planner("query", 'vertex(_, "resource", _, _)').out == "No.\n"
    (project / "main.tf").write_text(MAIN + search())
    assert "Unsupported block type" in planner("validate").err


def test_variables_of_the_command_line(project: Path, planner: Run) -> None:
    (project / "q.tfquery.hcl").write_text(search(config="prefix = var.v") + 'variable "v" {}\n')
    (project / "v.tfvars").write_text('v = "b"\n')
    assert [line.split("   ")[2] for line in lines(planner("query", "-var=v=c").out)[:-1]] == ["Thing c"]
    assert [line.split("   ")[2] for line in lines(planner("query", "-var-file=v.tfvars").out)[:-1]] == ["Thing b"]


FAULTS = {
    # mode -> results, the problem, exit code
    "error_mid": (["a", "b"], "The list broke off", 1),
    "noident": ([], "without an identity", 1),
    "warn": (["a", "b", "c"], "Slow today", 0),
    "noobject": (["a", "b", "c"], "without its values, which were requested", 0),
}


@pytest.mark.parametrize("mode", FAULTS)
def test_events(project: Path, planner: Run, mode: str) -> None:
    names, problem, code = FAULTS[mode]
    more = "include_resource = true" if mode == "noobject" else ""
    (project / "q.tfquery.hcl").write_text(search(config=f'mode = "{mode}"', more=more))
    ran = planner("query", "-json")
    events = [json.loads(line) for line in ran.out.splitlines()]
    shown = [e for e in events if e["type"].startswith("list_")]
    assert [e["type"] for e in shown] == ["list_start", *["list_resource_found"] * len(names), "list_complete"]
    assert shown[0]["list_start"] == {
        "address": "list.probe_thing.x",
        "resource_type": "probe_thing",
        "input_config": {"mode": mode, "prefix": None, "region": None},
    }
    found = [e["list_resource_found"] for e in shown[1:-1]]
    assert [f["identity"] for f in found] == [{"name": name, "region": "home"} for name in names]
    assert all((f["identity_version"], "resource_object" in f) == (1, False) for f in found)
    assert shown[-1]["list_complete"]["total"] == len(names)
    problems = [e["diagnostic"] for e in events if e["type"] == "diagnostic" and "overrides" not in str(e)]
    assert problems and all(problem in f"{d['summary']} {d['detail']}" for d in problems) and ran.code == code


def test_values_in_events(project: Path, planner: Run) -> None:
    secret = 'variable "s" {\n  default   = "a"\n  sensitive = true\n}\n'
    (project / "q.tfquery.hcl").write_text(search(config="prefix = var.s", more="include_resource = true") + secret)
    start, found, _ = (e for e in map(json.loads, planner("query", "-json").out.splitlines()) if "list_" in e["type"])
    assert start["list_start"]["input_config"]["prefix"] is None
    value = found["list_resource_found"]["resource_object"]
    assert (value["name"], value["token"]) == ("a", None)  # a sensitive attribute


CHANGED = "Plan: 3 to import, 0 to add, 3 to change, 0 to destroy."
ALIKE = "Plan: 3 to import, 0 to add, 0 to change, 0 to destroy."


@pytest.mark.parametrize(("off", "expected"), [("", CHANGED), ("generate", ALIKE)])
def test_generated_configuration(
    project: Path, planner: Run, monkeypatch: pytest.MonkeyPatch, off: str, expected: str
) -> None:
    monkeypatch.setenv("PROBE_OFF", off)
    (project / "q.tfquery.hcl").write_text(search())
    events = list(map(json.loads, planner("query", "-json", "-generate-config-out=g.tf").out.splitlines()))
    texts = [e["list_resource_found"] for e in events if e["type"] == "list_resource_found"]
    assert not (project / "g.tf").exists()
    (project / "q.tfquery.hcl").write_text(search() + search("y", config='prefix = "a"'))
    assert planner("query", "-generate-config-out=g.tf").code == 0  # the thing a, which both find, is there once
    (project / "q.tfquery.hcl").write_text(search())
    text = (project / "g.tf").read_text()
    assert all(part["config"] in text and part["import_config"] in text for part in texts) and len(texts) == 3
    assert ('note              = "generated"' in text) is not off
    assert 'resource "probe_thing" "x_0"' in text and "to = probe_thing.x_2" in text
    assert not any(word in text for word in ("token", "old_note", "thing-a"))
    assert expected in planner("plan", "-no-color").out
    again = planner("discover", "-generate-config-out=g.tf")
    assert again.code == 1 and "already exists" in again.err and not lines(again.out)
    assert "Thing a   imported as probe_thing.x_0" in planner("discover", "-generate-config-out=h.tf").out
    assert not (project / "h.tf").exists()
    (project / "g.tf").write_text(re.sub(r"import {.*?\n}\n", "", text, flags=re.DOTALL))
    planner("discover", "-generate-config-out=h.tf")  # names that the configuration has are not used again
    assert 'resource "probe_thing" "x_3"' in (project / "h.tf").read_text()


def recorded(project: Path, *instances: dict[str, Any]) -> None:
    """A state with things by count."""
    provider = 'provider["example.com/test/probe"]'
    entry = {"mode": "managed", "type": "probe_thing", "name": "r", "provider": provider}
    numbered = [{"index_key": i, "schema_version": 2, **part} for i, part in enumerate(instances)]
    head = {"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l", "outputs": {}}
    state = {**head, "resources": [{**entry, "instances": numbered}]}
    (project / "terraform.tfstate").write_text(json.dumps(state))


def kept(name: str, **more: Any) -> dict[str, Any]:
    identity = {"identity": {"region": "home", "name": name}, "identity_schema_version": 1}
    return {"attributes": thing(name), **identity, **more}


def test_what_is_managed_already(project: Path, planner: Run) -> None:
    (project / "q.tfquery.hcl").write_text(search())
    recorded(project, kept("a"), kept("c"))
    things = 'resource "probe_thing" "r" {\n  count = 2\n  name  = ["a", "c"][count.index]\n}\n'
    (project / "r.tf").write_text(things)
    ran = planner("discover", "-generate-config-out=g.tf")
    assert [line.partition("Thing ")[2] for line in lines(ran.out)[:-1]] == [
        "a   managed as probe_thing.r[0]",
        "b",
        "c   managed as probe_thing.r[1]",
    ]
    assert lines(ran.out)[-1] == "list.probe_thing.x: 3 results, 2 managed"
    text = (project / "g.tf").read_text()
    assert text.count("import {") == 1 and 'name   = "b"' in text
    assert "Plan: 1 to import, 0 to add, 1 to change, 0 to destroy." in planner("plan", "-no-color").out
    events = [json.loads(line) for line in planner("query", "-json").out.splitlines()]
    found = [e["list_resource_found"].get("managed_as") for e in events if e["type"] == "list_resource_found"]
    assert found == ["probe_thing.r[0]", None, "probe_thing.r[1]"]


def test_identities_that_the_provider_leaves_half_empty(project: Path, planner: Run) -> None:
    """As google does, whose answers do not have the project."""
    recorded(project, kept("a"), {**kept("c"), "attributes": {**thing("c"), "id": "elsewhere/c"}})
    (project / "q.tfquery.hcl").write_text(search(config='mode = "gaps"'))
    assert [line.partition("Thing ")[2] for line in lines(planner("discover").out)] == [
        "a   may be probe_thing.r[0]: the provider left region empty",
        "b",
        "c   may be probe_thing.r[1]: the provider left region empty",
        "",
    ]
    (project / "q.tfquery.hcl").write_text(search(config='mode = "gaps"', more="include_resource = true"))
    assert [line.partition("Thing ")[2] for line in lines(planner("discover").out)] == [
        "a   managed as probe_thing.r[0]",
        "b",
        "c",
        "",
    ]


def test_objects_without_an_identity_and_objects_with_the_same(project: Path, planner: Run) -> None:
    (project / "q.tfquery.hcl").write_text(search(config='prefix = "b"'))
    recorded(project, kept("a"), kept("a"), kept("z", identity=None), kept("y", identity_schema_version=0))
    ran = planner("discover")
    assert lines(ran.out)[0].endswith("Thing b   may be probe_thing.r[2], which has no identity yet")
    assert "Warning: Object managed twice" in ran.err + ran.out
    assert "probe_thing.r[0] and probe_thing.r[1] are the same probe_thing" in " ".join((ran.err + ran.out).split())


UNMANAGED = 'deny("unmanaged", I, "no unit manages this " ++ T) :- unmanaged(T, I).\n'
TWICE = 'warn("twice", A, "also " ++ B) :- managed_twice(_, _, A, B).\n'


@pytest.mark.parametrize("probe_world", [6], indirect=True)
def test_units_of_a_fleet_manage_objects(project: Path, planner: Run) -> None:
    """Their states and import blocks count; what two have is reported; policies and coverage read that."""
    fill(project.parent / "world", *map(thing, "abcde"))
    recorded(project, kept("a"))
    for unit, things in {"one": (kept("a"), kept("b")), "two": (kept("b"),)}.items():
        (project / unit).mkdir()
        (project / unit / "main.tf").write_text(MAIN)
        recorded(project / unit, *things)
    names = "locals {\n  names = var.names\n}\n"
    block = (
        "import {\n  for_each = toset(local.names)\n  to       = probe_thing.c\n  identity = { name = each.value }\n}\n"
    )
    (project / "two" / "m").mkdir()
    (project / "two" / "m" / "c.tf").write_text(names + block + 'resource "probe_thing" "c" {\n  name = "c"\n}\n')
    (project / "two" / "m" / "main.tf").write_text(MAIN.replace('provider "probe" {}', 'variable "names" {}'))
    (project / "two" / "call.tf").write_text('module "m" {\n  source = "./m"\n  names  = ["c"]\n}\n')
    (project / "planner.batch.hcl").write_text('unit "one" {}\nunit "two" {}\n')
    (project / "q.tfquery.hcl").write_text(search())
    (project / "p.dl").write_text(UNMANAGED + TWICE)
    ran = planner("discover", "-fleet=.", "-coverage", "-policy=p.dl", "-no-color")
    text = " ".join((ran.out + ran.err).replace("│", " ").split())
    assert [line.partition("Thing ")[2] for line in lines(ran.out)[:-1]] == [
        "a   managed as one: probe_thing.r[0]",
        "b   managed as one: probe_thing.r[1]",
        "c   imported as two: module.m.probe_thing.c",
        "d",
        "e",
    ]
    assert "probe_thing 5 2 1 2 0 40 %" in text
    assert "one: probe_thing.r[0] and probe_thing.r[0] are the same probe_thing" in text
    assert (
        ran.code == 1 and text.count("no unit manages this probe_thing") == 2 and "also two: probe_thing.r[0]" in text
    )
    events = [json.loads(line) for line in planner("discover", "-fleet=.", "-coverage", "-json").out.splitlines()]
    counts = {"found": 5, "managed": 2, "pending": 1, "unmanaged": 2, "uncertain": 0}
    (coverage,) = (e["list_coverage"] for e in events if e["type"] == "list_coverage")
    assert coverage == {"types": [{"resource_type": "probe_thing", **counts}]}
    planner("discover", "-fleet=.", "-generate-config-out=g.tf")
    assert (project / "g.tf").read_text().count("import {") == 2
