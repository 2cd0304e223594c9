"""The walk's state machine, by events and instructions; no threads here."""

from __future__ import annotations

import pytest

from planner.engine.walk.machine import End, Expanded, Failed, Finished, Machine, Skip, StartNode, Stopped
from planner.foundation.vocabulary.address_set import Numbered

DIAMOND = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}


def test_nodes_start_when_all_they_wait_for_are_done() -> None:
    machine = Machine(DIAMOND)
    assert machine.begin() == [StartNode("a")]
    assert machine.handle(Finished("a")) == [StartNode("b"), StartNode("c")]
    assert machine.handle(Finished("c")) == []
    assert machine.handle(Finished("b")) == [StartNode("d")]
    assert machine.handle(Finished("d")) == [End()]
    assert machine.ended


def test_dependents_of_a_failed_node_are_skipped_once_each_with_its_cause() -> None:
    machine = Machine({**DIAMOND, "e": ["d"], "z": []})
    assert machine.begin() == [StartNode("a"), StartNode("z")]
    machine.handle(Finished("a"))
    assert machine.handle(Failed("b")) == [Skip("d", "dependency", "b"), Skip("e", "dependency", "d")]
    assert machine.handle(Failed("c")) == []
    assert machine.handle(Finished("z")) == [End()]
    assert machine.state == {"a": "done", "b": "failed", "c": "failed", "d": "skipped", "e": "skipped", "z": "done"}


def test_a_reverse_walk_starts_with_the_dependents() -> None:
    machine = Machine(DIAMOND, reverse=True)
    assert machine.begin() == [StartNode("d")]
    assert machine.handle(Finished("d")) == [StartNode("b"), StartNode("c")]
    machine.handle(Finished("b"))
    assert machine.handle(Finished("c")) == [StartNode("a")]


def test_an_expanded_node_is_done_when_its_children_are() -> None:
    machine = Machine({"a": [], "b": ["a"]})
    machine.begin()
    assert machine.handle(Expanded("a", {"a[0]": [], "a[1]": ["a[0]"]})) == [StartNode("a[0]")]
    assert machine.handle(Finished("a[0]")) == [StartNode("a[1]")]
    assert machine.handle(Finished("a[1]")) == [StartNode("b")]
    assert machine.state["a"] == "done"


def test_a_failed_child_fails_its_parent_after_its_siblings_ended() -> None:
    machine = Machine({"a": [], "b": ["a"]})
    machine.begin()
    machine.handle(Expanded("a", {"x": [], "y": []}))
    assert machine.handle(Failed("x")) == []
    assert machine.state["a"] == "expanded"
    assert machine.handle(Finished("y")) == [Skip("b", "dependency", "a"), End()]
    assert machine.state["a"] == "failed"


def test_children_may_expand_and_may_wait_for_known_nodes() -> None:
    machine = Machine({"a": [], "b": [], "c": ["a"]})
    machine.begin()
    assert machine.handle(Expanded("a", {"x": ["b"]})) == []
    assert machine.handle(Finished("b")) == [StartNode("x")]
    assert machine.handle(Expanded("x", {"x1": ["b"]})) == [StartNode("x1")]
    assert machine.handle(Finished("x1")) == [StartNode("c")]


def test_a_child_that_waits_for_a_failed_node_is_skipped() -> None:
    machine = Machine({"a": [], "b": []})
    machine.begin()
    machine.handle(Failed("b"))
    assert machine.handle(Expanded("a", {"x": ["b"]})) == [Skip("x", "dependency", "b"), End()]
    assert machine.state["a"] == "failed"


def test_no_children_means_done() -> None:
    machine = Machine({"a": [], "b": ["a"]})
    machine.begin()
    assert machine.handle(Expanded("a", {})) == [StartNode("b")]


def test_nodes_on_a_cycle_are_skipped_so_that_the_walk_ends() -> None:
    machine = Machine({"a": [], "b": ["c", "a"], "c": ["b"], "d": ["c"]})
    assert machine.begin() == [StartNode("a")]
    assert machine.handle(Finished("a")) == [Skip("b", "cycle"), Skip("c", "cycle"), Skip("d", "cycle"), End()]


def test_a_stop_skips_what_has_not_begun_and_waits_for_what_runs() -> None:
    machine = Machine({"a": [], "b": [], "c": ["a"]})
    assert machine.begin() == [StartNode("a"), StartNode("b")]
    assert machine.handle(Stopped(("b",))) == [Skip("b", "stopped"), Skip("c", "stopped")]
    assert machine.handle(Finished("a")) == [End()]


def test_children_that_arrive_after_a_stop_are_skipped() -> None:
    machine = Machine({"a": []})
    machine.begin()
    machine.handle(Stopped())
    assert machine.handle(Expanded("a", {"x": [], "y": ["x"]})) == [Skip("x", "stopped"), Skip("y", "stopped"), End()]


def test_an_empty_walk_ends_at_once() -> None:
    assert Machine({}).begin() == [End()]


def test_an_event_about_a_node_that_does_not_run_is_refused() -> None:
    machine = Machine({"a": [], "b": ["a"]})
    machine.begin()
    with pytest.raises(ValueError, match="b is waiting"):
        machine.handle(Finished("b"))
    with pytest.raises(ValueError, match="already part"):
        machine.handle(Expanded("a", {"b": []}))


def test_machines_of_one_graph_do_not_disturb_each_other():
    graph = Numbered({"a": (), "b": ("a",), "c": ("a", "b"), "d": ("d",)})
    one, other = Machine(graph), Machine(graph)
    one.begin()
    one.handle(Expanded("a", {"a[0]": (), "a[1]": ("a[0]", "d")}))
    assert one.size == 6
    assert graph.names == ["a", "b", "c", "d"] and graph.waits_for == [0, 1, 2, 1]
    assert [list(waiting) for waiting in graph.dependents] == [[1, 2], [2], [], [3]]
    assert other.begin() == [StartNode("a")]
    assert other.handle(Finished("a")) == [StartNode("b")]
    assert other.handle(Finished("b")) == [StartNode("c")]
    assert other.size == 4
