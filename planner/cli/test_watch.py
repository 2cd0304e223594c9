"""`test -watch`: what a change reaches is carried out again, each time in a process of its own."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from planner.cli.finish import finish
from planner.foundation.support.files_read import files_read
from planner.foundation.support.watch import SECONDS, Watch
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.language.config.test_files.discover import is_test_file
from planner.render.terminal import Terminal
from planner.workflows.testing.affected import TestInputs, kind_of, reached, read_by_all, reads
from planner.workflows.testing.suite import Suite, SuiteRunner, TestOptions

if TYPE_CHECKING:
    from planner.workflows.testing.coverage import Reached

Covered = dict[str, "tuple[Reached, ...]"]
"""what the runs of test files have reached, by the file's name"""
Run = Callable[[Callable[[Suite], Suite], Covered], "tuple[int, SuiteRunner | None]"]
"""carries out the files that are chosen of a suite; the others have reached something before, which counts, too"""


@frozen(eq=False)
class _KnownTests:
    """What is known after a round: what each file reads, what functions read of it, which files were carried out as
    they are now, and what their runs have reached."""

    reads: dict[str, TestInputs] = field(factory=dict)
    read: dict[str, tuple[str, ...]] = field(factory=dict)
    done: frozenset[str] = frozenset()
    covered: Covered = field(factory=dict)

    def may_read(self, path: str) -> bool:
        """Whether a change of a path may reach a file, known or not. What nobody reads, such as what a round writes
        itself, begins none."""
        if kind_of(path) != "other" or is_test_file(os.path.basename(path)):
            return True
        return any(path in one.paths for one in self.reads.values())

    def paths(self) -> Iterator[str]:
        """Everything to look at."""
        for one in self.reads.values():
            yield from one.paths
            yield from (directory for directory, _ in one.directories)


def watch(options: TestOptions, run: Run, terminal: Terminal) -> int:
    """Until somebody interrupts: 0, or the exit code of what was under way then."""
    looking = Watch()
    looking.also((".", options.test_directory or "tests"))
    known, changed = _KnownTests({"": TestInputs(read_by_all(options), frozenset())}), frozenset[str]()
    looking.also(known.paths())
    process = 0
    try:
        while True:
            reading, process = _started(known, changed, run, terminal)
            found = _ended(reading, process)
            process = 0
            known, changed = (known, changed) if found is None else (found, frozenset())
            looking.also(known.paths())
            terminal.out("\nWaiting for changes; interrupt to end.")
            terminal.stdout.flush()
            while not (new := frozenset(filter(known.may_read, looking.changed()))):
                time.sleep(SECONDS)
            changed |= new
    except KeyboardInterrupt:
        return _interrupted(process) if process else 0


def _started(known: _KnownTests, changed: frozenset[str], run: Run, terminal: Terminal) -> tuple[int, int]:
    """A pipe and the process of a round."""
    terminal.stdout.flush()
    terminal.stderr.flush()
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        os.setpgid(0, 0)  # a terminal interrupts this process alone, which tells that one
        _round(known, changed, run, terminal, writing)
    os.close(writing)
    return reading, process


def _ended(reading: int, process: int) -> _KnownTests | None:
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(process, 0)
    return pickle.loads(data) if data else None


def _interrupted(process: int) -> int:
    """Interrupt what is under way, and again when interrupted again; its exit code."""
    while True:
        try:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGINT)
            _, status = os.waitpid(process, 0)
        except KeyboardInterrupt:
            continue
        except ChildProcessError:  # it had ended, and nobody has its exit code any more
            return 1
        return abs(os.waitstatus_to_exitcode(status))


# ---------------------------------------------------------------- in the fork


def _round(known: _KnownTests, changed: frozenset[str], run: Run, terminal: Terminal, pipe: int) -> NoReturn:
    code = 1
    try:
        try:
            code, found = _carried_out(known, changed, run, terminal)
        except Failure as failure:  # something half written: the next change may mend it
            finish(failure.diagnostics, terminal)
            found = None
        terminal.stdout.flush()
        terminal.stderr.flush()
        with os.fdopen(pipe, "wb") as out:
            out.write(pickle.dumps(found) if found is not None else b"")
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
        why = reached(suite.files, mine, changed, known.done)
        causes = sorted(set(why.values()) - {""})
        if changed:
            what = f"{', '.join(causes[:3])}{', ...' if len(causes) > 3 else ''} changed" if causes else "Changed"
            terminal.out(f"\n{what}: {len(why)} of {len(suite.files)} test files to run.\n")
        for name in {*covered} - {file.name for file in suite.files if file.name not in why}:
            del covered[name]
        return evolve(suite, files=tuple(file for file in suite.files if file.name in why))

    code, runner = run(chosen, covered)
    if runner is None:
        return code, None
    suite: Suite = state["suite"]
    read = {**state["read"], **{result.name: result.read for result in runner.results}}
    covered |= {result.name: tuple(result.reached) for result in runner.results}
    return code, _KnownTests(reads(suite, read), read, frozenset(file.name for file in suite.files), covered)
