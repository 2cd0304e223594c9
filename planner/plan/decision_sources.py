"""Where the facts of a decision come from: the argument that says so, the state, or the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.config.model import Config, ResourceDecl
from planner.config.statements import removed_blocks
from planner.datalog.engine.evaluate import evaluate
from planner.datalog.engine.fact_base import FactBuilder
from planner.facts.from_changes import declaration
from planner.facts.from_config import removed_statements
from planner.facts.from_state import add_instance
from planner.model.plan import Plan, ResourceChange
from planner.model.sources import CommandLine, StateEntry
from planner.programs.rule_programs import removal_program
from planner.syntax.body import BodySchema
from planner.values.paths import marked_paths
from planner.vocabulary.address import format_resource, parse_module
from planner.vocabulary.span import Span

_IN_STATE = frozenset(
    ("exists", "tainted", "orphaned", "deposed_object", "kept_by_state", "key_kind", "module_undeclared")
)
_ATTRIBUTES = frozenset(("differs", "requires_replace", "config_unknown", "write_only_replace"))


def decision_source(plan: Plan, config: Config, change: ResourceChange, predicate: str, columns: Sequence[Any]) -> Any:
    """The source of one fact about a change."""
    if predicate == "replace_requested":
        return CommandLine(f"-replace={change.address}")
    if predicate == "destroy_requested":
        return CommandLine("-destroy")
    block = declaration(config, change)
    if block is None or (predicate in _IN_STATE and change.importing is None):
        return _removal(config, change) if predicate == "removal" else StateEntry(change.address)
    decl = declared(config, change)
    assert decl is not None
    if predicate in _ATTRIBUTES:
        return _attribute(decl, change, str(columns[0])) or block
    if predicate in ("watched", "triggered"):
        found = (e.span for e in decl.lifecycle.replace_triggered_by if e.span.text == columns[0])
        return next(found, block)
    if predicate == "repetition":
        expr = decl.count or decl.for_each or decl.enabled
        return expr.span if expr is not None else block
    if predicate in ("created_first", "prevents_destroy", "kept_by_configuration"):
        return decl.lifecycle.span or block
    return _removal(config, change) if predicate == "removal" else block


def declared(config: Config, change: ResourceChange) -> ResourceDecl | None:
    """The resource block of a change."""
    module = config.root.descendant(parse_module(change.module).path)
    key = format_resource("", change.mode, change.type, change.name)
    return module.resources.get(key) if module is not None else None


def _attribute(decl: ResourceDecl, change: ResourceChange, path: str) -> Span | None:
    """The argument, unless its line could show something sensitive."""
    name = path.split(".")[0].split("[")[0]
    for value in (change.before, change.after):
        if any(mark for at, mark in marked_paths(value) if not at or at[0][1] == name):
            return None
    content, _ = decl.body.partial_content(BodySchema({name: False}))
    found = content.attributes.get(name)
    return found.span if found is not None else None


def _removal(config: Config, change: ResourceChange) -> Any:
    """The removed block that counts for a change, as rules/graph/removals.dl derives it."""
    facts = FactBuilder()
    entry = StateEntry(change.address)
    add_instance(facts, change.module, change.mode, change.type, change.name, change.key, entry)
    removed_statements(facts, config)
    blocks = removed_blocks(config)
    counts = evaluate(removal_program(), facts.build(), ["removed_by"])["removed_by"]
    return next((blocks[position][1].span for _, position, _ in counts), entry)
