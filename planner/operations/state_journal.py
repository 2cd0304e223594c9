"""Implements `state journal`: shows, adopts or discards the journals of interrupted operations."""

from __future__ import annotations

from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.address import format_key, parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, error
from planner.foundation.vocabulary.records import evolve, frozen
from planner.operations.apply import refresh
from planner.operations.options import OperationOptions, StateOptions
from planner.operations.show import kept_state
from planner.operations.state_access import locked
from planner.world.state.backend import Store
from planner.world.state.journal import JournalContent, journal_in
from planner.world.state.model import State


@frozen
class JournalSummary:
    """A summary of a journal. `operation`: the operation that wrote the journal; "" if the journal cannot be read.
    `changed`: the addresses of instances with changes that the stored state does not contain. `under_way`: (action,
    address) of operations that were not finished."""

    place: str
    operation: str = ""
    time: str = ""
    lineage: str = ""
    serial: int = 0
    changed: tuple[str, ...] = ()
    under_way: tuple[tuple[str, str], ...] = ()


def state_journal(options: StateOptions, discard: bool) -> tuple[list[JournalSummary], list[Diagnostic]]:
    """Summaries of the journals of interrupted operations, and diagnostics. `discard`: whether to discard the
    journals."""
    diagnostics = Diagnostics()
    shown: list[JournalSummary] = []
    with diagnostics.until_an_error():
        store = kept_state(options, diagnostics).store
        diagnostics.check()
        with locked(store, options, "state-journal", diagnostics):
            try:
                result = store.journals()
            except OSError as problem:
                detail = str(problem.strerror or problem)
                diagnostics.check([error("state.journal", "Cannot read the journals", detail)])
                return shown, diagnostics
            state = store.read()[0] or State()
            for place, data in result.items():
                recorded, problems = journal_in(data, place, store.seal)
                shown.append(_summary(place, recorded, state))
                if not discard:
                    diagnostics += problems
                else:
                    diagnostics += store.discard_journal(place)
    return shown, diagnostics


@frozen
class Adopted:
    """The result of adopting journals. `added`: the addresses of instances that were added to the state. `gone`: the
    addresses of instances in journals whose objects no longer exist. `saved`: whether the state was written."""

    added: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    saved: bool = False


def adopt_journal(options: OperationOptions, hooks: Hooks) -> tuple[Adopted, list[Diagnostic]]:
    """Write the state with the changes in journals. If the state has changed since a journal was written, the objects
    in the journal are read first, and only objects that exist are added. Also returns diagnostics."""
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        store = kept_state(options, diagnostics).store
        _, problems = store.read()
        diagnostics.check(problem for problem in problems if problem.is_error)
        missing = store.missing
        if not missing and not store.journals():
            return Adopted(), diagnostics
        if not missing:
            with locked(store, options, "state-journal", diagnostics):
                return _save(store, diagnostics), diagnostics
        limits = evolve(options.limits, targets=tuple(map(parse_resource_instance, missing)))
        options = evolve(options, mode="refresh-only", limits=limits, refresh=True, adopts_journal=True)
        applied = refresh(options, hooks)
        diagnostics.check(problem for problem in applied.diagnostics if problem.code != "plan.targeting")
        has = set() if applied.state is None else {r.address + format_key(i.key) for r, i in applied.state.instances()}
        return Adopted(
            tuple(a for a in missing if a in has), tuple(a for a in missing if a not in has), True
        ), diagnostics
    return Adopted(), diagnostics


def _save(store: Store, diagnostics: Diagnostics) -> Adopted:
    """Write the changes in journals to the state, so that other programs can read them. Nothing is written if there is
    no state, or if a journal contains objects that cannot be added without reading them. Raises Failure."""
    state, problems = store.read()
    diagnostics.check(problems)
    if state is None or store.missing:
        return Adopted()
    kept = store.current
    before = set() if kept is None else {r.address + format_key(i.key) for r, i in kept.instances()}
    saved, problems = store.write(state)
    diagnostics.check(problems)
    added = (r.address + format_key(i.key) for r, i in saved.instances())
    return Adopted(tuple(address for address in added if address not in before), saved=True)


def _summary(place: str, recorded: JournalContent | None, state: State) -> JournalSummary:
    if recorded is None:
        return JournalSummary(place)
    changes = recorded.changes_after(state)
    changed = dict.fromkeys(change.address + format_key(change.key) for change in changes)
    under_way = tuple((begun.action, begun.address) for begun in recorded.in_flight)
    return JournalSummary(
        place, recorded.operation, recorded.time, recorded.lineage, recorded.serial, tuple(changed), under_way
    )
