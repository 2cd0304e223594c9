"""`policy list`: the policies that come with planner."""

from __future__ import annotations

from planner.cli.finish import json_text
from planner.cli.flags import Arguments, UsageError
from planner.cli.options import JSON
from planner.render.terminal import Terminal

USAGE = "[options] [NAME]"
HELP = """Lists the policies that come with planner, to be used as -policy=builtin:NAME. With a NAME, shows that policy,
to read or to copy."""
FLAGS = (JSON,)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0; 1 when there is no policy of that name."""
    from planner.operations import policies

    if len(arguments.words) > 1:
        raise UsageError("Too many words", "Name one policy, or none for all of them.")
    entries = policies.library()
    if arguments.words:
        named = [entry for entry in entries if entry.name == arguments.words[0].removeprefix("builtin:")]
        if not named:
            raise UsageError(f"No policy {arguments.words[0]}", "planner policy list shows all of them.")
        entries = named
    if arguments["json"]:
        found = [{"name": e.name, "summary": e.summary, "description": e.doc, "text": e.text} for e in entries]
        terminal.data(json_text({"format_version": "1.0", "policies": found}))
    elif arguments.words:
        terminal.out(entries[0].text.rstrip("\n"))
    else:
        width = max(len(entry.name) for entry in entries)
        for entry in entries:
            terminal.out(f"{entry.name:{width}}  {entry.summary}")
    return 0
