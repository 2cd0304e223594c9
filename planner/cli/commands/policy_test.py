"""`policy test`: the cases of policies, and how good they are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON
from planner.foundation.vocabulary.diagnostic import Failure
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.api.rule_cases import Quality

USAGE = "[options] [FILE|DIRECTORY...]"
HELP = """Runs the case files (.case) next to policies, as "rules test" does: facts, small configurations and plans
of show -json (.given "PATH"), and the expected verdicts. Without words, those of .planner/policies, or else of the
working directory and below. -policy=NAME names policies as in "policy check", including the library (builtin:NAME).

With -coverage, shows each rule with the literals that hold, or fail, in no case; with -mutants, small mistakes in rules
that no case detects."""
FLAGS = (
    Flag("policy", "list", "Run the cases of this directory, file or builtin:NAME. May be repeated.", value="DIR"),
    Flag("coverage", "bool", "Show the literals that no case exercises."),
    Flag("mutants", "bool", "Make small mistakes in the rules, and show those that no case detects. Slow."),
    Flag("watch", "bool", "Run the cases again whenever a file changes, until interrupted."),
    JSON,
)
_OWN = os.path.join(".planner", "policies")


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when a case fails, a file is broken, or a rule that denies is not tested."""
    from planner.api.rule_cases import named_cases

    # The files and folders that are named.
    words = ([*arguments.words, *(path for policy in arguments["policy"] for path in named_cases(policy))]) or (
        [_OWN] if os.path.isdir(_OWN) else ["."]
    )
    if arguments["watch"] and arguments["json"]:
        raise UsageError("Conflicting options", "-watch is for people, -json for programs.")
    if not arguments["watch"]:
        return _once(words, arguments, terminal)
    return _watch(words, arguments, terminal)


def _once(words: list[str], arguments: Arguments, terminal: Terminal) -> int:
    from planner.api.rule_cases import run_cases
    from planner.render import quality as render_quality
    from planner.render import rules as render_rules

    tested = run_cases(words, "policy")
    result = _quality(words, arguments) if tested.passed else None
    if arguments["json"]:
        terminal.data(render_rules.tested_json(tested, **render_quality.as_json(result)))
        return int(not tested.passed)
    terminal.out(render_rules.tested_text(tested, terminal.paint))
    render_rules.show(tested.diagnostics, terminal)
    if result is not None:
        terminal.out(render_quality.as_text(result, arguments["coverage"], terminal.paint))
    return int(not tested.passed)


def _quality(words: list[str], arguments: Arguments) -> Quality | None:
    """The quality of the cases, if requested."""
    from planner.api.rule_cases import quality

    if not arguments["coverage"] and not arguments["mutants"]:
        return None
    return quality(words, "policy", arguments["mutants"])


def _watch(words: list[str], arguments: Arguments, terminal: Terminal) -> int:
    """Run the cases whenever a file changes. Ends with an interrupt, and 0."""
    from planner.foundation.support.watch import changes

    try:
        for _ in changes(words):
            try:
                _once(words, arguments, terminal)
            except Failure as failure:  # a file half written: the next change may mend it
                finish(failure.diagnostics, terminal)
            terminal.out("\nWaiting for changes; interrupt to end.")
            terminal.stdout.flush()
    except KeyboardInterrupt:
        return 0
    return 0
