"""Plan and state JSON against what OpenTofu printed for the recorded cases."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import recorded

from planner.answers.documents.json_config import config_json
from planner.answers.documents.json_plan import plan_json
from planner.answers.documents.json_state import state_json
from planner.foundation.support.exact_json import dumps
from planner.foundation.vocabulary.diagnostic import Failure
from planner.language.config.model import Config, ModuleConfig
from planner.world.provider.builtin import SCHEMA

EMPTY = Config(ModuleConfig((), ".", None))


def schema_of(address: str) -> Any:
    return SCHEMA


def printed(data: dict[str, Any]) -> Any:
    return json.loads(dumps(data))


def printed_paths(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(raw["resource"], json.dumps(raw["attribute"])) for raw in document.get("relevant_attributes", ())]


@pytest.mark.parametrize("case", recorded.WITH_PLAN)
def test_configuration(case: str) -> None:
    config = recorded.configuration(case)
    assert printed(config_json(config, schema_of)) == recorded.recorded_plan(case)["configuration"]


@pytest.mark.parametrize("case", recorded.WITH_PLAN)
def test_everything_else(case: str) -> None:
    want = recorded.recorded_plan(case)
    got = printed(plan_json(recorded.plan(want), EMPTY, schema_of))
    assert got.pop("terraform_version") == "1.12.6"
    got.get("prior_state", {}).pop("terraform_version", None)
    for document in (got, want):
        del document["configuration"]
        document["relevant_attributes"] = sorted(map(str, printed_paths(document)))
    assert got == want


def test_members_stand_in_the_ecosystems_order() -> None:
    want = recorded.recorded_plan("output-forms")
    got = plan_json(recorded.plan(want), recorded.configuration("output-forms"), schema_of)
    assert list(got) == [
        "format_version",
        "terraform_version",
        "planned_values",
        "resource_changes",
        "output_changes",
        "prior_state",
        "configuration",
        "relevant_attributes",
        "checks",
        "errored",
    ]


def test_empty_state() -> None:
    assert state_json(None, schema_of) == {"format_version": "1.0"}


def test_objects_that_cannot_be_read() -> None:
    state = recorded.state(recorded.recorded_plan("replace-trigger")["prior_state"])
    resource = state.resources["terraform_data.a"]
    instance = resource.instances[None]
    assert instance.current is not None
    for changes in ({"schema_version": 7}, {"attributes": {"nothing_known": "x"}}):
        broken = attrs.evolve(instance, current=attrs.evolve(instance.current, **changes))
        one = attrs.evolve(state, resources={"a": attrs.evolve(resource, instances={None: broken})})
        with pytest.raises(Failure) as failure:
            state_json(one, schema_of)
        assert [d.code for d in failure.value.diagnostics] == ["json.invalid_object"]


def test_types_without_a_schema() -> None:
    state = recorded.state(recorded.recorded_plan("replace-trigger")["prior_state"])
    odd = attrs.evolve(state.resources["terraform_data.a"], type="odd")
    with pytest.raises(Failure):
        state_json(attrs.evolve(state, resources={"odd.a": odd}), schema_of)
