"""Executes the runs of a test file and cleans up after them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from planner.engine.evaluation.context import EvaluationContext
from planner.engine.evaluation.eval_walk import EvalWalk
from planner.engine.evaluation.objects import StateObjects
from planner.foundation.values.value import SENSITIVE, UNKNOWN, Null, Value, mark
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, has_errors
from planner.foundation.vocabulary.limits import Limits
from planner.foundation.vocabulary.records import define, evolve, field
from planner.language.config.model import Config
from planner.language.config.test_files.model import TestFile, TestRun, state_name
from planner.language.config.variables import RawVariables
from planner.logic.model.plan import Plan
from planner.operations.graphs import build
from planner.operations.load import Loaded
from planner.operations.options import Options
from planner.workflows.testing.assertions import AssertionScope, check, mentions
from planner.workflows.testing.decisions import RunDecisions, RunFacts, judge, order
from planner.workflows.testing.expected_failures import Expectation, expectations, settle, spoils_apply
from planner.workflows.testing.parallel import in_order
from planner.workflows.testing.results import (
    LEFT_OVER,
    Interrupted,
    Left,
    RunResult,
    RunView,
    TestFileResult,
    TestListener,
    kept_path,
    left_before,
    save,
    save_beside,
)
from planner.workflows.testing.transform import depends_on_values, duplicates, transformed
from planner.workflows.testing.variables import Outputs, RunValues, is_limited, limits_of, mentioned_runs, run_values
from planner.workflows.testing.walks import (
    RunPlanOptions,
    TestedConfiguration,
    UnderWay,
    apply,
    destroy,
    plan,
    with_hidden,
    without_made_up,
)
from planner.world.state.model import State


@define(eq=False)
class Subjects:
    """The configurations that runs test. Runs with equal configurations share one."""

    of_root: Loaded[Options]
    given: RawVariables
    parallelism: int = 10
    policies: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """(paths of the user's policies, policies of the organisation)"""
    others: tuple[Config, ...] = ()
    """the modules that runs name instead of the root module; a test of the root module also needs their providers"""
    _made: dict[tuple[int, int, int], TestedConfiguration] = field(factory=dict)
    _loaded: dict[int, Loaded[Options]] = field(factory=dict)

    def config(self, run: TestRun) -> Config:
        return run.config or self.of_root.config

    def forget(self) -> None:
        """Discard the configurations of a finished file."""
        plain = {key: made for key, made in self._made.items() if key[1] == 0}
        for key, made in self._made.items():
            if key not in plain:
                for module in made.loaded.config.root.walk():
                    self.of_root.schemas.resolvers.pop(module, None)
        self._made = plain

    def subject(self, file: TestFile, run: TestRun, values: RunValues) -> TestedConfiguration:
        """The configuration that a run tests, with the mocks, overrides and providers of its file and of the run. Equal
        configurations are shared."""
        config = self.config(run)
        of_file = file.mocks or file.overrides or file.module_overrides or file.providers
        of_run = run.providers or run.overrides or run.module_overrides
        changes = depends_on_values(file, run)
        key = (id(config), id(file) if of_file or of_run else 0, id(run) if of_run else 0)
        known = self._made.get(key)
        if known is not None and not changes:
            return known
        changed, remarks = transformed(config, file, run, values.scope)
        hidden = (config,) if run.module_overrides or file.module_overrides else ()
        made = TestedConfiguration(
            self.loaded(changed), tuple(remarks), (*hidden, *(self.others if run.config is None else ()))
        )
        if not changes:
            self._made[key] = made
        return made

    def loaded(self, config: Config) -> Loaded[Options]:
        root = self.of_root
        if config is root.config:
            return root
        return Loaded(root.options, root.workspace, root.given, config, root.schemas, root.rules)


@define(eq=False)
class _Kept:
    """A state and the run that last changed it."""

    state: State = field(factory=State)
    run: RunResult | None = None
    subject: TestedConfiguration | None = None


class FileRunner:
    def __init__(
        self,
        result: TestFileResult,
        subjects: Subjects,
        listener: TestListener,
        stopping: Callable[[], bool],
        shows: bool = False,
        tells_causes: bool = False,
        covers: bool = False,
    ) -> None:
        self.result, self.subjects, self.listener = result, subjects, listener
        self.stopping, self.shows, self.tells_causes = stopping, shows, tells_causes
        self.covers, self.covers_policies = covers, covers and any(map(any, subjects.policies))
        self.states: dict[str, _Kept] = {}
        self.outputs = Outputs()
        self.facts = facts_of(result.file)
        self.order = order(self.facts)
        self.under_way: dict[int, UnderWay] = {}

    # ---------------------------------------------------------------- all runs

    def carry_out(self) -> None:
        """Execute all runs, determine their results, and clean up."""
        in_order(self.order.waits, lambda index: self._begin(self.result.runs[index]))
        judged = self.judged
        for it, status in zip(self.result.runs, judged.statuses, strict=True):
            it.status = status
        self.result.status = judged.status
        self.listener.file(self.result)
        self.clean_up()

    def _begin(self, it: RunResult) -> None:
        if self.stopping() and not it.is_kept:
            self._now(it, stop_requested=True)
        if it.index in self.order.skipped:
            return
        if it.is_kept:
            self._now(it, done=True)
            return
        it.began = time.time()
        started = time.monotonic()
        try:
            self._run(it)
        except Failure as failure:
            it.diagnostics += failure.diagnostics
            self._failed(it)
        it.seconds = time.monotonic() - started
        self._now(it, done=True)

    @property
    def judged(self) -> RunDecisions:
        return judge(self.facts)

    def _values(self, it: RunResult) -> tuple[RunValues | None, list[Diagnostic]]:
        """The values of a run's variables, and diagnostics. The values are None if there are errors. Expressions for
        variables may use outputs of earlier runs."""
        outputs = self.outputs.of(self.order.after[it.index])
        declared = self.subjects.config(it.run).root.variables
        return run_values(declared, self.result.file, it.run, self.subjects.given, outputs)

    def _now(self, it: RunResult, **known: Any) -> None:
        self.facts[it.index] = evolve(self.facts[it.index], **known)
        if "error" in known.get("problems", ()) or "stop_requested" in known:
            self.order = order(self.facts)  # an error or a stop request can exclude further runs

    def _failed(self, it: RunResult, kind: str = "error") -> None:
        self._now(it, problems=self.facts[it.index].problems | {kind})

    def _passes(self, it: RunResult, problems: Iterable[Diagnostic]) -> bool:
        """Record the diagnostics of a run. Returns whether the run can continue, that is, whether none of them is an
        error."""
        items = list(problems)
        it.diagnostics += items
        if has_errors(items):
            self._failed(it)
            return False
        return True

    # ---------------------------------------------------------------- one run

    def _run(self, it: RunResult) -> None:
        file, run = self.result.file, it.run
        expected, wrong = expectations(run)
        alone = duplicates(file.overrides, file.module_overrides)
        if not self._passes(it, alone):
            return
        if not self._passes(it, [*wrong, *duplicates(run.overrides, run.module_overrides)]):
            return
        if not self._passes(it, left_before(file, run)):
            return
        values, problems = self._values(it)
        if not self._passes(it, problems) or values is None:
            return
        subject = self.subjects.subject(file, run, values)
        if not self._passes(it, subject.remarks) or not self._passes(it, subject.absent()):
            return
        if is_limited(run) and not self._passes(it, subject.validate()):
            return
        limits, problems = limits_of(run)
        if has_errors(problems):
            problems = [*subject.validate(), *problems]
        if not self._passes(it, problems):
            return
        if run.command == "plan":
            self._plan(it, subject, values, limits, expected)
        else:
            self._apply(it, subject, values, limits, expected)

    def _kept_state(self, run: TestRun) -> _Kept:
        return self.states.setdefault(state_name(run), _Kept())

    def _plan_options(
        self, it: RunResult, limits: Limits, keep: Callable[[EvaluationContext], None] | None = None
    ) -> RunPlanOptions:
        settings = it.run.settings
        return RunPlanOptions(settings.mode, settings.refresh, limits, keep)

    def _plan(
        self,
        it: RunResult,
        subject: TestedConfiguration,
        values: RunValues,
        limits: Limits,
        expected: tuple[Expectation, ...],
    ) -> None:
        contexts: list[EvaluationContext] = []
        run_options = self._plan_options(it, limits, contexts.append)
        before, _ = without_made_up(self._kept_state(it.run).state, self.result.file, it.run)
        made, problems = plan(subject, before, values.root, run_options, self.subjects.parallelism)
        self._cover(it, contexts, made, subject, values)
        if not is_limited(it.run) and not self._passes(it, subject.validate()):
            return
        if not self._passes(it, settle(problems, expected)) or made is None:
            return
        outputs = _planned_outputs(made)
        known = {name: outputs.get(name, UNKNOWN) for name in subject.loaded.config.root.outputs}
        self.outputs.by_run[it.index] = it.name, known
        if self.shows:
            it.shown = RunView(subject.loaded, made)
        self._ask(it, made, subject, values)
        if contexts:
            self._assert(it, AssertionScope(contexts[0], values.known, outputs), values, lambda: contexts[0])
            contexts[0].take_apart()

    def _apply(
        self,
        it: RunResult,
        subject: TestedConfiguration,
        values: RunValues,
        limits: Limits,
        expected: tuple[Expectation, ...],
    ) -> None:
        kept = self._kept_state(it.run)
        contexts: list[EvaluationContext] = []
        run_options = self._plan_options(it, limits, contexts.append if self.covers else None)
        before, hidden = without_made_up(kept.state, self.result.file, it.run)
        made, problems = plan(subject, before, values.root, run_options, self.subjects.parallelism)
        self._cover(it, contexts, made, subject, values)
        for context in contexts:
            context.take_apart()
        if not is_limited(it.run) and not self._passes(it, subject.validate()):
            return
        errors = [d for d in problems if d.is_error]
        # an apply repeats the diagnostics of checks
        diagnostics = [d for d in problems if not d.is_error and (errors or not _of_check(d))]
        if not self._passes(it, [*diagnostics, *errors, *spoils_apply(problems, expected)]) or made is None:
            return
        creating = tuple(c.address for c in made.changes if c.action == "create")
        self.under_way[it.index] = UnderWay(creating, kept.state)
        state, item = apply(subject, made, values.root, self.subjects.parallelism)
        del self.under_way[it.index]
        kept.state, kept.run, kept.subject = with_hidden(state, hidden), it, subject
        self._now(it, changed=state_name(it.run))
        if not self._passes(it, settle(item, expected)):
            return
        outputs = _state_outputs(subject.loaded.config, state)
        known = {name: value for name, value in outputs.items() if name in state.outputs}
        self.outputs.by_run[it.index] = it.name, known
        if self.shows:
            it.shown = RunView(subject.loaded, made, state)
        self._ask(it, made, subject, values)
        if it.run.assertions:
            is_whole = bool({"local", "module", "output"} & set(mentions(it.run.assertions)))
            context = _context(subject, made, state, values, is_whole)
            scope = AssertionScope(context, values.known, outputs)
            whole = cache(lambda: context if is_whole else _context(subject, made, state, values, True))
            self._assert(it, scope, values, whole)
            context.take_apart()

    def _cover(
        self,
        it: RunResult,
        contexts: list[EvaluationContext],
        made: Plan | None,
        subject: TestedConfiguration,
        values: RunValues,
    ) -> None:
        """If coverage is requested, record the items of the module under test, and the policies, that the run has
        reached."""
        if self.covers and it.run.module is None:
            from planner.workflows.testing.coverage import reached

            self.result.reached += [reached(context, made) for context in contexts]
            if made is not None and self.covers_policies:
                from planner.workflows.testing.questions import policies_reached

                self.result.reached.append(policies_reached(made, subject.loaded, values.root, self.subjects.policies))

    def _ask(self, it: RunResult, made: Plan, subject: TestedConfiguration, values: RunValues) -> None:
        """Check the run's expectations about policies and queries."""
        if it.run.policies or it.run.queries:
            from planner.workflows.testing.questions import answers

            result = answers(it.run, made, subject.loaded, values.root, self.subjects.policies)
            it.diagnostics += result
            if has_errors(result):
                self._failed(it, "assertion")

    def _assert(
        self, it: RunResult, scope: AssertionScope, values: RunValues, context: Callable[[], EvaluationContext]
    ) -> None:
        """Check the assertions of a run. `context` returns an evaluation context with all values; it is called only to
        explain a failure."""
        for rule in it.run.assertions:
            verdict, item = check(rule, scope)
            if verdict == "fail" and self.tells_causes:
                from planner.answers.explain.assertions import causes

                item[-1] = evolve(
                    item[-1], because=tuple(causes(rule.condition, context(), values.root, scope.outputs))
                )
            it.diagnostics += item
            if verdict != "pass":
                self._failed(it, "error" if verdict == "error" else "assertion")

    def interrupted(self) -> Interrupted:
        """The objects that exist or are being created now. Called when the user stops the tests immediately."""
        states = [
            (None if not key else kept.run, kept.state)
            for key, kept in sorted(self.states.items(), key=lambda item: item[1].run.index if item[1].run else -1)
            if kept.state.resources
        ]
        under_way = dict(self.under_way)  # a copy, because other runs continue
        creating = tuple((self.result.runs[i], under_way[i].creating) for i in sorted(under_way))
        return Interrupted(self.result, tuple(states), creating)

    def save(self) -> None:
        """Write each state with managed objects to a file. Called when the user stops the tests immediately; then
        nothing is cleaned up."""
        for kept in list(self.states.values()):
            if kept.run is not None and Left(kept.state).has_objects:
                path, problems = save_beside(kept.state)
                self.listener.saving(self.result, kept.run, path)
                self.listener.diagnostics(problems, self.result, kept.run)

    # ---------------------------------------------------------------- cleaning up

    def clean_up(self) -> None:
        """Write the states that runs keep to files, and destroy the objects of all other states. A state with objects
        that could not be destroyed is written to the file LEFT_OVER."""
        judged = self.judged
        for key, index in judged.kept:
            it, state = self.result.runs[index], self.states[key].state
            if state.resources:
                path, problems = save_beside(state, kept_path(self.result.file, key))
                self.listener.saving(self.result, it, path)
                self.listener.diagnostics(problems, self.result, it)
                if problems:
                    self._report_lost(it)
        for key, index in judged.cleaning:
            kept = self.states[key]
            it = self.result.runs[index]
            if kept.state.is_empty and not kept.state.resources:
                continue
            left = self._destroyed(it, kept)
            self.listener.cleaned(self.result, it, left)
            kept.state = left.state
            if has_errors(left.diagnostics) or left.has_objects:
                self._report_lost(it)
            if left.has_objects:
                self.listener.saving(self.result, it, LEFT_OVER)
                self.listener.diagnostics(save(left.state, LEFT_OVER), self.result, it)

    def _report_lost(self, it: RunResult) -> None:
        """Record that a state was not cleaned up, or not written although the run keeps it."""
        self._now(it, cleanup_failed=True)
        self.result.cleanup_failed = True

    def _destroyed(self, it: RunResult, kept: _Kept) -> Left:
        values, item = self._values(it)
        if values is None or kept.subject is None:
            return Left(kept.state, tuple(item))
        state, problems = destroy(kept.subject, kept.state, values.root, self.subjects.parallelism)
        return Left(state, (*kept.subject.remarks, *problems))


# ---------------------------------------------------------------- helpers


def facts_of(file: TestFile) -> list[RunFacts]:
    """The facts of a file's runs before they start."""
    facts = []
    for index, run in enumerate(file.runs):
        names = mentioned_runs(file, run)
        before = file.runs[:index] if names else ()
        others = frozenset(n for n, other in enumerate(before) if other.name in names or "" in names)
        facts.append(
            RunFacts(
                state=state_name(run),
                parallel=run.parallel,
                keeps_state=run.keeps_state,
                mentions=others,
                asks=bool(names),
                applies=run.command == "apply",
            )
        )
    return facts


def _of_check(problem: Diagnostic) -> bool:
    return problem.checked is not None and problem.checked.kind == "check"


def _planned_outputs(made: Plan) -> dict[str, Value]:
    return {o.name: mark(o.after, frozenset((SENSITIVE,))) if o.sensitive else o.after for o in made.outputs}


def _state_outputs(config: Config, state: State) -> dict[str, Value]:
    """{output: value in the state} for all declared outputs; null for outputs that the state does not contain."""
    result: dict[str, Value] = {}
    for name in config.root.outputs:
        recorded = state.outputs.get(name)
        value = Null() if recorded is None else recorded.value
        result[name] = mark(value, frozenset((SENSITIVE,))) if recorded is not None and recorded.sensitive else value
    return result


def _context(
    subject: TestedConfiguration, made: Plan, state: State, values: RunValues, is_whole: bool
) -> EvaluationContext:
    """The evaluation context after an apply. If `is_whole`, it has all values; otherwise only resources and
    variables."""
    loaded = subject.loaded
    objects = StateObjects(state, loaded.schemas)
    context = EvaluationContext(loaded.config, "apply", loaded.schemas, objects, loaded.workspace, made.timestamp)
    if is_whole:
        walk = EvalWalk(build("eval", loaded, state), context, values.root)
        walk.known = made.module_outputs
        walk.run_all()
    else:
        context.root.variables.update((name, variable.value) for name, variable in values.root.items())
    return context
