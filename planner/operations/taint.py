"""`taint` and `untaint`: mark an object as damaged, or take that back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.foundation.vocabulary.address import AddressError, parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.records import evolve
from planner.operations.options import StateOptions
from planner.operations.state_edit import edit, unknown

if TYPE_CHECKING:
    from planner.world.state.model import State


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
        raise Failure(error("state.address", f'"{text}" is not a valid address', problem.detail)) from None
    if address.mode != "managed":
        raise Failure(
            error("state.not_managed", "Not a managed resource", f"{text} is nothing that could be replaced.")
        )

    def change(state: State) -> tuple[State, list[str], list[Diagnostic]]:
        resource = state.resources.get(str(address.resource))
        instance = resource.instances.get(address.key) if resource is not None else None
        current = instance.current if instance is not None else None
        if resource is None or instance is None or current is None:
            problem = unknown(str(address))
            return state, [], [warning("state.missing", problem.summary, problem.detail) if allow_missing else problem]
        if not tainted and not current.tainted:
            return state, [], [error("state.not_tainted", "Not tainted", f"{address} has no mark to take away.")]
        marked = evolve(instance, current=evolve(current, tainted=tainted))
        changed = evolve(resource, instances={**resource.instances, address.key: marked})
        return evolve(state, resources={**state.resources, resource.address: changed}), [str(address)], []

    _, problems = edit(options, "taint" if tainted else "untaint", change, usual_backup=True)
    return problems
