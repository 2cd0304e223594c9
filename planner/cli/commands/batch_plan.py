"""`batch plan`: what applying a fleet would do."""

from __future__ import annotations

from planner.cli.batch_options import ASK, JUDGE, MODE, REPORTS, REUSE, RUN, SELECT, SHARD, WORDS, batch_options
from planner.cli.flags import Arguments, Flag, UsageError
from planner.foundation.support.signals import install
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.shell import word
from planner.render.terminal import Terminal
from planner.workflows.batch.cache_files import is_known
from planner.workflows.batch.executors import warm_up

USAGE = "[options] [WORDS...]"
HELP = f"""Plans the units of a fleet in their order, several at a time.

{WORDS}

A unit that reads outputs of another one with changes is planned with the values that these are going to have. Only
where such a value is not known before the apply, and the plan rests on it, the plan is incomplete and cannot be
applied.

What is kept between runs is what files say. A unit without plugins is not planned again when nothing has changed that
its last plan was made from; of others the real objects are always looked at, unless -reuse=15m allows what was seen
some time ago, or -refresh=false asks for none: then the age is printed.

-refresh-only plans nothing: it compares the states with the real objects and reports what has drifted, exit code 2
with -detailed-exitcode. -destroy plans in the opposite order. With -target, and no WORDS, only the units that it names
are planned. What -var, -target or -replace name and no unit has is an error.

-out saves the plans with what they were made from: planner batch apply DIR applies them as they are, or not at all.

-policy judges the plan of each unit, with its own .planner/policies, and the parameters of packs that its
.planner/policy.toml sets; a unit that is denied has failed. planner batch policy judges all plans together.

-shard=3/20 plans a twentieth of the units, the same ones on every machine, for jobs that run side by side. What is
connected stays together where it fits; where a unit reads outputs of another shard's, that one is planned, too, for
its values alone. planner batch join makes one report and one saved plan of what the jobs leave.

On GitHub's machines (GITHUB_ACTIONS) problems are annotations, too, unless -json is given.

Ends with 0; with 1 when something failed; with -detailed-exitcode with 2 when there are changes."""
FLAGS = (
    Flag("detailed-exitcode", "bool", "Exit with 0 for no changes, 1 for errors, 2 for changes."),
    Flag("strict", "bool", "Exit with 1 when units are gone and their objects are not."),
    Flag("out", "string", "Save the plans here, for batch apply DIR.", value="DIR"),
    Flag("json-out-dir", "string", "Write plan JSON of each unit, UNIT/tfplan.json in this folder.", value="DIR"),
    REUSE,
    SHARD,
    *MODE,
    *ASK,
    *JUDGE,
    *SELECT,
    *RUN,
    *REPORTS,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, 1 on errors, or 2 with -detailed-exitcode when there are changes."""
    return plan(arguments, terminal, "plan")


def plan(arguments: Arguments, terminal: Terminal, command: str) -> int:
    """What plan and validate have in common."""
    _warm_up(arguments)
    return _plan(arguments, terminal, command)


def _warm_up(arguments: Arguments) -> None:
    """Let processes begin to load what they need before this one does."""
    if not is_known("."):  # all units will be looked at
        warm_up(arguments.get("executor", ""))


def _plan(arguments: Arguments, terminal: Terminal, command: str) -> int:
    from planner.cli.batch_view import conclude, is_brief, listener
    from planner.workflows.batch import plan as batch

    if terminal.owns_process:
        install()
    if arguments.get("out") and arguments.get("reuse"):
        raise UsageError("Conflicting options", "A plan that is saved looks at everything now: leave -reuse out.")
    options = evolve(
        batch_options(arguments),
        is_brief=is_brief(arguments),
        out=arguments.get("out", ""),
        json_out=arguments.get("json-out-dir", ""),
    )
    report = batch.plan(options, listener(arguments, terminal), command)
    code = conclude(report, arguments, terminal)
    if options.out and not arguments["json"]:
        done = f"The plans are saved. To apply them: planner batch apply {word(options.out)}"
        if options.shard[1]:
            done = f"The plans of this shard are saved in {word(options.out)}: see planner batch join."
        terminal.out(f"No plans are saved in {options.out}, because of the errors." if report.failed else done)
    return code
