"""New objects, and those that go, are compared with nothing on a short way: their text is that of the long one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.foundation.values.schema import AttributeSchema, BlockSchema
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, MapType, SetType
from planner.foundation.values.value import SENSITIVE, List, Map, Null, Set, Unknown, is_wholly_known, mark
from planner.render.diff_block import diff_block
from planner.render.diff_model import MISSING, Diff, ValueChange
from planner.render.diff_text import DiffText, Style

SECRET = frozenset((SENSITIVE,))
texts = st.sampled_from(["", "a", "two\nlines", '{"a": [1, null]}', "[]", 'quo"te ${x}', "\u00e9"])
KINDS = {"text": STRING, "number": NUMBER, "flag": BOOL}
simple = {STRING: texts, NUMBER: st.integers(-3, 10**12), BOOL: st.booleans()}


def odd(values: st.SearchStrategy[Any], kind: Any) -> st.SearchStrategy[Any]:
    """Some of the values null, unknown or sensitive."""
    whole = st.one_of(values, values, st.just(Null(kind)), st.just(Unknown(kind)))
    return st.one_of(whole, whole, whole, whole.map(lambda value: mark(value, SECRET)))


def of(kind: Any) -> st.SearchStrategy[Any]:
    if kind is DYNAMIC:
        leaves = odd(st.one_of(*simple.values()), DYNAMIC)
        return st.recursive(
            leaves,
            lambda inner: st.one_of(
                st.dictionaries(st.sampled_from(["a", "id", "b c"]), inner, max_size=3),
                st.lists(inner, max_size=3).map(tuple),
                st.lists(odd(texts, STRING), max_size=2).map(lambda items: List(STRING, tuple(items))),
            ),
            max_leaves=6,
        )
    if kind in simple:
        return odd(simple[kind], kind)
    items = odd(simple[kind.element], kind.element)
    if isinstance(kind, MapType):
        made = st.dictionaries(st.sampled_from(["a", "id", "b c"]), items, max_size=3)
        return odd(made.map(lambda entries: Map(kind.element, entries)), kind)
    if isinstance(kind, ListType):
        return odd(st.lists(items, max_size=3).map(lambda found: List(kind.element, tuple(found))), kind)
    known = st.lists(simple[kind.element], max_size=3, unique=True)
    return odd(known.map(lambda found: Set(kind.element, tuple(found))), kind)


kinds = st.sampled_from(
    [DYNAMIC, STRING, NUMBER, BOOL, MapType(STRING), MapType(NUMBER), ListType(STRING), ListType(BOOL), SetType(STRING)]
)


@st.composite
def objects(draw: st.DrawFn) -> tuple[BlockSchema, dict[str, Any]]:
    attributes, values = {}, {}
    for name in draw(st.lists(st.sampled_from(["id", "name", "tags", "x", "y"]), unique=True)):
        kind = draw(kinds)
        attributes[name] = AttributeSchema(kind, optional=True, sensitive=draw(st.sampled_from([False, False, True])))
        if draw(st.integers(0, 5)):
            values[name] = draw(of(kind))
    return BlockSchema(attributes, {}), values


def text(schema: BlockSchema, before: Any, after: Any) -> tuple[str, str]:
    diff: Diff = diff_block(ValueChange(before, after), schema)
    return diff.action, DiffText(lambda words, *styles: words).render(diff, 1, Style())


@pytest.mark.parametrize("goes", [False, True], ids=["new", "goes"])
@settings(max_examples=examples(150))
@given(made=objects())
def test_the_short_way_says_the_same(goes: bool, made: tuple[BlockSchema, dict[str, Any]]) -> None:
    schema, values = made
    assume(not goes or is_wholly_known(values))  # what is there is known
    sides = (values, MISSING) if goes else (MISSING, values)
    short = text(schema, *sides)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ValueChange, "is_whole", False)
        assert short == text(schema, *sides)
