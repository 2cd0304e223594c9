"""Changing a state by hand, without touching the real objects: read, changed and written while it is locked."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from planner.foundation.vocabulary.address import (
    Address,
    AddressError,
    ResourceAddress,
    format_key,
    parse_address,
    parse_resource_instance,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.diagnostic_list import Diagnostics
from planner.foundation.vocabulary.records import evolve
from planner.operations.options import StateOptions
from planner.operations.show import kept_state
from planner.operations.state_access import locked
from planner.operations.value_record import carry_record
from planner.world.state.model import InstanceState, ResourceState, State

if TYPE_CHECKING:
    from planner.world.state.backend import Store

Change: TypeAlias = Callable[[State], tuple[State, list[str], list[Diagnostic]]]
"""makes another state, and says what it did"""
Entry: TypeAlias = tuple[ResourceAddress, ResourceState, InstanceState]


def edit(
    options: StateOptions,
    operation: str,
    change: Change,
    dry_run: bool = False,
    exactly: bool = False,
    usual_backup: bool = False,
) -> tuple[list[str], list[Diagnostic]]:
    """Lock and read the state, change it, and write it if there is no error. Gives what `change` says that it did.
    The former state is kept in a file of its own, or (`usual_backup`) where plans keep it. `exactly`: with the serial
    and lineage that `change` gave it."""
    told = Diagnostics()
    done: list[str] = []
    with told.until_an_error():
        kept = kept_state(options if usual_backup else evolve(options, backup=options.backup or "-"), told)
        told.check()
        done = edit_in(kept.store, options, operation, change, told, dry_run, exactly, usual_backup)
    return done, told


def edit_in(
    store: Store,
    options: StateOptions,
    operation: str,
    change: Change,
    told: Diagnostics,
    dry_run: bool = False,
    exactly: bool = False,
    usual_backup: bool = False,
) -> list[str]:
    """The same of a state whose store is known. Raises Failure."""
    with locked(store, options, operation, told):
        old, problems = store.read()
        if has_errors(problems):
            raise Failure(problems)
        if old is None and not exactly:
            raise Failure(no_state())
        new, done, problems = change(old or State())
        told.check(problems)
        if dry_run or not done:
            return done
        if options.backup is None and old is not None and not usual_backup:
            store.keep_backup(f"{store.place}.{int(time.time())}.backup")
        written, problems = store.put(new) if exactly else store.write(new)
        told += problems
        if not exactly and old is not None:
            carry_record(store, old, written)
    return done


def no_state() -> Diagnostic:
    return error("state.none", "No state", "No state file was found: nothing has been applied here yet.")


def entries(state: State) -> list[Entry]:
    """Every instance with its address and resource."""
    found = []
    for resource, instance in state.instances():
        address = parse_resource_instance(resource.address + format_key(instance.key))
        found.append((address, resource, instance))
    return found


def rebuilt(state: State, entries: list[Entry]) -> State:
    """The state with just these instances, under these addresses."""
    resources: dict[str, ResourceState] = {}
    for address, resource, instance in entries:
        key = str(address.resource)
        if key not in resources:
            resources[key] = ResourceState(
                str(address.module), address.mode, address.type, address.name, resource.provider, {}
            )
        resources[key].instances[address.key] = instance
    for key, resource in resources.items():
        before = state.resources.get(key)
        if before == resource:
            resources[key] = before  # what is the very same need not be compared when it is written
    return evolve(state, resources=resources)


def parse(text: str) -> Address:
    try:
        return parse_address(text)
    except AddressError as problem:
        raise Failure(error("state.address", f'"{text}" is not a valid address', problem.detail)) from None


def unknown(address: str) -> Diagnostic:
    return error("state.unknown_address", "Not in the state", f"Nothing in the state is called {address}.")
