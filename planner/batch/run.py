"""A batch: find the fleet, survey it, derive the order, run what is selected."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

from attrs import evolve, field, frozen

from planner.batch.analyse import Analysis, analyse, environment, from_plain, survey_request, to_plain
from planner.batch.cache import Cache, survey_of
from planner.batch.decide import Decision
from planner.batch.executors import FEW, Workplace, is_death
from planner.batch.model import BAD, Done, Fleet, Request, Result, Survey
from planner.batch.record import Record
from planner.batch.rules import Files
from planner.batch.schedule import HARMLESS, Listener, Schedule
from planner.batch.selectors import Selection
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors

CHUNK = 25
"""units that one task surveys"""


@frozen
class BatchOptions:
    """What the flags of batch commands say. `words` are folders, patterns and selectors; `var_args` go to every unit
    that has such a variable file; `executor` as in executors.py; `workers` 0: one for each processor."""

    words: tuple[str, ...] = ()
    file: str = ""
    tags: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    changed: str = ""
    excludes: tuple[str, ...] = ()
    executor: str = ""
    workers: int = 0
    cache: bool = True
    refresh: bool = True
    lock: bool = True
    lock_timeout: float = 0.0
    parallelism: int = 10
    rules: tuple[str, ...] = ()
    text: bool = False
    is_brief: bool = False
    """whether numbers will do for units that are not planned again, and no report names their changes"""


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
    standby: bool = False
    """whether a process stands by from now on for the next commands"""

    @property
    def failed(self) -> bool:
        return has_errors(self.diagnostics) or any(d.outcome in BAD for d in self.done.values())

    @property
    def has_changes(self) -> bool:
        return any(d.outcome in ("changes", "incomplete") for d in self.done.values())


def worker_count(options: BatchOptions) -> int:
    return options.workers or os.cpu_count() or 1


# ---------------------------------------------------------------- finding


class Batch:
    """A fleet with its cache and executors: what one command works with. `keeps_pool`: the processes that survey the
    units stay for what runs next, until `close`."""

    def __init__(self, options: BatchOptions, command: str, keeps_pool: bool = False) -> None:
        from planner.batch.discover import find_fleet

        self.options, self.command = options, command
        caches: dict[str, Cache] = {}

        def cache_of(root: str) -> Cache:
            if root not in caches:
                caches[root] = Cache(root, options.cache)
            return caches[root]

        self.fleet, self.selectors = find_fleet(options.words, options.file, cache_of)
        self.cache = cache_of(self.fleet.root)
        if self.cache.is_new:
            self.warm_up()
        self.own = own_rules(options, self.fleet)
        self.workers = worker_count(options)
        self.environment = environment()
        self.peak = 0
        self.keeps_pool = keeps_pool
        self.texts: dict[str, str] = {}
        self.made: dict[str, Survey] = {}
        self.pool: Workplace | None = None

    def warm_up(self) -> None:
        from planner.batch.executors import warm_up

        warm_up(self.options.executor)

    def open_executor(self, is_small: bool = False) -> Workplace:
        from planner.batch.executors import open_executor

        kept, self.pool = self.pool, None
        if kept is not None:
            return kept
        return open_executor(self.options.executor, self.workers, is_small)

    def analysis(self, want: tuple[str, ...] = (), selected: bool = True, asks: bool = True) -> Analysis:
        """The fleet as the rules see it; with `asks`, their database is wanted, too. Raises Failure."""
        options = self.options
        selection = Selection(
            tuple(self.selectors) if selected else (), options.tags, options.groups, options.changed, options.excludes
        )
        self.survey()
        key = "" if asks or want or selection != Selection() or self.own else self._analysis_key()
        known = self.cache.analysis(self.command, key) if key else None
        if known is not None:
            return from_plain(known, self.fleet, self.command, self.own)
        surveys = {name: self.made.get(name) or survey_of(text) for name, text in self.texts.items()}
        found = analyse(self.fleet, surveys, selection, self.command, self.own, want)
        if key and not (found.diagnostics or self.fleet.diagnostics):
            self.cache.keep_analysis(self.command, key, to_plain(found))
        return found

    def _analysis_key(self) -> str:
        """What the analysis of a whole fleet rests on."""
        said = blake2b(digest_size=16)
        if self.fleet.file:
            with open(self.fleet.file, "rb") as file:
                said.update(file.read())
        for text in (self.fleet.root, *self.fleet.units, *self.texts.values()):
            said.update(b"\0" + os.fsencode(text))
        return said.hexdigest()

    def survey(self) -> None:
        """Find out what the configurations say, from the cache where nothing has changed."""
        if has_errors(self.fleet.diagnostics):
            return
        missing: list[Request] = []
        for unit in self.fleet.units.values():
            request = survey_request(self.fleet, unit, self.environment)
            known = self.cache.survey_text(request)
            if known is None:
                missing.append(request)
            self.texts[unit.name] = known or ""
        for request, made in zip(missing, self._make_surveys(missing), strict=True):
            self.made[request.unit] = made
            self.texts[request.unit] = self.cache.keep_survey(request, made)

    def _make_surveys(self, requests: list[Request]) -> list[Survey]:
        if not requests:
            return []
        from planner.batch.worker import survey_units

        folders = [self.fleet.units[r.unit].folder for r in requests]
        if len(requests) <= CHUNK and not self.options.executor.startswith("dask"):
            return survey_units(requests, folders)
        try:
            return self._survey_elsewhere(requests, folders)
        except Exception as problem:
            if not is_death(problem):
                raise
        try:
            return self._survey_elsewhere(requests, folders)  # somebody ended a process from outside
        except Exception as problem:
            if not is_death(problem):
                raise
            detail = "Processes that read the configurations were ended from outside, twice. Is there enough memory?"
            raise Failure(error("batch.died", "A process died", detail)) from None

    def _survey_elsewhere(self, requests: list[Request], folders: list[str]) -> list[Survey]:
        from planner.batch.worker import survey_units

        executor = self.open_executor()
        try:
            parts = [slice(at, at + CHUNK) for at in range(0, len(requests), CHUNK)]
            futures = [executor.submit(survey_units, requests[part], folders[part]) for part in parts]
            surveys = [survey for future in futures for survey in future.result()]
        except BaseException:
            executor.end()
            raise
        self.pool = executor
        if not self.keeps_pool:
            self.close()
        return surveys

    def close(self) -> None:
        """Give back the processes that nothing took over."""
        kept, self.pool = self.pool, None
        if kept is not None:
            kept.shutdown(wait=True)


def own_rules(options: BatchOptions, fleet: Fleet) -> Files:
    """Users' rules about the fleet: those of -rules, else of `.planner/batch-rules` at its root. Raises Failure."""
    from planner.graph.build import user_files

    own = os.path.join(fleet.root, ".planner", "batch-rules")
    return user_files(options.rules or ((own,) if os.path.isdir(own) else ()))


# ---------------------------------------------------------------- running


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
    ) -> None:
        self.batch, self.analysis, self.record, self.listener = batch, analysis, record, listener
        self.done: dict[str, Done] = done or {}
        self.facts = facts
        self.planned = 0
        self.standby = False
        self.order = sorted(analysis.selected, key=lambda unit: (analysis.waves.get(unit, 0), unit))

    def plan(self, units: list[str], command: str = "plan", mode: str = "plan") -> dict[str, Done]:
        """Plan (or validate) units. `mode`: plan, destroy or validate: what is planned for."""
        return self._schedule(command, units, lambda unit, decision: self._request(unit, mode, decision, True))

    def apply(self, units: list[str], command: str = "apply") -> dict[str, Done]:
        """Plan and apply each unit as soon as all before it are done."""
        return self._schedule(command, units, lambda unit, decision: self._request(unit, command, decision, False))

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

    def _schedule(self, command: str, units: list[str], prepare: Callable[[str, Decision], Request]) -> dict[str, Done]:
        from planner.signals import STOP

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
                    run._count(command)
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
        )
        schedule.run(units)
        if schedule.has_run:
            cache.look_again()
        self.batch.peak = max(self.batch.peak, schedule.peak)
        return self.done

    def _count(self, command: str) -> None:
        """Many plans: others will follow when a little has changed, and then most of their time would be starting."""
        from planner.standby.begin import MANY, begin

        self.planned += command in HARMLESS
        if self.planned == MANY:
            self.standby = begin()

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
            tuple((other, states.get(other, ""), other in pending) for other in taken) if taken else (),
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
        )

    def in_order(self) -> dict[str, Done]:
        return {unit: self.done[unit] for unit in self.order if unit in self.done}


def begin(
    command: str, options: BatchOptions, listener: Listener, facts: tuple[str, ...] = (), asked: Mapping[str, Any] = {}
) -> tuple[Run | None, Report]:
    """Find and analyse a fleet and begin the record of a run; no Run when something is wrong. Raises Failure."""
    started = time.monotonic()
    batch = Batch(options, command, keeps_pool=True)
    analysis = batch.analysis(asks=bool(facts))
    problems = (*batch.fleet.diagnostics, *analysis.diagnostics)
    report = Report(command, analysis, diagnostics=problems, seconds=time.monotonic() - started)
    if has_errors(problems):
        batch.close()
        batch.cache.save()
        return None, report
    import attrs

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
        standby=run.standby,
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
