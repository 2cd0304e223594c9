"""`policy list`: the policies that come with planner."""

from __future__ import annotations

from planner.cli.finish import json_text
from planner.cli.flags import Arguments, UsageError
from planner.cli.options import JSON
from planner.render.terminal import Terminal

USAGE = "[options] [NAME]"
HELP = """Lists the policy library by pack. Use a policy with -policy=builtin:NAME, where NAME is a policy, a pack,
or all. With the NAME of a policy, prints its source, to read or to copy; with the NAME of a pack, its pack.toml, which
has the parameters."""
FLAGS = (JSON,)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0; 1 when there is no policy of that name."""
    from planner.answers.policy.library import library
    from planner.answers.policy.sources import policy_files

    arguments.at_most_one_word("Name one policy, or none for all of them.")
    entries = library()
    if arguments.words:
        word = arguments.words[0].removeprefix("builtin:")
        packs = {entry.info.pack: entry.info.pack.removeprefix("planner.") for entry in entries}
        named = [entry for entry in entries if entry.name == word]
        chosen = [pack for pack, short in packs.items() if word in (pack, short)]
        if not named and not chosen:
            raise UsageError(f"No policy {arguments.words[0]}", "planner policy list shows all of them.")
        entries = named or [entry for entry in entries if entry.info.pack in chosen]
        if not named and not arguments["json"]:
            (text,) = (text for file, text in policy_files([f"builtin:{chosen[0]}"]) if file.endswith("pack.toml"))
            terminal.out(text.rstrip("\n"))
            return 0
    if arguments["json"]:
        items = [
            {"name": e.name, "summary": e.summary, "description": e.doc, "text": e.text, **e.info.to_json()}
            for e in entries
        ]
        terminal.data(json_text({"format_version": "1.0", "policies": items}))
    elif arguments.words:
        terminal.out(entries[0].text.rstrip("\n"))
    else:
        width = max(len(entry.name) for entry in entries)
        for pack in sorted({entry.info.pack for entry in entries}):
            terminal.out(pack)
            for entry in entries:
                if entry.info.pack == pack:
                    terminal.out(f"  {entry.name:{width}}  {entry.summary}")
    return 0
