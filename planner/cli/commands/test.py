"""`test`: carry out test files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON_LINES, VARIABLES
from planner.cli.views import open_json_into, usage_error_lines
from planner.render.terminal import Terminal, is_terminal
from planner.vocabulary.diagnostic import has_errors

if TYPE_CHECKING:
    from planner.render.testing import JsonTestView, TestView

USAGE = "[options]"
HELP = """Carries out the runs of test files: *.tftest.hcl, *.tofutest.hcl and their JSON forms, in this directory
and in the test directory. A run plans or applies the module with a state of its own in memory, and asserts what is to
be so then. What runs made is destroyed after their file; what could not be destroyed is in errored_test.tfstate.

The directory must be prepared (init). No backend is opened. The exit code is 0 when all runs have passed, everything
is cleaned up and nothing was interrupted, else 1."""
FLAGS = (
    Flag("filter", "list", "Only this test file, by its path from here. May be repeated.", value="FILE"),
    Flag("test-directory", "string", "Where else test files are (tests).", value="DIR"),
    Flag("verbose", "bool", "Show the plan of each run, or the state after it."),
    Flag("why", "string", "Where the values of failed assertions come from: none or line.", value="HOW"),
    *VARIABLES,
    *JSON_LINES,
)
usage_error = usage_error_lines


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0 when all is well, else 1."""
    from planner.operations.testing.suite import TestOptions, load_suite, run_suite, suite_status
    from planner.support.signals import STOP

    options = TestOptions(
        var_args=tuple(arguments.ordered),
        test_directory=arguments["test-directory"] or "",
        filters=tuple(arguments["filter"]),
        verbose=bool(arguments["verbose"]),
        tells_causes=_tells_causes(arguments, terminal),
    )
    view = _view(arguments, terminal)
    suite, problems = load_suite(options)
    view.diagnostics(problems)
    if suite is None or has_errors(problems):
        return 1
    if terminal.owns_process:
        _handle_interrupts(view)
    try:
        results = run_suite(suite, view, lambda: STOP.requested)
    except KeyboardInterrupt:
        return 1
    status, fails = suite_status(results)
    view.conclusion(status, results)
    return int(fails)


def _tells_causes(arguments: Arguments, terminal: Terminal) -> bool:
    """Whether failed assertions tell where values come from: to programs and on a terminal, unless told otherwise."""
    if arguments["why"] not in (None, "", True, False, "none", "line", "full"):
        raise UsageError("Wrong value for option -why", "Say -why=none, -why=line or -why=full.")
    if arguments["why"]:
        return bool(arguments["why"] != "none")
    return bool(arguments["json"] or arguments["json-into"]) or is_terminal(terminal.stderr)


def _handle_interrupts(view: TestView) -> None:
    """Let the first interrupt stop after the run that is under way, and say so."""
    from planner.support import signals

    signals.STOP.listen(view.stopping)
    signals.install()


def _view(arguments: Arguments, terminal: Terminal) -> TestView:
    from planner.render.json_ui import JsonLines
    from planner.render.testing import HumanTestView, JsonTestView, TestViews

    stream = open_json_into(arguments, terminal)
    if arguments["json"]:
        if arguments["json-into"]:
            raise UsageError("Conflicting options", "-json prints JSON lines and -json-into writes them: choose one.")
        return _started(JsonTestView(JsonLines(terminal.stdout)))
    human = HumanTestView(terminal)
    return human if stream is None else TestViews(human, _started(JsonTestView(JsonLines(stream))))


def _started(view: JsonTestView) -> JsonTestView:
    view.lines.version()
    return view
