"""What a journal says, whole, cut off or damaged, and how a store reads the state with it."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from planner.foundation.vocabulary.diagnostic import Failure
from planner.world.state.backends.local import StateStore
from planner.world.state.build import StateBuilder
from planner.world.state.file import state_document
from planner.world.state.journal import Journal, is_written, journal_in, read_journal, replay
from planner.world.state.journal_lines import line_of, text_of
from planner.world.state.model import ObjectState, State

PROVIDER = 'provider["example.com/test/test"]'


def build(builder: StateBuilder, name: str, value: str, deposed: str = "") -> None:
    builder.set_object("", "managed", "thing", name, None, ObjectState({"id": value}), PROVIDER, deposed=deposed)


def recorded_apply(path: Path) -> StateBuilder:
    """A store with one object in its state, and a journal with a change, a removal and an operation under way."""
    store = StateStore(str(path))
    first = StateBuilder()
    build(first, "old", "1")
    store.write(first.snapshot())
    journal, problems = store.begin_journal("apply")
    assert journal is not None
    assert not problems
    work = StateBuilder(store.current, journal.instance)
    number = journal.start("thing.new", "", "create", True)
    build(work, "new", "2")
    journal.end(number, True)
    build(work, "new", "3", deposed="0a1b2c3d")
    number = journal.start("thing.old", "", "delete", True)
    work.remove_object("thing.old")
    journal.end(number, True)
    journal.start("thing.doubtful", "", "create", True)
    journal.close()
    return work


def content(state: State | None) -> object:
    assert state is not None
    return state_document(state)["resources"]


def test_a_store_reads_the_state_with_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "s"
    work = recorded_apply(path)
    store = StateStore(str(path))
    state, problems = store.read()
    assert content(state) == content(work.snapshot())
    assert [d.code for d in problems] == ["state.recovered", "state.in_flight"]
    assert problems[1].address == "thing.doubtful"
    assert state is not None
    assert state.serial == 2
    assert path.with_name("s.journal").exists()
    saved, problems = store.write(state)
    assert not problems
    assert (saved.serial, saved.lineage) == (2, state.lineage)
    assert not path.with_name("s.journal").exists()
    assert content(StateStore(str(path)).read()[0]) == content(saved)


def test_a_first_apply_that_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "s"
    journal, _ = StateStore(str(path)).begin_journal("apply")
    assert journal is not None
    assert not path.with_name("s.journal").exists()  # nothing has begun
    work = StateBuilder(State(), journal.instance)
    build(work, "a", "1")
    state, problems = StateStore(str(path)).read()
    assert content(state) == content(work.snapshot())
    assert state is not None
    assert state.lineage == journal.lineage
    assert [d.code for d in problems] == ["state.recovered"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_who_may_read_the_state_may_read_its_journal(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "s"
    path.touch()
    path.chmod(mode)
    journal, _ = StateStore(str(path)).begin_journal("apply")
    assert journal is not None
    journal.start("thing.a", "", "create", True)
    assert path.with_name("s.journal").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_any_end_of_a_journal_may_be_missing(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "s"
    recorded_apply(path)
    journal = path.with_name("s.journal")
    data = journal.read_bytes()
    journal.write_bytes(data[: len(data) * cut // 40])
    state, problems = StateStore(str(path)).read()
    assert state is not None
    assert not any(d.is_error for d in problems)


def test_damage_in_the_middle_is_said(tmp_path: Path) -> None:
    path = tmp_path / "s"
    recorded_apply(path)
    journal = path.with_name("s.journal")
    lines = journal.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b"thing", b"other")
    journal.write_bytes(b"\n".join(lines))
    state, problems = StateStore(str(path)).read()
    assert state is not None
    assert problems[0].code == "state.journal_damaged"


def test_objects_of_a_journal_whose_state_moved_on_are_named(tmp_path: Path) -> None:
    path = tmp_path / "s"
    recorded_apply(path)
    other = path.read_text().replace('"serial": 1', '"serial": 7')
    path.write_text(other)
    store = StateStore(str(path))
    state, problems = store.read()
    assert content(state) == content(store.current)  # nothing is added without leave
    assert [d.code for d in problems] == ["state.journal_diverged", "state.in_flight"]
    assert store.missing == ("thing.new",)  # thing.old, which the journal removed, is found out by reading it
    journal, (refused,) = store.begin_journal("apply")
    assert journal is None and refused.is_error and "thing.new" in refused.detail
    _, problems = store.write(StateBuilder(state).snapshot())  # other commands may write
    assert not problems and path.with_name("s.journal").exists()


@pytest.mark.parametrize("torn", ["", "00000000 {"])
def test_a_cut_between_saving_and_removing_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torn: str
) -> None:
    path = tmp_path / "s"
    recorded_apply(path)
    with path.with_name("s.journal").open("a") as file:
        file.write(torn)
    store = StateStore(str(path))
    state, _ = store.read()
    assert state is not None
    kept: list[bytes] = []
    monkeypatch.setattr(StateStore, "_end_journal", lambda self: kept.append(Path(self.journal_path).read_bytes()))
    saved, _ = store.write(state)
    path.with_name("s.journal").write_bytes(kept[0])
    found, problems = StateStore(str(path)).read()
    assert (content(found), problems) == (content(saved), [])


def test_nothing_begins_when_the_journal_cannot_be_written(tmp_path: Path) -> None:
    journal = Journal("/dev/full", "l", 0, "apply")
    with pytest.raises(Failure, match="Cannot write the journal"):
        journal.start("thing.a", "", "create", True)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_takes_no_files(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    journal = Journal(str(tmp_path / "j"), "l", 0, "apply")
    assert journal.start("thing.a", "", "create", True) == 1
    assert journal.unkept


def test_replaying_twice_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s"
    recorded_apply(path)
    recorded, _ = read_journal(str(path) + ".journal")
    assert recorded is not None
    state, _ = StateStore(str(path)).read()
    assert state is not None
    assert content(replay(state, recorded)) == content(state)


BEGIN = {"version": 1, "lineage": "l", "serial": 1, "operation": "apply", "time": "t"}
START = {"start": 1, "address": "terraform_data.a", "deposed": "", "action": "create", "time": "t"}
RESOURCE = {
    "mode": "managed",
    "type": "terraform_data",
    "name": "a",
    "provider": 'provider["terraform.io/builtin/terraform"]',
    "instances": [{"schema_version": 0, "attributes": {"id": "x"}}],
}
INSTANCE = {"instance": "terraform_data.a", "key": None, "resources": [RESOURCE]}


@pytest.mark.parametrize(
    "entries",
    [
        [{"begin": {**BEGIN, "serial": "1"}}],
        [{"begin": {**BEGIN, "serial": 1.0}}],
        [{"begin": {**BEGIN, "serial": 1 << 64}}],
        [{"begin": {**BEGIN, "lineage": ["l"]}}],
        [{"begin": {**BEGIN, "operation": {}}}],
        [{"begin": BEGIN}, {**START, "start": "x"}],
        [{"begin": BEGIN}, {**START, "action": {}}],
        [{"begin": BEGIN}, {**START, "address": 5}],
        [{"begin": BEGIN}, {"end": []}],
        [{"begin": BEGIN}, {"saving": {"lineage": [], "serial": 1}}],
        [{"begin": BEGIN}, {**INSTANCE, "instance": 5}],
        [{"begin": BEGIN}, {**INSTANCE, "instance": "terraform_data.b"}],
        [{"begin": BEGIN}, {**INSTANCE, "key": {}}],
        [{"begin": BEGIN}, {**INSTANCE, "key": 1.5}],
        [{"begin": BEGIN}, {**INSTANCE, "key": "other"}],
    ],
)
def test_what_others_wrote(entries: list[dict[str, Any]]) -> None:
    """Whole lines with right sums can say anything."""
    assert journal_in(lined({"begin": BEGIN}, START, INSTANCE), "x")[0] is not None
    recorded, problems = journal_in(lined(*entries), "x")
    assert recorded is None and [d.code for d in problems] == ["state.journal"]


def lined(*entries: dict[str, Any]) -> bytes:
    found, chain = b"", 0
    for entry in entries:
        line, chain = line_of(text_of(entry), chain)
        found += line
    return found


def test_lines_that_wait_together_come_to_the_disk_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread goes on only when its own line is on the disk; many need few turns."""
    path = tmp_path / "j"
    on_disk: list[int] = []
    sync = os.fsync

    def slow(descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        time.sleep(0.005)
        sync(descriptor)
        on_disk.append(size)

    monkeypatch.setattr(os, "fsync", slow)
    written = Journal(str(path), "lineage", 1, "apply")
    written.start("first", "", "create", True)
    before = len(on_disk)
    missing = []

    def work(name: str) -> None:
        for i in range(5):
            written.start(f"{name}.{i}", "", "create", True)
            if f'"{name}.{i}"'.encode() not in path.read_bytes()[: max(on_disk)]:
                missing.append(f"{name}.{i}")

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written.close()
    assert not missing
    assert len(on_disk) - before < 50


def test_a_journal_is_not_written_through_a_link(tmp_path: Path) -> None:
    """What it holds would stay wherever the link leads when the journal is removed."""
    path = tmp_path / "s.journal"
    path.symlink_to(tmp_path / "elsewhere")
    journal = Journal(str(path), "l", 0, "apply")
    with pytest.raises(Failure, match="Cannot write the journal"):
        journal.start("thing.a", "", "create", True)
    assert not (tmp_path / "elsewhere").exists()


def test_a_pipe_in_the_place_of_a_journal_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.journal")
    assert not is_written(str(tmp_path / "s.journal"))


def test_a_journal_that_is_being_written_is_nobody_elses(tmp_path: Path) -> None:
    """Without locks another apply would remove it while it grows."""
    first, second = StateStore(str(tmp_path / "s")), StateStore(str(tmp_path / "s"))
    journal, problems = first.begin_journal("apply")
    assert journal is not None and not problems
    journal.start("thing.a", "", "create", True)
    found, problems = second.begin_journal("apply")
    assert found is None and [problem.summary for problem in problems] == ["Another operation is in progress"]
    journal.close()
    assert [problem.code for problem in second.read()[1]] == ["state.recovered", "state.in_flight"]


@pytest.mark.parametrize(
    ("stored", "now", "count"),
    [
        (ObjectState({"id": "1"}), ObjectState({"id": "1"}), 0),
        (ObjectState({"on": 1}), ObjectState({"on": True}), 1),
        (ObjectState({"id": "1"}), ObjectState({"id": "1"}, dependencies=("thing.net",)), 1),
        (ObjectState({"id": "1"}), ObjectState({"id": "1"}, tainted=True), 1),
    ],
)
def test_a_journal_begins_with_instances_that_differ_from_the_stored_state(
    tmp_path: Path, stored: ObjectState, now: ObjectState, count: int
) -> None:
    store, states = StateStore(str(tmp_path / "s")), []
    for each in (stored, now):
        builder = StateBuilder()
        builder.set_object("", "managed", "thing", "a", None, each, PROVIDER)
        states.append(builder.snapshot())
    store.write(states[0])
    journal, problems = store.begin_journal("apply", begins_with=states[1])
    assert journal is not None
    assert not problems
    journal.start("thing.a", "", "update", True)
    assert journal.changes == count
    journal.close()
