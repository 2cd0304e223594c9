"""Plans, applies and destroys a configuration for tests, as the commands do, but with states in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set

from planner.engine.apply.shared_work import ApplyOptions
from planner.engine.apply.walk import apply_walk
from planner.engine.evaluation.context import EvaluationContext
from planner.engine.plan.make_plan import make_plan
from planner.engine.plan.options import PlanOptions
from planner.engine.walk.hooks import Hooks
from planner.foundation.support.signals import StopSignal
from planner.foundation.vocabulary.address import parse_module
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, has_errors
from planner.foundation.vocabulary.limits import UNLIMITED, Limits, Mode, Walk
from planner.foundation.vocabulary.records import define, evolve, field, frozen
from planner.language.config.model import Config, ModulePath
from planner.language.config.test_files.model import TestFile, TestRun
from planner.language.config.variables import RootVariable
from planner.logic.model.graph import Graph
from planner.logic.model.plan import Plan
from planner.operations.graphs import apply_graph, build
from planner.operations.load import Loaded
from planner.operations.options import Options
from planner.operations.providers_needed import not_installed
from planner.operations.validate import validate_loaded
from planner.world.state.model import ResourceState, State

Variables = Mapping[str, RootVariable]


@define(eq=False)
class TestedConfiguration:
    """A configuration that runs test. It is validated only once."""

    loaded: Loaded[Options]
    remarks: tuple[Diagnostic, ...] = ()
    """diagnostics about the providers, mocks and overrides with which the configuration was made"""
    beside: tuple[Config, ...] = ()
    """other configurations whose providers must also be installed: configurations of other runs, and this configuration
    without overrides"""
    _absent: list[Diagnostic] | None = None
    _validated: list[Diagnostic] | None = None

    def absent(self) -> list[Diagnostic]:
        """Errors for providers that are not installed."""
        if self._absent is None:
            self._absent = not_installed([*self.beside, self.loaded.config], self.loaded.options.directory)
        return self._absent

    @property
    def is_validated(self) -> bool:
        return self._validated is not None

    def validate(self, graph: Graph | None = None) -> list[Diagnostic]:
        """The diagnostics of validating the configuration. `graph`: the graph of a plan without limits, if it is built
        already."""
        if self._validated is None:
            self._validated = validate_loaded(self.loaded, graph)
        return self._validated


@frozen(eq=False)
class RunPlanOptions:
    mode: Mode = "normal"
    refresh: bool = True
    limits: Limits = UNLIMITED
    keep: Callable[[EvaluationContext], None] | None = None


@define(eq=False)
class UnderWay:
    """An apply that is running. `creating`: addresses of the objects that it creates. `state`: the state before it.
    Reported if the tests are stopped immediately."""

    creating: tuple[str, ...] = ()
    state: State = field(factory=State)


def plan(
    subject: TestedConfiguration, state: State, variables: Variables, plan_options: RunPlanOptions, parallelism: int
) -> tuple[Plan | None, list[Diagnostic]]:
    """The plan of a run, and diagnostics. The plan may be None after errors. Errors of the configuration itself are not
    among the diagnostics, because `TestedConfiguration.validate` reports them."""
    loaded = subject.loaded
    options = PlanOptions(
        mode=plan_options.mode,
        refresh=plan_options.refresh,
        limits=plan_options.limits,
        parallelism=parallelism,
        workspace=loaded.workspace,
        stop=StopSignal(),  # a signal that is never set: a run that has begun is not stopped
        keep=plan_options.keep,
    )

    def graph(walk: Walk, state: State) -> Graph:
        built = build(walk, loaded, state, plan_options.limits)
        if may_validate and not subject.is_validated and has_errors(subject.validate(built)):
            raise Failure(())  # validation reports the problems of the configuration
        return built

    may_validate = plan_options.mode == "normal" and not plan_options.limits.targets
    return make_plan(loaded.config, state, variables, loaded.schemas, options, graph, Hooks())


def apply(
    subject: TestedConfiguration, made: Plan, variables: Variables, parallelism: int
) -> tuple[State, list[Diagnostic]]:
    """Apply a plan. Returns the resulting state, also after an error, and diagnostics."""
    loaded = subject.loaded
    try:
        graph = apply_graph(made, loaded)
    except Failure as failure:
        return made.prior_state, failure.diagnostics
    options = ApplyOptions(parallelism=parallelism, workspace=loaded.workspace, stop=StopSignal())
    outcome = apply_walk(graph, made, loaded.config, variables, loaded.schemas, options, Hooks())
    return outcome.state, list(outcome.diagnostics)


def destroy(
    subject: TestedConfiguration, state: State, variables: Variables, parallelism: int
) -> tuple[State, list[Diagnostic]]:
    """Destroy the objects in a state. Returns the resulting state, with the objects that could not be destroyed, and
    diagnostics."""
    made, problems = plan(subject, state, variables, RunPlanOptions("destroy"), parallelism)
    if made is None or has_errors(problems):
        return state, problems
    after, item = apply(subject, made, variables, parallelism)
    return after, [*problems, *item]


def without_made_up(state: State, file: TestFile, run: TestRun) -> tuple[State, Mapping[str, ResourceState]]:
    """The state without the resources of modules that the run or its file overrides, and these resources as {address:
    resource}. They are hidden from the run's plan, so that it does not change objects that an earlier run created in
    these modules."""
    paths = {override.path for override in (*file.module_overrides, *run.module_overrides)}
    hidden = {a: r for a, r in state.resources.items() if paths and r.module and _is_within(r.module, paths)}
    seen = {address: resource for address, resource in state.resources.items() if address not in hidden}
    return (evolve(state, resources=seen) if hidden else state), hidden


def with_hidden(state: State, hidden: Mapping[str, ResourceState]) -> State:
    return evolve(state, resources={**state.resources, **hidden}) if hidden else state


def _is_within(module: str, paths: Set[ModulePath]) -> bool:
    path = parse_module(module).path
    return any(path[:length] in paths for length in range(1, len(path) + 1))
