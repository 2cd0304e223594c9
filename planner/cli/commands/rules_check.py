"""`rules check`: errors in rule files."""

from __future__ import annotations

from planner.cli.finish import json_text
from planner.cli.flags import Arguments, Flag
from planner.cli.options import JSON
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.terminal import Terminal

USAGE = "[options] [FILE|DIRECTORY...]"
HELP = """Checks rule files (.dl) together with the product's rules, without evaluating them, and reports all errors:
unknown predicates, mismatched columns, variables without a value, negation in a cycle. All rule files in a directory
and below are checked together. Without words, those of .planner/rules, or else of the working directory."""
PROGRAM = Flag(
    "program",
    "string",
    "The program of the product to check with; default: those that the files mention.",
    value="NAME",
)
FLAGS = (JSON, PROGRAM)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when there is an error."""
    from planner.answers.policy import rule_files
    from planner.render import rules as render_rules
    from planner.render.diagnostics_json import validate_json

    files, diagnostics = rule_files.read_files(arguments.words or rule_files.default_words(), (".dl",))
    checked = rule_files.check(files, arguments["program"])
    diagnostics += checked.diagnostics
    if arguments["json"]:
        terminal.data(json_text(validate_json(diagnostics)))
        return int(has_errors(diagnostics))
    render_rules.show(diagnostics, terminal)
    if not has_errors(diagnostics):
        count = "1 file is" if len(files) == 1 else f"{len(files)} files are"
        terminal.out(f"{count} right, checked beside the rules of {checked.program}.")
    return int(has_errors(diagnostics))
