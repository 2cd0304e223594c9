"""Finds the sources of the facts behind a decision: places in the configuration, entries of the state, or options on
the command line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from planner.engine.evaluation.conditions import path_name
from planner.engine.evaluation.ignore import reference_path
from planner.foundation.values.paths import marked_paths
from planner.foundation.vocabulary.address import format_resource, parse_module, parse_resource_instance
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config, ResourceDecl
from planner.language.config.statements import import_blocks, removed_blocks
from planner.language.syntax.body import BodySchema
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.facts.from_config import removed_statements
from planner.logic.facts.from_state import add_instance, declaration
from planner.logic.model.graph import CommandLine, StateEntry
from planner.logic.model.plan import Plan, ResourceChange
from planner.logic.programs.rule_programs import product_program

_OPTIONS = {
    "destroy": "-destroy",
    "refresh_only": "-refresh-only",
    "offline": "-offline",
    "minimal_refresh": "-minimal-refresh",
}


@cache
def _source_kinds() -> dict[str, str]:
    """{predicate of a fact: kind of its source}, from the facts `fact_source` in the rule files."""
    rows = evaluate(product_program("decisions"), FactBuilder().build(), ["fact_source"])["fact_source"]
    return {str(predicate): str(source) for predicate, source in rows}


def decision_source(plan: Plan, config: Config, change: ResourceChange, predicate: str, columns: Sequence[Any]) -> Any:
    """The source of one fact about a change."""
    kind = _source_kinds().get(predicate, "block")
    if kind == "replace":
        return CommandLine(f"-replace={change.address}")
    if kind in _OPTIONS:
        return CommandLine(_OPTIONS[kind])
    if kind == "removed":
        return _removed_block(config, change)
    decl = resource_block(config, change)
    if decl is None or (kind == "state" and change.importing is None):
        return StateEntry(change.address)
    return _place(config, decl, change, kind, columns) or declaration(config, change)


def output_source(config: Config, name: str, predicate: str) -> Any:
    kind = _source_kinds().get(predicate, "block")
    if kind in _OPTIONS:
        return CommandLine(_OPTIONS[kind])
    decl = config.root.outputs.get(name)
    return StateEntry(f"output.{name}") if decl is None or kind == "state" else decl.span


def _place(
    config: Config, decl: ResourceDecl, change: ResourceChange, kind: str, columns: Sequence[Any]
) -> Span | None:
    """The span of the part of the configuration to which a fact refers; None for the whole resource block."""
    if kind == "argument":
        return _attribute(decl, change, str(columns[0]))
    if kind == "trigger":
        elements = (e.span for e in decl.lifecycle.replace_triggered_by if e.span.text == columns[0])
        return next(elements, None)
    if kind == "action_trigger":
        return decl.lifecycle.action_triggers[int(columns[0])].span
    if kind == "ignored":
        ignored = decl.lifecycle.ignore_changes
        references = () if ignored == "all" else ignored
        named = (r.span for r in references if path_name(reference_path(r)) == columns[0])
        return next(named, decl.lifecycle.span)
    if kind == "repetition":
        expr = decl.count or decl.for_each or decl.enabled
        return expr.span if expr is not None else None
    if kind == "import":
        target = parse_resource_instance(change.address).config
        imports = [block for _, address, block in import_blocks(config) if address == target]
        keyed = [b for b in imports if b.instance is not None and b.instance.key == change.key]
        return next((block.to.span for block in keyed or imports), None)
    return decl.lifecycle.span if kind == "lifecycle" else None


def resource_block(config: Config, change: ResourceChange) -> ResourceDecl | None:
    module = config.root.descendant(parse_module(change.module).path)
    key = format_resource("", change.mode, change.type, change.name)
    return module.resources.get(key) if module is not None else None


def _attribute(decl: ResourceDecl, change: ResourceChange, path: str) -> Span | None:
    """The span of the argument at a path; None if there is no such argument, or if its source could show a sensitive
    value."""
    name = path.split(".")[0].split("[")[0]
    for value in (change.before, change.after):
        if any(mark for at, mark in marked_paths(value) if not at or at[0][1] == name):
            return None
    content, _ = decl.body.partial_content(BodySchema({name: False}))
    entry = content.attributes.get(name)
    return entry.span if entry is not None else None


def _removed_block(config: Config, change: ResourceChange) -> Any:
    """The `removed` block that causes an object to be forgotten or destroyed, as rules/graph/removals.dl derives it."""
    facts = FactBuilder()
    entry = StateEntry(change.address)
    add_instance(facts, change.module, change.mode, change.type, change.name, change.key, entry)
    removed_statements(facts, config)
    blocks = removed_blocks(config)
    counts = evaluate(product_program("removals"), facts.build(), ["removed_by"])["removed_by"]
    return next((blocks[position][1].span for _, position, _ in counts), entry)
