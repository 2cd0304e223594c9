"""`force-unlock`: remove a lock of the state that its holder left behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics
from planner.operations.options import StateOptions
from planner.operations.show import kept_state

if TYPE_CHECKING:
    from planner.world.state.lock import LockInfo


def force_unlock(
    options: StateOptions, lock_id: str, confirm: Callable[[LockInfo], bool]
) -> tuple[bool, list[Diagnostic]]:
    """Remove the lock of the state that has this id, and return whether that was done: `confirm` is called when there
    is such a lock and its process has released it."""
    told = Diagnostics()
    with told.until_an_error():
        store = kept_state(options, told).store
        holder, problems = store.held_by(lock_id)
        if holder is None or not confirm(holder):
            return False, problems
        problems = store.force_unlock(lock_id)
        return not problems, problems
    return False, told
