"""Builds the graphs of walks: converts the configuration, the state and the changes to facts, from which the rules
derive a graph."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from planner.foundation.support.trace import as_step
from planner.foundation.values.schema import BlockSchema
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.diagnostic import Failure, has_errors
from planner.foundation.vocabulary.limits import UNLIMITED, Limits, Walk, walk_of
from planner.logic.model.plan import Plan, ResourceChange
from planner.operations.load import Loaded
from planner.world.state.model import State

if TYPE_CHECKING:
    from planner.engine.evaluation.schemas import Schemas
    from planner.logic.datalog.engine.fact_base import FactBase
    from planner.logic.model.graph import Graph
    from planner.world.provider.interface import AttributeDiagnostic


def graph_facts(
    walk: Walk,
    loaded: Loaded[Any],
    state: State,
    limits: Limits = UNLIMITED,
    changes: Iterable[ResourceChange] = (),
    queried_address: str | None = None,
    imports: bool = True,
) -> FactBase:
    """The facts from which the graph of a walk is derived. `imports`: whether to include import blocks."""
    from planner.logic.datalog.engine.fact_base import FactBuilder
    from planner.logic.facts.from_config import from_command
    from planner.logic.facts.from_state import from_changes
    from planner.logic.model.graph import CommandLine

    known = _declarations(loaded, imports)
    if walk != "validate":
        known = _with_state(loaded, known, state, imports)
    facts = FactBuilder(known)
    from_command(facts, walk, limits)
    from_changes(facts, changes, state, loaded.config)
    if queried_address is not None:
        facts.add("queried_address", queried_address, source=CommandLine(queried_address))
    return facts.build()


def _declarations(loaded: Loaded[Any], imports: bool) -> FactBase:
    """The facts about the configuration. They are built only once for each command."""
    from planner.logic.datalog.engine.fact_base import FactBuilder
    from planner.logic.facts.from_config import from_config

    made = loaded.derived.declared
    if imports not in made:
        facts = FactBuilder()
        from_config(facts, loaded.config, SchemaTable(loaded.schemas), imports)
        made[imports] = facts.build()
    return made[imports]


def configuration_facts(loaded: Loaded[Any]) -> FactBase:
    """The facts about declarations and references in the configuration, including import blocks."""
    return _declarations(loaded, True)


def _with_state(loaded: Loaded[Any], declared: FactBase, state: State, imports: bool) -> FactBase:
    """The facts `declared` and the facts about a state. They are cached for the next graph with the same state."""
    from planner.logic.datalog.engine.fact_base import FactBuilder
    from planner.logic.facts.from_state import from_state

    made = loaded.derived.with_state
    if imports not in made or made[imports][0] is not state:
        facts = FactBuilder(declared)
        from_state(facts, state)
        made[imports] = state, facts.build()
    return made[imports][1]


def build(walk: Walk, loaded: Loaded[Any], state: State, limits: Limits = UNLIMITED, shown_edges: int = 0) -> Graph:
    """The graph of a walk. `shown_edges`: if the graph is also needed for a page, the maximum number of edges for which
    implied edges are shown; otherwise 0. Raises Failure if the graph cannot be walked, for example because of a
    cycle."""
    facts = graph_facts(walk, loaded, state, limits)
    if not shown_edges:
        return walkable(facts, loaded)
    facts = shown_facts(facts, shown_edges)
    return walkable(facts, loaded, relations_to_show(facts, loaded))


def shown_facts(facts: FactBase, most: int) -> FactBase:
    """The facts with one more fact for a page, which shows implied edges only if there are at most `most` edges."""
    from planner.logic.datalog.engine.fact_base import FactBuilder

    builder = FactBuilder(facts)
    builder.add("most_shown_edges", most)
    return builder.build()


def relations_to_show(facts: FactBase, loaded: Loaded[Any]) -> tuple[str, ...]:
    """The relations that a page reads."""
    from planner.logic.graph.build import graph_program
    from planner.logic.graph.edge_sources import relations_for_grounds

    return relations_for_grounds(graph_program(loaded.rules), facts)


def walkable(facts: FactBase, loaded: Loaded[Any], more: tuple[str, ...] = ()) -> Graph:
    """The graph that is derived from these facts, with the additional relations `more` in its database. Raises Failure
    if the graph cannot be walked."""
    from planner.logic.graph.build import build_graph, graph_problems

    graph = build_graph(facts, own=loaded.rules, more=more)
    problems = graph_problems(graph, edited_since_commit(loaded.options.directory))
    if has_errors(problems):
        raise Failure(problems)
    return graph


def apply_facts(plan: Plan, loaded: Loaded[Any], queried_address: str | None = None) -> FactBase:
    """The facts for the graph of an apply. The plan must have been made from `loaded`."""
    return graph_facts(
        walk_of("apply", plan.mode), loaded, plan.prior_state, plan.limits, plan.changes, queried_address
    )


def planning_facts(plan: Plan, loaded: Loaded[Any], queried_address: str | None = None) -> FactBase:
    """The facts for the graph from which an existing plan was made. The plan must have been made from `loaded`."""
    from planner.logic.datalog.engine.fact_base import FactBuilder
    from planner.logic.facts.from_state import from_deferral

    limits = plan.limits.including(block for block, _, _ in plan.deferred)
    facts = graph_facts(walk_of("plan", plan.mode), loaded, plan.prior_state, limits, (), queried_address)
    if plan.deferred:
        more = FactBuilder(facts)
        from_deferral(more, plan, loaded.config)
        facts = more.build()
    return facts


@as_step("order apply")
def apply_graph(plan: Plan, loaded: Loaded[Any]) -> Graph:
    """The graph of an apply. If it was already built while planning, that graph is returned. Raises Failure if the
    graph cannot be walked."""
    checked = loaded.derived.apply_graph
    if checked is None or checked[0] is not plan.changes:
        checked = loaded.derived.apply_graph = plan.changes, walkable(apply_facts(plan, loaded), loaded)
    return checked[1]


# schemas in the form that facts and validation need


class SchemaTable:
    """The schemas of providers and provisioners, as facts and validation need them. The schema of an unknown provider
    or type is None, because validation reports such problems."""

    def __init__(self, schemas: Schemas) -> None:
        self.schemas = schemas

    def resource_schema(self, provider: str, mode: str, type: str) -> BlockSchema | None:
        try:
            schema = self.schemas.resource(provider, mode, type)
        except Failure:
            return None
        return schema.block if schema else None

    def provider_schema(self, provider: str) -> BlockSchema | None:
        try:
            return self.schemas.schema(provider).provider
        except Failure:
            return None

    def provider_functions(self, provider: str) -> tuple[Collection[str], bool] | None:
        try:
            schema = self.schemas.schema(provider)
        except Failure:
            return None
        return schema.functions, schema.functions_are_all

    def provisioner_schema(self, type: str) -> BlockSchema | None:
        from planner.engine.apply.provisioners import provisioner_schema

        return provisioner_schema(type)

    def provisioner_problems(self, type: str, config: Value | None) -> list[AttributeDiagnostic]:
        from planner.engine.apply.provisioners import validate_provisioner

        return validate_provisioner(type, config)

    def connection_problems(self, type: str, connection: Value) -> list[AttributeDiagnostic]:
        from planner.engine.apply.provisioners import validate_connection

        return validate_connection(type, connection)


# Lines of files that differ from the last commit

_DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--no-color", "-U0", "HEAD", "--")
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def edited_since_commit(directory: str) -> Callable[[dict[str, Any]], bool]:
    """A function that returns whether the line of a source (as in proofs) differs from the last commit. The function
    returns False outside of a repository, and for an untracked file. Git is run only once for each file."""

    @cache
    def lines(file: str) -> frozenset[int]:
        from planner.world.git.revisions import GitError, run

        try:
            text, _ = run(directory, [*_DIFF, file])
        except (GitError, Failure):
            return frozenset()
        hunks = ((int(hunk[1]), int(hunk[2] or 1)) for hunk in _HUNK.finditer(text))
        return frozenset(line for start, number in hunks for line in range(start, start + number))

    return lambda source: "line" in source and source["line"] in lines(str(source["file"]))
