"""What the recorded expressions do not show: several problems at once, references, marks in scope."""

from __future__ import annotations

from typing import Any

import pytest

from planner.foundation.values.convert import convert
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, MapType, ObjectType
from planner.foundation.values.value import (
    NOT_NULL,
    NULL,
    SENSITIVE,
    UNKNOWN,
    List,
    Marked,
    Null,
    Refinement,
    Unknown,
)
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.span import Source, Span
from planner.language.expressions.evaluate import (
    EvaluationError,
    MappingScope,
    Scope,
    compile_expression,
    evaluate,
    try_evaluate,
)
from planner.language.expressions.scope import ConstantScope
from planner.language.syntax.parse import parse_expression

S = frozenset((SENSITIVE,))
UNKNOWN_TEXT = Unknown(STRING, NOT_NULL)


def parsed(text: str) -> tuple[Any, Source]:
    source = Source("test", text)
    node, diagnostics = parse_expression(source)
    assert node is not None, diagnostics
    return node, source


def value(text: str, **variables: Any) -> Any:
    node, source = parsed(text)
    return evaluate(node, MappingScope(variables), source)


def problems(text: str, scope: Scope | None = None, **variables: Any) -> list[tuple[str, str]]:
    """The code and the text at each problem."""
    node, source = parsed(text)
    with pytest.raises(EvaluationError) as caught:
        evaluate(node, scope or MappingScope(variables), source)
    return [(d.code, d.subject.text) for d in caught.value.diagnostics if d.subject]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("x.a[0].b", 1),
        ('x["a"][0]["b"]', 1),
        ("[for k, v in m : \"${k}=${v}\" if v > 1]", ("b=2",)),
        ("{for v in l : v => upper(v)...}", {"p": ("P", "P"), "q": ("Q",)}),
        ("l[*]", List(STRING, ("p", "q", "p"))),
        ("nothing[*].a", ()),
        ("secret.a + 1", Marked(2, S)),
        ("[secret.a]", (Marked(1, S),)),
        ("{(secret.k) = 1}", Marked({"key": 1}, S)),
        ("secret.a == 1 ? \"y\" : \"n\"", Marked("y", S)),
        ("true ? unsure : 1", Unknown(NUMBER)),
        ("unsure > 0 ? 1 : 2", Unknown(NUMBER, Refinement(True, lower=(1, True), upper=(2, True)))),
        ("\"id-${later}\"", Unknown(STRING, Refinement(True, "id-"))),
        ("later == null", False),
        ("later != \"\"", Unknown(BOOL, NOT_NULL)),
        ("any_thing.a.b[0]", UNKNOWN),
        ("[for x in any_thing : x]", UNKNOWN),
        ("try(x.zz, l[9], \"d\")", "d"),
        ("max(n...)", 3),
    ],
)  # fmt: skip
def test_value(text: str, result: Any) -> None:
    found = value(
        text,
        x={"a": ({"b": 1},)},
        m={"a": 1, "b": 2},
        l=List(STRING, ("p", "q", "p")),
        n=(1, 3, 2),
        nothing=NULL,
        secret=Marked({"a": 1, "k": "key"}, S),
        unsure=Unknown(NUMBER),
        later=UNKNOWN_TEXT,
        any_thing=UNKNOWN,
    )
    assert found == result


def test_all_problems_at_once() -> None:
    found = problems('[1 + "x", {a = upper(1, 2)}, l.zz, nope()]', l=())
    assert [text for _, text in found] == ['"x"', "2", ".zz", "nope"]


def test_problems_of_what_is_not_used_do_not_count() -> None:
    assert value('true ? 1 : 1 + "x"') == 1
    assert value("false && l.zz", l=()) is False
    assert value("can(l.zz)", l=()) is False


def test_wrong_references_count_everywhere_and_alone() -> None:
    assert problems("true ? 1 : missing") == [("language.unknown_variable", "missing")]
    assert problems("[for x in [] : missing + x]") == [("language.unknown_variable", "missing")]
    assert problems('try(missing.a, 1) + "x"') == [("language.unknown_variable", "missing")]
    assert len(problems("[for x in [1, 2, 3] : missing]")) == 1


def test_local_names_hide_names_of_the_scope() -> None:
    assert value("[for x in [1, 2] : [for y in [x] : y + z]]", x=9, z=10) == ((11,), (12,))
    assert value("[[1], [2]][*][0]") == (1, 2)
    assert value("[{a = [1]}, {a = [2, 3]}][*].a[*]") == ((1,), (2, 3))


def test_a_scope_may_answer_several_steps() -> None:
    class Far(MappingScope):
        def resolve(self, node: Any, source: Any) -> Any:
            return (UNKNOWN_TEXT, 2) if node.steps[1].name == "id" else (5, 2)

    node, source = parsed("a.b.id")
    assert evaluate(node, Far(), source) == UNKNOWN_TEXT
    assert problems("a.b.c.d", Far()) == [("language.traversal", ".d")]


def test_a_scope_may_refuse() -> None:
    class Strict(Scope):
        def resolve(self, node: Any, source: Any) -> Any:
            raise Failure(error("strict", "No", "", Span(source, node.start, node.end)))

    assert problems("a.b + c", Strict()) == [("strict", "a.b"), ("strict", "c")]


def test_constants_only() -> None:
    assert problems("a", ConstantScope()) == [("language.variables_not_allowed", "a")]
    assert problems("upper(1)", ConstantScope()) == [("language.functions_not_allowed", "upper(1)")]


def test_programs_are_compiled_once_and_serve_many_scopes() -> None:
    node, source = parsed("[for x in l : x + n]")
    program = compile_expression(node)
    assert compile_expression(node) is program
    assert [getattr(r, "name", "") for r in program.references] == ["l", "n"]
    for n in (1, 2):
        assert evaluate(node, MappingScope({"l": (1,), "n": n}), source) == (1 + n,)


def test_results_in_spite_of_problems() -> None:
    node, source = parsed('{a = 1, b = 1 + "x"}')
    found, diagnostics = try_evaluate(node, MappingScope(), source)
    assert found == {"a": 1, "b": Unknown(NUMBER)}
    assert len(diagnostics) == 1


def test_splat_of_unknown_lists_knows_the_type() -> None:
    items = Unknown(ListType(ObjectType({"a": STRING})), Refinement(True, min_length=1))
    assert value("l[*].a", l=items) == Unknown(ListType(STRING), Refinement(True, min_length=1))
    assert problems("l[*].b", l=items) == [("language.traversal", ".b")]


def test_unknown_of_any_type_converts() -> None:
    assert convert(UNKNOWN, MapType(DYNAMIC)) == Unknown(MapType(DYNAMIC))
    assert value("true ? null : 1") == Null(NUMBER)


def test_messages_are_sentences() -> None:
    node, source = parsed('[upper(), upper({}), {} + 1, l[9], "a${null}", true ? 1 : [], bogus(1)]')
    _, diagnostics = try_evaluate(node, MappingScope({"l": ()}), source)
    assert len(diagnostics) == 7
    for d in diagnostics:
        assert d.summary
        assert not d.summary.endswith(".")
        assert d.detail.endswith((".", "?", "!")), d.detail
        assert d.code.startswith("language.")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("var.x + var.s", [("var.s", "is object with 1 attribute \"a\"")]),
        ("var.s.zz", [("var.s", 'is object with 1 attribute "a"')]),
        ("[for k, v in var.l : v + k.a]", [("k", "is 0")]),
        ("[for v in var.l : v + []]", []),
        ("[for v in var.l : var.s + v]", [("var.s", 'is object with 1 attribute "a"')]),
        ("upper([for v in var.l : v])", [("var.l", "is tuple with 2 elements")]),
        ("upper(var.l)", [("var.l", "is tuple with 2 elements")]),
        ("var.secret + {}", []),
        ("var.later.a", [("var.later", "is a string")]),
        ("\"${var.none}a\"", [("var.none", "is null")]),
    ],
)  # fmt: skip
def test_problems_tell_what_names_stand_for(text: str, values: list[tuple[str, str]]) -> None:
    node, source = parsed(text)
    scope = MappingScope(
        {
            "var": {
                "x": 5,
                "s": {"a": 1},
                "l": (1, 2),
                "secret": Marked((1,), S),
                "later": UNKNOWN_TEXT,
                "none": NULL,
            }
        }
    )
    _, diagnostics = try_evaluate(node, scope, source)
    assert list(diagnostics[0].values) == values
