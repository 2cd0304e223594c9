"""Runs test files of a module (`*.tftest.hcl`, `*.tofutest.hcl`) from Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planner.api.arguments import absolute, path, several
from planner.api.plan import variable_inputs
from planner.api.session import Stop, session
from planner.foundation.support.notebook import table_html
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, has_errors
from planner.foundation.vocabulary.records import field, frozen


@frozen(eq=False)
class TestRunResult:
    """The result of a run in a test file. `status` is pass, fail, error or skip. `seconds` is the duration of the run.
    `diagnostics` are the problems of the run."""

    __test__ = False

    name: str
    status: str
    seconds: float = field(repr=False)
    diagnostics: tuple[Diagnostic, ...] = field(repr=False)


@frozen(eq=False)
class TestFileReport:
    """The results of a test file. `cleaned` is False if objects that its runs created could not be destroyed. The state
    of these objects is in errored_test.tfstate."""

    __test__ = False

    name: str
    status: str
    runs: tuple[TestRunResult, ...]
    cleaned: bool
    diagnostics: tuple[Diagnostic, ...] = field(repr=False)
    """diagnostics of the cleanup, and other diagnostics that do not belong to a run"""


@frozen(eq=False)
class TestReport:
    """The result of the tests of a module."""

    __test__ = False

    passed: bool
    files: tuple[TestFileReport, ...]

    def _repr_html_(self) -> str:
        rows = [(file.name, run.name, run.status, f"{run.seconds:.2f} s") for file in self.files for run in file.runs]
        return table_html(("file", "run", "status", "time"), rows)


def run_tests(
    directory: str | os.PathLike[str] = ".",
    *,
    filters: Sequence[str] = (),
    variables: Mapping[str, Any] | None = None,
    test_directory: str = "tests",
    stop: Stop | None = None,
) -> TestReport:
    """Run the test files of a module, one after the other. `filters` are names of files; without filters, all files are
    run. Runs that apply create real objects, unless their providers are mocked, and destroy them afterwards. Raises
    Failure if the module or a test file cannot be read."""
    from planner.workflows.testing.suite import SuiteRunner, TestOptions, load_suite, suite_status

    folder, files = absolute("directory", directory), several(filters, "filters")
    test_directory = path("test_directory", test_directory)
    stop = Stop() if stop is None else stop
    with session(folder, stop):
        options = TestOptions(
            folder,
            filters=files,
            test_directory="" if test_directory == "tests" else test_directory,
            inputs=variable_inputs(variables),
        )
        suite, problems = load_suite(options)
        if suite is None or has_errors(problems):
            raise Failure(problems)
        runner, notes = SuiteRunner(suite), _Notes()
        try:
            for index in range(len(runner.results)):
                runner.carry_out(index, notes, lambda: stop.requested)
        finally:
            runner.close()
        _, fails = suite_status(runner.results)
        return TestReport(not fails, tuple(_file(result, notes) for result in runner.results))


test = run_tests


class _Notes:
    """Collects diagnostics that do not belong to a run."""

    def __init__(self) -> None:
        self.of: dict[str, list[Diagnostic]] = {}

    def abstract(self, files: Any) -> None:
        """Ignored: the results contain all files and runs."""

    def file(self, file: Any) -> None:
        """Ignored: the results contain the file."""

    def cleaned(self, file: Any, run: Any, left: Any) -> None:
        self.of.setdefault(file.name, []).extend(left.diagnostics)

    def saving(self, file: Any, run: Any, path: str) -> None:
        """Ignored: the results report this as `cleaned`."""

    def diagnostics(self, diagnostics: Iterable[Diagnostic], file: Any, run: Any) -> None:
        self.of.setdefault(file.name, []).extend(diagnostics)

    def interrupted(self, what: Any) -> None:
        """Never called: the calling program handles interrupts."""


def _file(result: Any, notes: _Notes) -> TestFileReport:
    runs = tuple(TestRunResult(r.name, r.status, r.seconds, tuple(r.diagnostics)) for r in result.runs)
    cleaned = not result.cleanup_failed
    return TestFileReport(result.name, result.status, runs, cleaned, tuple(notes.of.get(result.name, ())))
