"""Free references and function calls, in source order."""

from __future__ import annotations

import pytest
from syntax_show import show

from planner.foundation.vocabulary.span import Source
from planner.language.syntax.body import function_calls, variables
from planner.language.syntax.json_body import parse_json
from planner.language.syntax.parse import parse_config, parse_expression


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", ""),
        ("a.b + c[d.e] ? f : g[0]", "a.b c d.e f g[0]"),
        ("[for x in a.b : x + c]", "a.b c"),
        ("{for k, v in k : k => v... if v.z && w}", "k w"),
        ("[for x in x : [for x in x.y : x]]", "x"),
        ("[for x in y : x] + x", "y x"),
        ('"${a}%{ for x in b }${x}${y}%{ endfor }${x}"', "a b y x"),
        ('"%{ if a }${b}%{ else }${c}%{ endif }"', "a b c"),
        ("f(a, g(b), h(c)...)", "a b c"),
        ("{ a = b, (c) = d, e.f = g }", "b c d e.f g"),
        ("a[*].b[c]", "a c"),
        ("a.*.b[c].d", "a c"),
        ("f(a).b", "a"),
        ("-(!a)", "a"),
        ('"${a}"', "a"),
        ("<<A\n${a}\nA\n", "a"),
    ],
)
def test_variables(text: str, expected: str) -> None:
    expression, diagnostics = parse_expression(Source("x.tf", text))
    assert diagnostics == []
    assert expression is not None
    assert " ".join(show(n) for n in variables(expression)) == expected


def test_function_calls_stand_outer_before_inner() -> None:
    expression, _ = parse_expression(Source("x.tf", "[f(g(1), provider::p::h()), [for x in i() : x]]"))
    assert expression is not None
    assert [call.name for call in function_calls(expression)] == ["f", "g", "provider::p::h", "i"]


def test_bodies_and_blocks() -> None:
    body, _ = parse_config(Source("x.tf", "z {\n  a = b\n  c {\n    d = f(e)\n  }\n  g = h\n}\ni = j\n"))
    assert " ".join(map(show, variables(body))) == "b e h j"
    assert " ".join(map(show, variables(body.blocks[0]))) == "b e h"
    assert " ".join(map(show, variables(body.attributes["i"]))) == "j"
    assert [call.name for call in function_calls(body)] == ["f"]


def test_json_bodies() -> None:
    text = '{"a": "${b.c}", "//": "${x}", "d": {"e": ["${f(g)}"], "${h}": 1}, "bad": "${1 2}"}'
    body, _ = parse_json(Source("x.tf.json", text))
    assert body is not None
    assert " ".join(map(show, variables(body))) == "b.c g h"
    assert [call.name for call in function_calls(body)] == ["f"]


def test_deep_trees() -> None:
    expression, _ = parse_expression(Source("x.tf", "(" * 5000 + "a" + ")" * 5000 + "+b" * 5000))
    assert expression is not None
    assert len(variables(expression)) == 5001
