"""Prints the results of test files as text or as JSON: files, runs, states that remain, and totals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.render.diagnostics import show
from planner.render.diagnostics_json import by_place
from planner.render.diff_block import SchemaLookup
from planner.render.json_ui import JsonLines
from planner.render.plan import PlanText
from planner.render.terminal import Terminal, cell, is_terminal, wrap
from planner.workflows.testing.results import Interrupted, Left, RunResult, TestFileResult, object_addresses
from planner.world.state.model import State

if TYPE_CHECKING:
    from planner.workflows.testing.coverage import Coverage

STOPPING = "Interrupt received.\nPlease wait for planner to exit or data loss may occur.\nGracefully shutting down..."
STOPPED = "Two interrupts received. Exiting immediately. Note that data loss may have\noccurred."
_WORDS = {"error": "fail"}
_COLOURS = {"pass": "green", "fail": "red", "skip": "grey", "pending": "grey"}


def word(status: str) -> str:
    """The word for a status in text output: "error" is shown as "fail"."""
    return _WORDS.get(status, status)


def summary(status: str, files: Iterable[TestFileResult]) -> str:
    """The last line of a report, such as `Success! 3 passed, 0 failed.`"""
    counts = _counts(files)
    skipped = f", {counts['skip']} skipped" if counts["skip"] else ""
    title = "Success!" if status == "pass" else "Failure!"
    return f"{title} {counts['pass']} passed, {counts['fail'] + counts['error']} failed{skipped}."


def _counts(files: Iterable[TestFileResult]) -> dict[str, int]:
    counts = dict.fromkeys(("pass", "fail", "error", "skip", "pending"), 0)
    for file in files:
        for run in file.runs:
            counts[run.status] += 1
    return counts


class TestView:
    """Output while tests run. This base class does nothing."""

    __test__ = False

    def start(self) -> None:
        """The tests begin."""

    def abstract(self, files: list[TestFileResult]) -> None:
        """These files are about to run."""

    def file(self, file: TestFileResult) -> None:
        """All runs of a file have ended."""

    def cleaned(self, file: TestFileResult, run: RunResult, left: Left) -> None:
        """A state was cleaned up with the settings of this run."""

    def saving(self, file: TestFileResult, run: RunResult, path: str) -> None:
        """A state with objects is about to be written to a file, because objects remain after cleaning up, because the
        run keeps its state, or because the tests are stopped immediately."""

    def diagnostics(
        self, problems: Iterable[Diagnostic], file: TestFileResult | None = None, run: RunResult | None = None
    ) -> None:
        """Show diagnostics. `file` and `run`: the file and the run to which they belong; None if they belong to
        none."""

    def stopping(self) -> None:
        """A stop was requested: the running runs end, and cleaning up follows."""

    def interrupted(self, what: Interrupted) -> None:
        """All tests were stopped immediately."""

    def conclusion(self, status: str, files: list[TestFileResult]) -> None:
        """All files have ended."""

    def coverage(self, coverage: Coverage) -> None:
        """Show the coverage of the tested module."""


class HumanTestView(TestView):
    """Text for a terminal."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal

    def _status(self, status: str) -> str:
        shown = word(status)
        return self.terminal.paint(shown, _COLOURS[shown])

    def file(self, file: TestFileResult) -> None:
        self.terminal.out(f"{cell(file.name)}... {self._status(file.status)}")
        for run in file.runs:
            kept = " (unchanged)" if run.is_kept and run.status == "pass" else ""
            self.terminal.out(f'  run "{run.name}"... {self._status(run.status)}{kept}')
            if run.shown is not None:
                self._show(run)
            self.diagnostics(run.diagnostics)

    def _show(self, run: RunResult) -> None:
        from planner.render.state import StateText

        assert run.shown is not None
        lookup = SchemaLookup(run.shown.loaded.schemas)
        if run.shown.state is None:
            text = PlanText(run.shown.plan, lookup.resource_schema, self.terminal)
            text.opening = (
                "planner used the selected providers to generate the following execution plan. Resource actions are "
                "indicated with the following symbols:"
            )
            text.show()
        else:
            StateText(lookup.resource_schema, lookup.decode, self.terminal).show(run.shown.state)

    def diagnostics(
        self, problems: Iterable[Diagnostic], file: TestFileResult | None = None, run: RunResult | None = None
    ) -> None:
        show(sorted(problems, key=by_place), self.terminal, is_ordered=True)

    def cleaned(self, file: TestFileResult, run: RunResult, left: Left) -> None:
        name = f"{cell(file.name)}/{run.name}"
        if has_errors(left.diagnostics):
            self._say(f"planner encountered an error destroying resources created while executing {name}.")
        self.diagnostics(left.diagnostics)
        if left.has_objects:
            self._say(
                f"\nplanner left the following resources in state after executing {name}, these left-over resources "
                "can be viewed by reading the statefile written to disk(errored_test.tfstate) and they need to be "
                "cleaned up manually:"
            )
            self._objects(left.state)

    def saving(self, file: TestFileResult, run: RunResult, path: str) -> None:
        self.terminal.err(f"\nWriting state to file: {path}")

    def _say(self, text: str) -> None:
        self.terminal.err(wrap(text, self.terminal.error_width - 1))

    def _objects(self, state: State) -> None:
        for address, deposed in object_addresses(state):
            self.terminal.err(f"  - {address} ({deposed})" if deposed else f"  - {address}")

    def stopping(self) -> None:
        self.terminal.err(f"\n{STOPPING}")

    def interrupted(self, what: Interrupted) -> None:
        self.terminal.err(f"\n{STOPPED}")
        self._say(
            f"\nplanner was interrupted while executing {cell(what.file.name)}, and may not have performed the "
            "expected cleanup operations."
        )
        for run, state in what.states:
            if run is None or run.run.module is None:
                whose = "from the module under test"
            else:
                whose = f'for "{run.name}" from "{run.run.module.source}"'
            self._say(f"\nplanner has already created the following resources {whose}:")
            self._objects(state)
        for it, addresses in what.creating:
            module = it.run.module
            whose = "the module under test" if module is None else f'"{module.source}"'
            if addresses:
                self._say(
                    f'\nplanner was in the process of creating the following resources for "{it.name}" from {whose}, '
                    "and they may not have been destroyed:"
                )
            for address in addresses:
                self.terminal.err(f"  - {address}")

    def conclusion(self, status: str, files: list[TestFileResult]) -> None:
        text = summary(status, files)
        if not files and is_terminal(self.terminal.stdout):
            self.terminal.out("\nNo test files. To write a first one: planner test -generate (see planner docs tests)")
        title, _, rest = text.partition(" ")
        self.terminal.out(f"\n{self.terminal.paint(title, 'green' if status == 'pass' else 'red')} {rest}")

    def coverage(self, coverage: Coverage) -> None:
        from planner.workflows.testing.report_files import coverage_text

        self.terminal.out(f"\n{coverage_text(coverage)}")


class JsonTestView(TestView):
    """One JSON object on each line."""

    def __init__(self, lines: JsonLines) -> None:
        self.lines = lines

    def start(self) -> None:
        self.lines.version()

    def _message(
        self,
        text: str,
        type: str,
        data: Any,
        file: TestFileResult | None = None,
        run: RunResult | None = None,
        level: str = "info",
    ) -> None:
        self.lines.message(text, type, level, **{type: data}, **_about(file, run))

    def abstract(self, files: list[TestFileResult]) -> None:
        count = sum(len(file.runs) for file in files)
        text = (
            f"Found {len(files)} file{'' if len(files) == 1 else 's'} and {count} run block{'' if count == 1 else 's'}"
        )
        names = {file.name: [run.name for run in file.runs] or None for file in files}
        self._message(text, "test_abstract", names)

    def file(self, file: TestFileResult) -> None:
        data = {"path": file.name, "status": file.status}
        self._message(f"{file.name}... {word(file.status)}", "test_file", data, file)
        for run in file.runs:
            data = {"path": file.name, "run": run.name, "status": run.status}
            self._message(f'  "{run.name}"... {word(run.status)}', "test_run", data, file, run)
            if run.shown is not None:
                self._show(file, run)
            self.diagnostics(run.diagnostics, file, run)

    def _show(self, file: TestFileResult, run: RunResult) -> None:
        from planner.answers.documents.json_plan import plan_json
        from planner.answers.documents.json_state import state_json

        assert run.shown is not None
        shown, schema_of = run.shown, run.shown.loaded.schemas.schema
        if shown.state is None:
            data = plan_json(shown.plan, shown.loaded.config, schema_of)
            data.pop("prior_state", None)  # OpenTofu's output for tests lacks this member
            self._message("-verbose flag enabled, printing plan", "test_plan", data, file, run)
        else:
            data = state_json(shown.state, schema_of)
            self._message("-verbose flag enabled, printing state", "test_state", data, file, run)

    def diagnostics(
        self, problems: Iterable[Diagnostic], file: TestFileResult | None = None, run: RunResult | None = None
    ) -> None:
        self.lines.diagnostics(problems, **_about(file, run))

    def cleaned(self, file: TestFileResult, run: RunResult, left: Left) -> None:
        if left.has_objects:
            objects = [
                {"instance": address, "deposed_key": deposed} if deposed else {"instance": address}
                for address, deposed in left.objects
            ]
            text = (
                f"planner left some resources in state after executing {file.name}/{run.name}, these left-over "
                "resources can be viewed by reading the statefile written to disk(errored_test.tfstate) and they need "
                "to be cleaned up manually:"
            )
            self._message(text, "test_cleanup", {"failed_resources": objects}, file, run, "error")
        self.diagnostics(left.diagnostics, file, run)

    def saving(self, file: TestFileResult, run: RunResult, path: str) -> None:
        self.lines.message(f"Writing state to file: {path}")

    def stopping(self) -> None:
        self.lines.log(STOPPING)

    def interrupted(self, what: Interrupted) -> None:
        self.lines.log(STOPPED)
        data: dict[str, Any] = {}
        for run, state in what.states:
            objects = [
                {"instance": address, "deposed_key": deposed} if deposed else {"instance": address}
                for address, deposed in object_addresses(state)
            ]
            if run is None or run.run.module is None:
                data["state"] = objects
            else:
                data.setdefault("states", {})[run.name] = objects
        creating = [address for _, addresses in what.creating for address in addresses]
        if creating:
            data["planned"] = creating
        if data:
            text = (
                "planner was interrupted during test execution, and may not have performed the expected cleanup "
                "operations."
            )
            self._message(text, "test_interrupt", data, what.file, None, "error")

    def conclusion(self, status: str, files: list[TestFileResult]) -> None:
        counts = _counts(files)
        data = {
            "status": status,
            "passed": counts["pass"],
            "failed": counts["fail"],
            "errored": counts["error"],
            "skipped": counts["skip"],
        }
        self._message(summary(status, files), "test_summary", data)

    def coverage(self, coverage: Coverage) -> None:
        from planner.workflows.testing.report_files import coverage_json, coverage_text

        text = coverage_text(coverage).splitlines()[0].removesuffix(" No run reached:")
        self._message(text, "test_coverage", coverage_json(coverage))


class TestViews(TestView):
    """Passes all output to several views."""

    def __init__(self, *views: TestView) -> None:
        self.views = views

    def start(self) -> None:
        for view in self.views:
            view.start()

    def abstract(self, files: list[TestFileResult]) -> None:
        for view in self.views:
            view.abstract(files)

    def file(self, file: TestFileResult) -> None:
        for view in self.views:
            view.file(file)

    def cleaned(self, file: TestFileResult, run: RunResult, left: Left) -> None:
        for view in self.views:
            view.cleaned(file, run, left)

    def saving(self, file: TestFileResult, run: RunResult, path: str) -> None:
        for view in self.views:
            view.saving(file, run, path)

    def diagnostics(
        self, problems: Iterable[Diagnostic], file: TestFileResult | None = None, run: RunResult | None = None
    ) -> None:
        problems = list(problems)
        for view in self.views:
            view.diagnostics(problems, file, run)

    def stopping(self) -> None:
        for view in self.views:
            view.stopping()

    def interrupted(self, what: Interrupted) -> None:
        for view in self.views:
            view.interrupted(what)

    def conclusion(self, status: str, files: list[TestFileResult]) -> None:
        for view in self.views:
            view.conclusion(status, files)

    def coverage(self, coverage: Coverage) -> None:
        for view in self.views:
            view.coverage(coverage)


def _about(file: TestFileResult | None, run: RunResult | None) -> dict[str, str]:
    return {
        **({} if file is None else {"@testfile": file.name}),
        **({} if run is None else {"@testrun": run.name}),
    }
