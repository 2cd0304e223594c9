"""Test files in processes: each writes into memory, and what it wrote is written here, file by file in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO, cast

from planner.engine.apply.provisioners import end_all
from planner.foundation.support.fork_queue import Forks, StopFlag
from planner.foundation.vocabulary.diagnostic import error
from planner.foundation.vocabulary.records import frozen
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.workflows.testing.report import TestView
    from planner.workflows.testing.results import TestFileResult
    from planner.workflows.testing.suite import SuiteRunner


@frozen
class TestJobResult:
    """What a file came to. `written` are pieces of text with the number of the stream; for each run there are its
    status, when it began and how long it took, and the texts of its problems."""

    written: tuple[tuple[int, str], ...]
    status: str
    runs: tuple[tuple[str, float, float, tuple[str, ...]], ...]
    cleanup_failed: bool
    reached: tuple[Any, ...]
    read: tuple[str, ...]
    interrupted: bool = False


class _CopyingStream:
    """A stream that keeps what is written, in one list with the others."""

    def __init__(self, like: TextIO, number: int, written: list[tuple[int, str]]) -> None:
        self.like, self.number, self.kept = like, number, written

    def write(self, text: str) -> int:
        self.kept.append((self.number, text))
        return len(text)

    def flush(self) -> None:
        """Everything is kept."""

    def isatty(self) -> bool:
        return self.like.isatty()

    def fileno(self) -> int:
        return self.like.fileno()


MakeView = Callable[[Terminal, "TextIO | None"], "TestView"]
"""the view that the flags ask for, on a terminal and with the file of -json-into"""


class FilesInProcesses:
    """Carries out files in processes. Make it before there are threads."""

    def __init__(
        self, runner: SuiteRunner, processes: int, terminal: Terminal, json_file: TextIO | None, make_view: MakeView
    ) -> None:
        self.runner, self.terminal, self.json_file = runner, terminal, json_file
        self.streams = [terminal.stdout, terminal.stderr, *([json_file] if json_file is not None else [])]
        self.make_view = make_view
        self.stop = StopFlag()
        self.forks = Forks(self._work, len(runner.results), processes, self.stop)

    def carry_out(self, view: TestView, stopping: Callable[[], bool]) -> None:
        """All files. Raises KeyboardInterrupt."""
        waiting: dict[int, TestJobResult] = {}
        turn, count = 0, len(self.runner.results)
        for index, said in self.forks.results():
            waiting[index] = said
            if said.interrupted:
                self._write(said)
                continue
            while turn in waiting:
                self._take(turn, waiting.pop(turn))
                turn += 1
        for index in range(turn, count):
            if index in waiting:
                self._take(index, waiting[index])
            elif stopping():
                self._skipped(self.runner.results[index], view)
            else:
                self._lost(self.runner.results[index], view)

    def asked_to_stop(self) -> None:
        """No further file is begun, and no further run."""
        self.stop.set()

    def _take(self, index: int, said: TestJobResult) -> None:
        self._write(said)
        result = self.runner.results[index]
        result.status, result.cleanup_failed = said.status, said.cleanup_failed
        result.reached, result.read = list(said.reached), said.read
        for run, (status, began, seconds, problems) in zip(result.runs, said.runs, strict=True):
            run.status, run.began, run.seconds, run.problems = status, began, seconds, problems

    def _write(self, said: TestJobResult) -> None:
        for number, text in said.written:
            if number == 1:
                self.streams[0].flush()
            self.streams[number].write(text)

    def _skipped(self, result: TestFileResult, view: TestView) -> None:
        for run in result.runs:
            run.status = "skip"
        view.file(result)

    def _lost(self, result: TestFileResult, view: TestView) -> None:
        """The process of a file ended without a word."""
        result.status = "error"
        for run in result.runs:
            run.status = "error"
        detail = f"The process that carried out {result.name} ended before it was done. What its runs made may be left."
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
            _end_commands()  # this process ends without a word to them
        return _said(self.runner.results[index], written, interrupted)


def _said(result: TestFileResult, written: list[tuple[int, str]], interrupted: bool) -> TestJobResult:
    runs: list[Any] = [(run.status, run.began, run.seconds, run.texts) for run in result.runs]
    reached = tuple(result.reached)
    return TestJobResult(
        tuple(written), result.status, tuple(runs), result.cleanup_failed, reached, result.read, interrupted
    )


def _end_commands() -> None:
    end_all()
