"""The stages in order; the only module that joins them.

    text -> Config, State -> facts -> rules -> Graph -> walk -> Plan -> facts -> rules -> Graph -> walk -> State

Each stage eats what the one before gave. Nothing here decides: rules do, and the walks do what graphs say.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from planner.questions import Answers, graph, query, why
from planner.session import Options, SchemaTable, Session, load_configuration, load_values, open_store
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors

if TYPE_CHECKING:
    from planner.datalog.fact_base import FactBase
    from planner.graph.model import Graph
    from planner.plan.model import Plan, ResourceChange
    from planner.state.model import OutputState, State
    from planner.walk.hooks import Hooks

__all__ = [
    "Answers",
    "Applied",
    "Counts",
    "Options",
    "Planned",
    "Shown",
    "apply",
    "console_scope",
    "get",
    "graph",
    "init",
    "outputs",
    "plan",
    "plan_json",
    "query",
    "save_plan",
    "show",
    "state_json",
    "validate",
    "why",
]

DESTROY_WALKS = {"plan": "plan-destroy", "apply": "destroy"}


@frozen(eq=False)
class Planned:
    """A plan (None when there is not even a failed one), what it was made from, and what there is to say."""

    plan: Plan | None
    session: Session
    diagnostics: tuple[Diagnostic, ...] = ()


@frozen(eq=False)
class Counts:
    """How many objects were created, changed, destroyed, imported and forgotten."""

    add: int = 0
    change: int = 0
    remove: int = 0
    imports: int = 0
    forget: int = 0


@frozen(eq=False)
class Applied:
    """The state after an apply, as far as it came."""

    state: State | None
    counts: Counts = field(factory=Counts)
    diagnostics: tuple[Diagnostic, ...] = ()


@frozen(eq=False)
class Shown:
    """What `show` reads: a plan, or a state (None: there is none yet)."""

    session: Session
    plan: Plan | None = None
    state: State | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


# ---------------------------------------------------------------- loading


def load(options: Options) -> Session:
    """Configuration, variables, backend and state of a working directory."""
    session = load_configuration(options)
    if session.config is None:
        return session
    variables, problems = load_values(session)
    return load_state(evolve(session, variables=variables, diagnostics=(*session.diagnostics, *problems)))


def load_for_graph(options: Options) -> Session:
    """Like load, but values of variables are not needed."""
    session = load_configuration(options)
    return session if session.config is None else load_state(session)


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
    imports: bool = True,
) -> FactBase:
    """Everything that the graph rules read for one walk. `imports`: import blocks count."""
    from planner.datalog.fact_base import FactBuilder
    from planner.facts.from_changes import from_changes
    from planner.facts.from_command import CommandLine, from_command
    from planner.facts.from_config import from_config
    from planner.facts.from_state import from_state
    from planner.vocabulary.address import parse_target

    assert session.config is not None
    options = session.options
    facts = FactBuilder()
    targets, excludes = ([parse_target(text) for text in given] for given in (options.targets, options.excludes))
    from_command(facts, walk, targets, excludes)
    from_config(facts, session.config, SchemaTable(session.schemas), imports)
    if walk != "validate":
        from_state(facts, state)
    from_changes(facts, changes, state, session.config)
    if asked_about:
        facts.add("asked_about", asked_about, source=CommandLine(asked_about))
    return facts.build()


def build(walk: str, session: Session, state: State, changes: Iterable[ResourceChange] = ()) -> Graph:
    """The graph of one walk. Raises Failure when it cannot be walked."""
    from planner.graph.build import build_graph
    from planner.graph.problems import graph_problems

    graph = build_graph(graph_facts(walk, session, state, changes))
    problems = graph_problems(graph)
    if has_errors(problems):
        raise Failure(problems)
    return graph


# ---------------------------------------------------------------- validate


def validate(options: Options) -> list[Diagnostic]:
    """Everything that is wrong with the configuration by itself."""
    from planner.config.validate import validate_references
    from planner.plan.validate_walk import validate_walk
    from planner.state.model import State

    session = load_configuration(options)
    problems = list(session.diagnostics)
    if session.config is None or session.failed:
        return problems
    problems += validate_references(session.config, SchemaTable(session.schemas))
    if has_errors(problems):
        return problems
    try:
        graph = build("validate", session, State())
    except Failure as failure:
        return [*problems, *failure.diagnostics]
    return problems + list(validate_walk(graph, session.config, session.schemas, session.workspace))


# ---------------------------------------------------------------- plan


def plan(options: Options, hooks: Hooks) -> Planned:
    """Compare configuration, state and real objects, and decide what to do."""
    session = load_configuration(options)
    if session.config is None or session.failed:
        return Planned(None, session, session.diagnostics)
    problems = list(session.diagnostics)
    return Planned(None, session, tuple(problems))
