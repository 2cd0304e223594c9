"""JSON syntax: what is well-formed, how a schema reads it, and what its values mean as expressions."""

from __future__ import annotations

import json

import pytest
from syntax_show import show

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.foundation.vocabulary.span import Source
from planner.language.syntax.body import BodySchema, Content, ExpectedBlock
from planner.language.syntax.json_body import JsonAttribute, JsonBody, parse_json
from planner.language.syntax.json_reader import JsonArray, JsonObject, JsonText, JsonValue, read_json

SCHEMA = BodySchema(
    {"a": False, "needed": False},
    (ExpectedBlock("plain"), ExpectedBlock("one", ("name",)), ExpectedBlock("two", ("type", "name"))),
)


def body_of(text: str) -> JsonBody:
    body, diagnostics = parse_json(Source("x.tf.json", text))
    assert diagnostics == []
    assert body is not None
    return body


def content_of(text: str) -> Content:
    return body_of(text).content(SCHEMA)


def places(diagnostics: list[Diagnostic]) -> list[tuple[str, str]]:
    return [(d.code, d.subject.text) for d in diagnostics if d.subject]


def expression_of(value: str) -> str:
    return show(content_of(f'{{"a": {value}}}').attributes["a"].expr)


# ---------------------------------------------------------------- reading


def _plain(value: JsonValue) -> object:
    if isinstance(value, JsonText):
        return value.text
    if isinstance(value, JsonArray):
        return [_plain(item) for item in value.items]
    if isinstance(value, JsonObject):
        return {name.text: _plain(item) for name, item in value.members}
    return json.loads(value.value) if isinstance(value.value, str) else value.value


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        ' { "a" : [ 1 , -2.5e+3 , true, false, null, "x\\n\\u00e9\\ud83d\\ude00\\/" ] }\r\n\t',
        '"é"',
        "0",
        "[[[{}]]]",
    ],
)
def test_well_formed(text: str) -> None:
    value, diagnostics = read_json(Source("x.json", text))
    assert diagnostics == []
    assert value is not None
    assert _plain(value) == json.loads(text)


ROOT = ("root", 0, 1)
"""said when the outermost value does not come to its end"""


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ("", [("end", 0, 0), ("root", 0, 0)]),
        ('{"a": 1,}', [("trailing_comma", 7, 8), ROOT]),
        ("[1,]", [("trailing_comma", 2, 3), ROOT]),
        ('{"a": 1 "b": 2}', [("comma", 15, 15), ROOT]),  # behind the object
        ("[1 2]", [("comma", 5, 5), ROOT]),
        ('{"a" = 1}', [("colon", 5, 6), ROOT]),
        ('{"a" "b"}', [("colon", 5, 8), ROOT]),
        ("{1: 2}", [("name", 1, 2), ROOT]),
        ("{,}", [("value", 1, 2), ("name", 1, 2), ROOT]),
        ("{{}}", [("name", 1, 2), ROOT]),
        ('{"a": }', [("value", 6, 7)]),
        ("[1}", [("bracket", 3, 3), ROOT]),
        ('{"a": 1]', [("bracket", 8, 8), ROOT]),
        ('{"a": 1', [("unclosed", 0, 1), ROOT]),
        ('{"a": [1, 2}', [("bracket", 12, 12), ("unclosed", 0, 1), ROOT]),
        ('{"a": [1}, "b": tru}', [("bracket", 20, 20), ("unclosed", 0, 1), ROOT]),
        ('{"a": {"x": 1 "y": 2}, "b": [01]}', [("comma", 21, 22), ("number", 29, 31)]),
        ("[tru, +1]", [("word", 1, 4), ("number", 6, 8)]),
        ("[undefined]", [("word", 1, 10)]),
        ("[1.]", [("number", 1, 3)]),
        ("[.5]", [("number", 1, 3)]),
        ("{} x", [("extra", 3, 4)]),
        ('"x" y', [("extra", 4, 5), ("root", 0, 3)]),
        ('["a\\q"]', [("escape", 5, 6)]),  # behind the character, as OpenTofu
        ('["a\\u12"]', [("escape", 8, 9)]),
        ('["a\nb"]', [("string", 3, 3), ("comma", 7, 7), ROOT]),
        ("['a']", [("value", 1, 2), ("comma", 2, 2), ROOT]),
        ('{"a": 1} // c', [("extra", 9, 10)]),
    ],
)
def test_malformed(text: str, mistakes: list[tuple[str, int, int]]) -> None:
    value, problems = read_json(Source("x.json", text))
    assert [(p.code, p.subject.start, p.subject.end) for p in problems if p.subject] == [
        (f"json.{code}", start, end) for code, start, end in mistakes
    ]
    assert (value is None) == any(code == "root" for code, _, _ in mistakes)


def test_too_deep() -> None:
    _, problems = read_json(Source("x.json", "[" * 1000))
    assert problems[0].code == "json.depth"
    assert problems[0].subject is not None and problems[0].subject.start == 400


def test_what_is_whole_is_kept() -> None:
    body, problems = parse_json(Source("x.json", '{"a": nope, "b": 1}'))
    assert [p.code for p in problems] == ["json.word"]
    assert body is not None
    assert sorted(body.just_attributes()[0]) == ["a", "b"]


def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    value, _ = read_json(Source("x.json", '"\\ud800x"'))
    assert isinstance(value, JsonText)
    assert value.text == "\ufffdx"


@pytest.mark.parametrize("text", ["1", '"x"', "true", "null"])
def test_the_root_is_an_object(text: str) -> None:
    body, diagnostics = parse_json(Source("x.json", text))
    assert (body, places(diagnostics)) == (None, [("json.root", text)])


# ---------------------------------------------------------------- bodies


def blocks(content: Content) -> list[tuple[str, ...]]:
    return [(block.type, *(label.value for label in block.labels)) for block in content.blocks]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"plain": {}}', [("plain",)]),
        ('{"plain": [{}, {}]}', [("plain",), ("plain",)]),
        ('{"plain": null}', []),
        ('{"plain": []}', []),
        ('{"one": {"x": {}, "y": [{}, {}]}}', [("one", "x"), ("one", "y"), ("one", "y")]),
        ('{"one": [{"x": {}}, {"y": {}}]}', [("one", "x"), ("one", "y")]),
        (
            '{"two": {"t": {"x": {}, "y": {}}, "u": {"x": {}}}}',
            [("two", "t", "x"), ("two", "t", "y"), ("two", "u", "x")],
        ),
        ('{"two": {"t": [{"x": {}}, {"x": {}}]}}', [("two", "t", "x"), ("two", "t", "x")]),
        ('[{"plain": {}}, {"one": {"x": {}}}]', [("plain",), ("one", "x")]),
        ('{"one": {"//": {}}}', [("one", "//")]),
    ],
)
def test_blocks(text: str, expected: list[tuple[str, ...]]) -> None:
    content = content_of(text)
    assert (blocks(content), content.diagnostics) == (expected, [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"plain": 1}', [("json.wrong_type", "1")]),
        ('{"one": "x"}', [("json.missing_label", '"x"'), ("json.wrong_type", '"x"')]),
        ('{"one": {}}', [("json.missing_label", "{")]),
        ('{"one": [1, {"x": {}}]}', [("json.wrong_type", "1")]),
        ('[{"a": 1}, 2]', [("json.wrong_type", "2")]),
        ('{"a": 1, "a": 2}', [("syntax.argument_redefined", '"a"')]),
        ('{"b": 1}', [("json.unsupported_property", '"b"')]),
        ('{"//": 1}', []),
    ],
)
def test_mistakes_in_bodies(text: str, expected: list[tuple[str, str]]) -> None:
    assert sorted(places(content_of(text).diagnostics)) == expected


def test_wrong_content_is_found_when_it_is_read() -> None:
    (block,) = content_of('{"plain": [1]}').blocks
    content = block.body.content(SCHEMA)
    assert places(content.diagnostics) == [("json.wrong_type", "1")]


def test_missing_arguments_point_at_the_closing_brace() -> None:
    text = '{"plain": {"a": 1}}'
    (block,) = content_of(text).blocks
    content = block.body.content(BodySchema({"a": True, "needed": True}))
    (problem,) = content.diagnostics
    assert problem.subject is not None
    assert (problem.code, problem.subject.start) == ("syntax.missing_argument", text.index("}"))


def test_partial_reading_leaves_the_rest() -> None:
    body = body_of('{"a": 1, "needed": 2, "//": 3, "plain": {}, "zz": 4}')
    content, rest = body.partial_content(BodySchema({"a": False}, (ExpectedBlock("plain"),)))
    assert (list(content.attributes), blocks(content)) == (["a"], [("plain",)])
    attributes, diagnostics = rest.just_attributes()
    assert (list(attributes), diagnostics) == (["needed", "zz"], [])
    again, _ = rest.partial_content(BodySchema({"a": False, "zz": False}))
    assert list(again.attributes) == ["zz"]


def test_spans() -> None:
    text = '{ "two" : { "t" : [ { "n": { "a" : [ "x" ] } } ] } }'
    (block,) = content_of(text).blocks
    assert block.header_span.text == "{"
    assert block.header_span.start == text.index('{ "a"')
    assert text[block.start : block.type_end] == '"two"'
    assert [text[label.start : label.end] for label in block.labels] == ['"t"', '"n"']
    attribute = block.body.just_attributes()[0]["a"]
    assert (attribute.name_span.text, attribute.expr_span.text) == ('"a"', '[ "x" ]')
    assert attribute.span.text == '"a" : [ "x" ]'


# ---------------------------------------------------------------- expressions


@pytest.mark.parametrize(
    ("value", "tree"),
    [
        ("1.5", "1.5"),
        ("1e2", "100"),
        ("null", "null"),
        ("true", "true"),
        ('"x"', '"x"'),
        ('"e\\u0301"', '"\\xe9"'),
        ('"$${x} $ %"', '"${x} $ %"'),
        ('"${a.b}"', "(wrap a.b)"),
        ('"x${a.b[\\"k\\"]}"', '(template "x" a.b["k"])'),
        ('["${a}", {"k": "${b}", "${c}": 1}]', '[(wrap a) {"k"=(wrap b) (wrap c)=1}]'),
        ('{"//": 1}', '{"//"=1}'),
        ('"%{ if a }b%{ endif }"', '(template (%if a (template "b") -))'),
    ],
)
def test_expressions(value: str, tree: str) -> None:
    assert expression_of(value) == tree


def test_without_templates_strings_are_verbatim() -> None:
    attribute = content_of('{"a": ["${b}", {"$${c}": "%{"}]}').attributes["a"]
    assert show(attribute.literal) == '["${b}" {"$${c}"="%{"}]'
    assert attribute.is_json


def test_positions_inside_strings() -> None:
    text = '{"a": "é ${foo.bar} ${baz}"}'
    source = Source("x.tf.json", text)
    body, _ = parse_json(source)
    assert body is not None
    template = body.just_attributes()[0]["a"].expr
    _, first, _, second = template.parts  # type: ignore[union-attr]
    assert (text[first.start : first.end], text[second.start : second.end]) == ("foo.bar", "baz")
    assert text[first.steps[0].start : first.steps[0].end] == ".bar"


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        ('"x${1 2}"', "syntax.expected_template_brace", "2"),
        ('["%{ while }"]', "syntax.unknown_directive", "while"),
        ('{"k": 1, "k": 2}', "json.duplicate_attribute", '"k"'),
        ("[1, -1e9999999999]", "json.number", "-1e9999999999"),
        ('{"k": 1e-' + "9" * 50 + "}", "json.number", "1e-" + "9" * 50),
    ],
)
def test_mistakes_in_values_come_when_the_expression_is_asked_for(value: str, code: str, text: str) -> None:
    content = content_of(f'{{"a": {value}}}')
    assert content.diagnostics == []
    with pytest.raises(Failure) as failure:
        assert content.attributes["a"].expr is None
    assert places(failure.value.diagnostics) == [(code, text)]


def test_an_expression_is_made_once() -> None:
    attribute = content_of('{"a": ["${b}"]}').attributes["a"]
    assert isinstance(attribute, JsonAttribute)
    assert attribute.expr is attribute.expr
    assert attribute.literal is attribute.literal
