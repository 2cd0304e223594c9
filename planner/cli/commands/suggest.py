"""`suggest`: remarks about a plan before it is applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from planner.api.questions import Questions
from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError, command, no_directory
from planner.cli.options import DESTROY, JSON, OPERATION, STATE, VARIABLES, plan_calls
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.api.questions import Remark

MOST_SHOWN = 10

"""moved blocks for one file, or commands, that are shown"""


@command(
    "[options]",
    """Makes a plan, or reads one, and gives advice on surprising parts of it:

  destroy_before_update         an object is destroyed while still in use
  forced_create_before_destroy  create_before_destroy that is not configured
  index_shift                   objects that get each other's values, because
                                indexes of count have shifted
  likely_rename                 objects that a moved block keeps
  possible_rename               objects that a moved block has updated instead
  provider_of_unplanned         a provider whose configuration does not exist

Moved blocks are planned with before they are proposed; -write inserts those of likely_rename into their files. Rules of
your own can add advice: advice(code, address, message).""",
    (
        JSON,
        Flag("plan", "string", "Use this saved plan.", value="FILE"),
        Flag("write", "bool", "Insert the moved blocks of likely renames into the configuration."),
        DESTROY,
        *OPERATION,
        *STATE,
        *VARIABLES,
    ),
)
def suggest(arguments: Arguments, terminal: Terminal) -> int:
    """0 whatever the advice is, 1 on errors."""
    from planner.foundation.support.exact_json import dumps

    no_directory(arguments, "suggest")
    if arguments["write"] and arguments["plan"]:
        detail = "A saved plan has a configuration of its own: leave out -plan, or insert the blocks by hand."
        raise UsageError("Conflicting options", detail)
    result = plan_calls(Questions, arguments).advice(arguments["plan"] or None, arguments["write"])
    problems = result.diagnostics
    is_known = bool(result.remarks) or not has_errors(problems)
    if arguments["json"] and is_known:
        items = [remark.json for remark in result.remarks]
        written = {"written": result.written} if arguments["write"] else {}
        terminal.data(dumps({"format_version": "1.0", "advice": items, **written}).decode())
    elif is_known:
        for line in _lines(result.remarks):
            terminal.out(line)
        if not result.remarks:
            terminal.out("No advice.")
        if arguments["write"]:
            terminal.out(f"\nMoved blocks were written to: {', '.join(result.written) or 'no file'}")
    return finish(problems, terminal) if has_errors(problems) else 0


def _lines(remarks: Iterable[Remark]) -> Iterator[str]:
    """The remarks, with the moved blocks that they propose."""
    shown: dict[str, int] = {}
    listed = list(remarks)
    for remark in listed:
        block = remark.block
        if block is None:
            commands = "".join(f"\n    {command}" for command in remark.commands[:MOST_SHOWN])
            hidden = len(remark.commands) - MOST_SHOWN
            more = f"\n    ... {hidden} more commands (-json lists all)" if hidden > 0 else ""
            before = "\n" if commands else ""
            yield f"{remark.address}: {remark.code}\n  {remark.message}{before}{commands}{more}"
            continue
        shown[block.file] = shown.get(block.file, 0) + 1
        if shown[block.file] <= MOST_SHOWN:
            text = block.text.rstrip("\n").replace("\n", "\n    ")
            yield f"{remark.address}:\n  {remark.message}\n\n    {text}\n"
    if any(remark.code == "likely_rename" and remark.block is not None for remark in listed):
        yield "To insert the moved blocks: planner suggest -write"
    for file, number in shown.items():
        if number > MOST_SHOWN:
            rest = "(-json lists all, -write inserts the likely ones)"
            yield f"... {number - MOST_SHOWN} more moved blocks for {file} {rest}"
