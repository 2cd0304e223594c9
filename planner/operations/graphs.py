"""The graphs of walks: from configuration, state and changes to facts, and by the rules from facts to a graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from attrs import evolve

from planner.operations.session import SchemaTable, Session
from planner.vocabulary.diagnostic import Failure, has_errors

if TYPE_CHECKING:
    from planner.datalog.engine.fact_base import FactBase
    from planner.model.graph import Graph
    from planner.model.plan import Plan, ResourceChange
    from planner.state.model import State
    from planner.vocabulary.address import Address

DESTROY_WALKS = {"plan": "plan-destroy", "apply": "destroy"}
"""what a walk is called that destroys everything"""


def graph_facts(
    walk: str,
    session: Session,
    state: State,
    changes: Iterable[ResourceChange] = (),
    asked_about: Iterable[str] = (),
    imports: bool = True,
) -> FactBase:
    """Everything that the graph rules read for one walk. `imports`: import blocks count."""
    from planner.datalog.engine.fact_base import FactBuilder
    from planner.facts.from_changes import from_changes
    from planner.facts.from_command import from_command
    from planner.facts.from_config import from_config
    from planner.facts.from_state import from_state
    from planner.model.sources import CommandLine
    from planner.vocabulary.address import parse_target

    assert session.config is not None
    options = session.options
    known = session.memory.get(("facts", imports))
    if known is None:
        declared = FactBuilder()
        from_config(declared, session.config, SchemaTable(session.schemas), imports)
        known = session.memory["facts", imports] = declared.build()
    if walk != "validate":
        of, with_state = session.memory.get(("facts of a state", imports), (None, None))
        if of is not state:
            recorded = FactBuilder(known)
            from_state(recorded, state)
            with_state = recorded.build()
            session.memory["facts of a state", imports] = state, with_state
        known = with_state
    facts = FactBuilder(known)
    targets, excludes = ([parse_target(text) for text in given] for given in (options.targets, options.excludes))
    from_command(facts, walk, targets, excludes, _replacements(options.replace) if options.replace else ())
    from_changes(facts, changes, state, session.config)
    for node in asked_about:
        facts.add("asked_about", node, source=CommandLine(node))
    return facts.build()


def _replacements(given: Iterable[str]) -> list[Address]:
    from planner.plan.targets import addresses

    return addresses(given)


def build(walk: str, session: Session, state: State, changes: Iterable[ResourceChange] = ()) -> Graph:
    """The graph of one walk. Raises Failure when it cannot be walked."""
    return walkable(graph_facts(walk, session, state, changes), session)


def walkable(facts: FactBase, session: Session) -> Graph:
    """The graph that the rules derive from facts. Raises Failure when it cannot be walked."""
    from planner.graph.build import build_graph
    from planner.graph.problems import graph_problems

    graph = build_graph(facts, own=session.rules)
    problems = graph_problems(graph)
    if has_errors(problems):
        raise Failure(problems)
    return graph


def remembered(session: Session, graph: Graph) -> Graph:
    """The graph, kept for policies that ask about it."""
    if session.options.policies:
        session.memory["graph of the plan"] = graph
    return graph


def apply_facts(plan: Plan, session: Session, asked_about: Iterable[str] = ()) -> FactBase:
    """What the graph rules read to apply a plan; `session` is the one it was made with."""
    walk = "destroy" if plan.mode == "destroy" else "apply"
    return graph_facts(walk, session, plan.prior_state, plan.changes, asked_about)


def planning_facts(plan: Plan, session: Session, asked_about: Iterable[str] = ()) -> FactBase:
    """What the graph rules read to make a plan again that is there; `session` is the one it was made with."""
    options = evolve(session.options, targets=plan.targets, excludes=plan.excludes, replace=plan.replace)
    walk = DESTROY_WALKS["plan"] if plan.mode == "destroy" else "plan"
    return graph_facts(walk, evolve(session, options=options), plan.prior_state, (), asked_about)


def apply_graph(plan: Plan, session: Session) -> Graph:
    """The graph of applying a plan; the one that was checked while planning, if it was. Raises Failure when it cannot
    be walked."""
    checked, graph = session.memory.get("graph of applying", (None, None))
    if checked is not plan.changes or graph is None:
        graph = walkable(apply_facts(plan, session), session)
        session.memory["graph of applying"] = plan.changes, graph
    return graph  # type: ignore[no-any-return]
