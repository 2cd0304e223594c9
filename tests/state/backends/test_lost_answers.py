"""A service that does what is asked and answers that it failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.world.state.backends.inmem import InMemory, MemoryClient
from planner.world.state.build import StateBuilder
from planner.world.state.model import ObjectState, State
from planner.world.state.remote.client import Payload
from planner.world.state.remote.store import RemoteStore

PROVIDER = 'provider["example.com/test/test"]'


class Forgetful(MemoryClient):
    """Each of these writes is done or not, and its answer is lost; `is_away` is when nothing can be asked at all."""

    def __init__(self, workspace: str) -> None:
        super().__init__(workspace)
        self.lost: list[bool] = []
        self.is_away = False

    def get(self) -> Payload | None:
        if self.is_away:
            raise ServiceError("HTTP error: 503")
        return super().get()

    def put(self, data: bytes, before: str | None) -> str:
        if not self.lost:
            return super().put(data, before)
        if self.lost.pop(0):
            super().put(data, before)
        raise ServiceError("HTTP error: 500")


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Forgetful:
    monkeypatch.chdir(tmp_path)
    InMemory.kept.pop("lost", None)
    return Forgetful("lost")


class Work:
    """An apply that makes one thing after the other."""

    def __init__(self, client: Forgetful) -> None:
        self.store = RemoteStore(client)
        journal, problems = self.store.begin_journal("apply")
        assert journal is not None and not problems
        self.journal = journal
        self.state = StateBuilder(State(), journal.instance)

    def make(self, name: str) -> None:
        self.state.set_object("", "managed", "thing", name, None, ObjectState({"id": name}), PROVIDER)

    def snapshot(self) -> list[str]:
        return [problem.code for problem in self.store.snapshot(self.state.snapshot)]


@pytest.mark.parametrize("lost", [[True], [False], [True, False], [False, True], [False, False]])
def test_a_snapshot_whose_answer_got_lost_is_followed_by_the_next(client: Forgetful, lost: list[bool]) -> None:
    work = Work(client)
    client.lost = [*lost]
    for number in range(len(lost)):
        work.make(f"n{number}")
        assert work.snapshot() == ["state.remote_write"]
    work.make("more")
    assert work.snapshot() == []
    work.make("last")
    state, problems = work.store.write(work.state.snapshot())
    assert not problems
    assert state.serial == 2 + sum(lost)
    kept, problems = RemoteStore(client).read()
    assert not problems and kept is not None and "thing.last" in kept.resources


def test_the_last_write_follows_a_snapshot_whose_answer_got_lost(client: Forgetful) -> None:
    work = Work(client)
    client.lost = [True]
    work.make("a")
    assert work.snapshot() == ["state.remote_write"]
    state, problems = work.store.write(work.state.snapshot())
    assert not problems and state.serial == 1  # it was all there
    assert not Path(work.store.journal_path).exists()


def test_what_a_lost_answer_stored_is_the_state_that_the_journal_adds_to(client: Forgetful) -> None:
    work = Work(client)
    client.lost = [True]
    work.make("a")
    work.snapshot()
    client.is_away = True
    work.make("b")
    client.lost = [False]
    assert work.snapshot() == ["state.remote_write"]
    work.journal.close()  # and the process is gone
    state, _ = RemoteStore(Forgetful("lost")).read()
    assert state is not None and sorted(state.resources) == ["thing.a", "thing.b"]


def test_a_service_that_stays_away_is_asked_once_more_and_nothing_is_lost(client: Forgetful) -> None:
    work = Work(client)
    client.lost = [True]
    work.make("a")
    work.snapshot()
    client.is_away = True
    work.make("b")
    rescued, problems = work.store.write(work.state.snapshot())
    assert [problem.code for problem in problems] == ["state.remote_write"]
    assert "503" in problems[0].detail
    assert (rescued.serial, rescued.lineage) == (2, work.journal.lineage)
    client.is_away = False
    state, problems = work.store.write(work.state.snapshot())
    assert not problems and sorted(state.resources) == ["thing.a", "thing.b"]


def test_what_somebody_else_wrote_meanwhile_is_not_taken_for_ours(client: Forgetful) -> None:
    work = Work(client)
    client.lost = [False]
    work.make("a")
    work.snapshot()
    other = RemoteStore(MemoryClient("lost"))
    other.put(State(serial=1, lineage="theirs"))
    assert work.snapshot() == ["state.newer"]
