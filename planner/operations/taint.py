"""`taint` and `untaint`: mark an object as damaged, or take that back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from planner.operations.options import StateOptions
from planner.operations.state_edit import edit, entries, rebuilt, unknown
from planner.vocabulary.address import AddressError, parse_resource_instance
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, warning

if TYPE_CHECKING:
    from planner.state.model import State


def taint(options: StateOptions, address: str, allow_missing: bool = False) -> list[Diagnostic]:
    """Mark an instance as damaged, so that it is replaced."""
    return _mark(options, address, True, allow_missing)


def untaint(options: StateOptions, address: str, allow_missing: bool = False) -> list[Diagnostic]:
    """Take the mark away."""
    return _mark(options, address, False, allow_missing)


def _mark(options: StateOptions, text: str, tainted: bool, allow_missing: bool) -> list[Diagnostic]:
    try:
        address = parse_resource_instance(text)
    except AddressError as problem:
        raise Failure(error("state.address", f'"{text}" is no address', problem.detail)) from None
    if address.mode != "managed":
        raise Failure(
            error("state.not_managed", "Not a managed resource", f"{text} is nothing that could be replaced.")
        )

    def change(state: State) -> tuple[State, list[str], list[Diagnostic]]:
        everything = list(entries(state))
        at = next((i for i, (a, _, _) in enumerate(everything) if str(a) == str(address)), None)
        current = everything[at][2].current if at is not None else None
        if at is None or current is None:
            problem = unknown(str(address))
            return state, [], [warning("state.missing", problem.summary, problem.detail) if allow_missing else problem]
        if not tainted and not current.tainted:
            return state, [], [error("state.not_tainted", "Not tainted", f"{address} has no mark to take away.")]
        found, resource, instance = everything[at]
        everything[at] = (found, resource, evolve(instance, current=evolve(current, tainted=tainted)))
        return rebuilt(state, everything), [str(address)], []

    _, problems = edit(options, "taint" if tainted else "untaint", change, usual_backup=True)
    return problems
