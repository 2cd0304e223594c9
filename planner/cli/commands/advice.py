"""`advice`: remarks about a plan before it is applied."""

from __future__ import annotations

from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, no_directory
from planner.cli.options import DESTROY, JSON, OPERATION, STATE, VARIABLES, operation_options
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = """Makes a plan, or reads one, and gives advice on surprising parts of it:

  destroy_before_update         an object is destroyed while still in use
  forced_create_before_destroy  create_before_destroy that is not configured
  likely_rename                 objects that a moved block would keep
  provider_of_unplanned         a provider whose configuration does not exist

Rules of your own can add advice: advice(code, address, message)."""
FLAGS = (
    JSON,
    Flag("plan", "string", "Use this saved plan.", value="FILE"),
    DESTROY,
    *OPERATION,
    *STATE,
    *VARIABLES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0 whatever the advice is, 1 on errors."""
    from planner.foundation.support.exact_json import dumps
    from planner.operations.advice import advice

    no_directory(arguments, "advice")
    rows, problems = advice(operation_options(arguments), arguments["plan"] or None)
    if has_errors(problems):
        return finish(problems, terminal)
    if arguments["json"]:
        items = [{"code": code, "address": address, "message": message} for code, address, message in rows]
        terminal.data(dumps({"format_version": "1.0", "advice": items}).decode())
        return 0
    for code, address, message in rows:
        terminal.out(f"{address}: {code}\n  {message}")
    if not rows:
        terminal.out("Nothing to remark.")
    return 0
