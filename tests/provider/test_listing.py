"""Objects that a plugin finds, their configuration, and answers that put something off."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from provider.probes import calls, config_of, fill, thing

from planner.foundation.values.schema import implied_type
from planner.foundation.values.types import BOOL, NUMBER, STRING
from planner.foundation.values.value import Null, Unknown
from planner.world.provider.interface import (
    ApplyRequest,
    AttributeDiagnostic,
    FoundObject,
    ListRequest,
    MoveRequest,
    PlanRequest,
)
from planner.world.provider.mock import MockedProvider
from planner.world.provider.plugin.provider import PluginProvider
from planner.world.provider.propose import proposed_new


def listed(probe: PluginProvider, objects: bool = False, limit: int = 100, **given: Any) -> list[str]:
    """The results of a search as lines."""
    request = ListRequest("probe_thing", config_of(probe, "list", "probe_thing", **given), objects, limit)
    return list(map(_line, probe.list_objects(request)))


def _line(found: FoundObject | AttributeDiagnostic) -> str:
    if isinstance(found, AttributeDiagnostic):
        return (
            f"{found.severity}: {found.summary}: {' '.join(found.detail.split()).partition('): ')[2] or found.detail}"
        )
    value = "" if found.value.__class__ is Null else f" {found.value['id']}"
    return f"{found.display_name} {found.identity['name']} {found.identity['region']}{value}"


SLOW = "warning: Slow today: as the test wants it"
A, B, C = ("Thing a a home", "Thing b b home", "Thing bc bc home")
LISTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "all": ({}, [A, B, C]),
    "with objects": ({"objects": True}, [f"{A} thing-a", f"{B} thing-b", f"{C} thing-bc"]),
    "with an argument": ({"prefix": "b"}, [B, C]),
    "none": ({"prefix": "x"}, []),
    "a limit": ({"limit": 2}, [A, B]),
    "a limit that is met": ({"limit": 3}, [A, B, C]),
    "without end": ({"mode": "endless", "limit": 3}, [" again home"] * 3),
    "a warning": ({"mode": "warn"}, [SLOW, A, B, C]),
    "an error": ({"mode": "error_mid"}, [A, B, "error: The list broke off: as the test wants it"]),
    "no identity": (
        {"mode": "noident"},
        ["error: Provider plugin failed: It returned a probe_thing (Thing a) without an identity."],
    ),
    "no objects": (
        {"mode": "noobject", "objects": True, "limit": 1},
        ["warning: Incomplete result: {who} returned Thing a without its values, which were requested.", A],
    ),
    "too many remarks": (
        {"mode": "remarks"},
        [SLOW] * 1001 + ["error: Provider plugin failed: It reported more than 1000 problems without a result."],
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists(probe: PluginProvider, probe_world: Path, name: str) -> None:
    given, expected = LISTS[name]
    fill(probe_world, thing("a"), thing("b"), thing("bc"))
    found = listed(probe, **given)
    assert found == [line.replace("{who}", probe._who) for line in expected]
    if name == "without end":
        limit = time.monotonic() + 10
        while calls(probe_world)[-1]["call"] != "left after":
            assert time.monotonic() < limit
            time.sleep(0.02)


def test_a_search_before_it_runs(probe: PluginProvider, probe_world: Path) -> None:
    schema = probe.schema()
    assert list(schema.list_resources) == ["probe_aged", "probe_thing"]
    config = config_of(probe, "list", "probe_thing", prefix=Unknown(STRING))
    assert probe.validate_list("probe_thing", config, Unknown(BOOL), Null(NUMBER)) == []
    (problem,) = probe.validate_list("probe_thing", {**config, "mode": "bad"}, True, 5)
    assert problem.path == (("attr", "mode"),)
    assert calls(probe_world)[-1]["request"]["limit"] == 5
    (problem,) = probe.validate_list("probe_plain", {}, True, 5)
    assert "no type probe_plain" in problem.detail
    (found,) = probe.list_objects(ListRequest("probe_plain", {}))
    assert isinstance(found, AttributeDiagnostic) and "no type probe_plain" in found.detail
    assert list(MockedProvider(probe).list_objects(ListRequest("probe_thing", config))) == []


def state(probe: PluginProvider, type: str = "probe_thing", **given: Any) -> dict[str, Any]:
    return config_of(probe, "managed", type, **given)


def test_generated_configuration(probe: PluginProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(probe, name="a", id="thing-a", token="t", size=3, old_note="old")
    config, problems = probe.generate_config("probe_thing", before)
    assert problems == [] and (config["size"], config["note"]) == (3, "generated")
    assert all(config[name].__class__ is Null for name in ("id", "token", "old_note"))
    (problem,) = probe.generate_config("probe_absent", {})[1]
    assert "no type probe_absent" in problem.detail


def plan(probe: PluginProvider, name: str, prior: Any = None) -> tuple[Any, Any]:
    block = probe.schema().resources["probe_thing"].block
    prior = Null(implied_type(block)) if prior is None else prior
    config = state(probe, name=name)
    request = PlanRequest("probe_thing", prior, proposed_new(block, prior, config), config)
    return request, probe.plan(request)


def test_deferral_that_was_not_allowed(probe: PluginProvider) -> None:
    """A provider may defer only where that is allowed, which it is not."""
    fault = f"{probe._who} deferred {{}} with the reason resource_config_unknown, although deferral was not allowed."
    data = config_of(probe, "data", "probe_lookup", name="deferrude-a")
    lease = config_of(probe, "ephemeral", "probe_lease", name="deferrude-a")
    for type, answer in (
        ("probe_thing", plan(probe, "deferrude-a")[1]),
        ("probe_lookup", probe.read_data("probe_lookup", data)),
        ("probe_lease", probe.open("probe_lease", lease)),
    ):
        assert [d.detail.partition(" This is")[0] for d in answer.diagnostics] == [fault.format(type)]
    for name in ("defercfg-a", "deferpre-a"):  # those that mind what is allowed
        assert plan(probe, name)[1].diagnostics == ()


IDENTITIES = {
    # name -> the problem of creating it, the problem of updating it
    "good": ("", ""),
    "noid-a": ("Missing resource identity", "Missing resource identity"),
    "idflip-a": ("", "Resource identity changed"),
    "idlate-a": ("", ""),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_identities(probe: PluginProvider, name: str) -> None:
    expected, prior, summaries = IDENTITIES[name], None, []
    for _ in range(2):
        request, answer = plan(probe, name, prior)
        made = probe.apply(
            ApplyRequest("probe_thing", request.prior, answer.planned, request.config, identity=answer.identity)
        )
        summaries.append("".join(d.summary for d in made.diagnostics))
        prior = made.value
    assert tuple(summaries) == expected
    read = probe.read("probe_thing", prior, None)
    assert ["Missing" in d.summary for d in read.diagnostics] == ([True] if name == "noid-a" else [])
    assert name == "noid-a" or read.identity == {"name": name, "region": "home"}


def test_moves(probe: PluginProvider, probe_world: Path) -> None:
    attributes = {"name": "a", "id": "thing-a"}
    source = ("example.com/any/other", "probe_thing", 2, attributes, False, "cHJpdmF0ZQ==")
    answer = probe.move(MoveRequest(*source, "probe_twin", {"name": "a", "region": "r"}, 1))
    assert (answer.value, answer.private, answer.identity) == (attributes, "cHJpdmF0ZQ==", None)
    sent = calls(probe_world)[-1]["request"]
    assert sent["source_identity"] == {"name": "a", "region": "r"} and sent["source_identity_schema_version"] == 1
    (problem,) = probe.move(MoveRequest(*source, "probe_plain")).diagnostics
    assert (problem.summary, problem.detail) == (
        "Unable to Move Resource State",
        "from example.com/any/other probe_thing",
    )


def test_a_provider_that_moves_nothing(
    probe: PluginProvider, probe_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROBE_OFF", "move,generate,list,action,identity")
    (problem,) = probe.move(MoveRequest("p", "probe_thing", 2, {}, False, None, "probe_twin")).diagnostics
    assert problem.summary == "Move not supported" and "MoveResourceState" not in str(calls(probe_world))
    schema = probe.schema()
    assert not schema.generates_config and not schema.actions and not schema.list_resources
    assert schema.resources["probe_thing"].identity is None
