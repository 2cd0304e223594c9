"""The pool against the sequential walk, on random graphs with failures and additions; its bound; stopping."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.engine.walk.machine import NOTHING, Machine, StopSignal, WalkResult, WorkResult
from planner.engine.walk.pool import walk_pool, walk_sequentially
from planner.foundation.vocabulary.diagnostic import Failure, error


class Script:
    """Work that does what a table says: nodes that fail, nodes that add children, nodes that run in the pool."""

    def __init__(
        self, fails: set[str], expands: Mapping[str, Mapping[str, list[str]]], pooled: set[str], delay: float = 0.0
    ) -> None:
        self.fails, self.expands, self.pooled, self.delay = fails, expands, pooled, delay
        self.began: list[str] = []
        self.ended: list[str] = []
        self.running = 0
        self.most = 0
        self.lock = threading.Lock()

    def is_inline(self, node: str) -> bool:
        return node not in self.pooled

    def run(self, node: str) -> WorkResult:
        with self.lock:
            self.began.append(node)
            self.running += 1
            self.most = max(self.most, self.running)
        if self.delay:
            time.sleep(self.delay)
        with self.lock:
            self.running -= 1
            self.ended.append(node)
        if node in self.fails:
            raise Failure(error("test.failed", node))
        return WorkResult(children=self.expands.get(node))


@st.composite
def scripts(draw: st.DrawFn) -> tuple[dict[str, list[str]], set[str], dict[str, dict[str, list[str]]], set[str]]:
    count = draw(st.integers(0, 12))
    names = [f"n{i}" for i in range(count)]
    graph = {
        name: draw(st.lists(st.sampled_from(names[:i]), max_size=3, unique=True)) if i else []
        for i, name in enumerate(names)
    }
    if count > 2 and draw(st.booleans()) and draw(st.booleans()):
        graph[names[0]].append(names[-1])  # sometimes a cycle
    expands: dict[str, dict[str, list[str]]] = {}
    for name in names:
        if draw(st.integers(0, 3)) == 0:
            children = [f"{name}[{i}]" for i in range(draw(st.integers(0, 3)))]
            expands[name] = {
                child: draw(st.lists(st.sampled_from([*children[:i], *names]), max_size=2, unique=True))
                for i, child in enumerate(children)
            }
    everything = names + [child for children in expands.values() for child in children]
    some = st.sets(st.sampled_from(everything), max_size=4) if everything else st.just(set[str]())
    return graph, draw(some), expands, draw(some)


def outcome(result: WalkResult) -> tuple[object, ...]:
    return result.states, [d.summary for d in result.diagnostics]


@given(scripts(), st.integers(1, 4))
@settings(max_examples=examples(150))
def test_the_pool_ends_and_agrees_with_the_sequential_walk(
    script: tuple[dict[str, list[str]], set[str], dict[str, dict[str, list[str]]], set[str]], parallelism: int
) -> None:
    graph, fails, expands, pooled = script
    one = Script(fails, expands, pooled)
    many = Script(fails, expands, pooled)
    expected = walk_sequentially(Machine(graph), one)
    actual = walk_pool(Machine(graph), many, parallelism)
    assert outcome(actual) == outcome(expected)
    assert sorted(many.began) == sorted(one.began)
    assert set(actual.states.values()) <= {"done", "failed", "skipped"}
    for node, wanted in graph.items():
        if node in many.began:
            for other in wanted:
                assert many.ended.index(other) < many.began.index(node) or other == node


@given(scripts(), st.integers(1, 4), st.sets(st.integers(0, 11)))
@settings(max_examples=examples(150))
def test_nodes_without_work_are_done_and_never_started(
    script: tuple[dict[str, list[str]], set[str], dict[str, dict[str, list[str]]], set[str]],
    parallelism: int,
    numbers: set[int],
) -> None:
    graph, fails, expands, pooled = script
    idle = {f"n{number}" for number in numbers} - fails - expands.keys()
    one, many = Script(fails, expands, pooled), Script(fails, expands, pooled)
    flags = bytes(name in idle for name in sorted(graph))
    expected = walk_sequentially(Machine(graph), one)
    actual = walk_pool(Machine(graph, idle=flags), many, parallelism)
    assert outcome(actual) == outcome(expected)
    assert sorted(many.began) == sorted(node for node in one.began if node not in idle)


def test_the_bound_is_reached_and_never_exceeded() -> None:
    names = [f"n{i:02}" for i in range(12)]
    barrier = threading.Barrier(4)

    class Meet(Script):
        def run(self, node: str) -> WorkResult:
            with self.lock:
                self.running += 1
                self.most = max(self.most, self.running)
            barrier.wait(timeout=20)
            with self.lock:
                self.running -= 1
            return WorkResult()

    work = Meet(set(), {}, set(names))
    result = walk_pool(Machine({name: [] for name in names}), work, parallelism=4)
    assert set(result.states.values()) == {"done"}
    assert work.most == 4


def test_inline_work_goes_on_while_the_pool_is_busy() -> None:
    inline_ran = threading.Event()

    class Work(Script):
        def run(self, node: str) -> WorkResult:
            if node == "pooled":
                assert inline_ran.wait(timeout=20)
            else:
                inline_ran.set()
            return WorkResult()

    result = walk_pool(Machine({"inline": [], "pooled": []}), Work(set(), {}, {"pooled"}), parallelism=1)
    assert result.states == {"inline": "done", "pooled": "done"}


def test_a_stop_request_ends_the_walk_after_what_runs() -> None:
    stop = StopSignal()

    class Work(Script):
        def run(self, node: str) -> WorkResult:
            stop.request()
            return super().run(node)

    names = [f"n{i}" for i in range(6)]
    for pooled in (set(), set(names)):
        stop = StopSignal()
        work = Work(set(), {}, pooled)
        result = walk_pool(Machine({name: [] for name in names}), work, parallelism=1, stop=stop)
        assert work.began == ["n0"]
        assert result.stopped
        assert [result.states[name] for name in names] == ["done"] + ["skipped"] * 5


def test_who_listens_has_heard_of_a_stop_when_the_walk_ends() -> None:
    """A signal handler only sets the flag; the walk may end before any other thread has seen that."""
    for walk in (walk_pool, walk_sequentially):
        stop, heard = StopSignal(), []
        stop.listen(lambda heard=heard: heard.append("stop"))
        stop.requested = True
        walk(Machine({"a": []}), Script(set(), {}, set()), stop=stop)
        assert heard == ["stop"]


@pytest.mark.parametrize("pooled", [{"a", "b"}, set()])
@pytest.mark.parametrize("walk", [walk_pool, walk_sequentially])
def test_a_defect_in_the_work_fails_its_node_alone(walk, pooled: set[str]) -> None:
    """So that what was done for others is not lost for it."""

    class Work(Script):
        def run(self, node: str) -> WorkResult:
            if node == "a":
                raise KeyError("defect")
            return super().run(node)

    work = Work(set(), {}, pooled)
    result = walk(Machine({"a": [], "b": [], "c": ["b"], "d": ["a"]}), work)
    assert sorted(work.ended) == ["b", "c"]
    assert list(result.skips) == ["d"]
    (found,) = result.diagnostics
    assert (found.code, found.address) == ("cli.internal_error", "a")
    assert "KeyError: 'defect'" in found.detail


def test_diagnostics_come_by_node_name_whatever_the_timing() -> None:
    work = Script({"a", "b", "c"}, {}, {"a", "b", "c"})
    result = walk_pool(Machine({name: [] for name in "cab"}), work, parallelism=3)
    assert [d.summary for d in result.diagnostics] == ["a", "b", "c"]


def test_ten_thousand_inline_nodes_cost_little() -> None:
    names = [f"n{i:05}" for i in range(10_000)]
    graph = {name: [names[j] for j in (i // 2, i // 3, i // 5) if j != i] for i, name in enumerate(names)}

    class Idle:
        def is_inline(self, node: str) -> bool:
            return True

        def run(self, node: str) -> WorkResult:
            return NOTHING

    began = time.process_time()
    result = walk_pool(Machine(graph), Idle())
    assert time.process_time() - began < 2  # near 0.1 s; quadratic behaviour would take minutes
    assert set(result.states.values()) == {"done"}


def test_progress_counts_settled_nodes_and_grows_with_additions() -> None:
    script = Script(set(), {"a": {"a1": [], "a2": ["a1"]}}, {"b"})
    told: list[tuple[int, int]] = []
    walk_pool(Machine({"a": [], "b": ["a"]}), script, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (4, 4)
    assert told[0] == (0, 4)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
