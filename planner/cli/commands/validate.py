"""`validate`: check the configuration by itself, without state and without looking at real objects."""

from __future__ import annotations

from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON, VARIABLES, options
from planner.cli.terminal import Terminal
from planner.vocabulary.diagnostic import Diagnostic, error, has_errors

USAGE = "[options]"
HELP = """Checks that the configuration is well-formed and consistent in itself. Modules must be installed first
(init)."""
FLAGS = (
    JSON,
    Flag("test-directory", "string", "", value="DIR"),
    Flag("no-tests", "bool", ""),
    *VARIABLES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0 when the configuration is valid, else 1."""
    if len(arguments.words) > 1:
        raise UsageError("Too many words", "validate takes at most one directory.")
    settings = options(arguments, directory=arguments.words[0] if arguments.words else ".")
    from planner import pipeline

    return report(pipeline.validate(settings), arguments["json"], terminal)


def report(diagnostics: list[Diagnostic], as_json: bool, terminal: Terminal) -> int:
    """Print what was found and give the exit code."""
    failed = has_errors(diagnostics)
    if as_json:
        from planner.cli.diagnostics_json import validate_json
        from planner.vocabulary.exact_json import dumps

        terminal.out(dumps(validate_json(diagnostics), indent=True).decode("utf-8"))
        return int(failed)
    from planner.cli.render_diagnostics import show

    if not failed and not diagnostics:
        terminal.out(f"{terminal.paint('Success!', 'bold', 'green')} The configuration is valid.\n")
        return 0
    show(diagnostics, terminal)
    if not failed:
        title = terminal.paint("Success!", "bold", "green")
        terminal.out(f"\n{title} The configuration is valid, but see the warnings above.\n")
    return int(failed)


def failure(diagnostics: list[Diagnostic], terminal: Terminal) -> int:
    """With -json, what stopped the command is in the document too."""
    return report(diagnostics, True, terminal)


def usage_error(problem: UsageError, terminal: Terminal) -> int:
    """With -json, a usage error is a diagnostic in the document too."""
    return report([error("cli.usage", problem.summary, problem.detail)], True, terminal)
