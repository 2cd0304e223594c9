"""The straight walk does what the walk with a machine does, in the same order."""

from __future__ import annotations

import random

import pytest

from planner.engine.walk.machine import NOTHING, Machine, WorkResult
from planner.engine.walk.pool import walk_sequentially, walk_straight
from planner.foundation.vocabulary.diagnostic import Failure, error, warning


class Recorded:
    """Work whose nodes fail, warn or raise as their names say; `done` is in the order in which they ran."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def is_inline(self, node: str) -> bool:
        return True

    def run(self, node: str) -> WorkResult:
        self.done.append(node)
        if "fails" in node:
            return WorkResult((error("x.fails", node, ""),))
        if "raises" in node:
            raise Failure([error("x.raises", node, "")])
        if "warns" in node:
            return WorkResult((warning("x.warns", node, ""),))
        if "hints" in node:
            raise Failure([warning("x.hints", node, "")])
        return WorkResult() if "plain" in node else NOTHING


@pytest.mark.parametrize("seed", range(60))
def test_both_walks_do_the_same(seed):
    chance = random.Random(seed)
    kinds = ("ok", "ok", "ok", "plain", "warns", "hints", "fails", "raises")
    names = [f"{chance.choice(kinds)}-{i}" for i in range(chance.randrange(1, 40))]
    chance.shuffle(names)
    graph = {
        name: tuple({chance.choice([*names[:i], "no vertex"]) for _ in range(chance.randrange(4))})
        for i, name in enumerate(names)
    }
    if seed % 5 == 0:  # a cycle, and what waits for it
        graph[names[0]] = (names[-1],)
        graph[names[-1]] = (*{*graph[names[-1]], names[0]},)
    one, other = Recorded(), Recorded()
    walked = walk_sequentially(Machine(graph), one)
    assert walk_straight(graph, other) == walked.diagnostics
    assert other.done == one.done
    idle, third = bytes(name.startswith("ok") and seed % 2 == 0 for name in sorted(graph)), Recorded()
    assert walk_straight(graph, third, idle) == walked.diagnostics
    assert sorted(third.done) == sorted(name for name in one.done if not (seed % 2 == 0 and name.startswith("ok")))


def test_what_is_a_mistake_of_ours_is_told_and_nothing_else_is_lost():
    class Wrong(Recorded):
        def run(self, node: str) -> WorkResult:
            if node == "adds":
                return WorkResult(children={"child": ()})
            return super().run(node) if node != "breaks" else 1 / 0

    work = Wrong()
    said = walk_straight({"a": (), "adds": (), "breaks": (), "b": ("a",), "c": ("breaks",), "d": ("adds",)}, work)
    assert [d.code for d in said] == ["cli.internal_error"] * 2
    assert work.done == ["a", "b"]
