"""`rules test`: the cases of rule files."""

from __future__ import annotations

from planner.cli.commands.rules_check import PROGRAM
from planner.cli.flags import Arguments
from planner.cli.options import JSON
from planner.render.terminal import Terminal

USAGE = "[options] [FILE|DIRECTORY...]"
HELP = """Runs case files (.case): facts, and the tuples that rules should derive from them. The rules are those of
the product and the rule files (.dl) next to the cases: for NAME.case the file NAME.dl with the files that declare its
inputs, or all files if there is no NAME.dl. Without words, those of .planner/rules, or else of the working directory
and below.

A rule for deny or warn needs two cases in one file: one that expects its verdict, and one with .want none."""
FLAGS = (JSON, PROGRAM)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when a case fails, a file is broken, or a rule that denies is not tested."""
    from planner.answers.policy import rule_files
    from planner.api.rule_cases import run_cases
    from planner.render import rules as render_rules

    tested = run_cases(arguments.words or rule_files.default_words(), arguments["program"])
    if arguments["json"]:
        terminal.data(render_rules.tested_json(tested))
    else:
        terminal.out(render_rules.tested_text(tested, terminal.paint))
        render_rules.show(tested.diagnostics, terminal)
    return int(not tested.passed)
