"""Implements `state mv`: changes addresses of objects within a state, or moves objects to another state file. This
module also moves objects to the state of a different root module, for `planner refactor`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from planner.foundation.support.disk import working_in
from planner.foundation.support.signals import current_stop
from planner.foundation.vocabulary.address import Address, ModuleAddress, ResourceAddress, parse_address
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.operations.options import StateOptions
from planner.operations.show import kept_state
from planner.operations.state_access import locked
from planner.operations.state_edit import Change, Entry, edit, entries, parse, rebuilt, unknown
from planner.world.state.backend import Backend, Store
from planner.world.state.backends.local import StateStore
from planner.world.state.model import OutputState, State

Moved: TypeAlias = tuple[str, str]


def state_mv(options: StateOptions, old: str, new: str, dry_run: bool = False) -> tuple[list[Moved], list[Diagnostic]]:
    """Change the address `old` of objects to `new`. Both are addresses of resource instances, resources or modules. If
    the option `state_out` is set, the objects move to that state file. Returns [(old, new)], or [] if nothing was
    moved; and diagnostics."""
    source, target = parse(old), parse(new)
    if options.state_out:
        return _move_across(options, source, target, dry_run)
    moved, moves = list[Moved](), dict[str, str]()
    _, problems = edit(options, "state-mv", movement(source, target, moved, moves), dry_run, moves=moves)
    return moved, problems


def movement(source: Address, target: Address, moved: list[Moved], moves: dict[str, str]) -> Change:
    """A function for `edit` that moves objects within a state. The function adds (source, target) to `moved`, and {new
    address: old address} of the instances to `moves`."""

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
    """Move objects to the state file `state_out`. This file is written before the objects are removed from the state,
    so that objects cannot be lost."""
    assert options.state_out is not None
    diagnostics, moved = Diagnostics(), list[Moved]()
    with diagnostics.until_an_error():
        seal = kept_state(evolve(options, state_out=None), diagnostics).encryption.state
    if has_errors(diagnostics):
        return [], diagnostics
    store = StateStore(options.state_out, seal=seal)  # the target is encrypted like the state

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
    """The instances at or inside the address, and all other instances."""
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
    """The entries. The dependencies of objects that depend on a moved address are removed, because the next apply
    records them again."""
    return [
        (address, resource, evolve(instance, current=evolve(instance.current, dependencies=())))
        if instance.current is not None and _names(instance.current.dependencies, source)
        else (address, resource, instance)
        for address, resource, instance in moved
    ]


def _names(dependencies: Sequence[str], source: Address) -> bool:
    """Whether one of these dependencies is at or inside the address `source`. If `source` is a module with a key, only
    this module instance is considered, because the other instances of the module do not move."""
    within = source.config if isinstance(source, ResourceAddress) else source
    return any(within.contains(parse(text)) for text in dependencies)


def _unfit(taken: list[Entry], source: Address, target: Address) -> str:
    """Why the objects cannot be moved to the target address; "" if they can."""
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
    """The new address of an instance that moves from `source` to `target`. An instance of a resource keeps its key if
    neither `source` nor `target` has a key, and `whole` is set."""
    if isinstance(source, ModuleAddress):
        assert isinstance(target, ModuleAddress)
        inner = ModuleAddress(address.module.steps[len(source.steps) :])
        return evolve(address, module=inner.inside(target))
    assert isinstance(target, ResourceAddress)
    if source.key is None and target.key is None and whole:
        return target.instance(address.key)
    return target


# Objects that move to another root module's state together with their blocks (`planner refactor`).


@frozen(eq=False)
class StateMove:
    """A move of objects and root outputs from the state of one root module to that of another. `source`, `target`: the
    directories of the root modules. `objects`: the addresses of the objects. `outputs`: the names of the outputs."""

    source: str
    target: str
    objects: tuple[str, ...]
    outputs: tuple[str, ...]
    is_new: bool
    """whether the target had no state before the move"""
    producer: str = ""
    """the directory of the root module that gets new outputs, because the other root module reads them; "" for none"""
    given: Mapping[str, OutputState | None] = field(factory=dict)
    """{name of a new output of `producer`: its value}; all values are None if the move was read from a record"""
    timestamp: int = 0
    """the time of the move in seconds since 1970; it is part of the names of the backups"""

    def record(self, directory: str) -> dict[str, Any]:
        """The move as a JSON object, in which paths are relative to a directory."""
        source, target = (os.path.relpath(one, directory) for one in (self.source, self.target))
        own = {"objects": [*self.objects], "outputs": [*self.outputs], "is_new": self.is_new}
        producer = os.path.relpath(self.producer, directory) if self.producer else ""
        more = {"producer": producer, "given": [*self.given], "timestamp": self.timestamp}
        return {"source": source, "target": target, **own, **more}

    def backwards(self) -> StateMove:
        return StateMove(self.target, self.source, self.objects, self.outputs, False)

    def parts(self, source: State, target: State) -> tuple[State, State]:
        """The states of the source and of the target after the move. If an interrupted move has left an object in both
        states, only the target keeps it."""
        wanted = [parse_address(text) for text in self.objects]
        taken: list[Entry] = []
        rest: list[Entry] = []
        for entry in entries(source):
            (taken if any(one.covers(entry[0]) for one in wanted) else rest).append(entry)
        known = {str(entry[0]) for entry in entries(target)}
        new = [entry for entry in taken if str(entry[0]) not in known]
        outputs = {name: source.outputs[name] for name in self.outputs if name in source.outputs}
        left = {name: one for name, one in source.outputs.items() if name not in self.outputs}
        more = {name: one for name, one in self.given.items() if one is not None}
        left |= more if self.producer == self.source else {}
        outputs |= more if self.producer == self.target else {}
        changed = rebuilt(target, [*entries(target), *new])
        return evolve(rebuilt(source, rest), outputs=left), evolve(changed, outputs={**target.outputs, **outputs})

    def carry_out(self, options: StateOptions) -> None:
        """Move the objects. Both states are locked, and the target is written first. Raises Failure."""
        with state_of(options, self.source) as (store, source), state_of(options, self.target) as (other, target):
            left, given = self.parts(source or State(), target or State())
            _write(other, given, self._backup(other) if target is not None else "")
            _write(store, left, self._backup(store) if source is not None else "")

    def _backup(self, store: Store) -> str:
        return f"{store.place}.{self.timestamp}.backup"

    def take_back(self, options: StateOptions) -> None:
        """Move the objects back, and remove the backups. If the target had no state before the move, its state is
        removed, too. Does nothing if the target directory or its state does not exist. Raises Failure."""
        back = self.backwards()
        if not os.path.isdir(back.source):
            return  # an earlier call, which was interrupted, has removed it
        with state_of(options, back.source) as (store, source), state_of(options, back.target) as (other, target):
            if source is None:
                return
            left, given = back.parts(source, target or State())
            left, given = (
                evolve(
                    one, outputs={n: o for n, o in one.outputs.items() if where != self.producer or n not in self.given}
                )
                for one, where in ((left, self.target), (given, self.source))
            )
            _write(other, given)
            if self.is_new and left.is_empty and isinstance(store, StateStore):
                for path in (store.path, store.backup_path):
                    with suppress(FileNotFoundError):
                        os.remove(path)
            else:
                _write(store, left)
            for path in (self._backup(other), self._backup(store)):
                with suppress(OSError):
                    os.remove(path)


@contextmanager
def state_of(options: StateOptions, directory: str) -> Iterator[tuple[Store, State | None]]:
    """A context in which the state of the root module in a directory is locked. Yields the store and the state. Raises
    Failure."""
    diagnostics = Diagnostics()
    with working_in(directory):
        own = evolve(options, directory=".", var_args=(), state_path=None, state_out=None)
        kept = kept_state(own, diagnostics)
        diagnostics.check()
        _check_workspaces(kept.backend, kept.store, directory)
    with locked(kept.store, options, "refactor", diagnostics):
        state, problems = kept.store.read()
        diagnostics.check(problems)
        yield kept.store, state


def _check_workspaces(backend: Backend, store: Store, directory: str) -> None:
    """Raises Failure if other workspaces of a root module have objects, because a move would remove the blocks of these
    objects."""
    try:
        names = backend.workspaces() if backend.has_workspaces else []
        others = [(name, backend.store(name)) for name in names]
    except OSError as problem:
        detail = f"{os.path.relpath(directory)}: {problem.strerror or problem}."
        raise Failure(error("state.store", "Error loading state", detail)) from None
    for name, other in others:
        state = other.read()[0] if other.place != store.place else None
        if state is not None and not state.is_empty:
            detail = f"The workspace {name} of {os.path.relpath(directory)} has objects, too, which would not be moved."
            detail = f"{detail} Move them with state mv, and the blocks by hand."
            raise Failure(error("state.other_workspaces", "Other workspaces have objects", detail))


def _write(store: Store, state: State, backup: str = "") -> None:
    store.keep_backup(backup)
    _, problems = store.write(state)
    if has_errors(problems):
        raise Failure(problems)
