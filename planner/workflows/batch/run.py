"""Runs the selected units of a fleet in their order, and records the run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import cached_property
from typing import TYPE_CHECKING, Any

from planner.foundation.support.signals import STOP
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.operations.options import OperationOptions
from planner.workflows.batch.analyse import Analysis
from planner.workflows.batch.executor import Workplace
from planner.workflows.batch.executors import FEW
from planner.workflows.batch.gate import Gate
from planner.workflows.batch.manifest import keep_manifest
from planner.workflows.batch.model import (
    BAD,
    FinishedUnit,
    Reads,
    Request,
    ShardSummary,
    Share,
    UnitResult,
    Upstream,
    to_json,
)
from planner.workflows.batch.passed_outputs import Handed, changed_outputs
from planner.workflows.batch.plan_unit import applied_as
from planner.workflows.batch.record import Record, json_path
from planner.workflows.batch.remove_records import retain
from planner.workflows.batch.saved_plan import plan_path, prepare
from planner.workflows.batch.schedule import HARMLESS, BatchListener, PassWork, Schedule
from planner.workflows.batch.session import Batch, BatchOptions
from planner.workflows.batch.unit_decisions import EarlierResult, UnitDecision
from planner.workflows.batch.unit_options import NOTHING, UnitOptions
from planner.world.state.lock import user_at_host

if TYPE_CHECKING:
    from planner.workflows.batch.fleet_policies import FleetPolicies


@frozen(eq=False)
class BatchReport:
    """The result of a command on a fleet. `done`: the finished units of this job, ordered by wave and name; empty if
    the fleet has errors."""

    command: str
    analysis: Analysis | None
    done: dict[str, FinishedUnit] = field(factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    run: str = ""
    seconds: float = 0.0
    workers: int = 0
    peak: int = 0
    in_flight: tuple[str, ...] = ()
    mode: str = "normal"
    """the mode of plans: normal, destroy or refresh-only"""
    part: ShardSummary | None = None
    """the results of this shard, for `batch join`; None if this job runs all units"""

    @property
    def failed(self) -> bool:
        return has_errors(self.diagnostics) or any(d.outcome in BAD for d in self.done.values())

    @property
    def has_changes(self) -> bool:
        return any(d.outcome in ("changes", "incomplete") for d in self.done.values())

    @property
    def has_drift(self) -> bool:
        """For a refresh-only plan: whether an object was changed outside planner."""
        return any(d.result is not None and d.result.changes for d in self.done.values())


class Run:
    """One command on the selected units of a fleet."""

    def __init__(
        self,
        batch: Batch,
        analysis: Analysis,
        record: Record,
        listener: BatchListener,
        done: dict[str, FinishedUnit] | None = None,
        facts: tuple[str, ...] = (),
        cut_off: frozenset[str] = frozenset(),
        key: bytes = b"",
        policies: FleetPolicies | None = None,
    ) -> None:
        """`done`: units that are finished already. `facts`: relations about plans that results must contain. `cut_off`:
        units that were running when a resumed run was interrupted. `key`: key of the digests of outputs, by default the
        user's. Raises Failure."""
        self.batch, self.analysis, self.record, self.listener = batch, analysis, record, listener
        self.done: dict[str, FinishedUnit] = done or {}
        self.facts = facts or (policies.contents if policies is not None else ())
        self.cut_off = cut_off
        self.approved: dict[str, str] = {}
        """{unit: approved plan file} to compare with new plans"""
        self.reads: dict[str, Reads] = {}
        """{unit: files that were read while it was planned}; only if plans are saved"""
        self.handed = Handed(self.done, key)
        self.planned: dict[str, UnitResult] = {}
        """{unit: result of its first plan} for units that were planned again or applied after that plan"""
        self.read = {other for unit in analysis.selected for other in analysis.reads_from.get(unit, ())}
        self.asked = batch.asked_of(analysis.selected)
        self.beside = analysis.share.beside if analysis.share is not None else frozenset[str]()
        """units of other shards that are planned only to obtain their outputs"""
        self._known_part: ShardSummary | None = None
        self.order = sorted(analysis.planned, key=lambda unit: (analysis.waves.get(unit, 0), unit))
        reported = [unit for unit in self.order if unit not in self.beside]
        self.gate = Gate(policies, analysis, self.done, reported, self.end, batch.options.asked)

    def plan(self, units: list[str], command: str = "plan", mode: str = "plan") -> dict[str, FinishedUnit]:
        """Plan or validate the units. Returns all finished units of the run, as {unit: finished unit}. `command`: the
        command for the decisions of the rules. `mode`: plan, destroy or validate."""
        return self._schedule(command, units, lambda unit, decision: self._request(unit, mode, decision, True))

    def apply(self, units: list[str], command: str = "apply") -> dict[str, FinishedUnit]:
        """Plan and apply each unit when all units before it are done. Returns all finished units of the run, as {unit:
        finished unit}."""
        return self._schedule(
            command, units, lambda unit, decision: self._request(unit, command, decision, False), self.cut_off
        )

    def apply_plans(self, units: list[str], command: str) -> dict[str, FinishedUnit]:
        """Apply the approved plans of these units. Returns all finished units of the run, as {unit: finished unit}."""
        files = {unit: done.result.plan_file for unit, done in self.done.items() if done.result is not None}
        before = {unit: self.set_aside(unit) for unit in units}

        def prepare(unit: str, decision: UnitDecision) -> Request:
            return evolve(self._request(unit, "apply_plan", decision, False), plan_file=files[unit])

        done = self._schedule(command, units, prepare)
        for unit, planned in before.items():
            result = done[unit].result
            if result is not None and planned.result is not None:
                done[unit] = evolve(done[unit], result=applied_as(result, planned.result))
        return done

    def set_aside(self, unit: str) -> FinishedUnit:
        """Prepare a unit for a new plan or an apply: remove and return its result. The result of its first plan is kept
        in `planned`, because other units were planned with the outputs of that plan."""
        done = self.done.pop(unit)
        if done.result is not None:
            self.planned.setdefault(unit, done.result)
        return done

    def moved(self, unit: str) -> dict[str, list[str]]:
        """{other unit: outputs whose current values differ from the values with which this unit was planned}."""
        table = {}
        for other in self.analysis.reads_from.get(unit, ()):
            planned, now = self.planned.get(other), self.done[other].result if other in self.done else None
            if planned is not None and now is not None and now.result == "applied":
                table[other] = changed_outputs(planned, now)
        return {other: names for other, names in table.items() if names}

    def _schedule(
        self,
        command: str,
        units: list[str],
        prepare: Callable[[str, UnitDecision], Request],
        cut_off: frozenset[str] = frozenset(),
    ) -> dict[str, FinishedUnit]:
        cache = self.batch.cache
        requests: dict[str, Request] = {}
        run = self

        class Runs(PassWork):
            def prepare(self, unit: str, decision: UnitDecision) -> Request:
                requests[unit] = prepare(unit, decision)
                return requests[unit]

            def known(self, request: Request) -> UnitResult | None:
                if request.command != "plan" or request.json_file or request.keeps_incomplete or request.approved_file:
                    return None
                result = cache.result(request)
                return cache.restored(result, request, run.batch.options.is_brief) if result is not None else None

            def kept(self, request: Request, result: UnitResult) -> EarlierResult:
                age = time.time() - result.made_at
                is_young = 0 <= age <= run.batch.options.reuse
                return EarlierResult(result.asks_plugins, result.asks_services, is_young, not request.options.refresh)

            def submit(self, executor: Workplace, request: Request) -> Future[Any]:
                return super().submit(executor, run.handed.completed(request))

            def received(self, request: Request, result: UnitResult) -> UnitResult:
                path = run.record.outputs_path(request.unit) if request.command == "plan" else ""
                return run.handed.take(result, path)

        class Keeper(BatchListener):
            """Records results, caches plans where possible, and forwards events to the run's listener. Events about
            units in `beside` are not forwarded."""

            def expects(self, units: list[str]) -> None:
                run.listener.expects([unit for unit in units if unit not in run.beside])

            def tick(self, slots: int) -> None:
                run.listener.tick(slots)

            def rests(self) -> None:
                run.listener.rests()

            def began(self, unit: str, attempt: int) -> None:
                if unit not in run.beside:
                    run.listener.began(unit, attempt)

            def stopping(self, units: list[str]) -> None:
                run.listener.stopping(units)

            def finish_unit(self, done: FinishedUnit) -> None:
                if done.result is not None and not done.reused:
                    if run.batch.options.out:
                        run.reads[done.unit] = done.result.reads
                    if done.unit in requests and requests[done.unit].command == "plan":
                        cache.keep_result(requests[done.unit], done.result, run.record.name)
                    run.done[done.unit] = evolve(done, result=evolve(done.result, reads=[]))
                if done.unit not in run.beside:
                    run.listener.finish_unit(done)

        schedule = Schedule(
            command,
            self.analysis.before,
            self.analysis.reads_from,
            Runs(),
            lambda: self.batch.open_executor(self._jobs_here(units) if command in HARMLESS else 0),
            self.batch.workers,
            self.record,
            Keeper(),
            self.done,
            lambda: STOP.requested,
            cut_off,
        )
        schedule.run(units)
        if schedule.has_run:
            cache.look_again()
        self.batch.peak = max(self.batch.peak, schedule.peak)
        return self.done

    def _jobs_here(self, units: list[str]) -> int:
        """The number of units that are neither done nor in the cache, or 0 if this process should not plan any of them.
        This process plans some of them if the run has more units and at most FEW of them have to be planned, or if no
        unit waits for other programs."""
        unknown = [unit for unit in units if unit not in self.done and not self.batch.cache.may_hold(unit)]
        is_here = len(unknown) <= FEW < len(units) or not any(map(self.batch.waits, unknown))
        return len(unknown) if is_here else 0

    def _upstream(self, unit: str, is_planned: bool) -> Upstream:
        """The entry for `unit` in the requests of the units that read its outputs. If `is_planned`, it has a digest of
        the unit's planned outputs; otherwise the outputs are read from the state."""
        fleet = self.analysis.fleet
        described = fleet.units[unit]
        folder = described.directory(fleet.root)
        seen = self.handed.seen(unit) if is_planned else ""
        state = self.analysis.state_of.get(unit, "")
        parts = self.analysis.parts.get(unit, ())
        place, stack = described.workspace, described.deployment
        return Upstream(unit, state, seen, folder, place, called=described.called, deployment=stack, parts=parts)

    def _request(self, unit: str, command: str, decision: UnitDecision, keep_plan: bool) -> Request:
        analysis, options = self.analysis, self.batch.options
        described = analysis.fleet.units[unit]
        inputs, seen, states = described.inputs, decision.sees_plan, analysis.state_of
        if described.offers:
            declared = analysis.offered.get(unit, ())
            inputs = (*inputs, *(offer for offer in described.offers if offer.variable in declared))
        taken = {other for given in inputs for other, _, _ in given.mentions} if inputs else set[str]()
        if described.blocks:
            taken |= {other for _, other, _ in described.blocks}
        if described.deployment is not None:
            taken |= set(analysis.reads_from.get(unit, ()))
        before = [states[other] for other in analysis.edges[unit] if states.get(other)]
        before += [state for other in analysis.edges[unit] for state, _ in analysis.parts.get(other, ())]
        keep_plan = keep_plan and command in ("plan", "destroy")
        return Request(
            unit,
            described.directory(analysis.fleet.root),
            command,
            described.workspace,
            described.variables,
            described.var_files,
            tuple((given.variable, given.text) for given in inputs) if inputs else (),
            states.get(unit, ""),
            tuple(self._upstream(other, other in seen) for other in sorted({*taken, *seen})) if taken or seen else (),
            tuple(sorted(before)),
            self.batch.environment if described.deployment is None else self.batch.stack_environment,
            self._options(unit),
            self.plan_path(unit) if keep_plan else "",
            self.facts if command in ("plan", "destroy") and (keep_plan or command == "plan") else (),
            options.text,
            spares_tainted=decision.spares_tainted,
            is_read=unit in self.read,
            recipe=described.recipe,
            names=described.names,
            json_file=self.json_path(unit) if keep_plan and options.json_out and unit not in self.beside else "",
            keeps_incomplete=bool(options.out) and unit not in self.beside,
            approved_file=self.approved.get(unit, ""),
            deployment=described.deployment,
            review=options.review,
            around=options.around if described.deployment is not None else (),
            fleet_policies=self._fleet_policies(unit),
        )

    def _options(self, unit: str) -> OperationOptions:
        """The command line's options for a unit."""
        options = self._options_for(self.asked[unit]) if unit in self.asked else self._common_options
        # the job of the unit's own shard holds the lock
        return evolve(options, lock=False) if unit in self.beside else options

    @cached_property
    def _common_options(self) -> OperationOptions:
        return self._options_for(NOTHING)

    def _options_for(self, asked: UnitOptions) -> OperationOptions:
        options = self.batch.options.operation
        return evolve(
            options,
            mode="refresh-only" if options.mode == "refresh-only" else "normal",  # "destroy" is a command of its own
            var_args=asked.variables,
            limits=asked.limits,
            policies=asked.policies,
            standing_policies=self.batch.policies,
            policy_overrides=asked.overrides,
            policy_reason=asked.reason,
        )

    def _fleet_policies(self, unit: str) -> tuple[str, ...]:
        """The fleet's policies for a unit; none for a unit in the fleet's own directory, because its own policies
        include them already."""
        policies, fleet = self.batch.fleet_policies, self.analysis.fleet
        if not policies:
            return ()
        is_root = os.path.realpath(fleet.units[unit].directory(fleet.root)) == os.path.realpath(fleet.root)
        return () if is_root else policies

    def plan_path(self, unit: str) -> str:
        out = self.batch.options.out
        is_saved = out and unit not in self.beside
        return plan_path(os.path.abspath(out), unit) if is_saved else self.record.plan_path(unit)

    def end(self, done: FinishedUnit) -> None:
        """Record an outcome that is not the result of running the unit, such as a denial."""
        self.done[done.unit] = done
        self.record.finish(done)
        self.listener.finish_unit(done)

    def json_path(self, unit: str) -> str:
        return json_path(os.path.abspath(self.batch.options.json_out), unit)

    def in_order(self) -> dict[str, FinishedUnit]:
        """{unit: finished unit}, ordered by wave, without the units in `beside`."""
        return {unit: self.done[unit] for unit in self.order if unit in self.done and unit not in self.beside}

    def part(self) -> ShardSummary | None:
        """The data about this shard for joining it with the other shards; None if this job runs all units."""
        if self._known_part is None and self.analysis.share is not None:
            self._known_part = self._part(self.analysis.share)
        return self._known_part

    def _part(self, share: Share) -> ShardSummary:
        from planner.workflows.batch.shard_results import part_of

        options, surveyed = self.batch.options, {unit: self.batch.surveyed(unit) for unit in self.analysis.selected}
        given = options.asked.variables
        names = [[kind, text if kind == "var-file" else text.partition("=")[0]] for kind, text in given]
        asked: list[Any] = [
            options.operation.mode,
            options.operation.refresh,
            names,
            options.asked.targets,
            options.asked.replace,
        ]
        root = self.analysis.fleet.root
        judges = [os.path.relpath(word, root) if os.path.isabs(word) else word for word in options.asked.policies]
        asked += [judges, options.asked.overrides]
        return part_of(self.analysis, share, self.done, asked, surveyed)


def begin(
    command: str,
    options: BatchOptions,
    listener: BatchListener,
    facts: tuple[str, ...] | None = None,
    asked: Mapping[str, Any] = {},
) -> tuple[Run | None, BatchReport]:
    """Find and analyse a fleet, and begin a run with its record. If there are errors, None is returned instead of the
    run. `facts`: the relations about plans that a query reads; None if there is no query. `asked`: further entries of
    run.json. Raises Failure."""
    started = time.monotonic()
    batch = Batch(options, command, keeps_pool=True)
    batch.hold()
    policies = batch.standing_policies() if facts is None else None
    asks = facts is not None or policies is not None or options.text
    analysis = batch.analysis(asks=asks)  # pages with plans show the reasons for edges
    problems = (*batch.fleet.diagnostics, *analysis.diagnostics)
    report = BatchReport(
        command, analysis, diagnostics=problems, seconds=time.monotonic() - started, mode=options.operation.mode
    )
    if has_errors(problems):
        batch.close()
        batch.cache.save()
        return None, report
    try:
        batch.asked_of(analysis.selected)
        if options.json_out:
            make_private(options.json_out)
        if options.out:
            prepare(options.out)
    except Failure:
        batch.close()
        raise
    plain = to_json(evolve(options, asked=evolve(options.asked, variables=())))  # variables may contain secrets
    document = {"command": command, "options": plain, "directory": os.getcwd(), **asked}
    if command not in HARMLESS:
        document["by"] = user_at_host()
    if options.asked.variables:
        document["is_given_variables"] = True
    retain(batch.fleet.root)
    record = Record.new(batch.fleet.root, document, durable=command not in HARMLESS)
    if analysis.share is not None:
        listener.shares(analysis.share, len(analysis.selected))
    return Run(batch, analysis, record, listener, facts=facts or (), policies=policies), report


def make_private(folder: str) -> None:
    """Make a directory that only the user can read. Raises Failure."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)
    except OSError as problem:
        detail = f"{folder}: {problem.strerror or problem}."
        raise Failure(error("batch.folder", "A directory cannot be created", detail)) from None


def finish(run: Run, report: BatchReport, started: float, in_flight: tuple[str, ...] = ()) -> BatchReport:
    """Release the batch, save its cache, close the record, update the manifest, and return the complete report."""
    run.batch.close()
    run.batch.cache.save()
    result = evolve(
        report,
        diagnostics=(*report.diagnostics, *run.gate.diagnostics),
        done=run.in_order(),
        run=run.record.name,
        seconds=time.monotonic() - started,
        workers=run.batch.workers,
        peak=run.batch.peak,
        in_flight=tuple(unit for unit in in_flight if unit not in run.beside),
        part=run.part(),
    )
    run.record.add("ended", exit=int(result.failed))
    run.record.close()
    _remember(run, result)
    return result


def _remember(run: Run, report: BatchReport) -> None:
    """Update the manifest of the fleet, after a plan, apply or destroy."""
    done = {unit for unit, end in report.done.items() if end.outcome in ("applied", "unchanged")}
    analysis, command = run.analysis, report.command
    if command in ("plan", "apply", "destroy"):
        applied, ended = (done if command == name else set[str]() for name in ("apply", "destroy"))
        keep_manifest(analysis.fleet, analysis.state_of, analysis.edges, applied, ended)
