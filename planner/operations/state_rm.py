"""`state rm`: forget objects without touching the real ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.address import sort_key
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.operations.options import StateOptions
from planner.operations.state_edit import Change, edit, entries, parse, rebuilt, unknown

if TYPE_CHECKING:
    from planner.world.state.model import State


def state_rm(
    options: StateOptions, addresses: Iterable[str], dry_run: bool = False
) -> tuple[list[str], list[Diagnostic]]:
    """Forget the instances that the addresses cover; their addresses. At least one of them must be in the state."""
    return edit(options, "state-rm", removal(addresses), dry_run)


def removal(addresses: Iterable[str]) -> Change:
    """What forgets the instances that the addresses cover."""
    wanted = [(text, parse(text)) for text in addresses]

    def remove(state: State) -> tuple[State, list[str], list[Diagnostic]]:
        gone: list[str] = []
        for _, address in wanted:
            hits = [str(a) for a, _, _ in entries(state) if address.covers(a)]
            gone += [hit for hit in hits if hit not in gone]
        kept = [entry for entry in entries(state) if str(entry[0]) not in gone]
        problems = [] if gone else [unknown(text) for text, _ in wanted]
        return rebuilt(state, kept), sorted(gone, key=sort_key), problems

    return remove
