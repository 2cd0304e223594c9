"""Promises beside an oracle that makes everything one after the other, whoever comes first."""

from __future__ import annotations

import random
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.workflows.stacks.promises import Await, Promises

graphs = st.dictionaries(st.integers(0, 9), st.lists(st.integers(0, 9), max_size=4, unique=True), max_size=10)


def oracle(graph: dict[int, list[int]]) -> dict[int, int | None]:
    """The value of each: one more than those that it asks for. None where that never ends, or rests on such a one."""
    values: dict[int, int | None] = {}

    def value(n: int, above: tuple[int, ...]) -> int | None:
        if n in above:
            return None
        if n not in values:
            inner = [value(m, (*above, n)) for m in graph.get(n, [])]
            found = None if None in inner else 1 + sum(v for v in inner if v is not None)
            if found is None and above:
                return None  # what is above may be the reason
            values[n] = found
        return values[n]

    return {n: value(n, ()) for n in range(10)}


@settings(max_examples=examples(150))
@given(graphs, st.integers(0, 1000), st.sampled_from((1, 2, 4)), st.sampled_from((1, 2, 16)))
def test_values_do_not_depend_on_who_comes_first(
    graph: dict[int, list[int]], seed: int, workers: int, nested: int
) -> None:
    rng = random.Random(seed)
    made: list[int] = []
    pauses = {n: rng.random() / 2000 for n in range(10)}

    def make(n: int) -> int:
        made.append(n)
        time.sleep(pauses[n])
        return 1 + sum(promises.ask(m) for m in graph.get(n, []))

    promises: Promises[int] = Promises(make, nested)
    order = rng.sample(range(10), 10)
    problems = promises.ask_all(order, workers)
    wanted = oracle(graph)
    assert {n: promises.known(n) for n in range(10)} == wanted
    assert len(made) == len(set(made)) == 10
    assert bool(problems) == (None in wanted.values())
    assert {d.code for d in problems} <= {"stack.circle"}
    whole = {Await(n, m) for n, inner in graph.items() for m in inner if wanted[n] is not None}
    assert whole <= {one for one, _ in promises.awaited}


@pytest.mark.parametrize("workers", [1, 3])
def test_the_way_round_is_shown(workers: int) -> None:
    graph = {"a": "b", "b": "c", "c": "a", "d": "a"}
    meeting = threading.Barrier(3)

    def make(key: str) -> str:
        if workers > 1 and key in "abc":
            meeting.wait(5)
        return str(promises.ask(graph[key]))

    promises: Promises[str] = Promises(make)
    (problem,) = promises.ask_all("abcd" if workers == 1 else "abc", workers)
    assert problem.summary == "a waits for itself"
    assert problem.detail.splitlines()[1:] == [
        "  - a reads b",
        "  - b reads c",
        "  - c reads a",
    ]


def test_a_failure_is_that_of_all_who_ask_and_is_told_once() -> None:
    def make(key: str) -> str:
        if key == "a":
            raise Failure(error("x.y", "No", "No."))
        return str(promises.ask("a"))

    promises: Promises[str] = Promises(make)
    assert [d.code for d in promises.ask_all("bcda", 2)] == ["x.y"]


def test_what_breaks_off_leaves_nobody_waiting() -> None:
    begun = threading.Event()

    def make(key: str) -> str:
        if key == "a":
            begun.set()
            time.sleep(0.05)
            raise ZeroDivisionError
        begun.wait(5)
        return str(promises.ask("a"))

    promises: Promises[str] = Promises(make)
    with pytest.raises(ZeroDivisionError):
        promises.ask_all("ab", 2)


def test_a_long_chain_needs_no_deep_stack() -> None:
    promises: Promises[int] = Promises(lambda n: 1 + promises.ask(n + 1) if n < 3_000 else 1)
    assert not promises.ask_all([0], 1)
    assert promises.known(0) == 3_001


def test_a_defect_in_another_thread_comes_through() -> None:
    def make(n: int) -> int:
        return promises.ask(n + 1) if n < 40 else 1 // 0

    promises: Promises[int] = Promises(make)
    with pytest.raises(ZeroDivisionError):
        promises.ask(0)
