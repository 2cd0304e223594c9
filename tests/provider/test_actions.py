"""Actions of a plugin, whose answers are streams: what they report, and every way in which they can go wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from provider.plugins import SOURCES
from provider.probes import calls, config_of

from planner.foundation.values.types import STRING
from planner.foundation.values.value import List, Unknown
from planner.world.provider.interface import ActionPlan
from planner.world.provider.mock import MockedProvider
from planner.world.provider.plugin.provider import PluginProvider


def config(probe: PluginProvider, type: str, **given: Any) -> dict[str, Any]:
    return config_of(probe, "action", type, **given)


def invoke(probe: PluginProvider, type: str, **given: Any) -> tuple[list[str], list[Any]]:
    progress: list[str] = []
    return progress, probe.invoke_action(type, config(probe, type, **given), progress.append)


def test_the_schema(probe: PluginProvider) -> None:
    schema = probe.schema()
    assert list(schema.actions) == ["probe_bare", "probe_faulty", "probe_note"] and schema.generates_config
    note = schema.actions["probe_note"].block
    assert note.attributes["text"].required and note.attributes["secret_wo"].write_only and "tag" in note.blocks
    assert schema.resource("action", "probe_note") is not None and schema.resource("action", "probe_thing") is None


def test_an_action_from_its_validation_to_its_end(probe: PluginProvider, probe_world: Path) -> None:
    element = {"key": "k", "value": "v"}
    tags = List(config(probe, "probe_note")["tag"].element, (element,))
    unknown = config(probe, "probe_note", text=Unknown(STRING))
    assert probe.validate_action("probe_note", unknown) == []
    assert probe.plan_action("probe_note", unknown) == ActionPlan()
    progress, problems = invoke(probe, "probe_note", text="hello", steps=2, warn=True, tag=tags)
    assert progress == ["step 1/2", "step 2/2"]
    assert [(p.severity, p.summary) for p in problems] == [("warning", "Careful with notes")]
    (note,) = json.loads((probe_world / "probe.json").read_text())["notes"]
    assert (note["text"], note["tags"]) == ("hello", {"k": "v"})
    assert [c["call"] for c in calls(probe_world)][-3:] == ["ValidateActionConfig", "PlanAction", "InvokeAction"]
    assert invoke(probe, "probe_bare") == ([], [])


def test_refusals_of_a_provider(probe: PluginProvider) -> None:
    (problem,) = probe.validate_action("probe_note", config(probe, "probe_note", text=""))
    assert (problem.summary, problem.path) == ("Empty text", (("attr", "text"),))
    (problem,) = probe.plan_action("probe_faulty", config(probe, "probe_faulty", mode="plan_error")).diagnostics
    assert problem.summary == "No plan for this action"
    progress, (problem,) = invoke(probe, "probe_note", text="t", steps=1, fail=True)
    assert progress == ["step 1/1"] and (problem.summary, problem.path) == (
        "The note was refused",
        (("attr", "fail"),),
    )


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("nocomplete", "It ended without reporting that the action probe_faulty is complete."),
        ("twocomplete", "It continued after the action probe_faulty was complete."),
        ("crash", "ended during the call InvokeAction: exit status 2. Its last output: panic: the"),
        ("hang", "It did not respond to the call InvokeAction within 1 seconds."),
    ],
)
def test_actions_that_go_wrong(probe: PluginProvider, monkeypatch: pytest.MonkeyPatch, mode: str, words: str) -> None:
    probe.schema()
    if mode == "hang":
        monkeypatch.setenv("PLANNER_PROVIDER_TIMEOUT", "1")
    progress, (problem,) = invoke(probe, "probe_faulty", mode=mode)
    assert progress == [f"about to {mode}"] and problem.path is None and SOURCES["probe"] in problem.detail
    assert words in " ".join(problem.detail.split())


def test_what_is_unknown_is_not_sent(probe: PluginProvider, probe_world: Path) -> None:
    _, (problem,) = invoke(probe, "probe_note", text=Unknown(STRING))
    assert problem.path == (("attr", "text"),) and "text is not known yet" in problem.detail
    assert "InvokeAction" not in [c["call"] for c in calls(probe_world)]


def test_actions_that_the_provider_does_not_have(probe: PluginProvider) -> None:
    (problem,) = probe.validate_action("probe_absent", {})
    assert "It has no type probe_absent." in problem.detail


def test_mocked_actions_do_nothing(probe: PluginProvider, probe_world: Path) -> None:
    mocked = MockedProvider(probe)
    wanted = config(probe, "probe_note", text="")
    assert mocked.validate_action("probe_note", wanted)[0].summary == "Empty text"
    assert mocked.plan_action("probe_note", wanted) == ActionPlan()
    assert mocked.invoke_action("probe_note", wanted, print) == []
    assert not (probe_world / "probe.json").exists()
