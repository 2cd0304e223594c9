"""The stages in order; the only module that joins them.

    text -> Config, State -> facts -> rules -> Graph -> walk -> Plan -> facts -> rules -> Graph -> walk -> State

Each stage eats what the one before gave. Nothing here decides: rules do, and the walks do what graphs say.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from planner.graph.answers import Answers
from planner.operations.graphs import apply_graph, build, remembered
from planner.operations.prepare import get, init, lock_providers, mirror_providers
from planner.operations.query import Asked, query
from planner.operations.questions import graph, why
from planner.operations.session import (
    Options,
    SchemaTable,
    Session,
    load_configuration,
    load_values,
    missing_providers,
    open_store,
    override_warnings,
    selection_problems,
    store_of,
)
from planner.operations.shown import Shown, open_plan, outputs, plan_json, recorded_variables, show, state_json
from planner.support.disk import read_whole
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning

if TYPE_CHECKING:
    from planner.language.scope import Scope
    from planner.model.graph import Graph
    from planner.model.plan import Plan
    from planner.plan.options import PlanOptions
    from planner.policy.guard import PolicyGuard
    from planner.state.model import State
    from planner.walk.hooks import Hooks

__all__ = [
    "Answers",
    "Applied",
    "Asked",
    "Counts",
    "Options",
    "Planned",
    "Shown",
    "apply",
    "console_scope",
    "get",
    "graph",
    "init",
    "lock_providers",
    "mirror_providers",
    "open_plan",
    "outputs",
    "plan",
    "plan_json",
    "query",
    "refresh",
    "save_plan",
    "show",
    "state_json",
    "validate",
    "why",
]


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
    unsaved: bytes = b""
    """the state file to be printed, when no file took the state"""


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
    return read_state(open_backend(session))


def open_backend(session: Session) -> Session:
    """The session with its backend and its store."""
    backend, store, problems = open_store(session.options, session.config, session.workspace, session.given)
    return evolve(session, backend=backend, store=store, diagnostics=(*session.diagnostics, *problems))


def planned_backend(session: Session, made: Plan) -> Session:
    """The session with the backend that a saved plan was made with, whatever is set up now."""
    from planner.state.backends.local import open_backend

    settings = {name: value for name, value in made.backend.items() if name != "type"}
    backend, problems = open_backend(str(made.backend.get("type", "local")), settings)
    store = store_of(session.options, backend, session.workspace) if backend is not None else None
    return evolve(session, backend=backend, store=store, diagnostics=(*session.diagnostics, *problems))


def read_state(session: Session) -> Session:
    """The session with the state that is in its store."""
    from planner.state.model import State

    if session.store is None:
        return session
    state, problems = session.store.read()
    if state is None and not has_errors(problems):
        state = State()
    return evolve(session, state=state, diagnostics=(*session.diagnostics, *problems))


# ---------------------------------------------------------------- validate


def validate(options: Options) -> list[Diagnostic]:
    """Everything that is wrong with the configuration by itself."""
    session = load_configuration(options)
    if session.config is None or session.failed:
        return list(session.diagnostics)
    return [*override_warnings(session), *session.diagnostics, *validate_loaded(session)]


def validate_loaded(session: Session, graph: Graph | None = None) -> list[Diagnostic]:
    """The same of a configuration that could be loaded, without what loading said. `graph`: that of a plan without
    limits, which has every vertex that validation looks at; without it one is built."""
    from planner.config.validate import check_module_arguments
    from planner.state.model import State
    from planner.validate.walk import validate_walk

    assert session.config is not None
    problems = missing_providers(session) or list(check_module_arguments(session.config))
    if has_errors(problems):
        return problems
    unlimited = evolve(session, options=evolve(session.options, targets=(), excludes=()))
    try:
        graph = graph or build("validate", unlimited, State())
    except Failure as failure:
        return [*problems, *failure.diagnostics]
    provisioners = SchemaTable(session.schemas)
    return problems + list(validate_walk(graph, session.config, session.schemas, session.workspace, provisioners))


# ---------------------------------------------------------------- plan


def plan(options: Options, hooks: Hooks, to_apply: bool = False) -> Planned:
    """Compare configuration, state and real objects, and decide what to do. The state is locked meanwhile; `to_apply`:
    it stays locked until `release`, so that nobody can change it before the plan is applied."""
    from planner.evaluation.variables import UNFIT

    session = load_configuration(options)
    if options.generate_config_out:
        from planner.plan.generation import check_output

        problems = check_output(options.generate_config_out, options.mode)
        if problems:
            return Planned(None, session, tuple(problems))
    if session.config is None or session.failed:
        return Planned(None, session, session.diagnostics)
    if options.needs_configuration and not session.config.files and options.mode != "destroy":
        detail = "Without configuration everything would be planned to be destroyed. Use destroy if that is meant."
        return Planned(None, session, (error("plan.no_configuration", "No configuration files", detail),))
    # warnings of the root module are said by finding the backend and by loading: readers of the JSON lines expect both
    loading = (*override_warnings(session), *session.config.root_warnings)
    session = evolve(session, diagnostics=(*session.diagnostics, *selection_problems(session)))
    if session.failed:
        return Planned(None, session, (*loading, *session.diagnostics))
    session = open_backend(session)
    if session.failed or session.store is None:
        return Planned(None, session, (*loading, *session.diagnostics))
    with locked(session, "OperationTypeApply" if to_apply else "OperationTypePlan", to_apply, hooks) as problems:
        if has_errors(problems):
            return Planned(None, session, (*loading, *session.diagnostics, *problems))
        session = read_state(session)
        if session.failed:
            return Planned(None, session, (*loading, *session.diagnostics))
        variables, found = load_values(session)
        # a value that does not fit is reported by the walk, which plans everything else
        stopping = tuple(d for d in found if d.code not in UNFIT)
        session = evolve(session, variables=variables, diagnostics=(*session.diagnostics, *stopping))
        if session.failed:
            return Planned(None, session, (*loading, *session.diagnostics))
        try:
            remarks, made, found = _make_valid_plan(session, hooks)
        except Failure as failure:
            remarks, made, found = [], None, failure.diagnostics
        session.schemas.close()
    if has_errors(remarks):
        made, found = None, []
    return Planned(made, session, (*loading, *session.diagnostics, *remarks, *problems, *found))


def _make_valid_plan(session: Session, hooks: Hooks) -> tuple[list[Diagnostic], Plan | None, list[Diagnostic]]:
    """What there is to say of the configuration by itself; without errors there, the plan, and what there is to say of
    it. The graph of a plan without limits serves both, which saves a third of the time of large configurations."""
    options, found = session.options, list[list[Diagnostic]]()

    def build_graph(session: Session, walk: str, state: State) -> Graph:
        graph = build(walk, session, state)
        if not found:
            found.append(validate_loaded(session, graph))
            if has_errors(found[0]):
                raise Failure(found[0])
        return remembered(session, graph)

    if options.mode == "destroy" or options.targets or options.excludes or options.generate_config_out:
        found.append(validate_loaded(session))
        if has_errors(found[0]):
            return found[0], None, []
    made, problems = _make_plan(session, hooks, build_graph)
    if not found:  # it did not come to a graph: what is wrong by itself is the cause
        found.append(validate_loaded(session))
    return found[0], made, problems


def _make_plan(
    session: Session, hooks: Hooks, build_graph: Callable[[Session, str, State], Graph]
) -> tuple[Plan | None, list[Diagnostic]]:
    from planner.plan.planning import make_plan

    assert session.config is not None and session.state is not None
    config, state, planned_options = session.config, session.state, plan_options(session)
    out = session.options.generate_config_out
    if out:
        from planner.plan.generation import with_missing, write_generated

        config, generated, problems = with_missing(config, out)
        if problems:
            return None, problems
        session = evolve(session, config=config, memory={})
        planned_options = evolve(planned_options, generated=generated, generate_to=out)
    made, problems = make_plan(
        config,
        state,
        session.variables,
        session.schemas,
        planned_options,
        lambda walk, state: build_graph(session, walk, state),
        hooks,
    )
    if made is not None and session.rules:
        made = evolve(made, rules=session.rules)
    if made is not None and session.backend is not None:
        made = evolve(made, backend={"type": "local", **session.backend.settings})
    if made is not None and session.options.offline:
        made = evolve(made, offline=True)
    if out and made is not None:
        problems = [*problems, *write_generated(made, out)]
    if made is not None and not made.errored and not has_errors(problems) and _may_have_cycle(made):
        try:
            apply_graph(made, session)
        except Failure as failure:
            return made, problems + failure.diagnostics
    return made, problems


def refreshed_to_destroy(session: Session) -> State | None:
    """The state that a plan to destroy everything starts from: that of an ordinary plan made before. None when that
    fails."""
    from planner.plan.planning import make_plan
    from planner.walk.hooks import Hooks

    assert session.config is not None and session.state is not None
    variables, _ = load_values(session)
    ordinary = evolve(plan_options(session), mode="normal", before_destroy=True)
    made, problems = make_plan(
        session.config,
        session.state,
        variables,
        session.schemas,
        ordinary,
        lambda walk, state: build(walk, session, state),
        Hooks(),
    )
    return None if made is None or has_errors(problems) else made.prior_state


def _may_have_cycle(made: Plan) -> bool:
    """Whether the apply graph has edges that the plan graph had not in a coarser form."""
    return _reorders(frozenset((change.action, bool(change.deposed)) for change in made.changes))


@cache
def _reorders(actions: frozenset[tuple[str, bool]]) -> bool:
    """Whether these actions, on current or deposed objects, can give such edges; plans of thousands of units have few
    sets of them."""
    from planner.datalog.engine.evaluate import evaluate
    from planner.datalog.engine.fact_base import FactBuilder
    from planner.graph.build import graph_program

    facts = FactBuilder()
    for action, deposed in actions:
        facts.add("planned_deposed" if deposed else "planned", "any", *["any"] * deposed, action)
    return bool(evaluate(graph_program(), facts.build(), ["reorders"])["reorders"])


def plan_options(session: Session) -> PlanOptions:
    """The session's options as the plan walk reads them. Raises Failure."""
    from planner.operations.limits import provider_limits
    from planner.plan.options import PlanOptions
    from planner.support.signals import STOP

    options = session.options
    return PlanOptions(
        options.mode,  # type: ignore[arg-type]
        options.refresh,
        options.targets,
        options.excludes,
        options.replace,
        options.parallelism,
        session.workspace,
        stop=STOP,
        offline=options.offline,
        pending_states=options.pending_states,
        provider_limits=provider_limits(session),
    )


def planned(options: Options, plan_file: str | None = None, hooks: Hooks | None = None) -> Planned:
    """The plan in a file, or one made to be asked about: without locking the state."""
    from planner.walk.hooks import Hooks

    if plan_file is None:
        return plan(evolve(options, lock=False), hooks or Hooks())
    session, made, problems = open_plan(options, plan_file)
    return Planned(made, session, tuple(problems))


@contextmanager
def locked(
    session: Session, operation: str, keep: bool = False, hooks: Hooks | None = None
) -> Iterator[list[Diagnostic]]:
    """Hold the state's lock while something is done; what went wrong is in the list, also afterwards. `keep`: it is
    held on until `release`. A lock that is held already stays as it is."""
    from planner.support.signals import STOP

    problems: list[Diagnostic] = []
    store = session.store
    if store is None or not session.options.lock or store.lock_file.held:
        yield problems
        return

    def tell() -> None:
        if hooks is not None:
            hooks.log(f"Waiting for the state lock{store.lock_file.holder()}...")

    problems += store.lock(operation, session.options.lock_timeout, tell, STOP)
    if has_errors(problems):
        yield problems
        return
    try:
        yield problems
    except BaseException:
        store.unlock()
        raise
    if not keep:
        problems += store.unlock()


def release(planned: Planned) -> list[Diagnostic]:
    """Give back the lock that a plan to apply holds."""
    store = planned.session.store
    return store.unlock() if store is not None else []


def save_plan(planned: Planned, path: str) -> list[Diagnostic]:
    """Write the plan file, with the files of the configuration."""
    from planner.config.modules_manifest import manifest_path
    from planner.documents.plan_file import ABSOLUTE, write_plan
    from planner.state.workspace import data_directory
    from planner.values.json_codec import CodecError

    session = planned.session
    assert planned.plan is not None and session.config is not None
    directory = session.options.directory
    names = {name: os.path.join(directory, name) for name in session.config.files}
    manifest = manifest_path(directory, data_directory(os.environ))
    if os.path.exists(manifest):
        names[".terraform/modules/modules.json"] = manifest
    sources = {}
    for name, file_path in names.items():
        sources[f"{ABSOLUTE}{name}" if name.startswith("/") else name] = read_whole(file_path)
    try:
        return write_plan(path, planned.plan, sources)
    except CodecError as bad:
        detail = f"The plan cannot be saved in {path}: {bad}."
        return [error("plan.unwritable", "Failed to write plan file", detail)]


# ---------------------------------------------------------------- apply


def apply(options: Options, planned: Planned | str, hooks: Hooks) -> Applied:
    """Do what a plan says (one just made, or the one in a file). The state is saved as far as it came, whatever
    happens."""
    told: tuple[Diagnostic, ...] = ()
    if isinstance(planned, str):
        planned = saved(options, planned)
        told = planned.diagnostics
    session, made = planned.session, planned.plan
    if made is None or session.config is None or session.store is None or has_errors(planned.diagnostics):
        return Applied(None, diagnostics=planned.diagnostics)
    if made.errored:
        detail = "Planning failed, so the plan is not complete and cannot be applied."
        return Applied(None, diagnostics=(error("apply.errored_plan", "Cannot apply failed plan", detail),))
    if made.offline:
        detail = "The plan was made without asking the providers (-offline): make one with them to apply it."
        return Applied(None, diagnostics=(error("apply.offline_plan", "Cannot apply an offline plan", detail),))
    guard = None
    if made.policy is not None or session.options.judges:
        from planner.operations.policies import apply_guard

        guard, found = apply_guard(session, made)
        if guard is None:
            return Applied(None, diagnostics=tuple(found))
    with locked(session, "OperationTypeApply", hooks=hooks) as problems:
        if has_errors(problems):
            return Applied(None, diagnostics=tuple(problems))
        applied = _apply(session, made, hooks, guard)
    if guard is not None and applied.state is not None:
        outputs = {} if has_errors(applied.diagnostics) else applied.state.outputs  # else they may be those of before
        applied = evolve(applied, diagnostics=(*applied.diagnostics, *guard.afterwards(outputs)))
    return evolve(applied, diagnostics=(*told, *applied.diagnostics, *problems))


def saved(options: Options, path: str) -> Planned:
    """The plan in a file as one that was just made, with variables, store and the stored state."""
    from planner.config.variables import undeclared_values

    session, made, problems = open_plan(options, path)
    if made is None or session.config is None or has_errors(problems):
        return Planned(None, session, tuple(problems))
    _, found = recorded_variables(session, made)
    undeclared = undeclared_values(session.config.root.variables, session.given)
    session = read_state(planned_backend(session, made))
    told = (*override_warnings(session), *problems, *undeclared, *found, *session.diagnostics)
    return Planned(made, session, told)


def _apply(session: Session, made: Plan, hooks: Hooks, guard: PolicyGuard | None = None) -> Applied:
    from planner.apply.walk import ApplyOptions, apply_walk
    from planner.documents.plan_file import stale
    from planner.operations.limits import provider_limits
    from planner.support.signals import STOP

    assert session.config is not None and session.store is not None
    stored, problems = session.store.read()
    problems = [*problems, *stale(made, stored)]
    if has_errors(problems):
        return Applied(None, diagnostics=tuple(problems))
    try:
        graph = apply_graph(made, session)
        limits = provider_limits(session)
    except Failure as failure:
        return Applied(None, diagnostics=tuple(failure.diagnostics))
    store = session.store

    journal, found = store.begin_journal("apply", made.prior_state)
    if has_errors(found):
        return Applied(None, diagnostics=(*problems, *found))
    options = ApplyOptions(
        parallelism=session.options.parallelism,
        workspace=session.workspace,
        stop=STOP,
        suppress_forget_errors=session.options.suppress_forget_errors,
        journal=journal,
        guard=guard,
        provider_limits=limits,
    )
    outcome = apply_walk(graph, made, session.config, session.variables, session.schemas, options, hooks)
    session.schemas.close()
    state, found = store.write(outcome.state)
    unsaved = b""
    if has_errors(found):
        from planner.state.rescue import rescue

        more, unsaved = rescue(store, state)
        found = [*found, *more]
    counts = Counts(outcome.add, outcome.change, outcome.remove, outcome.imports, outcome.forget)
    return Applied(state, counts, (*problems, *outcome.diagnostics, *found), unsaved)


def refresh(options: Options, hooks: Hooks) -> Applied:
    """Plan, and record in the state only what looking at the real objects has shown."""
    planned = plan(options, hooks, to_apply=True)
    session, made = planned.session, planned.plan
    if made is None or session.store is None or has_errors(planned.diagnostics):
        return Applied(None, diagnostics=(*_nothing_to_refresh(session), *planned.diagnostics, *release(planned)))
    state, problems = session.store.write(made.prior_state)
    problems += release(planned)
    return Applied(state, diagnostics=(*_nothing_to_refresh(session), *planned.diagnostics, *problems))


def _nothing_to_refresh(session: Session) -> list[Diagnostic]:
    """A warning when the state has no object to look at."""
    if session.state is None or any(r.mode == "managed" for r in session.state.resources.values()):
        return []
    detail = "The state has no objects of resources, so there is nothing to look at."
    return [warning("state.nothing_to_refresh", "Empty or non-existent state", detail)]


# ---------------------------------------------------------------- console


def console_scope(options: Options, planning: bool = False) -> tuple[Scope | None, list[Diagnostic]]:
    """What names mean in the root module, from configuration and state; with `planning`, as a plan sees it: objects
    that do not exist yet have their planned values."""
    session = load(options)
    if session.config is None or session.state is None or session.failed:
        return None, list(session.diagnostics)
    try:
        if planning:
            from planner.plan.moves import apply_moves
            from planner.plan.walk import PlanWalk
            from planner.walk.hooks import Hooks as NoHooks

            moves = apply_moves(session.config, session.state)
            graph = build("plan", session, moves.state)
            walk = PlanWalk(
                graph, session.config, moves, session.variables, session.schemas, plan_options(session), NoHooks()
            )
            _, problems = walk.plan()
            return walk.context.root.scope, [*session.diagnostics, *problems]
        from planner.evaluation.eval_walk import eval_walk

        graph = build("eval", session, session.state)
        context, problems = eval_walk(
            graph, session.config, session.state, session.variables, session.schemas, session.workspace
        )
        return context.root.scope, [*session.diagnostics, *problems]
    except Failure as failure:
        return None, [*session.diagnostics, *failure.diagnostics]
