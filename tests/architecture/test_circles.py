"""No circle of imports, among modules or among packages; imports for types only and those within functions count, too:
who reads one module has to read those that it names, whenever they are loaded."""

from __future__ import annotations

from import_graph import circles, imports, modules, package

# What is still in a circle. Take out of it what comes out; nothing may come in.
MODULES: list[list[str]] = [
    [
        "planner.apply.changes",
        "planner.apply.departures",
        "planner.apply.operation",
        "planner.apply.outputs",
        "planner.apply.provision",
        "planner.apply.walk",
        "planner.evaluation.configuration_walk",
        "planner.evaluation.ephemeral",
        "planner.plan.data",
        "planner.plan.departing",
        "planner.plan.managed",
        "planner.plan.outputs",
        "planner.plan.refresh",
        "planner.plan.resources",
        "planner.plan.unmatched",
        "planner.plan.walk",
    ],
]
PACKAGES: list[list[str]] = [["planner.apply", "planner.evaluation", "planner.plan"]]


def test_modules() -> None:
    arrows: dict[str, set[str]] = {name: set() for name in modules()}
    for one in imports():
        if one.target in modules() and one.target != one.module:
            arrows[one.module].add(one.target)
    assert _new(circles(arrows), MODULES) == []


def test_packages() -> None:
    arrows: dict[str, set[str]] = {}
    for one in imports():
        mine, other = package(one.module), package(one.target)
        if one.target in modules() and mine != other and other != "planner":  # that has the version and nothing else
            arrows.setdefault(mine, set()).add(other)
    assert _new(circles(arrows), PACKAGES) == []


def _new(found: list[list[str]], known: list[list[str]]) -> list[list[str]]:
    return [circle for circle in found if not any(set(circle) <= set(one) for one in known)]


def test_a_circle_is_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set(), "e": {"f"}, "f": {"e"}}) == [
        ["a", "b", "c"],
        ["e", "f"],
    ]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
