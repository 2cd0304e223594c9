"""Large plans are read in part: the same facts come of it, and whatever is not as usual is read as a whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from policy.test_shown import PLAN

from planner.answers.policy.facts.relations import PolicyInputs
from planner.answers.policy.from_json import excerpt as reading
from planner.answers.policy.from_json.document import parse
from planner.answers.policy.from_json.facts import OF_THE_REST, shown_facts
from planner.foundation.vocabulary.diagnostic import Failure

TOLD = frozenset(
    (
        *(
            "change",
            "action",
            "reason",
            "replace_path",
            "moved_from",
            "instance_of",
            "planned",
            "prior",
            "size_of",
            "part",
        ),
        *("unknown_after", "output", "plan_mode", "plan_time"),
    )
)


def plan(**more: Any) -> dict[str, Any]:
    """The plan in the order in which it is printed, with its default provider only."""
    order = ("format_version", "terraform_version", "variables", "planned_values", "resource_changes", "output_changes")
    made = {**PLAN, "planned_values": {"root_module": {}}, "errored": False, **more}
    configuration = json.loads(json.dumps(made["configuration"]))
    configuration["provider_config"].pop("aws.west", None)
    timestamp = made.pop("timestamp")
    document = {
        **{name: made[name] for name in order},
        "prior_state": made["prior_state"],
        "configuration": configuration,
    }
    return {**document, "timestamp": timestamp, "errored": False}


def compact(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def tagged(**tags: Any) -> bytes:
    """The plan with tags of somebody else's choice."""
    document = plan()
    document["resource_changes"] = json.loads(json.dumps(document["resource_changes"]))
    document["resource_changes"][0]["change"]["after"]["tags"] = tags
    return compact(document)


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LEAST", 0)


def facts(data: bytes, reads: frozenset[str] = TOLD) -> dict[str, set[Any]]:
    found = shown_facts(parse(data, "plan.json"), PolicyInputs(reads))
    return {name: set(found.relation(name)) for name in sorted(reads)}


@pytest.mark.parametrize(
    "data",
    [
        compact(plan()),
        compact(plan()) + b"\n",
        tagged(Owner="x", n=12345678901234567890),
        tagged(n=[1, {"a": None}]),
        tagged(x='{"resource_changes":[]}', resource_changes=[]),
        tagged(output_changes={}),
        tagged(Owner="x", output_changes={}),
        tagged(b=0.1, c=-1.5),
        tagged(configuration={"provider_config": {}, "root_module": {}}),
    ],
)
def test_an_excerpt_tells_what_the_whole_tells(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reading.excerpt(data) is not None
    told = facts(data)
    monkeypatch.setattr(reading, "LEAST", 1 << 40)
    assert told == facts(data) and told["planned"]


def test_what_the_rest_tells_is_read_when_policies_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    data = compact(plan())
    told = facts(data, OF_THE_REST)
    monkeypatch.setattr(reading, "LEAST", 1 << 40)
    assert told == facts(data, OF_THE_REST) and told["configured"] and told["data_value"]


@pytest.mark.parametrize(
    "data",
    [
        compact(PLAN),
        compact(
            {
                **{
                    name: part
                    for name, part in plan().items()
                    if name not in ("output_changes", "timestamp", "errored")
                },
                "output_changes": {},
                "timestamp": "2026-03-02T09:30:00Z",
            }
        ),
        compact({**plan(), "resource_drift": []}),
        compact(plan())[:-1],
        compact(plan()) + b"}",
        compact(plan()).replace(b'"prior_state":{', b'"prior_state":{},"configuration":{},"x":{', 1),
        json.dumps(plan()).encode(),
        json.dumps(plan(), indent=2).encode(),
        compact({**plan(), "prior_state": {"resource_changes": []}}),
        compact({**plan(), "planned_values": {"x": {"resource_changes": [{}]}}}),
        compact({**plan(), "prior_state": {"a": 1, "output_changes": {}}}),
        compact(plan()).replace(b',"timestamp"', b',"resource_changes":[],"timestamp"', 1),
        compact(plan()).replace(b',"timestamp"', b',"resource_changes" :[],"timestamp"', 1),
        compact(plan()).replace(b',"timestamp"', b',"resource_ch\\u0061nges":[],"timestamp"', 1),
        compact(plan()).replace(b',"timestamp"', b',"\\u006Futput_changes":{},"timestamp"', 1),
        b"{}",
    ],
)
def test_whatever_is_not_as_usual_is_read_as_a_whole(data: bytes) -> None:
    assert reading.excerpt(data) is None


@pytest.mark.parametrize("size", [0, 100, 1 << 20])
def test_the_size_of_pieces_does_not_matter(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = {"address": "terraform_data.x", "mode": "managed"}
    data = tagged(list=[{"a": 1}, inner, inner], text='},{"address":"')
    monkeypatch.setattr(reading, "PIECE", size)
    told = facts(data)
    monkeypatch.setattr(reading, "LEAST", 1 << 40)
    assert told == facts(data) and len(told["change"]) > 1


@pytest.mark.parametrize("more", [b",", b",,", b',{"a":1', b"}", b"]"])
def test_changes_that_are_no_list_are_no_plan(more: bytes) -> None:
    data = compact(plan()).replace(b'],"output_changes"', more + b'],"output_changes"', 1)
    with pytest.raises(Failure) as caught:
        facts(data)
    assert "it is not JSON" in caught.value.diagnostics[0].detail


def test_large_numbers_keep_their_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.foundation.support.exact_json._LARGE", 0)
    told = facts(tagged(n=1234567890123456789012345))
    assert "1234567890123456789012345" in {str(row[2]) for row in told["planned"] if row[1] == "tags.n"}


def test_a_state_file_with_a_provider_that_is_none_is_not_judged() -> None:
    resource = {"mode": "managed", "type": "a", "name": "b", "provider": "zz", "instances": [{"attributes": {}}]}
    with pytest.raises(Failure) as caught:
        facts(compact({"version": 4, "lineage": "a", "resources": [resource]}))
    assert "'zz' is not a provider configuration" in caught.value.diagnostics[0].detail
