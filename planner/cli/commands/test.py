"""`test`: runs test files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import JSON_LINES, POLICY, VARIABLES, policy_options
from planner.cli.views import open_json_into
from planner.foundation.support import signals
from planner.foundation.support.signals import STOP
from planner.foundation.vocabulary.diagnostic import error, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.render.terminal import Terminal, is_terminal

if TYPE_CHECKING:
    from planner.workflows.testing.coverage import Coverage, Reached
    from planner.workflows.testing.report import TestView
    from planner.workflows.testing.suite import Suite, SuiteRunner, TestOptions


@command(
    "[options]",
    """Executes the runs of test files (*.tftest.hcl, *.tofutest.hcl, their JSON forms, and *.plannertest.hcl with
additional arguments) in this directory and in the test directory. A run plans or applies the module with a state in
memory, which the runs of the same module in a file share, and checks assertions against the result. The objects of runs
are destroyed after their file; objects that could not be destroyed are recorded in errored_test.tfstate. Runs with
skip_cleanup keep their state in .terraform/test.

The directory must be initialized (init). No backend is opened. The exit code is 0 when all runs pass, everything is
cleaned up and the command was not interrupted, otherwise 1.""",
    (
        Flag("filter", "list", "Run only this test file, by its relative path. May be repeated.", value="FILE"),
        Flag(
            "test-directory",
            "string",
            "The directory of test files, in addition to the working directory (default: tests).",
            value="DIR",
        ),
        Flag("parallelism", "int", "The number of test files that run at the same time.", None, "N"),
        Flag("junit-xml", "string", "Write a JUnit XML report for CI servers to this file.", value="FILE"),
        Flag("coverage", "bool", "Report the parts of the module that no run covers."),
        Flag("coverage-json", "string", "Write the coverage as JSON to this file.", value="FILE"),
        Flag(
            "coverage-lcov",
            "string",
            "Write the coverage to this file in lcov format.",
            value="FILE",
        ),
        POLICY[0],
        Flag("verbose", "bool", "Show the plan of each run that plans, and the state after each run that applies."),
        Flag(
            "explain",
            "string",
            "Show where the values of failed assertions come from: none or line.",
            value="HOW",
        ),
        Flag("watch", "bool", "Run affected test files again when a file changes, until interrupted."),
        Flag("generate", "bool", "Write a first test file for this module, unless it exists, and run it."),
        *VARIABLES,
        *JSON_LINES,
    ),
)
def test(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0 if all tests pass, otherwise 1. With -watch, returns 0 if the command is interrupted while it waits."""
    options = _options(arguments, terminal)
    if arguments["generate"]:
        if arguments["watch"] or arguments["filter"]:
            raise UsageError(
                "Conflicting options", "-generate writes one test file and runs it once. Remove the other arguments."
            )
        from planner.workflows.testing.generate import generate_into
        from planner.workflows.testing.report_files import generated_text

        # this runs only the generated file
        options = evolve(options, filters=(generate_into(options, generated_text),))
    if not arguments["watch"]:
        return _run(options, arguments, terminal)[0]
    for option in ("json", "json-into", "junit-xml"):
        if arguments[option]:
            raise UsageError("Conflicting options", f"-watch cannot be combined with -{option}.")
    from planner.cli.test_processes import Covered, watch

    def carry_out(chosen: Callable[[Suite], Suite], covered: Covered) -> tuple[int, SuiteRunner | None]:
        return _run(_options(arguments, terminal), arguments, terminal, chosen, covered)

    return watch(options, carry_out, terminal)


def _options(arguments: Arguments, terminal: Terminal) -> TestOptions:
    from planner.workflows.testing.suite import TestOptions

    return TestOptions(
        var_args=tuple(arguments.ordered),
        test_directory=arguments["test-directory"] or "",
        filters=tuple(arguments["filter"]),
        verbose=bool(arguments["verbose"]),
        parallelism=_parallelism(arguments),
        covers=_covers(arguments),
        **policy_options(arguments),
        tells_causes=_tells_causes(arguments, terminal),
    )


def _run(
    options: TestOptions,
    arguments: Arguments,
    terminal: Terminal,
    chosen: Callable[[Suite], Suite] = lambda suite: suite,
    covered: Mapping[str, tuple[Reached, ...]] = {},
) -> tuple[int, SuiteRunner | None]:
    """Run the files that `chosen` selects. Returns the exit code, and the runner with its results (None if the suite
    has errors or was interrupted). `covered`: {test file that is not run again: parts of the module that it
    covered}."""
    from planner.workflows.testing.suite import SuiteRunner, load_suite, processes, suite_status

    json_file = open_json_into(arguments, terminal)
    view = _view(arguments, terminal, json_file)
    view.start()
    suite, problems = load_suite(options)
    view.diagnostics(problems)
    if suite is None or has_errors(problems):
        return 1, None
    suite = chosen(suite)
    number = processes(suite)
    runner = SuiteRunner(suite, wakes_providers=number == 1)
    view.abstract(runner.results)
    try:
        _carry_out(runner, number, view, arguments, terminal, json_file)
    except KeyboardInterrupt:
        return 1, None
    finally:
        runner.close()
    status, fails = suite_status(runner.results)
    view.conclusion(status, runner.results)
    return int(_reported(arguments, runner, view, covered) or fails), runner


def _carry_out(
    runner: SuiteRunner,
    processes: int,
    view: TestView,
    arguments: Arguments,
    terminal: Terminal,
    json_file: TextIO | None,
) -> None:
    """Run all files, one after another or in several processes. Raises KeyboardInterrupt."""
    if processes > 1:
        _in_processes(runner, processes, view, arguments, terminal, json_file)
        return
    if terminal.owns_process:
        _handle_interrupts(view.stopping)
    for index in range(len(runner.results)):
        runner.carry_out(index, view, lambda: STOP.requested)


def _in_processes(
    runner: SuiteRunner,
    processes: int,
    view: TestView,
    arguments: Arguments,
    terminal: Terminal,
    json_file: TextIO | None,
) -> None:
    from planner.cli.test_processes import FilesInProcesses

    def make_view(terminal: Terminal, json_file: TextIO | None) -> TestView:
        return _view(arguments, terminal, json_file)

    files = FilesInProcesses(runner, processes, terminal, json_file, make_view)
    if terminal.owns_process:
        _handle_interrupts(view.stopping, files.asked_to_stop)
    files.carry_out(view, lambda: STOP.requested)


def _parallelism(arguments: Arguments) -> int | None:
    given: int | None = arguments["parallelism"]
    if given is not None and given < 1:
        raise UsageError("Option -parallelism must be 1 or more")
    return given


def _reported(
    arguments: Arguments, runner: SuiteRunner, view: TestView, covered: Mapping[str, tuple[Reached, ...]]
) -> bool:
    """Write the requested reports. Returns True if a report could not be written."""
    from planner.workflows.testing.report_files import junit

    reports = {"junit-xml": junit(runner.results) if arguments["junit-xml"] else ""}
    if _covers(arguments):
        item, reports["coverage-json"], reports["coverage-lcov"] = _coverage(runner, covered)
        if arguments["coverage"]:
            view.coverage(item)
    failed = False
    for name, report in reports.items():
        path = arguments[name]
        try:
            if path:
                Path(path).write_text(report, encoding="utf-8", errors="surrogateescape")
        except OSError as problem:
            detail = f"{path}: {problem.strerror or problem}."
            view.diagnostics([error("test.report", f"Cannot write the file of -{name}", detail)])
            failed = True
    return failed


def _covers(arguments: Arguments) -> bool:
    return bool(arguments["coverage"] or arguments["coverage-json"] or arguments["coverage-lcov"])


def _coverage(runner: SuiteRunner, covered: Mapping[str, tuple[Reached, ...]]) -> tuple[Coverage, str, str]:
    from planner.foundation.support.exact_json import dumps
    from planner.workflows.testing.coverage import coverage
    from planner.workflows.testing.questions import policy_places
    from planner.workflows.testing.report_files import coverage_json, coverage_lcov

    suite = runner.suite
    policies = suite.options.policies, suite.options.standing_policies
    places = policy_places(suite.loaded, policies) if any(policies) else {}
    reached = chain(*(result.reached for result in runner.results), *covered.values())
    report = coverage(suite.loaded.config, reached, places)
    document = dumps(coverage_json(report), indent=True).decode("utf-8")
    return report, f"{document}\n", coverage_lcov(report)


def _tells_causes(arguments: Arguments, terminal: Terminal) -> bool:
    """Whether values are traced, so that failed assertions show the sources of values. By default, they are traced for
    JSON and on a terminal. Raises UsageError."""
    if arguments["explain"] not in (None, "", True, False, "none", "line"):
        raise UsageError("Wrong value for option -explain", "Valid values are none and line.")
    if arguments["explain"]:
        return bool(arguments["explain"] != "none")
    return bool(arguments["json"] or arguments["json-into"]) or is_terminal(terminal.stderr)


def _handle_interrupts(*listeners: Callable[[], None]) -> None:
    """Install signal handlers: the first interrupt notifies the listeners, and stops the tests after the current
    run."""
    for listener in listeners:
        signals.STOP.listen(listener)
    signals.install()


def _view(arguments: Arguments, terminal: Terminal, json_file: TextIO | None) -> TestView:
    from planner.render.json_ui import JsonLines
    from planner.workflows.testing.report import HumanTestView, JsonTestView, TestViews

    if arguments["json"]:
        return JsonTestView(JsonLines(terminal.stdout))
    human = HumanTestView(terminal)
    return human if json_file is None else TestViews(human, JsonTestView(JsonLines(json_file)))
