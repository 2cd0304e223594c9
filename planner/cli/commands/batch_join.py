"""`batch join`: one report and one saved plan of what the jobs of a command left behind."""

from __future__ import annotations

from planner.cli.batch_options import REPORTS
from planner.cli.flags import Arguments, Flag, UsageError
from planner.foundation.vocabulary.shell import word
from planner.render.terminal import Terminal

USAGE = "[options] PART..."
HELP = """Joins what several jobs left behind that shared the units of one command (-shard=K/N): PART is the file of
-report=FILE, or the folder that batch plan -out=DIR saved. The units have one report then, as if one job had done
everything, and with -out one saved plan, which planner batch apply DIR applies.

All shards have to be there, each once, and made from the same files, selection and options. Where a shard planned a
unit of another one for its values, both must have seen the same. Otherwise nothing is joined, and it is said why.

The fleet need not be here: parts are enough. Ends as the jobs would have ended together: with 0; with 1 when something
failed; with -detailed-exitcode with 2 when there are changes."""
FLAGS = (
    Flag("out", "string", "Save the plans of all parts here, for batch apply DIR.", value="DIR"),
    Flag("detailed-exitcode", "bool", "Exit with 0 for no changes, 1 for errors, 2 for changes."),
    Flag("strict", "bool", "Exit with 1 when units are gone and their objects are not."),
    *(flag for flag in REPORTS if flag.name != "show"),
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, 1 on errors, or 2 with -detailed-exitcode when there are changes."""
    from planner.cli.batch_view import conclude_with
    from planner.workflows.batch.join import join

    if not arguments.words:
        raise UsageError("Parts are needed", "Name the files or folders that the jobs left.")
    joined = join(arguments.words, arguments["out"])
    code = conclude_with(joined.document, joined, arguments, terminal)
    if arguments["out"] and not arguments["json"]:
        out = arguments["out"]
        saved = f"The plans are saved. To apply them: planner batch apply {word(out)}"
        terminal.out(saved if joined.is_saved else f"No plans are saved in {out}, because of the errors.")
    return code
