"""Results of test files, of their runs, and of cleaning up."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from itertools import chain, count
from typing import TYPE_CHECKING, Protocol, TypeAlias
from urllib.parse import quote

from planner.foundation.support.disk import replace_file
from planner.foundation.vocabulary.address import format_key
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.records import define, field, frozen
from planner.language.config.test_files.model import TestFile, TestRun, state_name
from planner.logic.model.plan import Plan
from planner.operations.load import Loaded
from planner.operations.options import Options
from planner.world.state.file import write_state
from planner.world.state.model import State
from planner.world.state.workspace import data_directory

Status: TypeAlias = str
"""pending, skip, pass, fail or error"""


if TYPE_CHECKING:
    from planner.workflows.testing.coverage import Reached


@frozen(eq=False)
class RunView:
    """The data of a run that -verbose shows: its plan and, after an apply, its state."""

    loaded: Loaded[Options]
    plan: Plan
    state: State | None = None


@define(eq=False)
class RunResult:
    """A run of a file. `index`: its position in the file."""

    run: TestRun
    index: int
    status: Status = "pending"
    diagnostics: list[Diagnostic] = field(factory=list)
    shown: RunView | None = None
    seconds: float = 0.0
    began: float = 0.0
    """time at which the run began, in seconds since 1970"""
    problems: tuple[str, ...] = ()
    """for a run in another process: the text of each error with its place"""
    is_kept: bool = False
    """whether the run passed earlier with the same inputs, so that it is not executed again"""

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of each error of the run, with its place."""
        texts = (f"{d.subject}: " * (d.subject is not None) + d.summary for d in self.diagnostics if d.is_error)
        details = (d.detail for d in self.diagnostics if d.is_error)
        return self.problems or tuple(f"{a}\n\n{b}" if b else a for a, b in zip(texts, details, strict=True))


@define(eq=False)
class TestFileResult:
    file: TestFile
    runs: list[RunResult]
    status: Status = "pass"
    cleanup_failed: bool = False
    reached: list[Reached] = field(factory=list)
    """the items that the file's runs have reached, if coverage is requested"""
    read: tuple[str, ...] = ()
    """paths that functions of the configuration read or looked at during the file's runs"""

    @property
    def name(self) -> str:
        return self.file.name

    @classmethod
    def of(cls, file: TestFile, kept: Container[int] = ()) -> TestFileResult:
        """The result of a file before its runs are executed. `kept`: indexes of the runs that passed earlier with the
        same inputs."""
        return cls(file, [RunResult(run, index, is_kept=index in kept) for index, run in enumerate(file.runs)])


@frozen(eq=False)
class Left:
    """The state that remains after cleaning up, and the diagnostics of cleaning up."""

    state: State
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def objects(self) -> tuple[tuple[str, str], ...]:
        """(address, deposed key) of the remaining objects."""
        return tuple(object_addresses(self.state))

    @property
    def has_objects(self) -> bool:
        """Whether managed objects remain."""
        return any(r.mode == "managed" for r in self.state.resources.values() if r.instances)


@frozen(eq=False)
class Interrupted:
    """The objects that existed or were being created when the user stopped the tests immediately. `states`: each state
    with the run that last changed it (None for the state of the module under test). `creating`: each run that was
    applying, with the addresses of the objects that it was creating."""

    file: TestFileResult
    states: tuple[tuple[RunResult | None, State], ...]
    creating: tuple[tuple[RunResult, tuple[str, ...]], ...]


class TestListener(Protocol):
    """Receives the events of running tests."""

    def abstract(self, files: list[TestFileResult]) -> None:
        """These files are about to run."""

    def file(self, file: TestFileResult) -> None:
        """All runs of a file have ended; nothing is cleaned up yet."""

    def cleaned(self, file: TestFileResult, run: RunResult, left: Left) -> None:
        """A state was cleaned up with the settings of this run."""

    def saving(self, file: TestFileResult, run: RunResult, path: str) -> None:
        """A state with objects is about to be written to a file, because objects remain after cleaning up, because the
        run keeps its state, or because the tests are stopped immediately."""

    def diagnostics(self, problems: Iterable[Diagnostic], file: TestFileResult, run: RunResult) -> None:
        """Diagnostics about saving the state of a run."""

    def interrupted(self, what: Interrupted) -> None:
        """All tests were stopped immediately."""


def object_addresses(state: State) -> Iterator[tuple[str, str]]:
    """(address, deposed key) of all objects; the key of a current object is ""."""
    for address in sorted(state.resources):
        resource = state.resources[address]
        for key, instance in resource.instances.items():
            if instance.current is not None:
                yield address + format_key(key), ""
            for deposed in sorted(instance.deposed):
                yield address + format_key(key), deposed


# States of runs in files: those with objects that remained after cleaning up, and those kept with skip_cleanup.


LEFT_OVER = "errored_test.tfstate"
"""name of the file for a state with objects that could not be destroyed"""


def kept_path(file: TestFile, state: str) -> str:
    """The path of the file for a state of a test file that is kept with skip_cleanup."""
    name = f"{quote(file.name, safe='')}{'-' * bool(state)}{quote(state, safe='')}.tfstate"
    return os.path.join(data_directory(os.environ), "test", name)


def left_before(file: TestFile, run: TestRun) -> list[Diagnostic]:
    """An error if a run will keep its state (skip_cleanup) and the file of an earlier kept state still exists."""
    if not run.keeps_state:
        return []
    path = kept_path(file, state_name(run))
    if not os.path.lexists(path):
        return []
    detail = (
        f"{path} has objects that an earlier run of this file created and did not clean up (skip_cleanup). Destroy "
        f"them with 'planner destroy -state={path}', then remove the file."
    )
    return [error("test.state_kept", "State of an earlier test remains", detail, run.span)]


def save_beside(state: State, path: str = LEFT_OVER) -> tuple[str, list[Diagnostic]]:
    """Write a state to a new file: `path` or, if it exists, the first path with a number that does not exist. Other
    processes may create files at the same time. Returns the path of the file, and errors."""
    with suppress(OSError):  # opening the file reports the problem
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    root, ending = os.path.splitext(path)
    for free in chain([path], (f"{root}.{number}{ending}" for number in count(2))):
        try:
            open(free, "x").close()
        except FileExistsError:
            continue
        except OSError:
            pass
        return free, save(state, free)
    raise AssertionError


def save(state: State, path: str) -> list[Diagnostic]:
    """Write a state to a file. Returns an error if this fails, otherwise []."""
    try:
        replace_file(path, write_state(state), 0o600)
    except OSError as problem:
        objects = "".join(f"\n  - {address}" for address, _ in object_addresses(state))
        detail = f"{path}: {problem.strerror or problem}. These objects have to be cleaned up by hand:{objects}"
        return [error("test.state_file", "Failed to persist state", detail)]
    return []
