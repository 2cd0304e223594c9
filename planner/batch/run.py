"""A run: what is selected of a fleet, planned or applied in its order, with a record."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs
from attrs import evolve, field, frozen

from planner.batch.analyse import Analysis
from planner.batch.batch import Batch, BatchOptions
from planner.batch.decide import Decision
from planner.batch.executors import FEW
from planner.batch.model import BAD, Done, Request, Result, Upstream
from planner.batch.record import Record
from planner.batch.schedule import HARMLESS, Listener, Schedule
from planner.vocabulary.diagnostic import Diagnostic, has_errors


@frozen(eq=False)
class Report:
    """What a batch came to. `done` has an entry for every selected unit, in the order of waves and names."""

    command: str
    analysis: Analysis | None
    done: dict[str, Done] = field(factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    run: str = ""
    seconds: float = 0.0
    workers: int = 0
    peak: int = 0
    in_flight: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return has_errors(self.diagnostics) or any(d.outcome in BAD for d in self.done.values())

    @property
    def has_changes(self) -> bool:
        return any(d.outcome in ("changes", "incomplete") for d in self.done.values())


class Run:
    """One command over the selected units of a fleet, with its record."""

    def __init__(
        self,
        batch: Batch,
        analysis: Analysis,
        record: Record,
        listener: Listener,
        done: dict[str, Done] | None = None,
        facts: tuple[str, ...] = (),
        cut_off: frozenset[str] = frozenset(),
    ) -> None:
        self.batch, self.analysis, self.record, self.listener = batch, analysis, record, listener
        self.done: dict[str, Done] = done or {}
        self.facts = facts
        self.cut_off = cut_off
        self.order = sorted(analysis.selected, key=lambda unit: (analysis.waves.get(unit, 0), unit))

    def plan(self, units: list[str], command: str = "plan", mode: str = "plan") -> dict[str, Done]:
        """Plan (or validate) units. `mode`: plan, destroy or validate: what is planned for."""
        return self._schedule(command, units, lambda unit, decision: self._request(unit, mode, decision, True))

    def apply(self, units: list[str], command: str = "apply") -> dict[str, Done]:
        """Plan and apply each unit as soon as all before it are done."""
        return self._schedule(
            command, units, lambda unit, decision: self._request(unit, command, decision, False), self.cut_off
        )

    def apply_plans(self, units: list[str], command: str) -> dict[str, Done]:
        """Apply the plans that were made and approved."""
        files = {unit: done.result.plan_file for unit, done in self.done.items() if done.result is not None}
        before = {unit: self.done.pop(unit) for unit in units}

        def prepare(unit: str, decision: Decision) -> Request:
            return evolve(self._request(unit, "apply_plan", decision, False), plan_file=files[unit])

        done = self._schedule(command, units, prepare)
        for unit, planned in before.items():
            result = done[unit].result
            if result is not None and planned.result is not None:
                shown = evolve(result, changes=planned.result.changes, outputs=planned.result.outputs)
                done[unit] = evolve(done[unit], result=shown)
        return done

    def _schedule(
        self,
        command: str,
        units: list[str],
        prepare: Callable[[str, Decision], Request],
        cut_off: frozenset[str] = frozenset(),
    ) -> dict[str, Done]:
        from planner.support.signals import STOP

        cache = self.batch.cache

        def known(unit: str, request: Request) -> Result | None:
            if request.command != "plan":
                return None
            found = cache.result(request)
            return cache.restored(found, request, self.batch.options.is_brief) if found is not None else None

        requests: dict[str, Request] = {}

        def made(unit: str, decision: Decision) -> Request:
            requests[unit] = prepare(unit, decision)
            return requests[unit]

        run = self
        is_small = sum(unit not in self.done and not cache.may_hold(unit) for unit in units) <= FEW < len(units)

        class Keeper(Listener):
            """Keeps clean plans for the next run, and passes everything on."""

            def began(self, unit: str, attempt: int) -> None:
                run.listener.began(unit, attempt)

            def stopping(self, units: list[str]) -> None:
                run.listener.stopping(units)

            def ended(self, done: Done) -> None:
                if done.result is not None and not done.reused:
                    if requests[done.unit].command == "plan":
                        cache.keep_result(requests[done.unit], done.result, run.record.name)
                    run.done[done.unit] = evolve(done, result=evolve(done.result, reads=[]))
                run.listener.ended(done)

        schedule = Schedule(
            command,
            self.analysis.before,
            made,
            known,
            lambda: self.batch.open_executor(command == "plan" and is_small),
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

    def _upstream(self, unit: str, pending: bool) -> Upstream:
        """A unit whose outputs another takes."""
        fleet = self.analysis.fleet
        described = fleet.units[unit]
        folder = f"{fleet.root}/{described.folder}"
        return Upstream(unit, self.analysis.state_of.get(unit, ""), pending, folder, described.workspace)

    def _request(self, unit: str, command: str, decision: Decision, keep_plan: bool) -> Request:
        analysis, options = self.analysis, self.batch.options
        described = analysis.fleet.units[unit]
        inputs, pending, states = described.inputs, decision.pending, analysis.state_of
        taken = sorted({other for given in inputs for other, _, _ in given.mentions}) if inputs else ()
        before = [states[other] for other in analysis.edges[unit] if states.get(other)]
        complete = not pending and command in ("plan", "destroy") and keep_plan
        return Request(
            unit,
            f"{analysis.fleet.root}/{described.folder}",
            command,
            described.workspace,
            described.variables,
            described.var_files,
            tuple((given.variable, given.text) for given in inputs) if inputs else (),
            states.get(unit, ""),
            tuple(self._upstream(other, other in pending) for other in taken) if taken else (),
            tuple(sorted([(states[other], f"unit.{other}") for other in pending if states.get(other)])),
            tuple(sorted(before)),
            self.batch.environment,
            (),
            options.refresh,
            options.lock,
            options.lock_timeout,
            options.parallelism,
            self.record.plan_path(unit) if complete else "",
            self.facts if command == "plan" else (),
            options.text,
            policies=self.batch.policies,
            spares_tainted=decision.spares_tainted,
        )

    def in_order(self) -> dict[str, Done]:
        return {unit: self.done[unit] for unit in self.order if unit in self.done}


def begin(
    command: str, options: BatchOptions, listener: Listener, facts: tuple[str, ...] = (), asked: Mapping[str, Any] = {}
) -> tuple[Run | None, Report]:
    """Find and analyse a fleet and begin the record of a run; no Run when something is wrong. Raises Failure."""
    started = time.monotonic()
    batch = Batch(options, command, keeps_pool=True)
    batch.hold()
    analysis = batch.analysis(asks=bool(facts) or options.text)  # pages with texts say why edges are there
    problems = (*batch.fleet.diagnostics, *analysis.diagnostics)
    report = Report(command, analysis, diagnostics=problems, seconds=time.monotonic() - started)
    if has_errors(problems):
        batch.close()
        batch.cache.save()
        return None, report
    document = {"command": command, "options": attrs.asdict(options), "directory": os.getcwd(), **asked}
    record = Record.new(batch.fleet.root, document, durable=command not in HARMLESS)
    return Run(batch, analysis, record, listener, facts=facts), report


def finish(run: Run, report: Report, started: float, in_flight: tuple[str, ...] = ()) -> Report:
    """Close the record and give the report."""
    run.batch.close()
    run.batch.cache.save()
    found = evolve(
        report,
        done=run.in_order(),
        run=run.record.name,
        seconds=time.monotonic() - started,
        workers=run.batch.workers,
        peak=run.batch.peak,
        in_flight=in_flight,
    )
    run.record.add("ended", exit=int(found.failed))
    run.record.close()
    return found


def plan(options: BatchOptions, listener: Listener, command: str = "plan", facts: tuple[str, ...] = ()) -> Report:
    """Plan or validate the selected units. Raises Failure."""
    started = time.monotonic()
    run, report = begin(command, options, listener, facts)
    if run is None:
        return report
    run.plan(run.order, command, command)
    return finish(run, report, started)
