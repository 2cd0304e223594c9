"""Files that are cut off at every byte, or in which bytes have changed: refused with a diagnostic, or recovered; never
an exception, and never an operation lost without a word."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.answers.documents.plan_file import plan_bytes, read_plan
from planner.foundation.values.types import STRING
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.logic.model.plan import Plan
from planner.world.state.backends.local import StateStore
from planner.world.state.build import StateBuilder
from planner.world.state.file import read_state, write_state
from planner.world.state.lock import info_path, new_lock_info, read_lock_info
from planner.world.state.model import ObjectState, OutputState, State

PROVIDER = 'provider["example.com/test/test"]'
NAMES = ("a", "b", "c")


def build(builder: StateBuilder, name: str, value: str, deposed: str = "") -> None:
    record = ObjectState({"id": value}, sensitive_paths=((("attr", "id"),),), private="cHJpdmF0ZQ==")
    builder.set_object("module.m", "managed", "thing", name, None, record, PROVIDER, deposed=deposed)


def sample() -> State:
    builder = StateBuilder(State(lineage="11111111-2222-3333-4444-555555555555", serial=3))
    for name in NAMES:
        build(builder, name, f"old {name}")
    builder.set_output("o", OutputState("x", STRING))
    return builder.snapshot()


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a state, its backup, and the journal of an apply that was cut off while `c` was updated: `a` was
    updated, `b` was destroyed."""
    folder = tmp_path_factory.mktemp("interrupted")
    path = folder / "s"
    StateStore(str(path)).put(sample())
    store = StateStore(str(path))
    journal, problems = store.begin_journal("apply")
    assert journal is not None
    assert not problems
    work = StateBuilder(store.current, journal.instance)
    number = journal.start("module.m.thing.a", "", "update", True)
    build(work, "a", "new a")
    journal.end(number, True)
    number = journal.start("module.m.thing.b", "", "delete", True)
    work.remove_object("module.m.thing.b")
    journal.end(number, True)
    journal.start("module.m.thing.c", "", "update", True)
    journal.close()
    return folder


def copy(folder: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to)
    return to / "s"


def seen(state: State) -> dict[str, str]:
    return {r.name: i.current.attributes["id"] for r, i in state.instances() if i.current is not None}


def told_of_all(state: State | None, problems: list[Diagnostic], begun: set[str]) -> bool:
    """Whether each operation that had begun counts, is named, or the journal as a whole is said to be damaged or
    refused."""
    codes = {d.code for d in problems}
    if state is None:
        return has_errors(problems)
    if "state.journal_damaged" in codes:
        return True
    now = seen(state)
    done = {name for name, after in (("a", "new a"), ("b", None)) if now.get(name) == after}
    named = {d.address.rpartition(".")[2] for d in problems if d.code == "state.in_flight"}
    return begun <= done | named


def begun_in(journal: bytes) -> set[str]:
    """The operations whose start is whole in what is left of a journal."""
    lines = journal.split(b"\n")[:-1]
    return {name for name in NAMES for line in lines if b'{"start"' in line and f'thing.{name}"'.encode() in line}


def test_a_journal_cut_off_at_every_byte(interrupted: Path, tmp_path: Path) -> None:
    whole = (interrupted / "s.journal").read_bytes()
    path = copy(interrupted, tmp_path / "c")
    for end in range(len(whole) + 1):
        path.with_name("s.journal").write_bytes(whole[:end])
        state, problems = StateStore(str(path)).read()
        assert state is not None
        assert not has_errors(problems)
        assert told_of_all(state, problems, begun_in(whole[:end])), end


@pytest.mark.slow
@given(st.data())
@settings(max_examples=examples(150))
def test_a_journal_with_other_bytes(interrupted: Path, tmp_path: Path, data: st.DataObject) -> None:
    whole = bytearray((interrupted / "s.journal").read_bytes())
    begun = begun_in(bytes(whole))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] ^= data.draw(st.integers(1, 255))
    path = copy(interrupted, tmp_path / "c")
    journal = path.with_name("s.journal")
    journal.write_bytes(bytes(whole))
    store = StateStore(str(path))
    state, problems = store.read()
    last = bytes(whole).rpartition(b"\n")[2]  # what follows the last line break was promised to nobody
    if not last or b"start" not in last:
        assert told_of_all(state, problems, begun), problems
    if state is not None:
        _, more = store.write(state)
        assert not has_errors(more)
        assert not journal.exists()
        damaged = any(d.code == "state.journal_damaged" for d in problems)
        assert journal.with_name("s.journal.damaged").exists() == damaged
    else:
        assert all("move the journal away" in d.detail or "Put the state" in d.detail for d in problems if d.is_error)


@pytest.mark.slow
def test_every_byte_of_the_last_lines_counts(interrupted: Path, tmp_path: Path) -> None:
    """A change in any byte before the last line break is noticed."""
    whole = (interrupted / "s.journal").read_bytes()
    path = copy(interrupted, tmp_path / "c")
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 0x01
        path.with_name("s.journal").write_bytes(bytes(damaged))
        state, problems = StateStore(str(path)).read()
        assert told_of_all(state, problems, {"a", "b"}), at


@pytest.mark.slow
def test_a_state_cut_off_at_every_byte(interrupted: Path, tmp_path: Path) -> None:
    whole = (interrupted / "s").read_bytes()
    path = copy(interrupted, tmp_path / "c")
    path.with_name("s.journal").unlink()
    for end in range(len(whole) - 1):
        path.write_bytes(whole[:end])
        store = StateStore(str(path))
        state, problems = store.read()
        assert state is None
        assert has_errors(problems) == (end > 0)
        if end:
            _, more = store.write(sample())
            assert has_errors(more)  # what cannot be read is not overwritten
            assert path.read_bytes() == whole[:end]


def test_an_empty_state_beside_a_backup_with_objects_is_said(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_bytes(b"")
    path.with_name("s.backup").write_bytes(write_state(sample()))
    state, (problem,) = StateStore(str(path)).read()
    assert state is None
    assert problem.code == "state.emptied"
    assert not problem.is_error
    path.with_name("s.backup").write_bytes(b"{")
    assert StateStore(str(path)).read() == (None, [])


@pytest.mark.slow
@given(st.data())
@settings(max_examples=examples(300))
def test_a_state_with_other_bytes(data: st.DataObject) -> None:
    whole = bytearray(write_state(sample()))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        kind = data.draw(st.sampled_from(("flip", "cut", "swap")))
        if kind == "flip":
            whole[at] ^= data.draw(st.integers(1, 255))
        elif kind == "cut":
            del whole[at : at + data.draw(st.integers(1, 40))]
        else:
            whole[at : at + 1] = data.draw(st.sampled_from((b"null", b"[]", b"{}", b"-1", b'""', b"1e999", b"\\ud800")))
        if not whole:
            return
    state, problems = read_state(bytes(whole), "s")
    assert (state is None) == has_errors(problems)
    if state is not None:
        write_state(state)


@given(st.binary(max_size=300) | st.just(new_lock_info("x", "s").to_json()), st.data())
@settings(max_examples=examples(100))
def test_a_damaged_lock_info(tmp_path: Path, info: bytes, data: st.DataObject) -> None:
    path = tmp_path / "s"
    at = data.draw(st.integers(0, len(info)))
    Path(info_path(str(path))).write_bytes(info[:at] + data.draw(st.binary(max_size=3)) + info[at + 1 :])
    found = read_lock_info(str(path))
    if found is not None:
        found.describe()
    store = StateStore(str(path))
    assert store.lock("x") == []
    assert store.unlock() == []


def plan() -> Plan:
    return Plan("normal", (), (), (), sample(), State(), None, {"v": "x"}, (), {}, (), timestamp="2026-01-01T00:00:00Z")


@pytest.mark.slow
def test_a_plan_cut_off_at_every_byte(tmp_path: Path) -> None:
    whole = plan_bytes(plan(), {"main.tf": b"# nothing\n"})
    path = tmp_path / "p"
    path.write_bytes(whole)
    assert not read_plan(str(path))[2]
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        found, _, problems = read_plan(str(path))
        assert found is None
        assert has_errors(problems)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=examples(400))
def test_a_plan_with_other_bytes(tmp_path: Path, data: st.DataObject) -> None:
    """It is refused, or says what it said."""
    expected = plan()
    whole = bytearray(plan_bytes(expected, {"main.tf": b"# nothing\n"}))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "p"
    path.write_bytes(bytes(whole))
    found, sources, problems = read_plan(str(path))
    if found is None:
        assert has_errors(problems)
    else:
        assert plan_bytes(found, sources) == plan_bytes(expected, {"main.tf": b"# nothing\n"})
