"""Edits a state without changing real objects. The state is read, edited and written under one lock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from planner.foundation.vocabulary.address import (
    Address,
    AddressError,
    ResourceAddress,
    format_key,
    parse_address,
    parse_resource_instance,
    sort_key,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error, has_errors, warning
from planner.foundation.vocabulary.nearest import instead
from planner.foundation.vocabulary.provider_address import parse_provider_configuration, provider_source
from planner.foundation.vocabulary.records import evolve
from planner.operations.backends import version_problems
from planner.operations.options import StateOptions
from planner.operations.show import kept_state, stored_state
from planner.operations.state_access import locked
from planner.world.state.backend import Store
from planner.world.state.file import read_state, same_content, write_state
from planner.world.state.model import InstanceState, ResourceState, State

if TYPE_CHECKING:
    from planner.world.state.lock import LockInfo


Change: TypeAlias = Callable[[State], tuple[State, list[str], list[Diagnostic]]]
"""a function that changes a state, and returns the new state, descriptions of the changes, and diagnostics"""
Entry: TypeAlias = tuple[ResourceAddress, ResourceState, InstanceState]


def edit(
    options: StateOptions,
    operation: str,
    change: Change,
    dry_run: bool = False,
    exactly: bool = False,
    usual_backup: bool = False,
    moves: Mapping[str, str] | None = None,
) -> tuple[list[str], list[Diagnostic]]:
    """Lock and read the state, change it with the function `change`, and write it if there is no error. Returns the
    descriptions of the changes, and diagnostics. The old state is kept in a separate backup file or, with
    `usual_backup`, in the backup file that an apply uses. `exactly`: whether the written state has the serial and the
    lineage that `change` returns. `moves`: {new address: old address}, to which `change` adds the moved objects."""
    diagnostics = Diagnostics()
    done: list[str] = []
    with diagnostics.until_an_error():
        kept = kept_state(options if usual_backup else evolve(options, backup=options.backup or "-"), diagnostics)
        diagnostics.check()
        done = edit_in(kept.store, options, operation, change, diagnostics, dry_run, exactly, usual_backup, moves)
    return done, diagnostics


def edit_in(
    store: Store,
    options: StateOptions,
    operation: str,
    change: Change,
    diagnostics: Diagnostics,
    dry_run: bool = False,
    exactly: bool = False,
    usual_backup: bool = False,
    moves: Mapping[str, str] | None = None,
) -> list[str]:
    """Edit the state in a store, as `edit` does. Returns the descriptions of the changes. Raises Failure."""
    from planner.operations.input_record import keep_moves

    diagnostics.check(version_problems(store, options))
    with locked(store, options, operation, diagnostics):
        old, problems = store.read()
        if has_errors(problems):
            raise Failure(problems)
        if old is None and not exactly:
            raise Failure(no_state())
        new, done, problems = change(old or State())
        diagnostics.check(problems)
        if dry_run or not done:
            return done
        if options.backup is None and old is not None and not usual_backup:
            store.keep_backup(f"{store.place}.{int(time.time())}.backup")
        written, problems = store.put(new) if exactly else store.write(new)
        diagnostics += problems
        if moves and not has_errors(problems):
            diagnostics += keep_moves(store, written, moves)
    return done


def no_state() -> Diagnostic:
    return error("state.none", "No state", "No state file was found: nothing has been applied here yet.")


def entries(state: State) -> list[Entry]:
    """(address, resource, instance) of all instances in a state."""
    result = []
    for resource, instance in state.instances():
        address = parse_resource_instance(resource.address + format_key(instance.key))
        result.append((address, resource, instance))
    return result


def rebuilt(state: State, entries: list[Entry]) -> State:
    """The state with exactly these instances, each at the address in its entry."""
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
            # then an unchanged object is recognized without a comparison when the state is written
            resources[key] = before
    return evolve(state, resources=resources)


def parse(text: str) -> Address:
    try:
        return parse_address(text)
    except AddressError as problem:
        raise Failure(error("state.address", f'"{text}" is not a valid address', problem.detail)) from None


def unknown(address: str, state: State) -> Diagnostic:
    known = {str(held) for held, _, _ in entries(state)}
    hint = instead(address, known) or " To list its content: planner state list."
    return error("state.unknown_address", "Not in the state", f"The state does not contain {address}.{hint}")


# `state rm`: forget objects, without changing real objects.


def state_rm(
    options: StateOptions, addresses: Iterable[str], dry_run: bool = False
) -> tuple[list[str], list[Diagnostic]]:
    """Forget the instances at or inside the addresses. Returns the addresses of these instances, and diagnostics.
    `addresses` must not be empty."""
    return edit(options, "state-rm", removal(addresses), dry_run)


def removal(addresses: Iterable[str]) -> Change:
    """A function for `edit` that forgets the instances at or inside the addresses."""
    wanted = [(text, parse(text)) for text in addresses]

    def remove(state: State) -> tuple[State, list[str], list[Diagnostic]]:
        gone: list[str] = []
        for _, address in wanted:
            hits = [str(a) for a, _, _ in entries(state) if address.covers(a)]
            gone += [hit for hit in hits if hit not in gone]
        kept = [entry for entry in entries(state) if str(entry[0]) not in gone]
        problems = [] if gone else [unknown(text, state) for text, _ in wanted]
        return rebuilt(state, kept), sorted(gone, key=sort_key), problems

    return remove


# `taint` and `untaint`: mark an object as damaged, or remove the mark.


def taint(options: StateOptions, address: str, allow_missing: bool = False) -> list[Diagnostic]:
    """Mark an instance as tainted, so that the next plan replaces it. A missing instance is an error or, with
    `allow_missing`, a warning."""
    return _mark(options, address, True, allow_missing)


def untaint(options: StateOptions, address: str, allow_missing: bool = False) -> list[Diagnostic]:
    """Remove an instance's taint mark. A missing instance is an error or, with `allow_missing`, a warning."""
    return _mark(options, address, False, allow_missing)


def _mark(options: StateOptions, text: str, tainted: bool, allow_missing: bool) -> list[Diagnostic]:
    try:
        address = parse_resource_instance(text)
    except AddressError as problem:
        raise Failure(error("state.address", f'"{text}" is not a valid address', problem.detail)) from None
    if address.mode != "managed":
        raise Failure(error("state.not_managed", "Not a managed resource", f"{text} cannot be replaced."))

    def change(state: State) -> tuple[State, list[str], list[Diagnostic]]:
        resource = state.resources.get(str(address.resource))
        instance = resource.instances.get(address.key) if resource is not None else None
        current = instance.current if instance is not None else None
        if resource is None or instance is None or current is None:
            problem = unknown(str(address), state)
            return state, [], [warning("state.missing", problem.summary, problem.detail) if allow_missing else problem]
        if not tainted and not current.tainted:
            return state, [], [error("state.not_tainted", "Not tainted", f"{address} is not tainted.")]
        marked = evolve(instance, current=evolve(current, tainted=tainted))
        changed = evolve(resource, instances={**resource.instances, address.key: marked})
        return evolve(state, resources={**state.resources, resource.address: changed}), [str(address)], []

    _, problems = edit(options, "taint" if tainted else "untaint", change, usual_backup=True)
    return problems


# `state replace-provider`: assign resources to another provider.


def state_replace_provider(
    options: StateOptions, old: str, new: str, dry_run: bool = False
) -> tuple[list[str], list[Diagnostic]]:
    """Assign all resources of the provider `old` to the provider `new`. Returns the addresses of these resources, and
    diagnostics."""
    before, after = _provider(old), _provider(new)

    def change(state: State) -> tuple[State, list[str], list[Diagnostic]]:
        resources = dict(state.resources)
        for address, resource in resources.items():
            provider = parse_provider_configuration(resource.provider)
            if provider.source == before:
                resources[address] = evolve(resource, provider=str(evolve(provider, source=after)))
        affected = sorted((a for a in resources if resources[a] is not state.resources[a]), key=sort_key)
        return evolve(state, resources=resources), affected, []

    return edit(options, "state-replace-provider", change, dry_run)


def _provider(text: str) -> str:
    try:
        return provider_source(text)
    except ValueError:
        detail = "A provider is written as type, namespace/type or host/namespace/type."
        raise Failure(error("state.provider", f'"{text}" is not a provider', detail)) from None


# `state pull` and `state push`: write the state to a file, and read it from a file.


def state_pull(options: StateOptions) -> tuple[bytes, list[Diagnostic]]:
    """The content of the state file, not encrypted, and diagnostics. Empty if there is no state."""
    shown, problems = stored_state(options)
    if shown is None or shown.state is None:
        return b"", problems
    return write_state(shown.state, compact=True), problems


def _decrypted(options: StateOptions, data: bytes) -> tuple[bytes, list[Diagnostic]]:
    """The decrypted content of a state file for `state push`, and diagnostics. (An `errored.tfstate` that an apply
    saved is encrypted like the state.)"""
    diagnostics = Diagnostics()
    if b'"encryption_version"' not in data:
        return data, diagnostics
    with diagnostics.until_an_error():
        return kept_state(options, diagnostics).encryption.state.unseal(data).data, []
    return data, diagnostics


def state_push(options: StateOptions, data: bytes, force: bool = False) -> list[Diagnostic]:
    """Replace the state with `data`, the content of a state file. Without `force`, it is an error if the new state has
    a lower serial, a different lineage, or the same serial with different content. Returns diagnostics."""
    if not data.strip():
        return [error("state.push_nothing", "No state", "The input of push is empty: it contains no state.")]
    data, diagnostics = _decrypted(options, data)
    if has_errors(diagnostics):
        return diagnostics
    new, problems = read_state(data)
    problems = [*diagnostics, *problems]
    if new is None or has_errors(problems):
        return problems
    given = new

    def check(old: State) -> tuple[State, list[str], list[Diagnostic]]:
        refused = ""
        if not force and old.lineage and given.lineage and old.lineage != given.lineage:
            refused = "Its lineage differs, so it belongs to a different state."
        elif not force and given.serial < old.serial:
            refused = f"Its serial {given.serial} is older than the serial {old.serial} of the current state."
        elif not force and old.lineage and given.serial == old.serial and not same_content(old, given):
            refused = f"The current state has the same serial {old.serial}, but different content."
        if refused:
            detail = f"{refused} Push with -force to write it anyway; the current state is then lost."
            return old, [], [error("state.push_refused", "State refused", detail)]
        return given, ["state"], []

    _, more = edit(options, "OperationTypeStatePush", check, exactly=True)
    return problems + more


# `force-unlock`: removes a lock that another process did not release.


def force_unlock(
    options: StateOptions, lock_id: str, confirm: Callable[[LockInfo], bool]
) -> tuple[bool, list[Diagnostic]]:
    """Remove the lock with this ID. Returns whether the lock was removed, and diagnostics. `confirm` receives a
    description of the lock, and returns whether to remove it. `confirm` is not called if the backend has no locks. For
    a local state, it is also not called if there is no such lock, or if the process that holds the lock is still
    running."""
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        store = kept_state(options, diagnostics).store
        holder, problems = store.held_by(lock_id)
        if holder is None or not confirm(holder):
            return False, problems
        problems = store.force_unlock(lock_id)
        return not problems, problems
    return False, diagnostics
