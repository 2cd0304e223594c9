"""Implements `planner suggest`: advice about a plan before it is applied."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import Any

from planner.answers.explain.renames import (
    have_similar_keys,
    index_shifts,
    proposed_moves,
    renamed_wholes,
    same_objects,
    values_in_common,
    wholes,
)
from planner.engine.plan.moves import follow_moves
from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.address import format_key, parse_resource_instance, sort_key
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.language.config.model import Config
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.graph.build import build_graph
from planner.logic.model.plan import ResourceChange
from planner.logic.programs.actions import does
from planner.operations import graphs
from planner.operations.load import Derived
from planner.operations.moved_blocks import MovedBlock, moved_blocks, with_moved, write_blocks
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan, Planned, Start, plan_stored
from planner.operations.plan_files import open_or_make_plan, open_saved_plan
from planner.operations.state_access import Stored
from planner.world.state.model import State

_MOST_ROUNDS = 8
"""maximum number of plans that are made to test moved blocks; if the last plan does not confirm all
tested blocks, no blocks are proposed"""


@frozen
class Remark:
    """A remark about a plan: a row of the relation `advice`. `block`: the moved block that the remark proposes; None if
    it proposes no block."""

    code: str
    address: str
    message: str
    block: MovedBlock | None = field(default=None, eq=False)
    commands: tuple[str, ...] = ()
    """the commands that change addresses in the state so that the plan keeps the objects"""

    @property
    def json(self) -> dict[str, Any]:
        more: dict[str, Any] = {"commands": self.commands} if self.commands else {}
        if self.block is not None:
            block = self.block
            more = {"file": block.file, "from": block.from_, "to": block.to, "text": block.text}
        return {"code": self.code, "address": self.address, "message": self.message, **more}


@frozen(eq=False)
class AdviceResult:
    """The remarks about a plan. Remarks with a moved block come first; otherwise remarks are sorted by code, address
    and message. `written`: the files into which moved blocks were inserted."""

    remarks: tuple[Remark, ...] = ()
    written: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def advice(options: OperationOptions, plan_file: str | None = None, write: bool = False) -> AdviceResult:
    """Advice about a plan. If planning failed because of anything other than prevent_destroy, there are no remarks.
    `write`: whether to insert moved blocks for likely renames into the configuration files."""
    answer = open_or_make_plan(options, plan_file)
    # an object that must not be destroyed may only have been renamed: a moved block is the remedy
    is_prevented = all(d.code == "plan.destroy_prevented" for d in answer.diagnostics if d.is_error)
    made = answer.made if is_prevented else None
    if made is None:
        return AdviceResult(diagnostics=answer.diagnostics)
    tried = try_blocks(options, made, plan_file)
    facts = FactBuilder(graphs.apply_facts(made.plan, made.loaded))
    of_moves = {old for trial in tried for names in (trial.kept, trial.updated, trial.replaced) for old in names}
    for whole, objects in renamed_wholes(same_objects(made.plan)).items():
        facts.add("announced_rename", *whole)
        if any(old in of_moves for old, _ in objects):
            facts.add("tried_rename", whole[1])
    for trial in tried:
        kept, updated, replaced = map(len, (trial.kept, trial.updated, trial.replaced))
        first = trial.block.moves[0]
        facts.add("tried_move", first.from_, first.to, trial.block.file, kept, updated, replaced)
        for old in trial.kept:
            facts.add("kept_by_move", old)
        if all(have_similar_keys(move.from_, move.to) for move in trial.block.moves):
            facts.add("similar_keys", first.to)
        if not kept:
            facts.add("moved_values", first.to, *values_in_common(made.plan, trial.block.pairs))
    start = _start(options, made, plan_file) if (shifts := index_shifts(made.plan)) else None
    commands: dict[str, tuple[str, ...]] = {}
    for resource, moves in shifts.items():
        steps = _steps(resource, moves, made.plan.prior_state)
        if start is not None and _is_kept(start, follow_moves(made.plan.prior_state, steps), moves):
            facts.add("tried_shift", resource, len(moves), *min(moves.items(), key=lambda pair: sort_key(pair[0])))
            commands[resource] = tuple(f"planner state mv {quote(old)} {quote(new)}" for old, new in steps)
    built = build_graph(facts.build(), own=made.loaded.rules, more=("advice",))
    blocks = {trial.block.moves[0].to: trial.block for trial in tried}
    remarks = [
        Remark(
            code,
            address,
            message,
            blocks.get(address) if code in ("likely_rename", "possible_rename") else None,
            commands.get(address, ()) if code == "index_shift" else (),
        )
        for code, address, message in sorted(built.database["advice"])
    ]
    remarks.sort(key=lambda remark: remark.block is None)  # moved blocks may make other advice unnecessary
    chosen = [r.block for r in remarks if r.block is not None and r.code == "likely_rename"]
    if not write or not chosen:
        return AdviceResult(tuple(remarks), (), answer.diagnostics)
    written, problems = write_blocks(chosen, made.loaded.config, options.directory)
    return AdviceResult(tuple(remarks), tuple(written), (*answer.diagnostics, *problems))


# ---------------------------------------------------------------- moved blocks, tried


@frozen(eq=False)
class TriedBlock:
    """A moved block that was tried in a plan. `kept`, `updated` and `replaced`: the former addresses of the block's
    objects that the plan leaves unchanged, updates or replaces."""

    block: MovedBlock
    kept: tuple[str, ...]
    updated: tuple[str, ...]
    replaced: tuple[str, ...]


def try_blocks(options: OperationOptions, made: MadePlan[Any], plan_file: str | None) -> list[TriedBlock]:
    """Moved blocks for objects that look renamed, each with its effects according to a plan with the blocks. Moves that
    are invalid, or that would replace objects, are omitted. Blocks that leave no object unchanged come last. The plan
    that tested the other blocks did not contain these."""
    if not (moves := proposed_moves(made.plan, made.loaded.config)):
        return []
    start = _start(options, made, plan_file)
    if start is None:
        return []
    config = made.loaded.config
    refused: set[tuple[str, str]] = set()
    updating: list[TriedBlock] = []
    others: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        blocks = moved_blocks([move for move in moves if move.to not in others], config, made.plan.prior_state)
        tried, wrong = _plan_with(start, made, blocks)
        if wrong:
            refused.update(wrong)
            moves = proposed_moves(made.plan, config, refused)
            updating, others = [], set()
            continue
        keeping = [block for block in tried if block.kept]
        if len(keeping) == len(tried):
            return [*keeping, *updating]
        # try again without these moves, because other moves may depend on them
        updating += [trial for trial in tried if not trial.kept]
        others = {move.to for trial in updating for move in trial.block.moves}
    return []


def _start(options: OperationOptions, made: MadePlan[Any], plan_file: str | None) -> MadePlan[Start] | None:
    if isinstance(made.loaded, Stored):
        return made
    return open_saved_plan(options, plan_file).complete if plan_file is not None else None


def _plan_with(
    start: MadePlan[Start], made: MadePlan[Any], blocks: list[MovedBlock]
) -> tuple[list[TriedBlock], list[tuple[str, str]]]:
    """Plan with these moved blocks. Returns the blocks with their effects ([] if the plan fails), and the (old, new)
    addresses of moves that are invalid or replace objects."""
    config, spans = with_moved(start.loaded.config, blocks)
    planned = _plan_again(start, config, made.plan.prior_state)
    if planned.complete is None:
        named = [spans[d.subject] for d in planned.diagnostics if d.is_error and d.subject in spans]
        wrong = named or blocks
        return [], [pair for block in wrong for pair in block.pairs]
    moved: dict[str, ResourceChange] = {}
    by_whole: dict[tuple[str, str], list[ResourceChange]] = {}
    for change in planned.complete.plan.changes:
        if change.mode == "managed" and not change.deposed and change.previous_address != change.address:
            moved[change.address] = change
            ends = (wholes(parse_resource_instance(name)) for name in (change.previous_address, change.address))
            for (old, height, rest), (new, other, end) in zip(*map(list, ends), strict=False):
                if (height, rest) == (other, end):
                    by_whole.setdefault((old, new), []).append(change)
    tried, refused = [], []
    for block in blocks:
        groups: dict[str, set[str]] = {"kept": set(), "updated": set(), "replaced": set()}
        for move in block.moves:
            for change in by_whole.get((move.from_, move.to), ()):
                groups[_effect(change)].add(change.previous_address)
            refused += [
                (old, new)
                for old, new in move.carried
                if new not in moved or moved[new].previous_address != old or _effect(moved[new]) == "replaced"
            ]
        tried.append(TriedBlock(block, *(tuple(sorted(groups[name])) for name in ("kept", "updated", "replaced"))))
    return tried, refused


def _plan_again(start: MadePlan[Start], config: Config, state: State) -> Planned[Start]:
    """Plan with a different configuration or state, without reading the real objects again."""
    options = evolve(start.loaded.options, refresh=False, lock=False, keeps_values=False)
    loaded = evolve(start.loaded, config=config, state=state, options=options, derived=Derived())
    try:
        return plan_stored(loaded, start.variables, Hooks())
    finally:
        loaded.schemas.close()


def _effect(change: ResourceChange) -> str:
    if change.action == "no-op":
        return "kept"
    return "replaced" if does(change.action, "replaces") or does(change.action, "ends") else "updated"


# ---------------------------------------------------------------- indexes of count


def _is_kept(start: MadePlan[Start], state: State, moves: Mapping[str, str]) -> bool:
    """Whether a plan with the state `state`, to which the moves were applied, leaves all moved objects unchanged.
    `moves`: {former address: new address}."""
    planned = _plan_again(start, start.loaded.config, state)
    if planned.complete is None:
        return False
    actions = {c.address: c.action for c in planned.complete.plan.changes if not c.deposed}
    return all(actions.get(new, "") == "no-op" for new in moves.values())


def _steps(resource: str, moves: Mapping[str, str], state: State) -> list[tuple[str, str]]:
    """The moves as a sequence (former address, new address) in which each new address is free at that time. An object
    that occupies the new address of another object, and is not itself in `moves`, moves to an address that becomes
    free. If moves form a cycle, one object first moves to a temporary index."""
    known = {f"{resource}{format_key(key)}" for key in state.resources[resource].instances}
    left = dict(moves)
    in_the_way = sorted((known & set(moves.values())) - moves.keys(), key=sort_key)
    free = sorted(moves.keys() - set(moves.values()), key=sort_key)
    left.update(zip(in_the_way, free, strict=False))
    behind = 1 + max(key for key in state.resources[resource].instances if isinstance(key, int))
    steps: list[tuple[str, str]] = []
    while left:
        old = next((old for old in sorted(left, key=sort_key) if left[old] not in known), "")
        to = left.pop(old) if old else f"{resource}[{behind}]"
        if not old:  # a cycle: the first object moves to a temporary index
            old = min(left, key=sort_key)
            left[to] = left.pop(old)
            behind += 1
        steps.append((old, to))
        known = (known - {old}) | {to}
    return steps
