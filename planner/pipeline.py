"""The stages in order; the only module that joins them.

    text -> Config, State -> facts -> rules -> Graph -> walk -> Plan -> facts -> rules -> Graph -> walk -> State

Each stage eats what the one before gave. Nothing here decides: rules do, and the walks do what graphs say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from planner.session import Options, SchemaTable, Session, load_configuration, load_values, open_store
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors

if TYPE_CHECKING:
    from planner.config.model import Config
    from planner.datalog.fact_base import FactBase
    from planner.graph.model import Graph
    from planner.graph.why import Explanation
    from planner.plan.model import Plan, ResourceChange
    from planner.state.model import OutputState, State
    from planner.walk.hooks import Hooks

__all__ = ["Applied", "Options", "Planned", "apply", "graph", "outputs", "plan", "validate", "why"]

DESTROY_WALKS = {"plan": "plan-destroy", "apply": "destroy"}


# ---------------------------------------------------------------- loading


def load(options: Options) -> Session:
    """Configuration, variables, backend and state of a working directory."""
    session = load_configuration(options)
    if session.config is None:
        return session
    variables, problems = load_values(session)
    return load_state(evolve(session, variables=variables, diagnostics=(*session.diagnostics, *problems)))


def load_state(session: Session) -> Session:
    """The session with its backend, its store, and the state that is in it."""
    from planner.state.model import State

    options = session.options
    backend, store, problems = open_store(options, session.config, session.workspace, session.given)
    state = None
    if store is not None:
        state, more = store.read()
        problems = [*problems, *more]
        if state is None and not has_errors(more):
            state = State()
    found = (*session.diagnostics, *problems)
    return evolve(session, backend=backend, store=store, state=state, diagnostics=found)


# ---------------------------------------------------------------- graphs


def graph_facts(
    walk: str,
    session: Session,
    state: State,
    changes: Iterable[ResourceChange] = (),
    asked_about: str = "",
) -> FactBase:
    """Everything that the graph rules read for one walk."""
    from planner.datalog.fact_base import FactBuilder
    from planner.facts.from_changes import from_changes
    from planner.facts.from_command import CommandLine, from_command
    from planner.facts.from_config import from_config
    from planner.facts.from_state import from_state
    from planner.vocabulary.address import parse_target

    assert session.config is not None
    options = session.options
    facts = FactBuilder()
    targets = [parse_target(text) for text in options.targets]
    from_command(facts, walk, targets, [parse_target(text) for text in options.excludes])
    from_config(facts, session.config, SchemaTable(session.schemas))
    if walk != "validate":
        from_state(facts, state)
    from_changes(facts, changes, state, session.config)
    if asked_about:
        facts.add("asked_about", asked_about, source=CommandLine(asked_about))
    return facts.build()


def build(walk: str, session: Session, state: State, changes: Iterable[ResourceChange] = ()) -> Graph:
    """The graph of one walk, checked: a cycle or a missing provider configuration raises Failure."""
    from planner.graph.build import build_graph
    from planner.graph.problems import graph_problems

    graph = build_graph(graph_facts(walk, session, state, changes))
    problems = graph_problems(graph)
    if has_errors(problems):
        raise Failure(problems)
    return graph
