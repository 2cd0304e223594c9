"""`state journal`: what operations that were cut off left behind."""

from __future__ import annotations

from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON_LINES, LOCK, VARIABLES, state_options
from planner.cli.views import open_plain_view, usage_error_lines
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = """Shows the journals of operations that ended before they could save the state: what was
done, and what was under way. They count as part of the state until it is written
again. One that belongs to another state than there is now is an error of every
command: with -discard none counts any more, and each is kept in a file."""
FLAGS = (Flag("discard", "bool", "Let them not count any more."), *LOCK, *VARIABLES, *JSON_LINES)
usage_error = usage_error_lines


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when a journal cannot be read or discarded."""
    from planner.operations.state_journal import state_journal

    if arguments.words:
        raise UsageError("Too many words", "The journals of the selected workspace are meant.")
    view = open_plain_view(arguments, terminal)
    shown, problems = state_journal(state_options(arguments), arguments["discard"])
    for one in shown:
        of = f"{one.operation} of {one.time}, serial {one.serial}" if one.operation else "not readable"
        lines = [f"{one.place}: {of}"]
        lines += [f"  changed    {address}" for address in one.changed]
        lines += [f"  under way  {action} {address}" for action, address in one.under_way]
        lines += ["  discarded"] if arguments["discard"] else []
        text = "\n".join(lines)
        view.say(text, text, type="state_journal", place=one.place, changed=list(one.changed))
    if not shown and not problems:
        view.say("There is no journal: nothing was cut off.", "There is no journal.", type="state_journal")
    return view.finish(problems)
