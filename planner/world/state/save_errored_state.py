"""A state that could not be saved after an apply: its other copies, and instructions.

The journal has it, when that is whole; `errored.tfstate` in the working directory has it, for people and programs that
look there as OpenTofu makes them; and where no file takes it, it is printed.
"""

from __future__ import annotations

from planner.foundation.support.disk import replace_file
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.records import evolve
from planner.world.state.backend import Store
from planner.world.state.file import write_state
from planner.world.state.journal import Journal
from planner.world.state.model import State
from planner.world.state.recovery import ERRORED


def rescue(store: Store, state: State) -> tuple[list[Diagnostic], bytes]:
    """Rescue a state that the store did not accept: the diagnostics, and the bytes to print when it could not be stored
    anywhere."""
    journal = store.journal
    recovered = journal is not None and journal.is_complete
    if not recovered:
        # The journal may have the beginning of what was done, under this serial: the whole comes after it.
        state = evolve(state, serial=state.serial + 1)
    try:
        data = store.seal.seal(write_state(state, compact=not store.seal.is_plain))
    except Failure as failure:  # then it must not be written in clear, nor printed
        return list(failure.diagnostics), b""
    try:
        replace_file(ERRORED, data, 0o600)
    except OSError as problem:
        reason = f"{ERRORED}: {problem.strerror or problem}."
        if journal is not None and recovered:
            return [_kept_in_journal(journal, f"It could not be written to {reason}")], b""
        detail = (
            f"{reason} Nothing on the disk has what was done. The state is printed: save it, from the first brace to "
            f"the last, as {ERRORED}, then run `planner state push {ERRORED}`."
        )
        return [error("state.unsaved", "State could not be saved", detail)], data
    if journal is not None and recovered:
        return [
            _kept_in_journal(
                journal, f"It is in {ERRORED} too, which `planner state push {ERRORED}` would put in place."
            )
        ], b""
    detail = (
        f"It was written to {ERRORED} in the working directory instead. Do not plan or apply before it is in place, "
        f"or what was done now is done again: remove the cause and run `planner state push {ERRORED}`."
    )
    return [error("state.rescued", "State saved to a local file", detail)], b""


def _kept_in_journal(journal: Journal, more: str) -> Diagnostic:
    detail = (
        f"What was done is in the journal {journal.path}. Remove the cause: then the next command that writes "
        f"the state adopts it. {more}"
    )
    return warning("state.in_journal", "State saved only in the journal", detail)
