"""Actions of a plugin, whose answers are streams: what they report, and every way in which they can go wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from provider.plugins import SOURCES, is_alive, override, pids

from planner.foundation.values.schema import empty_value
from planner.foundation.values.types import STRING
from planner.foundation.values.value import List, Unknown
from planner.world.provider.interface import ActionPlan
from planner.world.provider.mock import MockedProvider
from planner.world.provider.plugin.provider import PluginProvider


@pytest.fixture(params=[5, 6])
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROBE_LOG", str(tmp_path / "calls"))
    return override(monkeypatch, tmp_path, request.param, ("probe",))


@pytest.fixture
def plugin(world: Path) -> Iterator[PluginProvider]:
    command = [str(world.parent / "bin" / "probe" / "terraform-provider-probe")]
    found = PluginProvider(SOURCES["probe"], command)
    yield found
    found.close()
    assert not any(map(is_alive, pids(world) if (world / "started").exists() else []))


def config(plugin: PluginProvider, type: str, **given: Any) -> dict[str, Any]:
    return {**empty_value(plugin.schema().actions[type].block), **given}


def invoke(plugin: PluginProvider, type: str, **given: Any) -> tuple[list[str], list[Any]]:
    progress: list[str] = []
    return progress, plugin.invoke_action(type, config(plugin, type, **given), progress.append)


def test_the_schema(plugin: PluginProvider) -> None:
    schema = plugin.schema()
    assert list(schema.actions) == ["probe_bare", "probe_faulty", "probe_note"] and not schema.generates_config
    note = schema.actions["probe_note"].block
    assert note.attributes["text"].required and note.attributes["secret_wo"].write_only and "tag" in note.blocks
    assert schema.resource("action", "probe_note") is not None and schema.resource("action", "probe_thing") is None


def test_an_action_from_its_validation_to_its_end(plugin: PluginProvider, world: Path) -> None:
    element = {"key": "k", "value": "v"}
    tags = List(config(plugin, "probe_note")["tag"].element, (element,))
    unknown = config(plugin, "probe_note", text=Unknown(STRING))
    assert plugin.validate_action("probe_note", unknown) == []
    assert plugin.plan_action("probe_note", unknown) == ActionPlan()
    progress, problems = invoke(plugin, "probe_note", text="hello", steps=2, warn=True, tag=tags)
    assert progress == ["step 1/2", "step 2/2"]
    assert [(p.severity, p.summary) for p in problems] == [("warning", "Careful with notes")]
    (note,) = json.loads((world / "probe.json").read_text())["notes"]
    assert (note["text"], note["tags"]) == ("hello", {"k": "v"})
    calls = [json.loads(line) for line in (world.parent / "calls").read_text().splitlines()]
    assert [c["call"] for c in calls][-3:] == ["ValidateActionConfig", "PlanAction", "InvokeAction"]
    assert invoke(plugin, "probe_bare") == ([], [])


def test_refusals_of_a_provider(plugin: PluginProvider) -> None:
    (problem,) = plugin.validate_action("probe_note", config(plugin, "probe_note", text=""))
    assert (problem.summary, problem.path) == ("Empty text", (("attr", "text"),))
    (problem,) = plugin.plan_action("probe_faulty", config(plugin, "probe_faulty", mode="plan_error")).diagnostics
    assert problem.summary == "No plan for this action"
    progress, (problem,) = invoke(plugin, "probe_note", text="t", steps=1, fail=True)
    assert progress == ["step 1/1"] and (problem.summary, problem.path) == (
        "The note was refused",
        (("attr", "fail"),),
    )


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("nocomplete", "It ended without reporting that the action probe_faulty is complete."),
        ("twocomplete", "It went on after the action probe_faulty was complete."),
        ("crash", "broke off while it answered the call InvokeAction: exit status 2. Its last output: panic: the"),
        ("hang", "It did not answer the call InvokeAction within 1 seconds."),
    ],
)
def test_actions_that_go_wrong(plugin: PluginProvider, monkeypatch: pytest.MonkeyPatch, mode: str, words: str) -> None:
    plugin.schema()
    if mode == "hang":
        monkeypatch.setenv("PLANNER_PROVIDER_TIMEOUT", "1")
    progress, (problem,) = invoke(plugin, "probe_faulty", mode=mode)
    assert progress == [f"about to {mode}"] and problem.path is None and SOURCES["probe"] in problem.detail
    assert words in " ".join(problem.detail.split())


def test_what_is_unknown_is_not_sent(plugin: PluginProvider, world: Path) -> None:
    _, (problem,) = invoke(plugin, "probe_note", text=Unknown(STRING))
    assert problem.path == (("attr", "text"),) and "text is not known yet" in problem.detail
    assert "InvokeAction" not in (world.parent / "calls").read_text()


def test_actions_that_the_provider_does_not_have(plugin: PluginProvider) -> None:
    (problem,) = plugin.validate_action("probe_absent", {})
    assert "It has nothing named probe_absent." in problem.detail


def test_mocked_actions_do_nothing(plugin: PluginProvider, world: Path) -> None:
    mocked = MockedProvider(plugin)
    wanted = config(plugin, "probe_note", text="")
    assert mocked.validate_action("probe_note", wanted)[0].summary == "Empty text"
    assert mocked.plan_action("probe_note", wanted) == ActionPlan()
    assert mocked.invoke_action("probe_note", wanted, print) == []
    assert not (world / "probe.json").exists()
