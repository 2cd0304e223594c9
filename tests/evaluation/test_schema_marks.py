"""What a schema calls deprecated, as marks of a value."""

from __future__ import annotations

import pytest

from planner.engine.evaluation.schemas import deprecation_marks
from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedAttributes
from planner.foundation.values.types import DYNAMIC, STRING
from planner.foundation.vocabulary.diagnostic import Deprecation

OLD = AttributeSchema(STRING, deprecated=True)


def holder(**flags: bool) -> AttributeSchema:
    return AttributeSchema(DYNAMIC, nested=NestedAttributes({"old": OLD}, "single"), **flags)


@pytest.mark.parametrize(
    ("inner", "names"),
    [
        (holder(), ["a.r.top", "a.r.top.in.old"]),
        (holder(deprecated=True), ["a.r.top", "a.r.top.in"]),
        (holder(sensitive=True), ["a.r.top"]),
    ],
    ids=["plain", "deprecated", "sensitive"],
)
def test_nested_attributes_of_one_that_has_a_mark(inner: AttributeSchema, names: list[str]) -> None:
    """As OpenTofu has it: an attribute of the block and what is in it, but of a nested one only itself."""
    top = AttributeSchema(DYNAMIC, deprecated=True, nested=NestedAttributes({"in": inner}, "single"))
    value = {"top": {"in": {"old": "x"}}}
    found = deprecation_marks(BlockSchema({"top": top}), value, Deprecation("a.r"))
    assert [mark.by for _, marks in found for mark in marks] == names
