"""`state mv`: give objects another address, here or in another state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from planner.foundation.support.signals import current_stop
from planner.foundation.vocabulary.address import Address, ModuleAddress, ResourceAddress
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, error, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.operations.options import StateOptions
from planner.operations.show import kept_state
from planner.operations.state_edit import Change, Entry, edit, entries, parse, rebuilt, unknown
from planner.world.state.backend import Store
from planner.world.state.backends.local import StateStore
from planner.world.state.model import State

Moved: TypeAlias = tuple[str, str]


def state_mv(options: StateOptions, old: str, new: str, dry_run: bool = False) -> tuple[list[Moved], list[Diagnostic]]:
    """Give objects another address (in another state file with `state_out`); returns the objects that moved as a whole,
    from and to."""
    source, target = parse(old), parse(new)
    if options.state_out:
        return _move_across(options, source, target, dry_run)
    moved, moves = list[Moved](), dict[str, str]()
    _, problems = edit(options, "state-mv", movement(source, target, moved, moves), dry_run, moves=moves)
    return moved, problems


def movement(source: Address, target: Address, moved: list[Moved], moves: dict[str, str]) -> Change:
    """The change that gives objects another address in their state, and adds the objects that moved as a whole to
    `moved`, and their instances to `moves` (as in `edit`)."""

    def move(state: State) -> tuple[State, list[str], list[Diagnostic]]:
        taken, rest = _covered_instances(state, source)
        renamed, pairs, problems = _renamed(state, taken, rest, source, target)
        moved.extend(pairs)
        moves.update({str(now): str(was) for (was, _, _), (now, _, _) in zip(taken, renamed, strict=False)})
        return rebuilt(state, _freed(rest + renamed, source)), [new for _, new in pairs], problems

    return move


def _move_across(
    options: StateOptions, source: Address, target: Address, dry_run: bool
) -> tuple[list[Moved], list[Diagnostic]]:
    """Move objects into another state file: it is written first, so that nothing is lost in between."""
    assert options.state_out is not None
    diagnostics, moved = Diagnostics(), list[Moved]()
    with diagnostics.until_an_error():
        seal = kept_state(evolve(options, state_out=None), diagnostics).encryption.state
    if has_errors(diagnostics):
        return [], diagnostics
    store = StateStore(options.state_out, seal=seal)  # kept as the state itself is

    def move(state: State) -> tuple[State, list[str], list[Diagnostic]]:
        there, problems = store.read()
        if has_errors(problems):
            return state, [], problems
        there = there or State()
        taken, rest = _covered_instances(state, source)
        renamed, pairs, problems = _renamed(state, taken, list(entries(there)), source, target)
        moved.extend(pairs)
        if not has_errors(problems) and not dry_run:
            _, problems = _locked_write(store, options, rebuilt(there, _freed(list(entries(there)) + renamed, source)))
        return rebuilt(state, rest), [new for _, new in pairs], problems

    _, problems = edit(evolve(options, state_out=None), "state-mv", move, dry_run)
    return moved, problems


def _locked_write(store: Store, options: StateOptions, state: State) -> tuple[State, list[Diagnostic]]:
    if not options.lock:
        return store.write(state)
    problems = store.lock("state-mv", options.lock_timeout, stop=current_stop())
    if has_errors(problems):
        return state, problems
    written, item = store.write(state)
    return written, [*problems, *item, *store.unlock()]


def _covered_instances(state: State, source: Address) -> tuple[list[Entry], list[Entry]]:
    """The instances that an address covers, and the others."""
    taken: list[Entry] = []
    rest: list[Entry] = []
    for entry in entries(state):
        (taken if source.contains(entry[0]) else rest).append(entry)
    return taken, rest


def _renamed(
    state: State, taken: list[Entry], others: list[Entry], source: Address, target: Address
) -> tuple[list[Entry], list[Moved], list[Diagnostic]]:
    if not taken:
        return [], [], [unknown(str(source), state)]
    problem = _unfit(taken, source, target)
    if problem:
        return [], [], [error("state.move_target", "Invalid target address", f"Cannot move to {target}: {problem}")]
    occupied = {str(address) for address, _, _ in others}
    renamed: list[Entry] = []
    for address, resource, instance in taken:
        new = _new_address(address, source, target, whole=len(taken) > 1 or address.key is not None)
        if str(new) in occupied:
            detail = f"There is already an object at {new} in the state."
            return [], [], [error("state.move_occupied", "Invalid target address", detail)]
        renamed.append((new, resource, evolve(instance, key=new.key)))
    return renamed, [(str(source), str(target))], []


def _freed(moved: list[Entry], source: Address) -> list[Entry]:
    """Objects without their dependencies where these name an address that was moved: the next apply records them
    again."""
    return [
        (address, resource, evolve(instance, current=evolve(instance.current, dependencies=())))
        if instance.current is not None and _names(instance.current.dependencies, source)
        else (address, resource, instance)
        for address, resource, instance in moved
    ]


def _names(dependencies: Sequence[str], source: Address) -> bool:
    """Whether one of these resources is the one at an address, has it as an instance, or is in that module. A module
    with a key has siblings, which stay."""
    within = source.config if isinstance(source, ResourceAddress) else source
    return any(within.contains(parse(text)) for text in dependencies)


def _unfit(taken: list[Entry], source: Address, target: Address) -> str:
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
    """The new address of an instance. A resource named without a key takes its instances along with their keys."""
    if isinstance(source, ModuleAddress):
        assert isinstance(target, ModuleAddress)
        inner = ModuleAddress(address.module.steps[len(source.steps) :])
        return evolve(address, module=inner.inside(target))
    assert isinstance(target, ResourceAddress)
    if source.key is None and target.key is None and whole:
        return target.instance(address.key)
    return target
