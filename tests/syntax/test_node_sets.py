"""Expressions for sets of vertices: how they are read, and what is wrong with wrong ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.foundation.vocabulary.diagnostic import Failure
from planner.language.syntax.node_sets import MAX_NESTED, NodeSet, SetCall, SetName, parse_node_set


def written(node: NodeSet) -> str:
    """The expression with every parenthesis."""
    if isinstance(node, SetName):
        return f"<{node.text}>"
    if isinstance(node, SetCall):
        inside = ", ".join(map(written, node.arguments))
        return f"{node.verb}({inside}{'' if node.depth is None else f', {node.depth}'})"
    text = written(node.first)
    for operator, other in node.others:
        text = f"({text} {operator} {written(other)})"
    return text


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a.b", "<a.b>"),
        ("  a.b  ", "<a.b>"),
        ("a.b + c.d - e.f & g.h", "(((<a.b> + <c.d>) - <e.f>) & <g.h>)"),
        ("a.b - (c.d & e.f)", "(<a.b> - (<c.d> & <e.f>))"),
        ("((a.b))", "<a.b>"),
        ("a+b&c", "((<a> + <b>) & <c>)"),
        ("my-vpc.a-b -c", "(<my-vpc.a-b> - <c>)"),
        ("deps(a) -b", "(deps(<a>) - <b>)"),
        ("module.net (close)", "<module.net (close)>"),
        ("a (destroy deposed 0a1b2c3d) + b", "(<a (destroy deposed 0a1b2c3d)> + <b>)"),
        ("var.x (expand, reference)", "<var.x (expand, reference)>"),
        ('provider["terraform.io/builtin/terraform"] (close)', '<provider["terraform.io/builtin/terraform"] (close)>'),
        ('a.b["x - (y) & \\" ]"] - c[0]', '(<a.b["x - (y) & \\" ]"]> - <c[0]>)'),
        ('"a b" - "c\\"d"', '(<a b> - <c"d>)'),
        ("*", "<*>"),
        ("module.*.x?", "<module.*.x?>"),
        (
            "deps(module.net.*) & rdeps(terraform_data.a) - data.*",
            "((deps(<module.net.*>) & rdeps(<terraform_data.a>)) - <data.*>)",
        ),
        ("deps(a, 2)", "deps(<a>, 2)"),
        ("rdeps(deps(a + b, 0), 1)", "rdeps(deps((<a> + <b>), 0), 1)"),
        ("deps (a)", "deps(<a>)"),
        ("somepath(a (expand), b)", "somepath(<a (expand)>, <b>)"),
        ("allpaths(blast(a), b - c)", "allpaths(blast(<a>), (<b> - <c>))"),
        ("deps", "<deps>"),
    ],
)
def test_expressions(text: str, meaning: str) -> None:
    assert written(parse_node_set(text)) == meaning


@pytest.mark.parametrize(
    ("text", "code", "start", "end"),
    [
        ("", "query.syntax", 0, 0),
        ("a b", "query.syntax", 2, 3),
        ("a +", "query.syntax", 3, 3),
        ("+ a", "query.syntax", 0, 1),
        ("(a", "query.syntax", 2, 2),
        ("(a))", "query.syntax", 3, 4),
        ("a, b", "query.syntax", 1, 2),
        ('"a', "query.syntax", 0, 1),
        ("a[0", "query.syntax", 1, 2),
        ("deps()", "query.arguments", 0, 6),
        ("deps(a, b)", "query.arguments", 0, 10),
        ("x & deps(a, 1, 2)", "query.syntax", 13, 14),
        ("somepath(a)", "query.arguments", 0, 11),
        ("blast(a, 2)", "query.arguments", 0, 11),
        ("a + dep(b)", "query.verb", 4, 7),
    ],
)
def test_mistakes(text: str, code: str, start: int, end: int) -> None:
    with pytest.raises(Failure) as failure:
        parse_node_set(text)
    (problem,) = failure.value.diagnostics
    assert problem.subject is not None
    assert (problem.code, problem.subject.start, problem.subject.end) == (code, start, end)


def test_the_nearest_verb() -> None:
    with pytest.raises(Failure) as failure:
        parse_node_set("rdesp(a)")
    assert 'Did you mean "rdeps"?' in failure.value.diagnostics[0].detail


def test_nesting_is_limited_and_length_is_not() -> None:
    deep = MAX_NESTED
    assert parse_node_set("(" * deep + "a" + ")" * deep)
    with pytest.raises(Failure, match="Not a set"):
        parse_node_set("(" * (deep + 1) + "a" + ")" * (deep + 1))
    assert written(parse_node_set(" + ".join(["a"] * 5000))).count("<a>") == 5000


@settings(max_examples=examples(200))
@given(st.text(alphabet='ab.*?-+&(), "[]\\deps2', max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    problems, found = [], ""
    try:
        found = written(parse_node_set(text))
    except Failure as failure:
        problems = failure.diagnostics
    assert bool(found) != bool(problems)
    assert all(d.subject is not None and d.subject.start <= d.subject.end <= len(text) for d in problems)
