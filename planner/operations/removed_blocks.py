"""Determines the former places of removed blocks whose objects a plan destroys."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from planner.answers.explain.former_world import FormerWorld, FormerWorldsOf
from planner.foundation.vocabulary.address import parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Source
from planner.language.syntax.body import Block
from planner.language.syntax.parse import FileBody, parse_config
from planner.logic.model.plan import ResourceChange
from planner.operations.plan import MadePlan
from planner.world.git.revisions import GitError, implied_base
from planner.world.git.tree import GitTree, git_tree

REMOVED = {"delete_because_no_resource_config": False, "delete_because_no_module": True}
"""{`action_reason` of objects whose block was removed: whether the removed block is a module call}"""


@frozen
class RemovedBlock:
    """The former place of a removed block. `commit`: a commit that contains the block at this place. If no such commit
    is known, `commit` is "" and `line` is 0."""

    file: str
    line: int
    commit: str


def removed_blocks(made: MadePlan[Any], worlds: FormerWorldsOf) -> Mapping[str, RemovedBlock]:
    """{address: former place of the block} for the objects that the plan destroys because their block was removed.
    Objects whose former configuration is unknown are omitted. The place is in the revision with which the plan is
    compared, otherwise in the revision of `implied_base`. If there is neither, only the name of the file at the last
    apply is known."""
    result: dict[str, RemovedBlock] = {}
    bodies: dict[str, FileBody | None] = {}
    base: GitTree | None = None
    for change in made.plan.changes:
        world = worlds.of(change) if change.reason in REMOVED else None
        block = _block(made, world, change) if world is not None else None
        if world is None or block is None:
            continue
        name = block.source.filename
        if not bodies:
            base = world.tree if isinstance(world.tree, GitTree) else _base(made.loaded.options.directory)
        if name not in bodies:  # a recorded file has no comments, so its line numbers differ
            bodies[name] = _body(base, made.loaded.options.directory, name) if base is not None else None
        former = _same(bodies[name], block)
        result[change.address] = (
            RemovedBlock(name, former.span.start_position.line, base.commit)
            if base is not None and former is not None
            else RemovedBlock(name, 0, "")
        )
    return result


def _block(made: MadePlan[Any], world: FormerWorld, change: ResourceChange) -> Block | None:
    """The former block of an object, or the outermost removed module call around the object; None if the former
    configuration has neither."""
    address = parse_resource_instance(change.previous_address or change.address)
    module, present = world.context.config.root, made.loaded.config.root
    for name in address.module.path:
        if name not in module.calls or name not in module.children:
            return None
        if name not in present.calls or name not in present.children:
            return module.calls[name].block
        module, present = module.children[name], present.children[name]
    decl = module.resources.get(address.resource.relative)
    return decl.block if decl is not None else None


def _base(directory: str) -> GitTree | None:
    """The files at the revision with which plans are compared if no inputs are recorded. This is the base of a pull
    request, or HEAD if files differ from it. None if there is no such revision, or if it cannot be read."""
    try:
        base = implied_base(os.environ, directory)
        return git_tree(directory, base.commit) if base is not None and base.commit else None
    except (Failure, GitError):
        return None


def _body(tree: GitTree, directory: str, name: str) -> FileBody | None:
    """The parsed content of a file at a commit; None if the commit does not contain the file, or if the file has JSON
    syntax."""
    path = os.path.relpath(os.path.realpath(os.path.join(directory, name)), os.path.realpath(tree.root))
    if name.endswith(".json"):
        return None
    try:
        return parse_config(Source(name, tree.read(path).decode()))[0]
    except (OSError, GitError, Failure, UnicodeDecodeError):
        return None


def _same(body: FileBody | None, block: Block) -> Block | None:
    """The block of a file with the same type and labels as `block`; None if there is none."""

    def header(one: Block) -> tuple[str, ...]:
        return one.type, *(label.value for label in one.labels)

    blocks = body.blocks if body is not None else ()
    return next((one for one in blocks if header(one) == header(block)), None)
