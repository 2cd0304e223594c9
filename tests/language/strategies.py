"""Random types and values of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from planner.foundation.values.numbers import parse_number
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import BOOL, NUMBER, STRING, ListType, MapType, ObjectType, SetType, TupleType
from planner.foundation.values.value import NOT_NULL, SENSITIVE, List, Map, Marked, Null, Unknown

names = st.sampled_from(["a", "b", "cc", "k-1"])
texts = st.sampled_from(["", "a", "1", "true", "x y", "é", "<&>", '"'])
fractions = st.decimals(-1000, 1000, places=3).map(str).map(parse_number)
numbers = st.one_of(st.integers(-(10**6), 10**6), st.integers(-(2**200), 2**200), fractions)
primitives = st.sampled_from([STRING, NUMBER, BOOL])
types = st.recursive(
    primitives,
    lambda inner: st.one_of(
        inner.map(ListType),
        inner.map(SetType),
        inner.map(MapType),
        st.lists(inner, max_size=3).map(lambda ts: TupleType(tuple(ts))),
        st.dictionaries(names, inner, max_size=3).map(ObjectType),
    ),
    max_leaves=6,
)


@st.composite
def values(draw: Any, t: Any = None, known: bool = False, marks: bool = False) -> Any:
    """A value of the type (of any type when it is None), perhaps null, unknown or marked at some places."""
    t = draw(types) if t is None else t
    kind = draw(st.integers(0, 11))
    if kind == 0:
        return Null(t)
    if kind == 1 and not known:
        return Unknown(t, draw(st.sampled_from([None, NOT_NULL])))
    if kind == 2 and marks:
        inner = draw(values(t, known, False))
        return Marked(inner, frozenset((SENSITIVE,)))
    return draw(_plain(t, known, marks))


@st.composite
def _plain(draw: Any, t: Any, known: bool, marks: bool) -> Any:
    if t is STRING:
        return draw(texts)
    if t is NUMBER:
        return draw(numbers)
    if t is BOOL:
        return draw(st.booleans())
    if isinstance(t, TupleType):
        return tuple(draw(values(e, known, marks)) for e in t.elements)
    if isinstance(t, ObjectType):
        return {n: draw(values(a, known, marks)) for n, a in t.attributes.items()}
    if isinstance(t, MapType):
        return Map(t.element, {n: draw(values(t.element, known, marks)) for n in draw(st.sets(names, max_size=2))})
    items = [draw(values(t.element, known, marks and isinstance(t, ListType))) for _ in range(draw(st.integers(0, 3)))]
    return List(t.element, tuple(items)) if isinstance(t, ListType) else make_set(t.element, items)
