"""`validate` and `stacks validate`: check a configuration or a stack, without state and real objects."""

from __future__ import annotations

from planner.api.installation import Validation
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import JSON_DOCUMENT, VARIABLES, loading_calls
from planner.cli.views import open_json_into
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, has_errors
from planner.render.terminal import Terminal


def usage_error(problem: UsageError, terminal: Terminal) -> int:
    """Print a usage error in the form of the JSON document that `validate -json` prints. Returns 1."""
    return report([error("cli.usage", problem.summary, problem.detail)], True, terminal)


@command(
    "[options]",
    "Checks that the configuration is well-formed and consistent. Modules must be installed first (init).",
    (
        Flag(
            "test-directory",
            "string",
            "The directory of test files, in addition to the working directory (default: tests).",
            value="DIR",
        ),
        Flag("no-tests", "bool", "Do not check test files."),
        Flag("query", "bool", "Also check the searches in files *.tfquery.hcl."),
        *VARIABLES,
        *JSON_DOCUMENT,
    ),
    usage_error,
)
def validate(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0 if the configuration is valid, otherwise 1."""
    directory = arguments.at_most_one_word("validate takes at most one directory.", ".")
    calls = loading_calls(Validation, arguments, directory=directory).having(queries=bool(arguments["query"]))
    stream = open_json_into(arguments, terminal)
    result = calls.problems(None if arguments["no-tests"] else arguments["test-directory"] or "")
    if stream is not None:
        with stream:
            print(document(result), file=stream)
    return report(result, arguments["json"], terminal)


def document(diagnostics: list[Diagnostic]) -> str:
    """The JSON document that `validate -json` prints."""
    from planner.foundation.support.exact_json import dumps
    from planner.render.diagnostics_json import validate_json

    return dumps(validate_json(diagnostics), indent=True).decode("utf-8")


def report(diagnostics: list[Diagnostic], as_json: bool, terminal: Terminal, what: str = "configuration") -> int:
    """Print the diagnostics of a configuration, or of `what`. Returns the exit code."""
    from planner.render.diagnostics import show

    failed = has_errors(diagnostics)
    if as_json:
        terminal.data(document(diagnostics))
        return int(failed)
    if not failed and not diagnostics:
        terminal.out(f"{terminal.paint('Success!', 'bold', 'green')} The {what} is valid.")
        return 0
    show(diagnostics, terminal)
    if not failed:
        title = terminal.paint("Success!", "bold", "green")
        terminal.out(f"{title} The {what} is valid, but see the warnings above.")
    return int(failed)


@command(
    "[options] [DIRECTORY]",
    """Checks that a stack is well-formed and consistent: its component and deployment files, and the modules of
its components. Its modules and child stacks must be installed first (stacks init).""",
    JSON_DOCUMENT,
    usage_error,
)
def stacks_validate(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0 if the stack is valid, otherwise 1."""
    from planner.workflows.stacks.validate import validate_stack

    directory = arguments.at_most_one_word("stacks validate takes at most one directory.", ".")
    stream = open_json_into(arguments, terminal)
    result = validate_stack(directory)
    if stream is not None:
        with stream:
            print(document(result), file=stream)
    return report(result, arguments["json"], terminal, "stack")
