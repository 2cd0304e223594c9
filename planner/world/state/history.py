"""What a state's history says of its next version: the serial grows, the lineage stays."""

from __future__ import annotations

from planner.foundation.support.random_id import random_uuid
from planner.foundation.vocabulary.records import evolve
from planner.world.state.file import same_content
from planner.world.state.model import State


def new_lineage() -> str:
    """A name for the history of a new state."""
    return random_uuid()


def lineage_after(base: State | None) -> str:
    """The lineage of what follows a state."""
    return base.lineage if base is not None and base.lineage else new_lineage()


def successor(base: State | None, state: State, lineage: str, is_pending: bool = False) -> tuple[State, bool]:
    """A state as it follows another, and whether it differs: its serial grows only then. `lineage`: of a state that is
    new in a journal already; `is_pending`: it has to be written anew although its content is the same."""
    changed = base is None or is_pending or not same_content(base, state)
    serial = (base.serial if base else 0) + (1 if changed else 0)
    return evolve(
        state, serial=serial, lineage=(base.lineage if base else "") or state.lineage or lineage or new_lineage()
    ), changed
