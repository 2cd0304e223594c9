"""Walks with a bounded pool of threads. Work that waits for external systems runs on up to `parallelism` threads; work
that only computes runs on the walk's own thread, so that ten thousand locals need no thread switches.

Nodes whose work waits for external systems start first, because they take longest. Otherwise, ready nodes start in the
order of their names. Threads are created only when they are needed. A node whose group is at its bound does not occupy
a thread while it waits.

A deadlock is impossible. The machine instructs the start of every node or skips it; when no node runs, it skips nodes
on cycles. A node whose start was instructed is in one of the two queues, waits in `Slots` until a running node of its
group ends, or runs. The walk continues while a queue contains a node or a node is running. A thread acquires no lock of
the walk and waits only for its work, so a running node ends when its work ends. Then the next waiting node is
queued."""

from __future__ import annotations

from _queue import Empty, SimpleQueue  # importing them from `queue` would load more modules
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from heapq import heappop, heappush
from threading import Lock, Thread, local
from typing import Any

from planner.engine.walk.machine import (
    NOTHING,
    Diagnosed,
    Instruction,
    Machine,
    Skip,
    SlotLimits,
    Slots,
    StartNode,
    Stopped,
    StopSignal,
    WalkResult,
    Work,
    WorkResult,
    event_of,
    in_order,
)
from planner.foundation.support import trace
from planner.foundation.vocabulary.address_set import Numbered
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, defect, has_errors


class _Pool:
    """Threads that take nodes from one queue, do their work, and put the results into another queue. If the work raises
    an exception, the exception is the result."""

    def __init__(self, work: Work, size: int) -> None:
        self._work = work
        self._size = size
        self._threads: list[Thread] = []
        self._jobs: SimpleQueue[str | None] = SimpleQueue()
        self.answers: SimpleQueue[tuple[str, WorkResult | BaseException] | None] = SimpleQueue()
        self.busy = 0

    @property
    def is_full(self) -> bool:
        return self.busy >= self._size

    def submit(self, node: str) -> None:
        self.busy += 1
        if self.busy > len(self._threads):
            run = copy_context().run  # threads inherit context variables, such as the view of files
            thread = Thread(target=run, args=(self._run,), name=f"walk-{len(self._threads) + 1}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._jobs.put(node)

    def wake(self) -> None:
        """Make a waiting call of `take` return None."""
        self.answers.put(None)

    def take(self, wait: bool) -> tuple[str, WorkResult | BaseException] | None:
        """The next result; None after a call of `wake`. If there is no result yet, this method waits for one, or
        returns None if `wait` is false."""
        try:
            answer = self._wait() if wait else self.answers.get(block=False)
        except Empty:
            return None
        if answer is not None:
            self.busy -= 1
        return answer

    def _wait(self) -> tuple[str, WorkResult | BaseException] | None:
        with while_waiting():
            return self.answers.get()

    def close(self, wait: bool = True) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _run(self) -> None:
        while (node := self._jobs.get()) is not None:
            try:
                self.answers.put((node, run_guarded(self._work, node)))
            except BaseException as error:
                self.answers.put((node, error))


def walk_pool(
    machine: Machine,
    work: Work,
    parallelism: int = 10,
    stop: StopSignal | None = None,
    progress: Callable[[int, int], None] | None = None,
    limits: SlotLimits | None = None,
) -> WalkResult:
    """Do the work of all nodes. At most `parallelism` nodes run on threads of the pool at the same time, and in each
    group at most as many nodes as `limits` allows. `progress` receives the number of nodes in a final state, and the
    current number of all nodes. After a stop request, no new work starts, and the function waits for running work.
    After a KeyboardInterrupt on this thread, it does not wait. If the work on another thread raises KeyboardInterrupt,
    this function raises it when the running work has ended."""
    pool = _Pool(work, max(1, parallelism))
    slots = Slots(limits or SlotLimits())
    inline: list[str] = []
    pooled: list[str] = []
    skips: dict[str, Skip] = {}
    diagnosed: Diagnosed = {}
    defect: BaseException | None = None
    stopped = False
    patient = True

    def obey(instructions: list[Instruction]) -> None:
        for instruction in instructions:
            if isinstance(instruction, StartNode):
                queue(instruction.node)
            elif isinstance(instruction, Skip):
                skips[instruction.node] = instruction

    def queue(node: str) -> None:
        # decided in Python: which of the ready vertices starts first -- the order of their names decides
        heappush(inline if work.is_inline(node) else pooled, node)

    def report(node: str, result: WorkResult) -> None:
        after = slots.give_back(node)
        if after is not None:
            queue(after)
        if result is NOTHING or result.is_plain:
            starts, skipped = machine.finish(node)
            for start in starts:
                queue(start)
            for skip in skipped:
                skips[skip.node] = skip
        else:
            if result.diagnostics:
                diagnosed[node] = result.diagnostics
            obey(machine.handle(event_of(node, result)))
        if progress is not None:
            progress(machine.settled, machine.size)

    run, is_inline, finish, bounded = work.run, work.is_inline, machine.finish, bool(slots.bounds)

    def compute(node: str) -> None:
        """Do the work of a node on this thread, in a walk without bounds. This is faster, because it omits the steps
        that only bounds and threads require."""
        try:
            result = run(node)
        except Exception as problem:
            result = WorkResult(exception_diagnostics(problem, node))
        if result is not NOTHING:
            report(node, result)
            return
        starts, skipped = finish(node)
        for start in starts:
            heappush(inline if is_inline(start) else pooled, start)
        for skip in skipped:
            skips[skip.node] = skip
        if progress is not None:
            progress(machine.settled, machine.size)

    if stop is not None:
        stop.listen(pool.wake)
    try:
        obey(machine.begin())
        while inline or pooled or pool.busy:
            if not stopped and (defect is not None or (stop is not None and stop.requested)):
                stopped = True
                if stop is not None and stop.requested:
                    # the walk may end before the thread that watches for signals has notified the listeners
                    stop.tell()
                obey(machine.handle(Stopped((*inline, *pooled, *slots.withdraw()))))
                inline.clear()
                pooled.clear()
            while pooled and not pool.is_full:
                node = heappop(pooled)
                if slots.take(node):
                    pool.submit(node)
            answer: Any = pool.take(wait=not inline) if pool.busy else None
            if answer is None:
                while inline:
                    node = heappop(inline)
                    if not bounded:
                        compute(node)
                    elif slots.take(node):
                        report(node, run_guarded(work, node))
                    if pooled or pool.busy or (stop is not None and stop.requested):
                        break
            elif isinstance(answer[1], BaseException):
                defect = defect or answer[1]
                report(answer[0], WorkResult())
            else:
                report(*answer)
    except KeyboardInterrupt:
        patient = False
        raise
    finally:
        if stop is not None:
            stop.forget(pool.wake)
        pool.close(wait=patient)
    if defect is not None:
        raise defect
    return WalkResult(in_order(diagnosed), machine, skips, stopped)


# Several threads, each with its own walk, take turns: one computes, and while it waits for an external system, another
# one computes.


class _Here(local):
    turns: Turns | None = None


_HERE = _Here()


class Turns:
    """Threads take turns to compute, one at a time."""

    def __init__(self) -> None:
        self._lock = Lock()

    @contextmanager
    def mine(self) -> Iterator[None]:
        """A context in which this thread computes. The thread first waits for its turn. While it waits for an external
        system, and at the end of the context, other threads can take the turn."""
        with self._lock:
            _HERE.turns = self
            try:
                yield
            finally:
                _HERE.turns = None

    def give_up(self) -> None:
        self._lock.release()

    def take_back(self) -> None:
        self._lock.acquire()


@contextmanager
def while_waiting() -> Iterator[None]:
    """A context in which this thread waits for an external system, so that another thread can take the turn."""
    turns = _HERE.turns
    if turns is None:
        yield
        return
    turns.give_up()
    try:
        yield
    finally:
        turns.take_back()


# Walks without threads, for debugging and as a reference in tests.


def walk_sequentially(machine: Machine, work: Work, stop: StopSignal | None = None) -> WalkResult:
    """Do the work of all nodes on this thread, one node at a time. Of the ready nodes, the node with the first name is
    always next."""
    ready: list[str] = []
    skips: dict[str, Skip] = {}
    diagnosed: Diagnosed = {}

    def obey(instructions: list[Instruction]) -> None:
        for instruction in instructions:
            if isinstance(instruction, StartNode):
                heappush(ready, instruction.node)
            elif isinstance(instruction, Skip):
                skips[instruction.node] = instruction

    obey(machine.begin())
    stopped = False
    while ready:
        if stop is not None and stop.requested:
            stopped = True
            stop.tell()
            obey(machine.handle(Stopped(tuple(ready))))
            break
        node = heappop(ready)
        result = run_guarded(work, node)
        if result is NOTHING or result.is_plain:
            starts, skipped = machine.finish(node)
            for start in starts:
                heappush(ready, start)
            for skip in skipped:
                skips[skip.node] = skip
            continue
        if result.diagnostics:
            diagnosed[node] = result.diagnostics
        obey(machine.handle(event_of(node, result)))
    return WalkResult(in_order(diagnosed), machine, skips, stopped)


def run_guarded(work: Work, node: str) -> WorkResult:
    """The result of the work on a node. A `Failure`, or an exception because of a defect of planner, is converted to
    diagnostics, so that the work on other nodes is not lost."""
    try:
        return work.run(node) if trace.RECORDER is None else _with_recorder(work, node, trace.RECORDER)
    except Exception as problem:
        return WorkResult(exception_diagnostics(problem, node))


def _with_recorder(work: Work, node: str, recorder: trace.Recorder) -> WorkResult:
    with recorder.span(node, "TRACE", {}):
        result = work.run(node)
        if has_errors(result.diagnostics):
            recorder.failed(next(d.summary for d in result.diagnostics if d.is_error))
        return result


def exception_diagnostics(problem: Exception, node: str) -> tuple[Diagnostic, ...]:
    return tuple(problem.diagnostics) if isinstance(problem, Failure) else (defect(problem, node),)


# Walks for work that adds no nodes, never waits and is never stopped. The order is the same as in `walk_sequentially`.
# The bookkeeping of a machine is omitted, because it would take half of the time if work only computes.


def walk_straight(
    dependencies: Mapping[str, Iterable[str]] | Numbered, work: Work, idle: bytes = b""
) -> tuple[Diagnostic, ...]:
    """Do the work of all nodes on this thread, and return the diagnostics, sorted by node name. Of the ready nodes, the
    node with the first name is always next. Nodes that depend on a failed node, or are on a cycle, are left out.
    `idle`: as in `Machine`. `dependencies` must contain each dependency of a node only once; names that are not keys
    are ignored. If the work adds nodes, the node fails."""
    graph = dependencies if isinstance(dependencies, Numbered) else Numbered(dependencies)
    names, waits_for, dependents = graph.names, graph.waits_for.copy(), graph.dependents
    diagnosed: Diagnosed = {}
    idle = idle or bytes(len(names))
    first = [number for number, count in enumerate(waits_for) if not count]
    ready = [number for number in first if not idle[number]]  # a sorted list is a valid heap
    recorder = trace.RECORDER
    run = work.run if recorder is None else lambda name: _with_recorder(work, name, recorder)

    def pass_on(done: list[int]) -> None:
        for number in done:
            for waiting_one in dependents[number]:
                waits_for[waiting_one] = left = waits_for[waiting_one] - 1
                if left:
                    continue
                if idle[waiting_one]:
                    done.append(waiting_one)
                else:
                    heappush(ready, waiting_one)

    pass_on([number for number in first if idle[number]])
    while ready:
        number = heappop(ready)
        name = names[number]
        try:
            result = run(name)
            problems = result.diagnostics
            if result.children is not None:
                raise ValueError(f"{name} adds nodes")
        except Exception as problem:
            problems = exception_diagnostics(problem, name)
        if problems:
            diagnosed[name] = problems
            if has_errors(problems):
                continue
        pass_on([number])
    return in_order(diagnosed)
