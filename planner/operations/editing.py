"""Editing a state by hand: move, forget, mark and replace objects without touching the real ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from attrs import evolve

from planner.operations.options import StateOptions
from planner.operations.show import kept_state, stored_state
from planner.operations.storing import locked
from planner.state.model import ResourceState, State
from planner.support.signals import STOP
from planner.vocabulary.address import (
    Address,
    AddressError,
    ModuleAddress,
    ResourceAddress,
    format_key,
    parse_address,
    parse_resource_instance,
    sort_key,
)
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.vocabulary.provider_address import parse_provider_configuration, provider_source
from planner.vocabulary.told import Told

if TYPE_CHECKING:
    from planner.state.backend import Store
    from planner.state.lock import LockInfo
    from planner.state.model import InstanceState, ResourceState, State

Moved: TypeAlias = tuple[str, str]
_Entry: TypeAlias = "tuple[ResourceAddress, ResourceState, InstanceState]"


# ---------------------------------------------------------------- reading and writing


def state_pull(options: StateOptions) -> tuple[bytes, list[Diagnostic]]:
    """The state as a state file holds it; nothing when there is none."""
    from planner.state.file import write_state

    shown, problems = stored_state(options)
    if shown is None or shown.state is None:
        return b"", problems
    return write_state(shown.state, compact=True), problems


def state_push(options: StateOptions, data: bytes, force: bool = False) -> list[Diagnostic]:
    """Replace the state by the one in a state file. Without `force`, one of another lineage or an older one is
    refused."""
    from planner.state.file import read_state, same_content

    if not data.strip():
        return [error("state.push_nothing", "No state", "What was given to push is empty: it holds no state.")]
    new, problems = read_state(data)
    if new is None or has_errors(problems):
        return problems
    given = new

    def check(old: State) -> tuple[State, list[str], list[Diagnostic]]:
        refused = ""
        if not force and old.lineage and given.lineage and old.lineage != given.lineage:
            refused = "It belongs to another history (its lineage differs)."
        elif not force and given.serial < old.serial:
            refused = f"Its serial {given.serial} is older than the serial {old.serial} of the present state."
        elif not force and old.lineage and given.serial == old.serial and not same_content(old, given):
            refused = f"The present state has the same serial {old.serial}, but another content."
        if refused:
            detail = f"{refused} Push with -force to write it all the same; the present state is lost then."
            return old, [], [error("state.push_refused", "State refused", detail)]
        return given, ["state"], []

    _, more = _edit(options, "OperationTypeStatePush", check, exactly=True)
    return problems + more


def _edit(
    options: StateOptions,
    operation: str,
    change: Callable[[State], tuple[State, list[str], list[Diagnostic]]],
    dry_run: bool = False,
    exactly: bool = False,
    usual_backup: bool = False,
) -> tuple[list[str], list[Diagnostic]]:
    """Lock and read the state, change it, and write it if there is no error. Gives what `change` says that it did.
    The former state is kept in a file of its own, or (`usual_backup`) where plans keep it. `exactly`: with the serial
    and lineage that `change` gave it."""
    told = Told()
    done: list[str] = []
    with told.until_an_error():
        kept = kept_state(options if usual_backup else evolve(options, backup=options.backup or "-"), told)
        told.check()
        store = kept.store
        with locked(store, options, operation, told):
            old, problems = store.read()
            if has_errors(problems):
                raise Failure(problems)
            if old is None and not exactly:
                raise Failure(_no_state())
            new, done, problems = change(old or State())
            told.check(problems)
            if dry_run or not done:
                return done, told
            if options.backup is None and old is not None and not usual_backup:
                store.keep_backup(f"{store.place}.{int(time.time())}.backup")
            _, problems = store.put(new) if exactly else store.write(new)
            told += problems
    return done, told


def _no_state() -> Diagnostic:
    return error("state.none", "No state", "No state file was found: nothing has been applied here yet.")


# ---------------------------------------------------------------- rm


def state_rm(
    options: StateOptions, addresses: Iterable[str], dry_run: bool = False
) -> tuple[list[str], list[Diagnostic]]:
    """Forget the instances that the addresses cover; their addresses. At least one of them must be in the state."""
    wanted = [(text, _parse(text)) for text in addresses]

    def remove(state: State) -> tuple[State, list[str], list[Diagnostic]]:
        gone: list[str] = []
        for _, address in wanted:
            hits = [str(a) for a, _, _ in _entries(state) if address.covers(a)]
            gone += [hit for hit in hits if hit not in gone]
        kept = [entry for entry in _entries(state) if str(entry[0]) not in gone]
        problems = [] if gone else [_unknown(text) for text, _ in wanted]
        return _rebuilt(state, kept), sorted(gone, key=sort_key), problems

    return _edit(options, "state-rm", remove, dry_run)


# ---------------------------------------------------------------- mv


def state_mv(options: StateOptions, old: str, new: str, dry_run: bool = False) -> tuple[list[Moved], list[Diagnostic]]:
    """Give objects another address (in another state file with `state_out`); what moved as a whole, from and to."""
    source, target = _parse(old), _parse(new)
    moved: list[Moved] = []
    if options.state_out:
        return _move_across(options, source, target, dry_run)

    def move(state: State) -> tuple[State, list[str], list[Diagnostic]]:
        taken, rest = _taken(state, source)
        renamed, pairs, problems = _renamed(taken, rest, source, target)
        moved.extend(pairs)
        return _rebuilt(state, rest + renamed), [new for _, new in pairs], problems

    _, problems = _edit(options, "state-mv", move, dry_run)
    return moved, problems


def _move_across(
    options: StateOptions, source: Address, target: Address, dry_run: bool
) -> tuple[list[Moved], list[Diagnostic]]:
    """Move objects into another state file: it is written first, so that nothing is lost in between."""
    from planner.state.backends.local import StateStore

    assert options.state_out is not None
    store = StateStore(options.state_out)
    moved: list[Moved] = []

    def move(state: State) -> tuple[State, list[str], list[Diagnostic]]:
        there, problems = store.read()
        if has_errors(problems):
            return state, [], problems
        there = there or State()
        taken, rest = _taken(state, source)
        renamed, pairs, problems = _renamed(taken, list(_entries(there)), source, target)
        moved.extend(pairs)
        if not has_errors(problems) and not dry_run:
            _, problems = _locked_write(store, options, _rebuilt(there, list(_entries(there)) + renamed))
        return _rebuilt(state, rest), [new for _, new in pairs], problems

    _, problems = _edit(evolve(options, state_out=None), "state-mv", move, dry_run)
    return moved, problems


def _locked_write(store: Store, options: StateOptions, state: State) -> tuple[State, list[Diagnostic]]:
    if not options.lock:
        return store.write(state)
    problems = store.lock("state-mv", options.lock_timeout, stop=STOP)
    if has_errors(problems):
        return state, problems
    written, found = store.write(state)
    return written, [*problems, *found, *store.unlock()]


def _taken(state: State, source: Address) -> tuple[list[_Entry], list[_Entry]]:
    """The instances that an address covers, and the others."""
    taken: list[_Entry] = []
    rest: list[_Entry] = []
    for entry in _entries(state):
        (taken if source.contains(entry[0]) else rest).append(entry)
    return taken, rest


def _renamed(
    taken: list[_Entry], others: list[_Entry], source: Address, target: Address
) -> tuple[list[_Entry], list[Moved], list[Diagnostic]]:
    if not taken:
        return [], [], [_unknown(str(source))]
    problem = _unfit(taken, source, target)
    if problem:
        return [], [], [error("state.move_target", "Invalid target address", f"Cannot move to {target}: {problem}")]
    occupied = {str(address) for address, _, _ in others}
    renamed: list[_Entry] = []
    for address, resource, instance in taken:
        new = _new_address(address, source, target, whole=len(taken) > 1 or address.key is not None)
        if str(new) in occupied:
            detail = f"There is already an object at {new} in the state."
            return [], [], [error("state.move_occupied", "Invalid target address", detail)]
        renamed.append((new, resource, evolve(instance, key=new.key)))
    return renamed, [(str(source), str(target))], []


def _unfit(taken: list[_Entry], source: Address, target: Address) -> str:
    """Why objects cannot move there, "" when they can."""
    if isinstance(source, ModuleAddress):
        return "" if isinstance(target, ModuleAddress) else "a module can only become a module."
    if not isinstance(target, ResourceAddress):
        return "a resource can only become a resource."
    if (source.mode, source.type) != (target.mode, target.type):
        return f"the type must stay {source.type}."
    if target.key is not None and len(taken) > 1:
        return f"{source} has several instances, which need an address without a key."
    return ""


def _new_address(address: ResourceAddress, source: Address, target: Address, whole: bool) -> ResourceAddress:
    """Where an instance goes. A resource named without a key takes its instances along with their keys."""
    if isinstance(source, ModuleAddress):
        assert isinstance(target, ModuleAddress)
        inner = ModuleAddress(address.module.steps[len(source.steps) :])
        return evolve(address, module=inner.inside(target))
    assert isinstance(target, ResourceAddress)
    if source.key is None and target.key is None and whole:
        return target.instance(address.key)
    return target


# ---------------------------------------------------------------- marks and providers


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
        entries = list(_entries(state))
        at = next((i for i, (a, _, _) in enumerate(entries) if str(a) == str(address)), None)
        current = entries[at][2].current if at is not None else None
        if at is None or current is None:
            problem = _unknown(str(address))
            return state, [], [warning("state.missing", problem.summary, problem.detail) if allow_missing else problem]
        if not tainted and not current.tainted:
            return state, [], [error("state.not_tainted", "Not tainted", f"{address} has no mark to take away.")]
        found, resource, instance = entries[at]
        entries[at] = (found, resource, evolve(instance, current=evolve(current, tainted=tainted)))
        return _rebuilt(state, entries), [str(address)], []

    _, problems = _edit(options, "taint" if tainted else "untaint", change, usual_backup=True)
    return problems


def state_replace_provider(
    options: StateOptions, old: str, new: str, dry_run: bool = False
) -> tuple[list[str], list[Diagnostic]]:
    """Make another provider responsible for all resources of one; their addresses."""
    before, after = _provider(old), _provider(new)

    def change(state: State) -> tuple[State, list[str], list[Diagnostic]]:
        resources = dict(state.resources)
        for address, resource in resources.items():
            provider = parse_provider_configuration(resource.provider)
            if provider.source == before:
                resources[address] = evolve(resource, provider=str(evolve(provider, source=after)))
        affected = sorted((a for a in resources if resources[a] is not state.resources[a]), key=sort_key)
        return evolve(state, resources=resources), affected, []

    return _edit(options, "state-replace-provider", change, dry_run)


def force_unlock(
    options: StateOptions, lock_id: str, confirm: Callable[[LockInfo], bool]
) -> tuple[bool, list[Diagnostic]]:
    """Remove the lock of the state that has this id, and whether that was done: `confirm` is asked when there is such a
    lock and nobody holds it any more."""
    told = Told()
    with told.until_an_error():
        store = kept_state(options, told).store
        holder, problems = store.held_by(lock_id)
        if holder is None or not confirm(holder):
            return False, problems
        problems = store.force_unlock(lock_id)
        return not problems, problems
    return False, told


# ---------------------------------------------------------------- pieces


def _entries(state: State) -> list[_Entry]:
    """Every instance with its address and resource."""
    found = []
    for resource, instance in state.instances():
        address = parse_resource_instance(resource.address + format_key(instance.key))
        found.append((address, resource, instance))
    return found


def _rebuilt(state: State, entries: list[_Entry]) -> State:
    """The state with just these instances, under these addresses."""
    resources: dict[str, ResourceState] = {}
    for address, resource, instance in entries:
        key = str(address.resource)
        if key not in resources:
            resources[key] = ResourceState(
                str(address.module), address.mode, address.type, address.name, resource.provider, {}
            )
        resources[key].instances[address.key] = instance
    return evolve(state, resources=resources)


def _parse(text: str) -> Address:
    try:
        return parse_address(text)
    except AddressError as problem:
        raise Failure(error("state.address", f'"{text}" is no address', problem.detail)) from None


def _provider(text: str) -> str:
    try:
        return provider_source(text)
    except ValueError:
        detail = "A provider is written as type, namespace/type or host/namespace/type."
        raise Failure(error("state.provider", f'"{text}" is no provider', detail)) from None


def _unknown(address: str) -> Diagnostic:
    return error("state.unknown_address", "Not in the state", f"Nothing in the state is called {address}.")
