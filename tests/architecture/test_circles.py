"""No circle of imports, among modules or among rooms; imports for types only and those within functions count, too:
who reads one module has to read those that it names, whenever they are loaded."""

from __future__ import annotations

from import_graph import circles, imports, modules, room


def test_modules() -> None:
    arrows: dict[str, set[str]] = {name: set() for name in modules()}
    for one in imports():
        if one.target in modules() and one.target != one.module:
            arrows[one.module].add(one.target)
    assert circles(arrows) == []


def test_rooms() -> None:
    arrows: dict[str, set[str]] = {}
    for one in imports():
        mine, other = room(one.module), room(one.target)
        if one.target in modules() and mine != other and other != "planner":  # that has constants and nothing else
            arrows.setdefault(mine, set()).add(other)
    assert circles(arrows) == []


def test_a_circle_is_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set(), "e": {"f"}, "f": {"e"}}) == [
        ["a", "b", "c"],
        ["e", "f"],
    ]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
