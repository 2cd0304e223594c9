"""`state journal`: what operations that were cut off left behind, and letting it not count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.operations.options import StateOptions
from planner.operations.show import kept_state
from planner.operations.storing import locked
from planner.state.journal import journal_in
from planner.vocabulary.address import format_key
from planner.vocabulary.diagnostic import Diagnostic, error
from planner.vocabulary.records import frozen
from planner.vocabulary.told import Told

if TYPE_CHECKING:
    from planner.state.journal import Recorded


@frozen
class Shown:
    """A journal: where it is, what it is of ("" where it cannot be read), addresses that it changed, and of operations
    under way the action with the address."""

    place: str
    operation: str = ""
    time: str = ""
    lineage: str = ""
    serial: int = 0
    changed: tuple[str, ...] = ()
    under_way: tuple[tuple[str, str], ...] = ()


def state_journal(options: StateOptions, discard: bool) -> tuple[list[Shown], list[Diagnostic]]:
    """The journals that there are; with `discard` none of them counts afterwards."""
    told = Told()
    shown: list[Shown] = []
    with told.until_an_error():
        store = kept_state(options, told).store
        told.check()
        with locked(store, options, "state-journal", told):
            try:
                found = store.journals()
            except OSError as problem:
                told.check([_unreadable(problem)])
                return shown, told
            for place, data in found.items():
                recorded, problems = journal_in(data, place, store.seal)
                shown.append(_shown(place, recorded))
                if not discard:
                    told += problems
                else:
                    told += store.discard_journal(place)
    return shown, told


def _unreadable(problem: OSError) -> Diagnostic:
    return error("state.journal", "Cannot read the journals", str(problem.strerror or problem))


def _shown(place: str, recorded: Recorded | None) -> Shown:
    if recorded is None:
        return Shown(place)
    changed = dict.fromkeys(change.address + format_key(change.key) for change in recorded.changes)
    under_way = tuple((begun.action, begun.address) for begun in recorded.in_flight)
    return Shown(place, recorded.operation, recorded.time, recorded.lineage, recorded.serial, tuple(changed), under_way)
