"""Values that come from something deprecated: the warnings of an expression take the place of the marks."""

from __future__ import annotations

from typing import Any

import pytest

from planner.foundation.values.paths import marked_paths
from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedBlock
from planner.foundation.values.types import NUMBER, STRING
from planner.foundation.values.value import SENSITIVE, List, Marked
from planner.foundation.vocabulary.diagnostic import Deprecation
from planner.foundation.vocabulary.span import Source
from planner.language.expressions.decode import decode_block
from planner.language.expressions.evaluate import MappingScope, evaluate, try_evaluate
from planner.language.expressions.traverse import elements
from planner.language.syntax.parse import parse_config, parse_expression

OLD = Marked("o", frozenset((Deprecation("module.m.old", "use new"),)))
BOTH = Marked(1, frozenset((Deprecation("module.m.two", "no"), SENSITIVE)))


class Marking(MappingScope):
    deprecations = True


@pytest.mark.parametrize(
    ("text", "value", "causes"),
    [
        ("m.old", "o", ["module.m.old"]),
        ('"${m.old}!"', "o!", ["module.m.old"]),
        ("[m.old, m.two]", ("o", Marked(1, frozenset((SENSITIVE,)))), ["module.m.old", "module.m.two"]),
        ("m.two + 1", Marked(2, frozenset((SENSITIVE,))), ["module.m.two"]),
        ("m.new", 5, []),
        ("length([m.old])", 1, []),
        ("tolist([for x in m.list : x])", List(NUMBER, (1, 2)), []),
    ],
)
def test_warnings_in_place_of_marks(text: str, value: Any, causes: list[str]) -> None:
    scope = Marking({"m": {"old": OLD, "two": BOTH, "new": 5, "list": (1, 2)}})
    source = Source("x.tf", text)
    node, problems = parse_expression(source)
    assert node is not None and not problems
    found, warnings = try_evaluate(node, scope, source)
    assert found == value
    assert [(w.severity, w.subject and (w.subject.start, w.subject.end)) for w in warnings] == [
        ("warning", (0, len(text))) for _ in causes
    ]
    assert all(cause in w.detail for cause, w in zip(causes, warnings, strict=True))
    assert evaluate(node, scope, source) == value


def test_the_place_within_the_value() -> None:
    scope = Marking({"m": {"old": OLD, "two": BOTH}})
    source = Source("x.tf", '{ a = [m.old], b = "${m.two}" }')
    node, _ = parse_expression(source)
    assert node is not None
    _, warnings = try_evaluate(node, scope, source)
    assert [w.detail for w in warnings] == [
        "This value's attribute a[0] is derived from module.m.old, which is deprecated with the following message:"
        "\n\nuse new",
        "This value's attribute b is derived from module.m.two, which is deprecated with the following message:\n\nno",
    ]
    assert [(w.deprecation and w.deprecation.by, w.group) for w in warnings] == [
        ("module.m.old",) * 2,
        ("module.m.two",) * 2,
    ]


@pytest.mark.parametrize(
    ("each", "content", "count", "warnings"),
    [
        ("[m.old]", "made.value", 1, 1),
        ("m.whole", "made.value", 2, 4),
        ("[1, 2]", "m.old", 2, 2),
        ("[m.old]", '"x"', 1, 0),
        ("[]", "m.old", 0, 0),
    ],
)
def test_a_dynamic_block_over_something_deprecated(each: str, content: str, count: int, warnings: int) -> None:
    """It makes its blocks, and the body has the warnings: one for each block or argument with the mark."""
    source = Source("x.tf", f'dynamic "made" {{\n  for_each = {each}\n  content {{\n    to = {content}\n  }}\n}}\n')
    body, problems = parse_config(source)
    assert not problems
    schema = BlockSchema({}, {"made": NestedBlock(BlockSchema({"to": AttributeSchema(STRING, optional=True)}), "list")})
    scope = Marking({"m": {"old": OLD, "whole": Marked(("a", "b"), OLD.marks)}})
    value, found = decode_block(body, schema, scope)
    assert isinstance(value, dict)
    assert len(list(elements(value["made"]))) == count
    assert not [marks for _, marks in marked_paths(value) if marks]
    assert [(d.severity, d.subject, d.group) for d in found] == [("warning", body.missing_span, "")] * warnings
