"""Reading native bodies through schemas."""

from __future__ import annotations

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.span import Source
from planner.language.syntax.body import BodySchema, ExpectedBlock, NativeBody
from planner.language.syntax.parse import parse_config

SCHEMA = BodySchema({"count": False, "value": True}, (ExpectedBlock("inner"), ExpectedBlock("data", ("type", "name"))))


def body_of(text: str) -> NativeBody:
    body, diagnostics = parse_config(Source("x.tf", text))
    assert diagnostics == []
    return body


def places(diagnostics: list[Diagnostic]) -> list[tuple[str, int, int]]:
    return [(d.code.removeprefix("syntax."), d.subject.start, d.subject.end) for d in diagnostics if d.subject]


def test_content() -> None:
    content = body_of('value = 1\ninner {\n}\ndata "a" b {\n}\ninner {\n}\n').content(SCHEMA)
    assert list(content.attributes) == ["value"]
    assert [block.type for block in content.blocks] == ["inner", "data", "inner"]
    assert content.diagnostics == []


def test_what_the_schema_does_not_know() -> None:
    content = body_of("valeu = 1\nother {\n}\ninner = 2\ncount {\n}\n").content(SCHEMA)
    assert places(content.diagnostics) == [
        ("missing_argument", 0, 0),
        ("unsupported_argument", 0, 5),
        ("unsupported_argument", 20, 25),
        ("unsupported_block", 10, 15),
        ("unsupported_block", 30, 35),
    ]
    _, misspelt, block_as_argument, _, argument_as_block = (d.detail for d in content.diagnostics)
    assert 'Did you mean "value"?' in misspelt
    assert "Did you mean to define a block of type" in block_as_argument
    assert "use the equals sign" in argument_as_block


def test_labels() -> None:
    text = 'value = 1\ndata "a" {\n}\ndata "a" "b" "c" {\n}\ninner "x" {\n}\ndata {\n}\n'
    content = body_of(text).content(SCHEMA)
    assert content.blocks == []
    assert places(content.diagnostics) == [
        ("missing_label", text.index("{"), text.index("{") + 1),
        ("extra_label", text.index('"c"'), text.index('"c"') + 3),
        ("extra_label", text.index('"x"'), text.index('"x"') + 3),
        ("missing_label", text.rindex("{"), text.rindex("{") + 1),
    ]
    assert [d.summary for d in content.diagnostics][:1] == ["Missing name for data"]


def test_partial_content() -> None:
    body = body_of("value = 1\nother = 2\ninner {\n}\nmore {\n}\n")
    content, rest = body.partial_content(SCHEMA)
    assert (list(content.attributes), len(content.blocks), content.diagnostics) == (["value"], 1, [])
    assert list(rest.just_attributes()[0]) == ["other"]
    left = rest.content(BodySchema({"other": True}, (ExpectedBlock("more"),)))
    assert (list(left.attributes), [b.type for b in left.blocks], left.diagnostics) == (["other"], ["more"], [])
    again, _ = rest.partial_content(SCHEMA)
    assert places(again.diagnostics) == [("missing_argument", 0, 0)]
    assert (again.attributes, again.blocks) == ({}, [])


def test_an_attribute_is_not_taken_with_a_block_type_of_its_name() -> None:
    _, rest = body_of("inner = 1\n").partial_content(SCHEMA)
    assert list(rest.just_attributes()[0]) == ["inner"]


def test_just_attributes() -> None:
    attributes, diagnostics = body_of("a = 1\nb {\n}\nc {\n}\n").just_attributes()
    assert (list(attributes), places(diagnostics)) == (["a"], [("unexpected_block", 6, 7)])


def test_missing_arguments_point_at_the_opening_brace() -> None:
    text = "inner {\n}\n"
    (block,) = body_of(text).blocks
    assert places(block.body.content(SCHEMA).diagnostics) == [("missing_argument", 6, 6)]
