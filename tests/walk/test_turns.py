"""Of several threads with walks one computes at a time, and others do while it waits for the world."""

from __future__ import annotations

from queue import SimpleQueue
from threading import Thread

from planner.engine.walk.pool import Turns, while_waiting


def test_one_computes_while_another_waits() -> None:
    turns, said = Turns(), []
    answer: SimpleQueue[str] = SimpleQueue()

    def asks() -> None:
        with turns.mine():
            said.append("asked")
            with while_waiting():
                got = answer.get()
            said.append(got)

    def answers() -> None:
        with turns.mine():  # never, if the other one did not give up its turn
            answer.put("answered")
            said.append("computed")

    threads = [Thread(target=asks, daemon=True), Thread(target=answers, daemon=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert said == ["asked", "computed", "answered"] or said == ["computed", "asked", "answered"]


def test_without_turns_waiting_is_just_waiting() -> None:
    with while_waiting():
        pass
    with Turns().mine(), while_waiting():
        pass
