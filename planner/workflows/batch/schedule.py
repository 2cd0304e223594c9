"""Runs units in the order of their dependencies. Rules decide whether a unit runs and what its outcome is
(unit_decisions.py).

A unit starts when its dependencies have ended. Of several ready units, the alphabetically first starts first. If a
worker dies, only its unit is affected; the unit may be run again."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from heapq import heappop, heappush
from typing import Any

from planner.foundation.vocabulary.records import evolve
from planner.workflows.batch.executor import Workplace, is_death
from planner.workflows.batch.executors import work as run_in
from planner.workflows.batch.model import FinishedUnit, Request, Share, UnitResult
from planner.workflows.batch.record import NoRecord, Record
from planner.workflows.batch.unit_decisions import Earlier, EarlierResult, UnitDecision, decide

POLL = 0.2
"""seconds between checks for a stop request"""

HARMLESS = ("plan", "validate")
"""commands that make no changes. Twice as many of their units as there are workers are submitted, so that workers need
not wait for their next unit"""


class BatchListener:
    """Receives the events of a batch. The methods of this base class do nothing."""

    def shares(self, share: Share, selected: int) -> None:
        """This job runs only the units of its shard (`share`), and other jobs run the other units. `selected`: the
        number of units in all shards."""

    def goes_on(self, applied: list[str], begun: list[str]) -> None:
        """An interrupted apply of a saved plan is continued. `applied`: units that earlier runs applied. `begun`: units
        whose apply was started by an earlier run and not completed."""

    def expects(self, units: list[str]) -> None:
        """A schedule begins to run these units."""

    def tick(self, slots: int) -> None:
        """Called repeatedly while units run, except while a unit runs in this process. `slots`: maximum number of units
        that run at a time."""

    def rests(self) -> None:
        """The schedule has ended."""

    def began(self, unit: str, attempt: int) -> None:
        """The work on the unit begins."""

    def finish_unit(self, done: FinishedUnit) -> None:
        """The unit has ended."""

    def stopping(self, units: list[str]) -> None:
        """A stop was requested: these units are still running and will finish, and no other unit starts."""


class PassWork:
    """The functions that a Schedule needs from its caller."""

    def prepare(self, unit: str, decision: UnitDecision) -> Request:
        """The request to run a unit."""
        raise NotImplementedError

    def known(self, request: Request) -> UnitResult | None:
        """An earlier result that is still valid; None if there is none."""
        return None

    def kept(self, request: Request, result: UnitResult) -> EarlierResult:
        """The properties of an earlier result from which the rules decide whether it is reused."""
        return EarlierResult(result.asks_plugins, result.asks_services)

    def submit(self, executor: Workplace, request: Request) -> Future[Any]:
        """Submit a request to the executor. An implementation may first add the values of other units' outputs to the
        request. Raises Failure."""
        return executor.submit(run_in, request)

    def received(self, request: Request, result: Any) -> UnitResult:
        """Convert the result of a worker to a UnitResult."""
        passed: UnitResult = result
        return passed


class Schedule:
    """Runs units once, each after the units before it. `before`: {unit: units before it}. `reads_from`: {unit: units
    whose outputs it reads}. `open_executor` is called before the first unit is submitted."""

    def __init__(
        self,
        command: str,
        before: Mapping[str, tuple[str, ...]],
        reads_from: Mapping[str, tuple[str, ...]],
        work: PassWork,
        open_executor: Callable[[], Workplace],
        workers: int,
        record: Record | NoRecord,
        listener: BatchListener,
        done: dict[str, FinishedUnit],
        is_stopped: Callable[[], bool] = lambda: False,
        cut_off: frozenset[str] = frozenset(),
    ) -> None:
        self.command, self.before, self.reads_from, self.work = command, before, reads_from, work
        self.open_executor, self.workers, self.record, self.listener = open_executor, workers, record, listener
        self.done, self.is_stopped, self.cut_off = done, is_stopped, cut_off
        self.executor: Workplace | None = None
        self.running: dict[Future[Any], str] = {}
        self.requests: dict[str, Request] = {}
        self.deaths: dict[str, int] = {}
        self.ready: list[str] = []
        self.open: dict[str, int] = {}
        self.after: dict[str, list[str]] = {}
        self.peak = 0
        self.has_run = False
        self.is_told = False

    def run(self, units: list[str]) -> dict[str, FinishedUnit]:
        """Run the units that are not in `done`. Returns `done`, as {unit: finished unit}."""
        left = [unit for unit in units if unit not in self.done]
        members = set(left)
        self.listener.expects(left)
        for unit in left:
            waits = [other for other in self.before.get(unit, ()) if other in members]
            self.open[unit] = len(waits)
            for other in waits:
                self.after.setdefault(other, []).append(unit)
            if not waits:
                heappush(self.ready, unit)
        try:
            while self.ready or self.running:
                self._begin()
                self.record.sync()
                if self.running:
                    self._wait()
        except BaseException:
            if self.executor is not None:
                self.executor.end()
                self.executor = None
            raise
        finally:
            self.record.sync()
            self.listener.rests()
            self._close()
        return self.done

    # ---------------------------------------------------------------- beginning

    def _begin(self) -> None:
        while self.ready and self._has_room():
            unit = heappop(self.ready)
            outcomes = self._earlier(unit)
            decision = decide(self.command, outcomes, was_cut_off=unit in self.cut_off)
            if decision.skipped:
                self._end(FinishedUnit(unit, decision.outcome, decision.because))
                continue
            request = self.requests.get(unit)
            if request is None:
                request = self.requests[unit] = self.work.prepare(unit, decision)
            known = self.work.known(request)
            if known is not None:
                outcomes = self._earlier(unit, known)
                kept = self.work.kept(request, known)
                decision = decide(self.command, outcomes, kept, known.result, is_partial=known.is_partial)
                if decision.reused:
                    self._end(FinishedUnit(unit, decision.outcome, decision.because, True, known))
                    continue
            if self.is_stopped():
                self._finish(unit, UnitResult(unit, "stopped"))
            else:
                self._submit(unit, request)

    def _has_room(self) -> bool:
        return len(self.running) < self.workers * (2 if self.command in HARMLESS else 1)

    def _submit(self, unit: str, request: Request) -> None:
        attempt = self.deaths.get(unit, 0) + 1
        self.record.add("started", unit=unit, attempt=attempt, command=request.command)
        self.record.sync()  # recorded first, so that running units are known after a crash
        self.listener.began(unit, attempt)
        self.has_run = True
        try:
            if self.executor is None:
                self.executor = self.open_executor()
                self.workers = self.executor.size or self.workers
            future = self.work.submit(self.executor, request)
        except Exception as problem:
            if not is_death(problem):
                raise
            future = Future()
            future.set_exception(problem)
        self.running[future] = unit

    def _earlier(self, unit: str, result: UnitResult | None = None) -> dict[str, Earlier]:
        """The outcomes of the units before a unit. `result`: the unit's own result, if it is known; units for whose
        unknown outputs it waits are marked as awaited."""
        awaited = {other for _, other, _, _ in result.rests_on} if result is not None else set[str]()
        return earlier(self.done, self.before.get(unit, ()), self.reads_from.get(unit, ()), awaited)

    # ---------------------------------------------------------------- ending

    def _wait(self) -> None:
        finished, _ = wait(self.running, timeout=POLL, return_when=FIRST_COMPLETED)
        self.listener.tick(self.workers)
        if not self.is_told and self.is_stopped():
            self.is_told = True
            self.listener.stopping(sorted(self.running.values()))
            if self.executor is not None:
                self.executor.stop()
        for future in sorted(finished, key=lambda f: self.running[f]):
            unit = self.running.pop(future)
            problem = future.exception()
            if problem is None:
                result = self.work.received(self.requests[unit], future.result())
                self.peak = max(self.peak, result.memory)
                self._finish(unit, result)
            elif is_death(problem):
                self._bury(unit)
            else:
                self._finish(unit, _failure(unit, problem))

    def _bury(self, unit: str) -> None:
        """Run a unit again after its worker died. If the rules do not allow this, or a stop was requested, finish the
        unit with the outcome `died`."""
        self.deaths[unit] = self.deaths.get(unit, 0) + 1
        self.record.add("died", unit=unit, attempt=self.deaths[unit])
        decision = decide(self.command, self._earlier(unit), result="died", died=self.deaths[unit])
        if decision.retried and not self.is_stopped():
            self.requests[unit] = evolve(self.requests[unit], spares_tainted=decision.spares_tainted)
            heappush(self.ready, unit)
        else:
            self._finish(unit, UnitResult(unit, "died", diagnostics=(_died(unit, self.deaths[unit]),)))

    def _finish(self, unit: str, result: UnitResult) -> None:
        decision = decide(
            self.command,
            self._earlier(unit, result),
            result=result.result,
            died=self.deaths.get(unit, 0),
            is_partial=result.is_partial,
        )
        attempts = self.deaths.get(unit, 0) + (result.result != "died")
        self._end(FinishedUnit(unit, decision.outcome, decision.because, False, result, attempts))

    def _end(self, done: FinishedUnit) -> None:
        self.done[done.unit] = done
        if done.result is not None and done.attempts > 1 and done.outcome != "died":
            detail = (
                f"A process that worked on {done.unit} was killed by the system or another program; the unit was run "
                "again."
            )
            note = {
                "severity": "warning",
                "summary": "A process ended unexpectedly",
                "detail": detail,
                "code": "batch.died",
            }
            done = self.done[done.unit] = evolve(
                done, result=evolve(done.result, diagnostics=(note, *done.result.diagnostics))
            )
        self.record.finish(done)
        self.listener.finish_unit(done)
        for other in self.after.get(done.unit, ()):
            self.open[other] -= 1
            if not self.open[other]:
                heappush(self.ready, other)

    def _close(self) -> None:
        executor, self.executor = self.executor, None
        if executor is not None:
            executor.shutdown(wait=True, cancel_futures=True)


def earlier(
    done: Mapping[str, FinishedUnit], before: Iterable[str], read: Container[str], awaited: Container[str] = ()
) -> dict[str, Earlier]:
    """The outcomes of the finished units in `before`, for deciding about a unit. `before`: the units that run before
    this unit. `read`: units whose outputs it reads. `awaited`: units for whose unknown outputs its plan waits."""
    result = {}
    for other in before:
        end = done.get(other)
        if end is not None:
            changes = end.result is not None and bool(end.result.changed)
            result[other] = Earlier(end.outcome, other in read, changes, other in awaited)
    return result


def _died(unit: str, times: int) -> dict[str, Any]:
    detail = (
        f"The worker process of {unit} ended without a result, {times} time{'s' * (times != 1)}. If it was applying "
        "changes, the journal next to the unit's state contains the operations that it started, and the next plan "
        "lists those that were in progress."
    )
    return {"severity": "error", "summary": "A process ended unexpectedly", "detail": detail, "code": "batch.died"}


def _failure(unit: str, problem: BaseException) -> UnitResult:
    detail = f"{type(problem).__name__}: {problem}."
    diagnostic = {"severity": "error", "summary": "A unit could not be run", "detail": detail, "code": "batch.executor"}
    return UnitResult(unit, "error", diagnostics=(diagnostic,))
