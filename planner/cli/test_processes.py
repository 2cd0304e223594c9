"""Runs test files in processes. Each process writes its output to memory, and this module prints the outputs in the
order of the files."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, cast

from planner.cli.finish import finish
from planner.engine.apply.provisioners import end_all
from planner.foundation.support.disk import files_read
from planner.foundation.support.forks import Forks, StopFlag
from planner.foundation.support.watch import SECONDS, Watch
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.language.config.test_files.load import is_test_file
from planner.render.terminal import Terminal
from planner.workflows.testing.results import TestFileResult
from planner.workflows.testing.suite import (
    FileRecord,
    Suite,
    SuiteRunner,
    TestInputs,
    TestOptions,
    kept_runs,
    kind_of,
    reached,
    read_by_all,
    reads,
)

if TYPE_CHECKING:
    from planner.workflows.testing.coverage import Reached
    from planner.workflows.testing.report import TestView


@frozen
class TestJobResult:
    """The result of a test file. `written`: (number of the stream, text) for each write. `runs`: (status, start,
    duration, texts of diagnostics) for each run."""

    written: tuple[tuple[int, str], ...]
    status: str
    runs: tuple[tuple[str, float, float, tuple[str, ...]], ...]
    cleanup_failed: bool
    reached: tuple[Any, ...]
    read: tuple[str, ...]
    interrupted: bool = False


class _CopyingStream:
    """A stream that appends (number of the stream, text) to a list, which it shares with other streams."""

    def __init__(self, like: TextIO, number: int, written: list[tuple[int, str]]) -> None:
        self.like, self.number, self.kept = like, number, written

    def write(self, text: str) -> int:
        self.kept.append((self.number, text))
        return len(text)

    def flush(self) -> None:
        """Does nothing, because all output is kept."""

    def isatty(self) -> bool:
        return self.like.isatty()

    def fileno(self) -> int:
        return self.like.fileno()


MakeView = Callable[[Terminal, "TextIO | None"], "TestView"]
"""makes the view that the flags select, for a terminal and the file of -json-into"""


class FilesInProcesses:
    """Runs test files in processes. Must be created before threads start."""

    def __init__(
        self, runner: SuiteRunner, processes: int, terminal: Terminal, json_file: TextIO | None, make_view: MakeView
    ) -> None:
        self.runner, self.terminal, self.json_file = runner, terminal, json_file
        self.streams = [terminal.stdout, terminal.stderr, *([json_file] if json_file is not None else [])]
        self.make_view = make_view
        self.stop = StopFlag()
        self.forks = Forks(self._work, len(runner.results), processes, self.stop)

    def carry_out(self, view: TestView, stopping: Callable[[], bool]) -> None:
        """Run all files. Raises KeyboardInterrupt."""
        waiting: dict[int, TestJobResult] = {}
        turn, count = 0, len(self.runner.results)
        for index, output in self.forks.results():
            waiting[index] = output
            if output.interrupted:
                self._write(output)
                continue
            while turn in waiting:
                self._take(turn, waiting.pop(turn))
                turn += 1
        for index in range(turn, count):
            if index in waiting:
                self._take(index, waiting[index])
            elif stopping():
                result = self.runner.results[index]
                for run in result.runs:
                    run.status = "skip"
                view.file(result)
            else:
                self._report_death(self.runner.results[index], view)

    def asked_to_stop(self) -> None:
        """Do not start further files or runs."""
        self.stop.set()

    def _take(self, index: int, output: TestJobResult) -> None:
        self._write(output)
        result = self.runner.results[index]
        result.status, result.cleanup_failed = output.status, output.cleanup_failed
        result.reached, result.read = list(output.reached), output.read
        for run, (status, began, seconds, problems) in zip(result.runs, output.runs, strict=True):
            run.status, run.began, run.seconds, run.problems = status, began, seconds, problems

    def _write(self, output: TestJobResult) -> None:
        for number, text in output.written:
            if number == 1:
                self.streams[0].flush()
            self.streams[number].write(text)

    def _report_death(self, result: TestFileResult, view: TestView) -> None:
        """Report that a file's process ended without a result."""
        result.status = "error"
        for run in result.runs:
            run.status = "error"
        detail = (
            f"The process that ran {result.name} ended before the run was complete. Objects that its runs created may "
            "remain."
        )
        view.file(result)
        view.diagnostics([error("test.process_ended", "Test process ended", detail)], result)

    # ---------------------------------------------------------------- in the fork

    def _work(self, index: int) -> TestJobResult:
        written: list[tuple[int, str]] = []
        recorded = [cast(TextIO, _CopyingStream(stream, i, written)) for i, stream in enumerate(self.streams)]
        terminal = Terminal(self.terminal.stdin, recorded[0], recorded[1])
        terminal.paint, terminal.error_paint = self.terminal.paint, self.terminal.error_paint
        terminal.boxed, terminal.consolidate = self.terminal.boxed, self.terminal.consolidate
        terminal.compact_warnings, terminal.deprecation = self.terminal.compact_warnings, self.terminal.deprecation
        view = self.make_view(terminal, recorded[2] if len(recorded) > 2 else None)
        interrupted = False
        try:
            self.runner.carry_out(index, view, lambda: bool(self.stop))
        except KeyboardInterrupt:
            interrupted = True
            end_all()  # the fork ends without stopping the plugins, which belong to the parent process
        result = self.runner.results[index]
        runs: list[Any] = [(run.status, run.began, run.seconds, run.texts) for run in result.runs]
        reached = tuple(result.reached)
        return TestJobResult(
            tuple(written), result.status, tuple(runs), result.cleanup_failed, reached, result.read, interrupted
        )


# `test -watch`: runs affected tests again after each change, in a new process


Covered = dict[str, "tuple[Reached, ...]"]
"""{test file: parts of the module that its runs covered}"""
Run = Callable[[Callable[[Suite], Suite], Covered], "tuple[int, SuiteRunner | None]"]
"""runs the files that the first argument selects; the second is the coverage of the other files, which is added to the
result"""


@frozen(eq=False)
class _KnownTests:
    """The results that are known after a round. `reads`: {file: inputs}. `read`: {file: files that functions read}.
    `done`: the test files that were run and have not changed since. `covered`: the parts of the module that these test
    files covered. `records`: {file: its text and results}."""

    reads: dict[str, TestInputs] = field(factory=dict)
    read: dict[str, tuple[str, ...]] = field(factory=dict)
    done: frozenset[str] = frozenset()
    covered: Covered = field(factory=dict)
    records: dict[str, FileRecord] = field(factory=dict)

    def may_read(self, path: str) -> bool:
        """Whether a change of a path, known or new, may affect a test file. Changes of other paths, for example of
        files that a round writes, do not start a round."""
        if kind_of(path) != "other" or is_test_file(os.path.basename(path)):
            return True
        return any(path in one.paths or os.path.dirname(path) in one.paths for one in self.reads.values())

    def paths(self) -> Iterator[str]:
        for one in self.reads.values():
            yield from one.paths

    def directories(self) -> Iterator[str]:
        for one in self.reads.values():
            yield from (directory for directory, _ in one.directories)


def watch(options: TestOptions, run: Run, terminal: Terminal) -> int:
    """Watch until interrupted. Returns 0, or the exit code of the round in progress."""
    looking = Watch()
    looking.also((".", options.test_directory or "tests"))
    known, changed = _KnownTests({"": TestInputs(read_by_all(options), frozenset())}), frozenset[str]()
    looking.also((*known.paths(), *known.directories()))
    process = 0
    try:
        while True:
            began = time.time_ns()
            reading, process = _started(known, changed, run, terminal)
            result = _round_result(reading, process)
            process = 0
            known, changed = (known, changed) if result is None else (result, frozenset())
            looking.also(known.directories(), began)  # edits during the round are changes for the next round
            looking.also(known.paths())
            terminal.out("\nWaiting for changes; press Ctrl-C to stop.")
            terminal.stdout.flush()
            while not (new := frozenset(filter(known.may_read, looking.changes()))):
                time.sleep(SECONDS)
            changed |= new
    except KeyboardInterrupt:
        return _interrupted(process) if process else 0


def _started(known: _KnownTests, changed: frozenset[str], run: Run, terminal: Terminal) -> tuple[int, int]:
    """Start the process of a round. Returns the pipe from the process, and the process."""
    terminal.stdout.flush()
    terminal.stderr.flush()
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        os.setpgid(0, 0)  # a terminal interrupts only the parent, which notifies this process
        _round(known, changed, run, terminal, writing)
    os.close(writing)
    return reading, process


def _round_result(reading: int, process: int) -> _KnownTests | None:
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(process, 0)
    return pickle.loads(data) if data else None


def _interrupted(process: int) -> int:
    """Interrupt the process of a round, wait for its end, and return its exit code. Each further interrupt of this
    process is forwarded to that process."""
    while True:
        try:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGINT)
            _, status = os.waitpid(process, 0)
        except KeyboardInterrupt:
            continue
        except ChildProcessError:  # the process ended, and its exit code is lost
            return 1
        return abs(os.waitstatus_to_exitcode(status))


# ---------------------------------------------------------------- in the fork


def _round(known: _KnownTests, changed: frozenset[str], run: Run, terminal: Terminal, pipe: int) -> NoReturn:
    code = 1
    try:
        try:
            code, result = _carried_out(known, changed, run, terminal)
        except Failure as failure:  # the file is incomplete, and the next change may complete it
            finish(failure.diagnostics, terminal)
            result = None
        terminal.stdout.flush()
        terminal.stderr.flush()
        with os.fdopen(pipe, "wb") as out:
            out.write(pickle.dumps(result) if result is not None else b"")
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def _carried_out(
    known: _KnownTests, changed: frozenset[str], run: Run, terminal: Terminal
) -> tuple[int, _KnownTests | None]:
    state: dict[str, Any] = {}
    covered = dict(known.covered)

    def chosen(suite: Suite) -> Suite:
        state["read"] = {**known.read, "": files_read()}
        state["suite"] = suite
        mine = reads(suite, state["read"])
        why, edited = reached(suite.files, mine, changed, known.done)
        again = [
            file for file in suite.files if file.name in edited & known.records.keys() and not suite.options.covers
        ]
        kept = {file.name: kept_runs(file, known.records[file.name]) for file in again}
        causes = sorted(set(why.values()) - {""})
        if changed:
            what = f"{', '.join(causes[:3])}{', ...' if len(causes) > 3 else ''} changed" if causes else "Changed"
            terminal.out(f"\n{what}: {len(why)} of {len(suite.files)} test files to run.\n")
        for name in {*covered} - {file.name for file in suite.files if file.name not in why}:
            del covered[name]
        return evolve(suite, files=tuple(file for file in suite.files if file.name in why), kept=kept)

    code, runner = run(chosen, covered)
    if runner is None:
        return code, None
    suite: Suite = state["suite"]
    records = {result.name: FileRecord.of(result, known.records.get(result.name)) for result in runner.results}
    read = {**state["read"], **{name: record.read for name, record in records.items()}}
    covered |= {result.name: tuple(result.reached) for result in runner.results}
    done = frozenset(file.name for file in suite.files)
    return code, _KnownTests(reads(suite, read), read, done, covered, known.records | records)
