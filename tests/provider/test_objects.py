"""Proposed states and the checks of answers, against records of what OpenTofu's objchange package answers.

Each line of data/objects.jsonl: the operation, a schema, values of its type (null, {"u": 1} unknown, {"v": ...} known)
and the answer: a value, or the paths of the problems.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedAttributes, NestedBlock, implied_type
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import ListType, MapType, ObjectType, SetType, Type, type_from_json
from planner.foundation.values.value import SENSITIVE, List, Map, Marked, Null, Set, Unknown
from planner.world.provider.conformity import object_problems, plan_problems
from planner.world.provider.propose import normalize_legacy_object, planned_unknown_object, proposed_new

RECORDS = [json.loads(line) for line in (Path(__file__).parent / "data" / "objects.jsonl").read_text().splitlines()]


def attribute(raw: dict[str, Any]) -> AttributeSchema:
    given = {k: v for k, v in raw.items() if k not in ("type", "nested")}
    if "nested" in raw:
        nested = raw["nested"]
        inner = NestedAttributes({k: attribute(v) for k, v in nested["attributes"].items()}, nested["nesting"])
        return AttributeSchema(nested=inner, **given)
    return AttributeSchema(type_from_json(raw["type"]), **given)


def block(raw: dict[str, Any]) -> BlockSchema:
    return BlockSchema(
        {k: attribute(v) for k, v in raw["attributes"].items()},
        {k: NestedBlock(block(v["block"]), v["nesting"]) for k, v in raw["blocks"].items()},
    )


def value(raw: Any, t: Type) -> Any:
    if raw is None:
        return Null(t)
    if "u" in raw:
        return Unknown(t)
    known = raw["v"]
    if isinstance(t, ObjectType):
        return {k: value(known[k], of) for k, of in t.attributes.items()}
    if isinstance(t, MapType):
        return Map(t.element, {k: value(v, t.element) for k, v in known.items()})
    if isinstance(t, ListType):
        return List(t.element, tuple(value(v, t.element) for v in known))
    if isinstance(t, SetType):
        return make_set(t.element, [value(v, t.element) for v in known])
    return known


def plain(v: Any) -> Any:
    if isinstance(v, Null):
        return None
    if isinstance(v, Unknown):
        return {"u": 1}
    if isinstance(v, dict | Map):
        return {"v": {k: plain(x) for k, x in (v if isinstance(v, dict) else v.items).items()}}
    return {"v": [plain(x) for x in v.items]} if isinstance(v, List | Set) else {"v": v}


def path_text(path: Any) -> str:
    text = ""
    for kind, key in path:
        if kind == "attr" or isinstance(key, str):
            text += f".{key}"
        else:
            text += f"[{key}]" if type(key) is int else "[?]"
    return text


@pytest.mark.parametrize("number", range(len(RECORDS)))
def test_recorded(number: int) -> None:
    record = RECORDS[number]
    schema = block(record["schema"])
    given = {k: value(record[k], implied_type(schema)) for k in ("prior", "config", "planned") if k in record}
    operation = record["op"]
    if operation == "proposed":
        assert plain(proposed_new(schema, given["prior"], given["config"])) == record["want"]
    elif operation == "unknown":
        assert plain(planned_unknown_object(schema, given["config"])) == record["want"]
    elif operation == "legacy":
        assert plain(normalize_legacy_object(given["prior"], schema)) == record["want"]
    else:
        problems = (
            plan_problems(schema, given["prior"], given["config"], given["planned"])
            if operation == "valid"
            else object_problems(schema, given["planned"], given["prior"])
        )
        assert sorted(path_text(p.path) for p in problems) == record["want"]
        assert all(p.text for p in problems)


def test_every_operation_is_recorded() -> None:
    assert {r["op"] for r in RECORDS} == {"proposed", "unknown", "valid", "compatible", "legacy"}


SECRET = BlockSchema({"s": AttributeSchema(type_from_json("string"), optional=True, sensitive=True)})


def test_messages_do_not_tell_secrets() -> None:
    problems = plan_problems(SECRET, {"s": "old"}, {"s": "hush"}, {"s": "other"})
    problems += object_problems(SECRET, {"s": "hush"}, {"s": "other"})
    marked = BlockSchema({"s": AttributeSchema(type_from_json("string"), optional=True)})
    problems += object_problems(marked, {"s": Marked("hush", frozenset({SENSITIVE}))}, {"s": "other"})
    assert len(problems) == 3
    assert not any(word in str(p) for p in problems for word in ("hush", "other", "old"))


def test_messages_show_values() -> None:
    open_ = BlockSchema({"s": AttributeSchema(type_from_json(["list", "number"]), optional=True)})
    planned, actual = List(type_from_json("number"), (1, 2)), List(type_from_json("number"), (1, 3))
    assert [str(p) for p in object_problems(open_, {"s": planned}, {"s": actual})] == [
        ".s[1]: was 2 in the plan, but is 3 now"
    ]
