"""Bounds of groups: never exceeded, no thread is lost to who waits, and every walk ends as the sequential one does."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.engine.walk.machine import NOTHING, Machine, SlotLimits, Slots, WorkResult
from planner.engine.walk.pool import walk_pool, walk_sequentially
from planner.foundation.support.signals import StopSignal
from planner.foundation.vocabulary.diagnostic import Failure, error

Graph = dict[str, list[str]]


class Plot:
    """A random walk: which nodes there are, fail, grow, run in the pool, and to which group each belongs."""

    def __init__(
        self,
        graph: Graph,
        grows: dict[str, Graph],
        fails: set[str],
        pooled: set[str],
        group: dict[str, str],
        bounds: dict[str, int],
    ) -> None:
        self.graph, self.grows, self.fails, self.pooled, self.group, self.bounds = (
            graph, grows, fails, pooled, group, bounds,
        )  # fmt: skip
        self.limits = SlotLimits(bounds, lambda node: group.get(node, ""))

    def __repr__(self) -> str:
        return f"Plot({self.graph}, {self.grows}, {self.fails}, {self.pooled}, {self.group}, {self.bounds})"


@st.composite
def plots(draw: st.DrawFn) -> Plot:
    names = [f"n{i:02}" for i in range(draw(st.integers(1, 14)))]
    shuffled = draw(st.permutations(names))
    graph: Graph = {}
    for i, name in enumerate(shuffled):
        graph[name] = draw(st.lists(st.sampled_from(shuffled[:i]), max_size=3, unique=True)) if i else []
    if draw(st.integers(0, 5)) == 0:
        graph[shuffled[0]].append(shuffled[-1])  # perhaps a cycle
    grows: dict[str, Graph] = {}
    everything = list(names)
    for name in draw(st.lists(st.sampled_from(names), max_size=4, unique=True)):
        grows[name] = additions(draw, name, names)
        everything += grows[name]
        for child in list(grows[name])[:1]:  # what was added may add
            if draw(st.booleans()):
                grows[child] = additions(draw, child, [*names, *grows[name]])
                everything += grows[child]
    some = st.sets(st.sampled_from(everything))
    group = {name: draw(st.sampled_from(("", "a", "b"))) for name in everything}
    bounds = draw(st.dictionaries(st.sampled_from(("a", "b")), st.integers(1, 3)))
    return Plot(graph, grows, draw(st.sets(st.sampled_from(everything), max_size=3)), draw(some), group, bounds)


def additions(draw: st.DrawFn, parent: str, known: list[str]) -> Graph:
    children = [f"{parent}.{i}" for i in range(draw(st.integers(0, 4)))]
    return {
        child: draw(st.lists(st.sampled_from([*children[:i], *known]), max_size=2, unique=True))
        for i, child in enumerate(children)
    }


class Stage:
    """Does the work of a plot, and writes down what ran when, and how many at a time."""

    def __init__(self, plot: Plot) -> None:
        self.plot = plot
        self.lock = threading.Lock()
        self.began: list[str] = []
        self.order: list[tuple[str, str]] = []
        self.running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    def is_inline(self, node: str) -> bool:
        return node not in self.plot.pooled

    def run(self, node: str) -> WorkResult:
        group = self.plot.group.get(node, "")
        with self.lock:
            self.began.append(node)
            self.order.append(("begin", node))
            counted = [group] if self.is_inline(node) else [group, "pool"]
            for name in counted:
                self.running[name] += 1
                self.most[name] = max(self.most[name], self.running[name])
        if not self.is_inline(node):
            time.sleep(0.0002)
        with self.lock:
            self.order.append(("end", node))
            for name in counted:
                self.running[name] -= 1
        if node in self.plot.fails:
            raise Failure(error("test.failed", node))
        return WorkResult(children=self.plot.grows.get(node))


@given(plots(), st.integers(1, 5))
@settings(max_examples=examples(150))
def test_every_walk_ends_as_the_sequential_one(plot: Plot, parallelism: int) -> None:
    alone, together = Stage(plot), Stage(plot)
    expected = walk_sequentially(Machine(plot.graph), alone)
    actual = within(30, lambda: walk_pool(Machine(plot.graph), together, parallelism, limits=plot.limits))
    assert actual.states == expected.states
    assert set(actual.states.values()) <= {"done", "failed", "skipped"}
    assert [d.summary for d in actual.diagnostics] == [d.summary for d in expected.diagnostics]
    assert set(actual.skips) == set(expected.skips)
    assert actual.on_cycle == expected.on_cycle
    assert sorted(together.began) == sorted(alone.began)
    assert together.most["pool"] <= parallelism
    for group, bound in plot.bounds.items():
        assert together.most[group] <= bound
    place = {event: i for i, event in enumerate(together.order)}
    wanted = dict(plot.graph)
    for children in plot.grows.values():
        wanted.update(children)
    for node in together.began:
        for other in wanted[node]:
            assert place["end", other] < place["begin", node]


@pytest.mark.slow
@given(plots(), st.integers(1, 3), st.integers(1, 6))
@settings(max_examples=examples(40))
def test_a_stop_at_any_node_ends_the_walk(plot: Plot, parallelism: int, after: int) -> None:
    stop = StopSignal()

    class Stopping(Stage):
        def run(self, node: str) -> WorkResult:
            if len(self.began) + 1 >= after:
                stop.request()
            return super().run(node)

    work = Stopping(plot)
    result = within(30, lambda: walk_pool(Machine(plot.graph), work, parallelism, stop, limits=plot.limits))
    assert set(result.states.values()) <= {"done", "failed", "skipped"}
    assert len(work.began) <= after + parallelism


@given(plots())
@settings(max_examples=examples(40))
def test_a_reverse_walk_is_the_walk_of_the_turned_graph(plot: Plot) -> None:
    turned: Graph = {node: [] for node in plot.graph}
    for node, wanted in plot.graph.items():
        for other in wanted:
            turned[other].append(node)
    plot.grows.clear()
    forth, back = Stage(plot), Stage(plot)
    expected = walk_sequentially(Machine(turned), forth)
    actual = walk_pool(Machine(plot.graph, reverse=True), back, 2, limits=plot.limits)
    assert actual.states == expected.states


def within(seconds: float, walk):  # type: ignore[no-untyped-def]
    """The result of a walk that must end in time."""
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(walk()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, "the walk does not end"
    return found[0]


def test_who_waits_for_a_slot_occupies_no_thread() -> None:
    """Two threads, and a group of which one may run: its other nodes leave the second thread to the rest."""
    met = threading.Barrier(2)

    class Work:
        def is_inline(self, node: str) -> bool:
            return False

        def run(self, node: str) -> WorkResult:
            if node in ("a0", "z"):
                met.wait(timeout=20)
            return NOTHING

    graph: Graph = {"a0": [], "a1": [], "a2": [], "a3": [], "z": []}
    limits = SlotLimits({"a": 1}, lambda node: node[0])
    result = walk_pool(Machine(graph), Work(), parallelism=2, limits=limits)
    assert set(result.states.values()) == {"done"}


def test_slots_go_to_the_first_by_name() -> None:
    slots = Slots(SlotLimits({"g": 1}, lambda node: "g"))
    assert [slots.take(node) for node in ("b", "d", "c")] == [True, False, False]
    assert slots.give_back("b") == "c"
    assert slots.take("c")
    assert slots.withdraw() == ["d"]
    assert slots.give_back("c") is None
    assert slots.give_back("never taken") is None
