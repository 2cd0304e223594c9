"""Implements `plan`, which determines the actions of an apply."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from planner.engine.evaluation.provider_diagnostics import DEFERRALS
from planner.foundation.support.disk import forget_files_read
from planner.foundation.support.signals import current_stop
from planner.foundation.values.paths import unknown_paths
from planner.foundation.values.value import unmark_deep
from planner.foundation.vocabulary.address import parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error, has_errors
from planner.foundation.vocabulary.limits import Walk
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.records import evolve, frozen
from planner.language.config.model import Config
from planner.language.config.statements import import_blocks
from planner.language.config.variables import RootVariable
from planner.logic.model.plan import Plan
from planner.operations import graphs
from planner.operations.graphs import apply_graph, build
from planner.operations.load import Derived, Loaded, load_values, read_configuration
from planner.operations.options import OperationOptions, provider_limits
from planner.operations.providers_needed import needed_providers, override_warnings, selection_problems, wake_providers
from planner.operations.state_access import Opened, Stored, locked, open_backend, read_state
from planner.operations.validate import validate_loaded
from planner.world.state.model import State

if TYPE_CHECKING:
    from planner.engine.evaluation.context import EvaluationContext
    from planner.engine.plan.options import PlanOptions
    from planner.engine.walk.hooks import Hooks
    from planner.logic.model.graph import Graph
    from planner.operations.options import Approval


Start: TypeAlias = Stored[OperationOptions]
"""the inputs of planning, without the values of root variables"""
Variables: TypeAlias = "dict[str, RootVariable]"
BuildGraph: TypeAlias = "Callable[[Start, Walk, State], Graph]"
Remarks: TypeAlias = "Callable[[State], Iterable[Diagnostic]]"
L = TypeVar("L", bound=Loaded[OperationOptions], covariant=True)


@frozen(eq=False)
class MadePlan(Generic[L]):
    """A plan and the inputs from which it was made."""

    plan: Plan
    loaded: L
    variables: Variables
    context: EvaluationContext | None = None
    """the values of all names while planning; None if these values were not kept, or if the plan does not cover the
    whole configuration"""


@frozen(eq=False)
class Planned(Generic[L]):
    """The result of planning: a plan and diagnostics. After errors, the plan is incomplete or None."""

    made: MadePlan[L] | None
    diagnostics: tuple[Diagnostic, ...] = ()
    approval: Approval = ()
    """the approval of the plan file; () if no signature was required"""

    @property
    def plan(self) -> Plan | None:
        return self.made.plan if self.made is not None else None

    @property
    def complete(self) -> MadePlan[L] | None:
        """The plan; None if there are errors."""
        return None if has_errors(self.diagnostics) else self.made


def plan(
    options: OperationOptions, hooks: Hooks, to_apply: bool = False, remarks: Remarks = lambda state: ()
) -> Planned[Start]:
    """Compare the configuration, the state and the real objects, and plan actions. The state is locked while planning.
    With `to_apply`, it remains locked until `release` is called, so that it cannot change before the apply. `remarks`:
    a function that returns diagnostics about the state; they come first in the result."""
    diagnostics = Diagnostics()
    made = None
    with diagnostics.until_an_error():
        made = _plan(options, hooks, to_apply, diagnostics, remarks)
    return Planned(made, tuple(diagnostics))


def release(planned: Planned[Start]) -> list[Diagnostic]:
    return planned.made.loaded.store.unlock() if planned.made is not None else []


def _plan(
    options: OperationOptions, hooks: Hooks, to_apply: bool, diagnostics: Diagnostics, remarks: Remarks
) -> MadePlan[Start]:
    forget_files_read()
    if to_apply:
        # raises Failure if the environment variable with the interval for saving the state is invalid
        from planner.world.state.snapshots import persist_interval

        persist_interval(os.environ)
    if options.generate_config_out:
        from planner.engine.plan.generation import check_output

        diagnostics.check(check_output(options.generate_config_out, options.mode))
    reading = read_configuration(options)
    loaded = reading.loaded()
    if options.needs_configuration and not loaded.config.files and options.mode != "destroy":
        detail = (
            "Without a configuration, the plan would destroy everything. To do that, use destroy; otherwise write "
            " a .tf file here, or name the directory of the configuration with -chdir."
        )
        raise Failure(error("plan.no_configuration", "No configuration files", detail))
    # readers of the JSON lines expect the root module's warnings twice: from the search for the backend, and from
    # loading
    diagnostics += [*override_warnings(loaded.config), *loaded.config.root_warnings, *reading.problems]
    diagnostics.check(selection_problems(loaded.config, options.directory))
    try:
        wake_providers(loaded.config, loaded.schemas)
        return _plan_loaded(loaded, hooks, to_apply, diagnostics, remarks)
    finally:
        loaded.schemas.close()


def _plan_loaded(
    loaded: Loaded[OperationOptions], hooks: Hooks, to_apply: bool, diagnostics: Diagnostics, remarks: Remarks
) -> MadePlan[Start]:
    from planner.engine.evaluation.variables import UNFIT

    opened = open_backend(loaded, diagnostics)
    if loaded.options.adopts_journal:
        opened.store.adopt_journal()
    with _locked(opened, hooks, to_apply, diagnostics):
        stored = read_state(opened, diagnostics)
        diagnostics[:0] = remarks(stored.state)
        variables, problems = load_values(loaded)
        # the walk reports values of wrong types, and still plans everything that does not depend on them
        diagnostics.check(d for d in problems if d.code not in UNFIT)
        return _make_valid_plan(stored, variables, hooks, diagnostics)


def _locked(
    opened: Opened[OperationOptions], hooks: Hooks, to_apply: bool, diagnostics: Diagnostics
) -> AbstractContextManager[None]:
    operation = "OperationTypeApply" if to_apply else "OperationTypePlan"
    return locked(opened.store, opened.options, operation, diagnostics, to_apply, hooks)


def plan_opened(
    opened: Opened[OperationOptions], variables: Variables, hooks: Hooks, to_apply: bool = False
) -> Planned[Start]:
    """Plan a loaded configuration. The caller opens the store of the state, and passes the values of variables.
    Providers are not closed."""
    diagnostics = Diagnostics()
    made = None
    with diagnostics.until_an_error():
        diagnostics.check(selection_problems(opened.config, opened.options.directory))
        with _locked(opened, hooks, to_apply, diagnostics):
            made = _make_valid_plan(read_state(opened, diagnostics), variables, hooks, diagnostics)
    return Planned(made, tuple(diagnostics))


def plan_stored(start: Start, variables: Variables, hooks: Hooks) -> Planned[Start]:
    """Plan with a state that was already read. The stored state is not locked."""
    diagnostics = Diagnostics()
    made = None
    with diagnostics.until_an_error():
        diagnostics.check(selection_problems(start.config, start.options.directory))
        made = _make_valid_plan(start, variables, hooks, diagnostics)
    return Planned(made, tuple(diagnostics))


def _make_valid_plan(start: Start, variables: Variables, hooks: Hooks, diagnostics: Diagnostics) -> MadePlan[Start]:
    """Validate the configuration, and make the plan. Validation uses the graph of the plan, which saves a third of the
    time for large configurations. It builds its own graph for a destroy plan, a plan with limits, and a plan that
    generates configuration. Raises Failure."""
    options = start.options
    is_checked = False
    names = {parse_provider_configuration(name).source for name in {r.provider for r in start.state.resources.values()}}
    for source in sorted(names - needed_providers(start.config).all):
        # this includes objects that are only in the state, so that a changed provider is detected
        start.schemas.schema(source)

    def check(graph: Graph | None = None) -> None:
        nonlocal is_checked
        is_checked = True
        diagnostics.check(validate_loaded(start, graph, options.settled))

    def build_graph(start: Start, walk: Walk, state: State) -> Graph:
        graph = build(walk, start, state, options.limits, options.shown_edges)
        if not is_checked:
            check(graph)
        if options.policies or options.keeps_values:
            start.derived.plan_graph = graph
        return graph

    if options.mode == "destroy" or options.limits.is_partial or options.generate_config_out:
        check()
    made, problems = _make_plan(start, variables, hooks, build_graph)
    attempts = [made.plan] if made is not None else []
    while options.allow_deferral and (more := _unknown_repetitions(start.config, problems, options.deferred)):
        # decided in Python: a block with unknown instances is skipped -- only evaluation shows that they are unknown
        limits = options.limits.excluding(block for block, _, _ in more)
        options = evolve(options, limits=limits, deferred=(*options.deferred, *more))
        start = evolve(start, options=options, derived=Derived())
        made, problems = _make_plan(start, variables, hooks, build_graph)
        attempts += [made.plan] if made is not None else []
    if made is not None and options.deferred:
        made = evolve(made, plan=_with_deferred(attempts, start))
    if not is_checked:  # no graph was built, because the configuration has errors
        check()
    diagnostics += problems
    if made is None:
        raise Failure(())
    return made


def _with_deferred(attempts: list[Plan], start: Start) -> Plan:
    """The last of these plans, with data about deferred objects added: the changes that providers deferred in earlier
    attempts, unknown provider arguments, and the blocks that depend on deferred blocks."""
    from planner.logic.graph.build import build_graph

    plan = attempts[-1]
    changes = tuple(one for attempt in attempts for one in attempt.deferred_changes)
    settings = {
        (str(evolve(parse_provider_configuration(name), key=None)), str(path[0][1]))
        for attempt in attempts
        for name, value in attempt.providers
        for path in unknown_paths(unmark_deep(value)[0])
        if path
    }
    plan = evolve(plan, deferred_changes=changes, deferred_settings=tuple(sorted(settings)))
    graph = build_graph(graphs.planning_facts(plan, start), own=start.rules, more=("deferred_dependent",))
    return evolve(plan, deferred_dependents=tuple(sorted({row[0] for row in graph.database["deferred_dependent"]})))


def _unknown_repetitions(
    config: Config, problems: list[Diagnostic], known: Iterable[tuple[str, str, str]]
) -> list[tuple[str, str, str]]:
    """(address, argument or reason, place) of the blocks that must be deferred and are not in `known`. These are blocks
    whose instances or imports are unknown, and blocks that a provider deferred. Empty if there are other errors."""
    errors = [d for d in problems if d.is_error]
    reasons = {code: reason for reason, code in DEFERRALS.items()}
    if not {d.code for d in errors} <= {"plan.unknown_count", "plan.unknown_for_each", "plan.unknown_import", *reasons}:
        return []
    items = _repeated(config, {d.subject for d in errors})
    for problem in errors:
        if problem.code in reasons and problem.address is not None:
            address = parse_resource_instance(problem.address).config
            module = config.root.descendant(address.path)
            decl = module.resources.get(address.relative) if module is not None else None
            items.append((str(address), reasons[problem.code], decl.span.place if decl is not None else ""))
    return sorted(set(items) - set(known))


def _repeated(config: Config, places: set[Any]) -> list[tuple[str, str, str]]:
    items = []
    for module in config.root.walk():
        prefix = "".join(f"module.{name}." for name in module.path)
        blocks: list[tuple[str, Any]] = [(key, resource) for key, resource in module.resources.items()]
        blocks += [(f"module.{name}", call) for name, call in module.calls.items()]
        for key, block in blocks:
            for argument in ("count", "for_each"):
                expr = getattr(block, argument)
                if expr is not None and expr.span in places:
                    items.append((f"{prefix}{key}", argument, expr.span.place))
    for _, target, statement in import_blocks(config):
        for argument in ("id", "identity", "for_each"):
            expr = getattr(statement, argument)
            if expr is not None and expr.span in places:
                items.append((str(target), f"import.{argument}", expr.span.place))
    return sorted(set(items))


def _make_plan(
    start: Start, variables: Variables, hooks: Hooks, build_graph: BuildGraph
) -> tuple[MadePlan[Start] | None, list[Diagnostic]]:
    from planner.engine.plan.make_plan import make_plan

    walk_options = plan_options(start)
    out = start.options.generate_config_out
    if out:
        from planner.engine.plan.generation import with_missing

        config, generated, problems = with_missing(start.config, out)
        if problems:
            return None, problems
        start = evolve(start, config=config, derived=Derived())
        walk_options = evolve(walk_options, generated=generated, generate_to=out)
    kept: list[EvaluationContext] = []
    if start.options.keeps_values and walk_options.mode == "normal" and not walk_options.limits.is_partial:
        walk_options = evolve(walk_options, keep=kept.append)
    plan, problems = make_plan(
        start.config,
        start.state,
        variables,
        start.schemas,
        walk_options,
        lambda walk, state: build_graph(start, walk, state),
        hooks,
    )
    if plan is None:
        return None, problems
    backend = {"type": start.backend.type, **start.backend.settings}
    deferred = tuple(sorted(start.options.deferred))
    plan = evolve(plan, rules=start.rules, backend=backend, offline=start.options.offline, deferred=deferred)
    if out:
        from planner.engine.plan.generation import write_generated

        problems = [*problems, *write_generated(plan, out)]
    if not plan.errored and not has_errors(problems) and may_have_cycle(plan):
        try:
            apply_graph(plan, start)
        except Failure as failure:
            problems = problems + failure.diagnostics
    return MadePlan(plan, start, variables, kept[0] if kept else None), problems


def refreshed_to_destroy(start: Start, variables: Variables) -> State | None:
    """The prior state of a destroy plan: the state after the ordinary plan that refreshes the objects before it. None
    if this plan has errors."""
    from planner.engine.plan.make_plan import make_plan
    from planner.engine.walk.hooks import Hooks

    ordinary = evolve(plan_options(start), mode="normal", before_destroy=True)
    plan, problems = make_plan(
        start.config,
        start.state,
        variables,
        start.schemas,
        ordinary,
        lambda walk, state: build(walk, start, state, start.options.limits),
        Hooks(),
    )
    return None if plan is None or has_errors(problems) else plan.prior_state


def may_have_cycle(plan: Plan) -> bool:
    """Whether the apply graph may have edges that the plan graph lacks."""
    return _reorders(frozenset((change.action, bool(change.deposed)) for change in plan.changes))


@cache
def _reorders(actions: frozenset[tuple[str, bool]]) -> bool:
    """Whether these actions may cause edges that the plan graph lacks. `actions`: {(action, whether it is on a deposed
    object)}. The result is cached, because thousands of units have few distinct sets of actions."""
    from planner.logic.datalog.engine.evaluate import evaluate
    from planner.logic.datalog.engine.fact_base import FactBuilder
    from planner.logic.graph.build import graph_program

    facts = FactBuilder()
    for action, deposed in actions:
        facts.add("deposed" if deposed else "action", "any", *["any"] * deposed, action)
    return bool(evaluate(graph_program(), facts.build(), ["reorders"])["reorders"])


def plan_options(start: Start) -> PlanOptions:
    """The options of the plan walk. Raises Failure if -provider-parallelism names an unknown provider."""
    from planner.engine.plan.options import PlanOptions

    options = start.options
    return PlanOptions(
        mode=options.mode,
        refresh=options.refresh,
        minimal_refresh=options.minimal_refresh,
        limits=options.limits,
        deferred=options.deferred,
        moves=not options.adopts_journal,
        parallelism=options.parallelism,
        workspace=start.workspace,
        stop=current_stop(),
        offline=options.offline,
        coming_states=options.coming_states,
        evaluates_once=options.evaluates_once,
        settled=options.settled,
        provider_limits=provider_limits(options, start.config, start.state),
    )


# The options of a plan as arguments, for another command about the same plan.


def plan_words(made: MadePlan[Any]) -> str:
    """The options of a plan as command-line arguments in one string. Each argument is followed by a space. Values of
    sensitive variables are replaced by "..."."""
    from shlex import quote

    return "".join(f"{quote(word)} " for word in _words(made))


def _words(made: MadePlan[Any]) -> Iterator[str]:
    options = made.loaded.options
    declared = made.loaded.config.root.variables
    if made.plan.mode == "destroy":
        yield "-destroy"
    if not options.refresh:
        yield "-refresh=false"
    if options.minimal_refresh:
        yield "-minimal-refresh"
    for kind, text in options.var_args:
        name = text.partition("=")[0].strip()
        hides = kind == "var" and name in declared and declared[name].sensitive
        yield f"-{kind}={f'{name}=...' if hides else text}"
    if options.since:
        yield f"-since={options.since}"
    yield from (f"-{option}={address}" for option, address in options.limits.options())
