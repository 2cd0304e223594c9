"""Snapshots of a state while an apply runs: when they are written, and what a journal adds to one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from planner.foundation.support.signals import StopSignal
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.records import evolve
from planner.world.state.backends.local import StateStore
from planner.world.state.build import StateBuilder
from planner.world.state.file import write_state
from planner.world.state.journal import Journal
from planner.world.state.model import ObjectState, State
from planner.world.state.snapshots import NEWER, SHORTEST, Snapshots, persist_interval

PROVIDER = 'provider["example.com/test/test"]'
LONG = 3600.0


class Apply:
    """An apply in the middle: "first" is made and in a snapshot, "second" in the journal only, "third" under way."""

    def __init__(self, path: Path) -> None:
        self.path, self.store = path, StateStore(str(path))
        journal, problems = self.store.begin_journal("apply")
        assert journal is not None and not problems
        self.journal = journal
        self.work = StateBuilder(State(), journal.instance)
        self.make("first")
        assert not self.store.snapshot(self.work.snapshot)
        self.make("second")
        journal.start("thing.third", "", "create", True)
        journal.close()

    def make(self, name: str, id: str = "") -> None:
        number = self.journal.start(f"thing.{name}", "", "create", True)
        self.work.set_object(
            "", "managed", "thing", name, None, ObjectState({"id": id or name, "name": name, "size": None}), PROVIDER
        )
        self.journal.end(number, True)

    @property
    def kept(self) -> State:
        """The state as other programs see it."""
        store = StateStore(str(self.path))
        store.read()
        assert store.current is not None
        return store.current

    def others_write(self, change: Callable[[StateBuilder], object], serial: int) -> None:
        """Another program goes on from the snapshot."""
        builder = StateBuilder(self.kept)
        change(builder)
        state = evolve(builder.snapshot(), serial=serial, lineage=self.kept.lineage)
        self.path.write_bytes(write_state(state, compact=True))


def thing(name: str, id: str) -> Callable[[StateBuilder], object]:
    return lambda builder: builder.set_object("", "managed", "thing", name, None, ObjectState({"id": id}), PROVIDER)


def test_a_snapshot_is_a_state_and_the_journal_has_what_came_after(tmp_path: Path) -> None:
    apply = Apply(tmp_path / "s")
    assert list(apply.kept.resources) == ["thing.first"]
    assert apply.kept.serial == 1
    store = StateStore(str(apply.path))
    state, problems = store.read()
    assert state is not None
    assert (list(state.resources), state.serial) == (["thing.first", "thing.second"], 2)
    assert [d.code for d in problems] == ["state.recovered", "state.in_flight"]
    assert "has 1 change," in problems[0].detail
    store.write(state)
    assert list(apply.kept.resources) == ["thing.first", "thing.second"]
    assert not apply.path.with_name("s.journal").exists()


def test_what_was_under_way_is_named_although_the_snapshot_has_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "s"
    store = StateStore(str(path))
    journal, _ = store.begin_journal("apply")
    assert journal is not None
    work = StateBuilder(State(), journal.instance)
    thing("first", "1")(work)
    journal.start("thing.third", "", "create", True)
    store.snapshot(work.snapshot)
    journal.close()
    assert [d.code for d in StateStore(str(path)).read()[1]] == ["state.recovered", "state.in_flight"]


def test_only_what_came_after_the_snapshot_is_missing_when_another_program_went_on(tmp_path: Path) -> None:
    apply = Apply(tmp_path / "s")
    apply.others_write(lambda builder: builder.remove_object("thing.first"), 2)  # they destroyed it
    store = StateStore(str(apply.path))
    _, problems = store.read()
    assert [d.code for d in problems] == ["state.journal_diverged", "state.in_flight"]
    assert store.missing == ("thing.second",)
    store.adopt_journal()
    state, problems = store.read()
    assert state is not None
    assert (list(state.resources), state.serial, store.missing) == (["thing.second"], 3, ())
    assert [d.code for d in problems] == ["state.in_flight"]
    assert not store.write(state)[1]
    assert not apply.path.with_name("s.journal").exists()


def test_what_another_program_made_again_is_named_with_both_ids(tmp_path: Path) -> None:
    apply = Apply(tmp_path / "s")
    apply.others_write(thing("second", "made again"), 2)
    store = StateStore(str(apply.path))
    _, problems = store.read()
    assert [d.code for d in problems] == ["state.journal_replaced", "state.in_flight"]
    assert "thing.second: second (in the state: made again)" in problems[0].detail
    journal, problems = store.begin_journal("apply")  # nothing would be made twice
    assert journal is not None and not problems


@pytest.mark.parametrize(
    ("there", "codes", "missing"),
    [
        ({"id": "second"}, ["state.journal_moved", "state.in_flight"], ()),
        ({"id": "second", "size": 2}, ["state.journal_moved", "state.in_flight"], ()),  # what the journal does not say
        ({"id": "second", "name": "b"}, ["state.journal_diverged", "state.in_flight"], ("thing.second",)),  # in doubt
        ({"id": "other"}, ["state.journal_diverged", "state.in_flight"], ("thing.second",)),
    ],
)
def test_an_object_that_the_state_has_at_another_address_is_not_added_again(
    tmp_path: Path, there: dict[str, object], codes: list[str], missing: tuple[str, ...]
) -> None:
    apply = Apply(tmp_path / "s")
    made = ObjectState(there)
    apply.others_write(lambda b: b.set_object("", "managed", "thing", "imported", None, made, PROVIDER), 2)
    store = StateStore(str(apply.path))
    _, problems = store.read()
    assert ([d.code for d in problems], store.missing) == (codes, missing)
    assert ("second, an id that the state has at thing.imported" in problems[0].detail) == ("name" in there)
    if not missing:
        assert "thing.second: second (in the state: thing.imported)" in problems[0].detail


def test_objects_that_have_changed_places_are_not_left_over(tmp_path: Path) -> None:
    apply = Apply(tmp_path / "s")
    apply.others_write(lambda b: (thing("second", "other")(b), thing("moved", "second")(b)), 2)
    _, problems = StateStore(str(apply.path)).read()
    assert [d.code for d in problems] == ["state.journal_moved", "state.in_flight"]


@pytest.mark.parametrize("updated", [False, True])
def test_an_object_that_the_journal_set_aside_and_the_state_did_not_is_not_added_again(
    tmp_path: Path, updated: bool
) -> None:
    """A replacement that creates first was cut off, and another program went on with the object of before."""
    path = tmp_path / "s"
    store = StateStore(str(path))
    builder = StateBuilder(State())
    thing("a", "old")(builder)
    store.write(builder.snapshot())
    journal, _ = store.begin_journal("apply")
    assert journal is not None and store.current is not None
    work = StateBuilder(store.current, journal.instance)
    work.depose("thing.a")
    work.set_object("", "managed", "thing", "a", None, ObjectState({"id": "new"}), PROVIDER)
    journal.close()
    builder = StateBuilder(store.current)
    made = ObjectState({"id": "old", "size": 2} if updated else {"id": "old"})
    builder.set_object("", "managed", "thing", "a", None, made, PROVIDER)
    thing("b", "b")(builder)
    path.write_bytes(write_state(evolve(builder.snapshot(), serial=9, lineage=store.current.lineage), compact=True))
    store = StateStore(str(path))
    (problem,) = store.read()[1]
    assert (problem.code, store.missing) == ("state.journal_replaced", ())
    assert "thing.a: new (in the state: old)" in problem.detail


def test_an_id_that_several_objects_have_says_nothing(tmp_path: Path) -> None:
    apply = Apply(tmp_path / "s")
    apply.others_write(lambda b: (thing("b", "second")(b), thing("c", "second")(b)), 2)
    store = StateStore(str(apply.path))
    store.read()
    assert store.missing == ("thing.second",)


def test_a_secret_id_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "s"
    store = StateStore(str(path))
    store.write(State())
    journal, _ = store.begin_journal("apply")
    assert journal is not None
    work = StateBuilder(State(), journal.instance)
    secret = ObjectState({"id": "hunter2"}, sensitive_paths=((("attr", "id"),),))
    work.set_object("", "managed", "thing", "a", None, secret, PROVIDER)
    journal.close()
    assert store.current is not None
    builder = StateBuilder(store.current)
    thing("a", "plain")(builder)
    path.write_bytes(write_state(evolve(builder.snapshot(), serial=9, lineage=store.current.lineage), compact=True))
    (problem,) = StateStore(str(path)).read()[1]
    assert problem.code == "state.journal_replaced" and "hunter2" not in problem.detail


def test_a_state_of_another_program_with_the_serial_of_a_snapshot_is_not_taken_for_it(tmp_path: Path) -> None:
    apply = Apply(tmp_path / "s")
    apply.others_write(thing("other", "1"), 1)
    state, problems = StateStore(str(apply.path)).read()
    assert state is not None
    assert list(state.resources) == ["thing.first", "thing.other"]
    assert problems[0].code == "state.journal_diverged"


def test_a_damaged_journal_is_replayed_as_a_whole(tmp_path: Path) -> None:
    apply = Apply(tmp_path / "s")
    journal = apply.path.with_name("s.journal")
    lines = journal.read_bytes().split(b"\n")
    (at,) = [number for number, line in enumerate(lines) if b'"start":1' in line]
    del lines[at]
    journal.write_bytes(b"\n".join(lines))
    state, problems = StateStore(str(apply.path)).read()
    assert state is not None and list(state.resources) == ["thing.first", "thing.second"]
    assert problems[0].code == "state.journal_damaged"


# ---------------------------------------------------------------- when


class Listening:
    """A store that takes snapshots as it is told to."""

    def __init__(self, problems: list[Diagnostic] | None = None, answers: float | None = LONG) -> None:
        self.taken = Event()
        self.count = 0
        self.answers, self.problems = answers, problems or []
        self.journal = Journal("/dev/null/journal", "l", 0, "apply")

    def snapshot_interval(self, interval: float, is_urgent: bool) -> float | None:
        return 0.0 if is_urgent else self.answers

    def snapshot(self, take: Callable[[], State]) -> list[Diagnostic]:
        take()
        self.count += 1
        self.taken.set()
        return self.problems


def snapshots_of(store: Listening, stop: StopSignal) -> Snapshots:
    made = Snapshots(store, LONG, stop)  # type: ignore[arg-type]
    made.begin(State)
    return made


def test_a_change_is_written_when_its_time_has_come(tmp_path: Path) -> None:
    store = Listening(answers=0.0)
    snapshots = snapshots_of(store, StopSignal())
    for _ in range(2):
        store.taken.clear()
        snapshots.note_change()
        assert store.taken.wait(60)
    snapshots.close()
    assert store.count == 2


def test_nothing_is_written_before_its_time_nor_without_a_change() -> None:
    store, stop = Listening(), StopSignal()
    snapshots = snapshots_of(store, stop)
    snapshots.note_change()
    snapshots.close()
    stop.request()
    assert store.count == 0


def test_an_interrupt_writes_at_once_and_then_each_change() -> None:
    store, stop = Listening(), StopSignal()
    snapshots = snapshots_of(store, stop)
    snapshots.note_change()
    stop.request()
    assert store.taken.wait(60)
    store.taken.clear()
    snapshots.note_change()
    assert store.taken.wait(60)
    snapshots.close()


def test_a_failed_snapshot_is_not_tried_again_at_once_after_an_interrupt() -> None:
    store, stop = Listening([error("state.remote_write", "Failed to save state")]), StopSignal()
    stop.request()
    snapshots = snapshots_of(store, stop)
    snapshots.note_change()
    assert store.taken.wait(60)
    snapshots.note_change()
    snapshots.close()
    assert store.count == 1


def test_nothing_new_begins_when_something_else_has_written_the_state() -> None:
    store = Listening([error(NEWER, "Failed to save state", "It is another one.")], answers=0.0)
    snapshots = snapshots_of(store, StopSignal())
    snapshots.note_change()
    assert store.taken.wait(60)
    snapshots.close()
    with pytest.raises(Failure, match="Failed to save state"):
        store.journal.start("thing.a", "", "create", True)


@pytest.mark.parametrize(("value", "seconds"), [(None, SHORTEST), ("20", 20), ("300", 300), ("+45", 45)])
def test_the_interval(value: str | None, seconds: int) -> None:
    assert persist_interval({} if value is None else {"TF_STATE_PERSIST_INTERVAL": value}) == seconds


@pytest.mark.parametrize("value", ["", "19", "0", "-20", "20s", "2e9", "٢٠", "9" * 40])
def test_an_interval_that_the_peer_refuses(value: str) -> None:
    with pytest.raises(Failure, match="Invalid interval"):
        persist_interval({"TF_STATE_PERSIST_INTERVAL": value})
