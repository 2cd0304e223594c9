"""`state journal`: the journals of interrupted operations."""

from __future__ import annotations

from planner.api.states import States
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON_LINES, LOCK, VARIABLES, plan_calls, state_calls
from planner.cli.views import open_plain_view, open_view
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = """Shows the journals of operations that ended before they could save the state: completed changes, and
operations that were in progress. Journals count as part of the state until planner writes it again; -adopt writes it
at once, for other programs to read. If another program has changed the state in the meantime, each command reports the
objects that are only in a journal: -adopt reads them and adds those that exist to the state, and -discard sets the
journals aside."""
FLAGS = (
    Flag("adopt", "bool", "Save the state with the changes of the journals, after reading the objects that it lacks."),
    Flag("discard", "bool", "Set the journals aside: each is kept in a file that planner no longer reads."),
    *LOCK,
    *VARIABLES,
    *JSON_LINES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when a journal cannot be read or discarded."""
    arguments.no_words("The journals of the selected workspace are meant.")
    if arguments["adopt"] and arguments["discard"]:
        raise UsageError("Conflicting options", "Journals are either adopted or discarded.")
    if arguments["adopt"]:
        return _adopt(arguments, terminal)
    view = open_plain_view(arguments, terminal)
    shown, problems = state_calls(States, arguments).journals(arguments["discard"])
    for one in shown:
        of = f"{one.operation} of {one.time}, serial {one.serial}" if one.operation else "not readable"
        lines = [f"{one.place}: {of}"]
        lines += [f"  changed    {address}" for address in one.changed]
        lines += [f"  under way  {action} {address}" for action, address in one.under_way]
        lines += ["  discarded"] if arguments["discard"] else []
        text = "\n".join(lines)
        view.say(text, text, type="state_journal", place=one.place, changed=list(one.changed))
    if not shown and not problems:
        view.say("There is no journal: no operation was interrupted.", "There is no journal.", type="state_journal")
    return view.finish(problems)


def _adopt(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when an object cannot be read or the state cannot be written: then the journal is still there."""
    view = open_view(arguments, terminal)
    adopted, problems = plan_calls(States, arguments).adopt_journals(view.hooks)
    lines = [f"{address}: added to the state" for address in adopted.added]
    lines += [f"{address}: does not exist any more" for address in adopted.gone]
    if not lines and not any(problem.is_error for problem in problems):
        lines = ["No object was added to the state. The journals are settled: they count no more."]
        if not adopted.saved:
            lines = ["No journal has an object that the state does not have."]
    for line in lines:
        view.say(line, line, type="state_journal", added=list(adopted.added), gone=list(adopted.gone))
    return view.finish(problems)
