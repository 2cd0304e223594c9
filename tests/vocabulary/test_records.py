"""Records behave as the classes of attrs that they stand for: before their methods are compiled, and after."""

from __future__ import annotations

import copy
import pickle
import weakref
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import attrs
import pytest

from planner.foundation.vocabulary import records
from planner.foundation.vocabulary.records import FrozenError

T = TypeVar("T")


def _made(kit: Any) -> dict[str, type]:
    @kit.frozen
    class Point:
        x: int
        y: int = 0
        seen: ClassVar[int] = 7
        tags: list[str] = kit.field(factory=list, eq=False, repr=False)

        @cached_property
        def far(self) -> list[int]:
            return [self.x * self.x + self.y * self.y]

        def kind(self) -> str:
            return "point"

    @kit.frozen
    class Named(Point):
        name: str = kit.field(default="n", eq=str.lower)
        _hidden: int = kit.field(default=3, kw_only=True)

        def kind(self) -> str:
            return f"named {super().kind()}"

    @kit.frozen(eq=False)
    class Same(Generic[T]):
        value: T
        again: str = kit.field(init=False)

        def __attrs_post_init__(self) -> None:
            object.__setattr__(self, "again", str(self.value))

    @kit.define
    class Open:
        a: int
        b: list[int] = kit.field(factory=list, init=False)

    @kit.frozen(eq=False, kw_only=True)
    class Words:
        a: int
        b: int = 2

    @kit.frozen(cache_hash=True)
    class Kept:
        a: int

    @kit.frozen(repr=False)
    class Own:
        a: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __hash__(self) -> int:
            return 5

        def __repr__(self) -> str:
            return "own"

    return {one.__name__: one for one in (Point, Named, Same, Open, Words, Kept, Own)}


KITS = {"records": _made(records), "attrs": _made(attrs)}


@pytest.fixture(params=["records", "attrs", "compiled"])
def kit(request: pytest.FixtureRequest) -> dict[str, type[Any]]:
    """The classes of records, new; those of attrs; records, used often before."""
    if request.param == "attrs":
        return KITS["attrs"]
    fresh = _made(records)
    if request.param == "compiled":
        for _ in range(records._FEW + 1):
            one = fresh["Point"](1, y=2)
            assert one == fresh["Point"](1, 2) and hash(one) == hash(fresh["Point"](1, 2))
            named = fresh["Named"](1, hidden=4)
            assert named == fresh["Named"](1) or named._hidden == 4
            hash(named)
            fresh["Same"](1)
            fresh["Open"](1)
            fresh["Words"](a=1)
            hash(fresh["Kept"](1))
        assert fresh["Point"].__init__.__name__ == "__init__"
    return fresh


def test_what_they_hold(kit: dict[str, type[Any]]) -> None:
    point, named = kit["Point"], kit["Named"]
    assert [(p.x, p.y, p.tags) for p in (point(1), point(1, 2), point(y=4, x=3), point(1, tags=["a"]))] == [
        (1, 0, []),
        (1, 2, []),
        (3, 4, []),
        (1, 0, ["a"]),
    ]
    assert point(1).tags is not point(1).tags and point.seen == 7
    made = named(1, 2, ["t"], "N", hidden=9)
    assert (made.x, made.y, made.tags, made.name, made._hidden, made.kind()) == (1, 2, ["t"], "N", 9, "named point")
    assert kit["Same"](5).again == "5" and kit["Open"](1).b == [] and kit["Words"](a=1).b == 2


@pytest.mark.parametrize(
    ("name", "given", "named"),
    [
        ("Point", (), {}),
        ("Point", (1, 2, [], 4), {}),
        ("Point", (1,), {"x": 1}),
        ("Point", (1,), {"z": 1}),
        ("Open", (1,), {"b": []}),
        ("Words", (1,), {}),
        ("Named", (1,), {"_hidden": 1}),
    ],
)
def test_wrong_calls(kit: dict[str, type[Any]], name: str, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        kit[name](*given, **named)


def test_equality_and_hashes(kit: dict[str, type[Any]]) -> None:
    point, named, same, kept, own = (kit[name] for name in ("Point", "Named", "Same", "Kept", "Own"))
    assert point(1, 2) == point(1, 2, ["other"]) and point(1) != point(2) and point(1) != named(1)
    assert point(1) != 1 and len({point(1), point(1, tags=["a"]), point(2)}) == 2
    assert named(1, name="A") == named(1, name="a") and hash(named(1, name="A")) == hash(named(1, name="a"))
    assert same(1) != same(1) and len({kept(1), kept(1)}) == 1 and own(1) == own(2) and hash(own(1)) == 5
    with pytest.raises(TypeError):
        hash(kit["Open"](1))
    assert kit["Open"](1) == kit["Open"](1) != kit["Open"](2)


def test_representation(kit: dict[str, type[Any]]) -> None:
    assert repr(kit["Point"](1)).endswith("Point(x=1, y=0)") and repr(kit["Own"](1)) == "own"
    around = kit["Open"](1)
    around.b.append(around)
    assert repr(around).endswith("Open(a=1, b=[...])")


def test_frozen_or_not(kit: dict[str, type[Any]]) -> None:
    point, opened = kit["Point"](1), kit["Open"](1)
    with pytest.raises(AttributeError):
        point.x = 2
    with pytest.raises(AttributeError):
        del point.x
    with pytest.raises(AttributeError):
        opened.c = 2
    opened.a = 5
    assert opened.a == 5 and not hasattr(point, "__dict__") and weakref.ref(point)() is point


def test_cached_properties_are_made_once(kit: dict[str, type[Any]]) -> None:
    point = kit["Named"](3, 4)
    assert point.far == [25] and point.far is point.far
    with pytest.raises(AttributeError):
        point.nothing  # noqa: B018


def test_patterns(kit: dict[str, type[Any]]) -> None:
    point: Any = kit["Point"]
    match point(3, 4):
        case point(x, y):
            assert (x, y) == (3, 4)
        case _:
            pytest.fail("no match")


def test_changed_and_copied(kit: dict[str, type[Any]]) -> None:
    named = kit["Named"](1, hidden=4)
    for evolve in (records.evolve, attrs.evolve):
        changed = evolve(named, name="x", hidden=5)
        assert (changed.x, changed.name, changed._hidden) == (1, "x", 5)
        with pytest.raises(TypeError):
            evolve(named, other=1)
    copied = copy.deepcopy(named)
    assert copied == named and copied.tags is not named.tags
    with pytest.raises(AttributeError):
        copied.x = 1


def test_functions_of_attrs_understand_them(kit: dict[str, type[Any]]) -> None:
    assert attrs.asdict(kit["Named"](1)) == {"x": 1, "y": 0, "tags": [], "name": "n", "_hidden": 3}
    assert [(one.name, one.type) for one in attrs.fields(kit["Words"])] == [("a", "int"), ("b", "int")]


@records.frozen
class Kept:
    a: int
    b: list[int] = records.field(factory=list)


def test_pickled() -> None:
    assert pickle.loads(pickle.dumps(Kept(1, [2]))) == Kept(1, [2])


def test_what_is_frozen_says_so() -> None:
    with pytest.raises(FrozenError, match=r"Kept\.a cannot be assigned"):
        Kept(1).a = 2  # type: ignore[misc]
