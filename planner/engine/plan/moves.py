"""Applies moves: before planning, objects in the state get their new addresses, as rules/plan/moves.dl derives them.
This module provides the facts (the effect of each statement on each address), changes the state, and converts derived
errors to diagnostics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar

from planner.engine.evaluation.repetition import repetition_argument
from planner.engine.plan.move_endpoints import (
    ANY,
    Endpoint,
    Steps,
    absolute,
    address_after,
    changes_key_only,
    endpoints,
    implied_endpoints,
)
from planner.engine.plan.options import command_line
from planner.foundation.vocabulary.address import (
    Address,
    ModuleAddress,
    ResourceAddress,
    format_key,
    parse_address,
    parse_module,
    parse_resource_instance,
    sort_key,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, warning
from planner.foundation.vocabulary.limits import Limits
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config, ModuleCall, ModuleConfig, ModulePath, ResourceDecl
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.model.graph import StateEntry
from planner.logic.programs.rule_programs import product_program
from planner.world.state.build import StateBuilder
from planner.world.state.model import State


@frozen(eq=False)
class MoveStatement:
    """A moved block, or a move that is implied because `count` was added or removed. `name`: the name of the statement
    in facts and messages."""

    name: str
    position: int
    from_: Endpoint
    to: Endpoint
    span: Span
    implied: bool = False


@frozen
class Move:
    """The move of an object. `origin`: the former address. `implied`: whether no moved block took part in the move."""

    origin: str
    implied: bool


@frozen(eq=False)
class MoveResults:
    """The state after all moves. `moves`: the moves of objects, by new instance address. `blocked`: (current address,
    new address) of objects that were not moved, because the new address is in use. `cycles`: for each cycle of
    statements, the names of the statements."""

    state: State
    statements: tuple[MoveStatement, ...] = ()
    moves: dict[str, Move] = field(factory=dict)
    blocked: tuple[tuple[str, str], ...] = ()
    cycles: tuple[tuple[str, ...], ...] = ()

    def previous_address(self, instance: str) -> str:
        move = self.moves.get(instance)
        return move.origin if move else instance


class ExpandedDeclarations(Protocol):
    """The declarations and instances in the expanded configuration."""

    def module_instances(self, path: ModulePath) -> list[ModuleAddress]: ...
    def declaration(self, kind: str, address: Address) -> Span | None: ...


# ---------------------------------------------------------------- statements


def explicit_statements(config: Config) -> list[MoveStatement]:
    """The moved blocks of all modules, parents first."""
    results: list[MoveStatement] = []
    for module in config.root.walk():
        for block in module.moved:
            ends = endpoints(module.path, parse_address(block.from_), parse_address(block.to))
            at = block.span.start_position
            name = f"{block.span.filename}:{at.line},{at.column}"
            results.append(MoveStatement(name, len(results), *ends, block.span))
    return results


def implied_statements(config: Config, state: State, explicit: list[MoveStatement]) -> list[MoveStatement]:
    """The moves that are implied because `count` was added to or removed from a block, as rules/plan/implied_moves.dl
    derives them."""
    facts = FactBuilder()
    objects = _state_counts(facts, config, state, explicit)
    if not objects:
        return []
    results: list[MoveStatement] = []
    for name, *words in evaluate(product_program("moves"), facts.build(), ["implied_move"]).sorted("implied_move"):
        thing, declaration = objects[name]
        from_, to = (_with_key(thing, {"none": None, "zero": 0}[word]) for word in words)
        span = declaration.count.span if declaration.count is not None else declaration.span
        ends = implied_endpoints(from_, to)
        results.append(MoveStatement(f"count of {name}", len(explicit) + len(results), *ends, span, implied=True))
    return results


def _state_counts(
    facts: FactBuilder, config: Config, state: State, explicit: list[MoveStatement]
) -> dict[str, tuple[Address, ResourceDecl | ModuleCall]]:
    """Add the facts for rules/plan/implied_moves.dl. Returns the declared resources and module calls by their names in
    the facts."""
    objects: dict[str, tuple[Address, ResourceDecl | ModuleCall]] = {}
    for thing, declaration, keys in _counted_declarations(config, state):
        name = str(thing)
        objects[name] = (thing, declaration)
        facts.add("repeats_by", name, repetition_argument(declaration), source=declaration.span)
        for key, word in ((None, "none"), (0, "zero")):
            if key in keys:
                facts.add("known_key", name, word, source=StateEntry(str(_with_key(thing, key))))
            named = _with_key(thing, key) if isinstance(thing, ModuleAddress) else thing
            by = next((s for s in explicit if s.from_.mentions(named) or s.to.mentions(named)), None)
            if by is not None:
                facts.add("mentioned_in_move", name, word, source=by.span)
    return objects


def _counted_declarations(
    config: Config, state: State
) -> Iterator[tuple[Address, ResourceDecl | ModuleCall, set[int | str | None]]]:
    """Yields (address, declaration, keys in the state) of declared resources and module calls that have the argument
    count, or have an instance 0 in the state."""
    calls: dict[tuple[ModuleAddress, str], set[int | str | None]] = {}
    modules: dict[str, tuple[ModuleAddress, ModuleConfig | None]] = {}
    for resource in state.resources.values():
        if resource.module not in modules:
            module = parse_module(resource.module)
            modules[resource.module] = module, config.root.descendant(module.path)
            if module.steps:
                calls.setdefault((module.parent, module.steps[-1][0]), set()).add(module.key)
        module, declared = modules[resource.module]
        address = ResourceAddress(module, resource.mode, resource.type, resource.name)
        declaration = declared.resources.get(address.relative) if declared else None
        if declaration is not None and (declaration.count is not None or 0 in resource.instances):
            yield address, declaration, set(resource.instances)
    for (parent, name), keys in sorted(calls.items(), key=lambda item: (item[0][0].sort_key, item[0][1])):
        declared = config.root.descendant(parent.path)
        call = declared.calls.get(name) if declared else None
        if call is not None and (call.count is not None or 0 in keys):
            yield parent.child(name), call, keys


def _with_key(thing: Address, key: int | None) -> Address:
    return thing.parent.child(thing.steps[-1][0], key) if isinstance(thing, ModuleAddress) else thing.instance(key)


# ---------------------------------------------------------------- moving

_DERIVED = ("moved", "arrives_at", "move_blocked", "move_cycle", "crowded_out", "moved_by_block")


def apply_moves(config: Config, state: State) -> MoveResults:
    statements = explicit_statements(config)
    statements += implied_statements(config, state, statements)
    if not statements:
        return MoveResults(state)
    return _moved_state(state, statements, evaluate(product_program("moves"), move_facts(statements, state), _DERIVED))


def move_facts(statements: list[MoveStatement], state: State) -> FactBase:
    facts = FactBuilder()
    _add_moves(facts, statements, state)
    return facts.build()


def query_facts(config: Config, state: State, limits: Limits) -> FactBase:
    """All facts about moves in a state, for queries."""
    results = apply_moves(config, state)
    facts = FactBuilder(command_line("plan", limits))
    _state_counts(facts, config, state, [s for s in results.statements if not s.implied])
    _add_moves(facts, list(results.statements), state)
    _add_ends(facts, results)
    return facts.build()


def undo_moves(state: State, origins: Mapping[str, str]) -> State:
    """The state with moves undone. `origins`: {current address of an instance: its former address}."""
    builder = StateBuilder(state)
    known = (resource.address + format_key(instance.key) for resource, instance in state.instances())
    left = {to: origins[to] for to in known if origins.get(to, to) != to}
    # first move objects whose former address is free
    while free := [to for to in sorted(left, key=sort_key) if left[to] not in left]:
        for to in free:
            _move(builder, to, left.pop(to))
    return builder.snapshot()


def follow_moves(state: State, steps: Iterable[tuple[str, str]]) -> State:
    """The state after these moves, which are pairs (former address, new address) and are made in this order."""
    builder = StateBuilder(state)
    for origin, to in steps:
        _move(builder, origin, to)
    return builder.snapshot()


def _move(builder: StateBuilder, origin: str, to: str) -> None:
    here, there = parse_resource_instance(origin), parse_resource_instance(to)
    module = str(there.module)
    builder.move(str(here.resource), here.key, module, there.mode, there.type, there.name, there.key)


def _add_moves(facts: FactBuilder, statements: list[MoveStatement], state: State) -> None:
    _state_statements(facts, statements)
    _state_steps(facts, statements, state)
    origins = sorted((row[0] for row in facts.rows("in_prior_state")), key=sort_key)
    for position, origin in enumerate(origins):
        facts.add("address_order", origin, position, source=StateEntry(origin))


def _add_ends(facts: FactBuilder, results: MoveResults) -> None:
    for to, move in results.moves.items():
        for end in map(parse_resource_instance, (to, move.origin)):
            facts.add("move_end", str(end), str(end.config), str(end.resource), source=StateEntry(move.origin))


def _state_statements(facts: FactBuilder, statements: list[MoveStatement]) -> None:
    destinations: _EndIndex[MoveStatement] = _EndIndex()
    outer_ends: _EndIndex[tuple[MoveStatement, str, Endpoint]] = _EndIndex()
    for s in statements:
        destinations.add(s.to.steps, _object(s.to), s)
        for end, word in ((s.from_, "from"), (s.to, "to")):
            if end.kind != "resource instance":  # nothing is inside an instance
                outer_ends.add(end.steps, end.resource, (s, word, end))
    for s in statements:
        facts.add("move_statement", s.name, s.position, source=s.span)
        if s.implied:
            facts.add("implied_statement", s.name, source=s.span)
        facts.add("declared_at_depth", s.name, len(s.from_.base))
        if changes_key_only(s.from_, s.to):
            facts.add("changes_key_only", s.name)
        for other in destinations.of(s.from_.steps, _object(s.from_)):
            if other is not s and s.from_.chains_from(other.to):
                facts.add("chains_from", s.name, other.name)
        for end, word in ((s.from_, "from"), (s.to, "to")):
            around = [outer_ends.of(end.steps[:depth], None) for depth in range(1, len(end.steps) + 1)]
            around += [outer_ends.of(end.steps, end.resource)] if end.kind == "resource instance" else []
            for other, outer_word, outer in chain(*around):
                if other is not s and end.within(outer):
                    facts.add("nested_end", s.name, word, other.name, outer_word)


def _object(end: Endpoint) -> tuple[Any, ...] | None:
    """The parts of a resource end that `chains_from` compares; None for an end that selects modules."""
    return None if end.resource is None else (end.kind, end.resource, end.key)


T = TypeVar("T")


class _EndIndex(Generic[T]):
    """An index of move ends by module steps and resource, which limits the number of comparisons. Two ends can overlap
    only if their module names are equal and, in each step, the keys are equal or one of them matches any key."""

    def __init__(self) -> None:
        self._exact: dict[Any, list[T]] = {}
        self._patterns: dict[Any, list[T]] = {}
        self._names: dict[Any, list[T]] = {}

    def add(self, steps: Steps, resource: Any, item: T) -> None:
        """Add an item for the end with these steps and this resource. The method `of` finds the item."""
        names = tuple([name for name, _ in steps])
        if _is_pattern(steps):
            self._patterns.setdefault((names, resource), []).append(item)
        else:
            self._exact.setdefault((steps, resource), []).append(item)
        self._names.setdefault((names, resource), []).append(item)

    def of(self, steps: Steps, resource: Any) -> Iterator[T]:
        """The items of all ends that can overlap with the end with these steps and this resource."""
        names = tuple([name for name, _ in steps])
        if _is_pattern(steps):
            yield from self._names.get((names, resource), ())
            return
        yield from self._exact.get((steps, resource), ())
        yield from self._patterns.get((names, resource), ())


def _is_pattern(steps: Steps) -> bool:
    return any(key is ANY for _, key in steps)


_POSITION = attrgetter("position")


def _state_steps(facts: FactBuilder, statements: list[MoveStatement], state: State) -> None:
    """Add facts about the effect of each statement on the addresses in the state, and on the addresses that result from
    other statements."""
    by_resource: dict[tuple[tuple[str, str, str], Any], list[MoveStatement]] = {}  # with a key, or ANY
    by_module: _EndIndex[MoveStatement] = _EndIndex()
    for s in statements:
        if s.from_.resource is not None:
            by_resource.setdefault((s.from_.resource, s.from_.key), []).append(s)
        else:
            by_module.add(s.from_.steps, None, s)
    present: set[tuple[str, str]] = set()
    vacancies: set[tuple[str, str]] = set()
    reached: set[ResourceAddress] = set()
    front: list[ResourceAddress] = []
    for recorded in state.resources.values():
        address = ResourceAddress(parse_module(recorded.module), recorded.mode, recorded.type, recorded.name)
        present |= {("module", recorded.module), ("resource", recorded.address)}
        for key in recorded.instances:
            instance = address.instance(key)
            present.add(("instance", str(instance)))
            reached.add(instance)
            front.append(instance)
    origins = set(front)
    # A chain uses each statement at most once; using one again could only move a module into itself.
    for _ in range(len(statements)):
        beyond: list[ResourceAddress] = []
        for at in front:
            steps = at.module.steps
            around = [s for depth in range(1, len(steps) + 1) for s in by_module.of(steps[:depth], None)]
            resource = at.mode, at.type, at.name
            named = [*by_resource.get((resource, at.key), ()), *by_resource.get((resource, ANY), ())]
            for s in (*sorted(named, key=_POSITION), *around):
                step = address_after(s.from_, s.to, at)
                if step is None or step[0] == at:
                    continue
                to, whole, vacancy = step
                facts.add("statement_moves", s.name, str(at), str(to), whole, vacancy, source=s.span)
                vacancies.add((whole, vacancy))
                if at in origins:
                    facts.add("in_prior_state", str(at), source=StateEntry(str(at)))
                if to not in reached:
                    reached.add(to)
                    beyond.append(to)
        front = beyond
    for whole, vacancy in vacancies & present:
        facts.add("occupied", whole, vacancy, source=StateEntry(vacancy))


def _moved_state(state: State, statements: list[MoveStatement], derived: Database) -> MoveResults:
    builder = StateBuilder(state)
    stopped: dict[str, str] = {**dict(derived.sorted("move_blocked")), **dict(derived.sorted("crowded_out"))}
    moves: dict[str, Move] = {}
    by_block = {row[0] for row in derived["moved_by_block"]}
    ranks = {(origin, at): rank for origin, at, rank in derived["arrives_at"]}
    # a move from an address must come before a move to that address
    for origin, to in sorted(derived["moved"], key=lambda row: (ranks[row], sort_key(row[0]))):
        _move(builder, origin, to)
        moves[to] = Move(origin, implied=to not in by_block)
    cycles: dict[str, list[str]] = {}
    for name, representative in derived.sorted("move_cycle"):
        cycles.setdefault(representative, []).append(name)
    return MoveResults(
        builder.snapshot(),
        tuple(statements),
        moves,
        tuple(sorted(stopped.items(), key=lambda item: sort_key(item[0]))),
        tuple(tuple(names) for names in cycles.values()),
    )


# ---------------------------------------------------------------- errors


def check_targets(results: MoveResults, limits: Limits) -> list[Diagnostic]:
    """Errors for moves of which only one end is selected by -target, or an end is excluded by -exclude."""
    facts = FactBuilder(command_line("plan", limits))
    if not facts.rows("target") and not facts.rows("exclude"):
        return []
    _add_ends(facts, results)
    outside = {
        row[0] for row in evaluate(product_program("limits"), facts.build(), ["outside_limits"])["outside_limits"]
    }
    if not outside:
        return []
    option, advice = ("-target", "Add") if facts.rows("target") else ("-exclude", "Leave out")
    lines = "".join(f"\n  {option}={address}" for address in sorted(outside, key=sort_key))
    detail = (
        "Objects of the state have moved to other addresses, and the plan must include both their old and their new "
        f"addresses. {advice} these options, or plan without {option}:{lines}"
    )
    return [error("plan.move_not_targeted", "Moved resource instances excluded by targeting", detail)]


def check_moves(results: MoveResults, declared: ExpandedDeclarations, destroys: bool = False) -> list[Diagnostic]:
    """Errors in move statements, as rules/plan/move_errors.dl derives them from the expanded configuration. `destroys`:
    whether the plan destroys all objects. If so, a moved object that is still declared at its former address is not an
    error."""
    if not results.statements:
        return []
    facts = FactBuilder()
    by_name = {s.name: s for s in results.statements}
    for s in results.statements:
        facts.add("move_statement", s.name, s.position)
        for base in declared.module_instances(s.from_.base):
            from_, to = absolute(s.from_, base), absolute(s.to, base)
            facts.add("absolute_move", s.name, s.from_.kind, from_, to, source=s.span)
            if not destroys and (span := declared.declaration(s.from_.kind, parse_address(from_))) is not None:
                facts.add("declared_now", s.from_.kind, from_, source=span)
    result = evaluate(
        product_program("moves"),
        facts.build(),
        ["redundant_move", "still_declared", "second_destination", "second_source"],
    )
    return _move_errors(results, by_name, result)


def _move_errors(results: MoveResults, by_name: dict[str, MoveStatement], database: Database) -> list[Diagnostic]:
    problems: list[tuple[int, Diagnostic]] = []

    def report(statement: str, code: str, summary: str, detail: str) -> None:
        s = by_name[statement]
        problems.append((s.position, error(code, summary, detail, s.span)))

    for s, address in database.sorted("redundant_move"):
        detail = f"This statement moves {address} to the same address: delete it."
        report(s, "plan.move_redundant", "Redundant move statement", detail)
    for s, kind, from_, to in database.sorted("still_declared"):
        place = database.facts.source("declared_now", (kind, from_))
        detail = (
            f"This block moves {from_} to {to}, but {from_} is still declared at {place}. To move it, rename that "
            f"{kind} to {to}; to have both, delete this block."
        )
        report(s, "plan.move_still_declared", "Moved object still exists", detail)
    for s, from_, to, earlier, other in database.sorted("second_destination"):
        detail = (
            f"The statement at {earlier} moves {from_} to {other}, but this one moves it to {to}: an object can have "
            "only one address."
        )
        report(s, "plan.move_ambiguous", "Ambiguous move statements", detail)
    for s, from_, to, earlier, other in database.sorted("second_source"):
        detail = (
            f"The statement at {earlier} moves {other} to {to}, but this one moves {from_} to it: only one object can "
            "have this address."
        )
        report(s, "plan.move_ambiguous", "Ambiguous move statements", detail)
    if not problems:
        for cycle in results.cycles:
            lines = "".join(
                f"\n  - {s.name}: {absolute(s.from_, ModuleAddress())} to {absolute(s.to, ModuleAddress())}"
                for s in map(by_name.__getitem__, cycle)
            )
            detail = (
                f"These statements form a cycle, so the objects have no address to move to:{lines}\n\nRemove one of "
                "the statements, so that the last address is that of an object in the configuration."
            )
            problems.append((0, error("plan.move_cycle", "Cyclic dependency in move statements", detail)))
    return [d for _, d in sorted(problems, key=lambda p: p[0])]


def blocked_warning(results: MoveResults) -> list[Diagnostic]:
    """A warning about objects that could not move because their destination is occupied."""
    if not results.blocked:
        return []
    lines = "".join(f"\n  - {at} could not move to {to}" for at, to in results.blocked)
    detail = (
        f"Some objects could not be moved, because their new addresses are already in use:{lines}\n\nThey keep their "
        "addresses and will be destroyed if nothing declares them there. To keep them, resolve the conflict with the "
        "state commands first."
    )
    return [warning("plan.move_blocked", "Unresolved resource instance address changes", detail)]
