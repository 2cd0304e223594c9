"""Generated configuration: the text for objects of many schemas, as OpenTofu 1.12.6 wrote it."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.engine.evaluation.schemas import schema_marks
from planner.engine.plan.generated_config import attributes_text, resource_text
from planner.foundation.support.exact_json import loads
from planner.foundation.values.json_codec import from_json
from planner.foundation.values.paths import apply_marks
from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedAttributes, NestedBlock, implied_type
from planner.foundation.values.types import type_from_json
from planner.foundation.vocabulary.provider_address import ProviderConfiguration

DATA = Path(__file__).parent / "data" / "generated_config.jsonl"
CASES = [loads(line) for line in DATA.read_bytes().splitlines()]


def attribute(data):
    nested = data.get("nested")
    flags = {k: data[k] for k in ("required", "optional", "computed", "sensitive", "deprecated", "write_only")}
    if nested is not None:
        parts = {name: attribute(a) for name, a in nested["attributes"].items()}
        return AttributeSchema(nested=NestedAttributes(parts, nested["nesting"]), **flags)
    return AttributeSchema(type_from_json(data["type"]), **flags)


def block(data, deprecated=False):
    return BlockSchema(
        {name: attribute(a) for name, a in data["attributes"].items()},
        {
            name: NestedBlock(block(b["block"], b["deprecated"]), b["nesting"], b["min"])
            for name, b in data["blocks"].items()
        },
        deprecated=deprecated,
    )


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_text_of_an_object(case):
    schema = block(case["schema"])
    value = from_json(case["value"], implied_type(schema))
    value = apply_marks(value, schema_marks(schema, value))
    provider = ProviderConfiguration((), f"registry.opentofu.org/acme/{case['provider']}", case["alias"])
    text = resource_text("test_thing", "it", attributes_text("test_thing", provider, schema, value))
    assert text == case["text"]


def test_there_are_cases_of_every_kind():
    seen = "".join(case["text"] for case in CASES)
    for sign in ("# sensitive", "# write-only", "jsonencode(", "provider", "= null", "[", "{}"):
        assert sign in seen
