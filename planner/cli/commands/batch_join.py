"""`batch join`: one report and one saved plan from the results of a command's jobs."""

from __future__ import annotations

from planner.cli.batch_options import REPORTS
from planner.cli.flags import Arguments, Flag, UsageError
from planner.foundation.vocabulary.nearest import word
from planner.render.terminal import Terminal

USAGE = "[options] SHARD..."
HELP = """Joins the results of jobs that shared the units of one command (-shard=K/N): SHARD is the file of
-report=FILE, or the directory of batch plan -out=DIR. The result is one report for all units, as if a single job had
run, and with -out one saved plan, which planner batch apply DIR applies.

Every shard is required, once, and all shards need the same files, selection and options. Where a shard planned a unit
of another shard for its values, both must have read the same objects. Otherwise the command fails with the reason.

The fleet's files are not needed, only the shards. The exit code is that of a single job: 0; 1 when a unit failed; 2
with -detailed-exitcode when there are changes."""
FLAGS = (
    Flag("out", "string", "Save the plans of all shards here, for batch apply DIR.", value="DIR"),
    Flag("detailed-exitcode", "bool", "Exit with 0 for no changes, 1 for errors, 2 for changes."),
    Flag("strict", "bool", "Exit with 1 when removed units still have objects."),
    *(flag for flag in REPORTS if flag.name != "show"),
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, 1 on errors, or 2 with -detailed-exitcode when there are changes."""
    from planner.cli.batch_view import conclude_with
    from planner.workflows.batch.join import join

    if not arguments.words:
        raise UsageError("Shards are needed", "Name the report files or plan directories of the jobs.")
    joined = join(arguments.words, arguments["out"])
    code = conclude_with(joined.document, joined, arguments, terminal)
    if arguments["out"] and not arguments["json"]:
        out = arguments["out"]
        saved = f"The plans are saved. To apply them: planner batch apply {word(out)}"
        terminal.out(saved if joined.is_saved else f"No plans are saved in {out}, because of the errors.")
    return code
