"""Plan and check the units of a fleet, and compare them with the real objects."""

from __future__ import annotations

from planner.cli.batch_options import ASK, DEFER, JUDGE, MODE, REPORTS, REUSE, RUN, SELECT, SHARD, WORDS, batch_options
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import SINCE
from planner.foundation.support.signals import install
from planner.foundation.vocabulary.nearest import word
from planner.foundation.vocabulary.records import evolve
from planner.render.terminal import Terminal
from planner.workflows.batch.cache_files import is_known
from planner.workflows.batch.executors import warm_up


@command(
    "[options] [WORDS...]",
    f"""Plans the units of a fleet in their order, several at a time.

{WORDS}

A unit that reads changed outputs of another unit is planned with their planned values. If such a value cannot be known
before apply and the plan depends on it, the plan is incomplete and cannot be applied.

Plans are reused while their inputs are unchanged. A unit without plugins is planned again only when an input of its
last plan has changed; for other units the real objects are read in every run, unless -reuse=15m accepts earlier results
or -refresh=false skips reading: then the age is printed.

-refresh-only plans no changes: it compares the states with the real objects and reports drift, with exit code 2 for
-detailed-exitcode. -destroy plans in reverse order. With -target, and no WORDS, only the units that it names are
planned. It is an error if -var, -target or -replace name something that no unit has.

-out saves the plans with their inputs: planner batch apply DIR applies exactly these plans, or none.

The plan of each unit is judged by the .planner/policies of the fleet's directory, by those of its own directory, and by
-policy, with the parameters of packs that its .planner/policy.toml sets. The rules in .planner/batch-policies judge all
plans together: see planner batch policy. Denied plans are shown, and are neither saved nor applied.

-shard=3/20 plans a twentieth of the units, the same ones on every machine, for parallel jobs. Connected units are in
the same shard where it has room; a unit of another shard whose outputs are read is also planned, but only for its
values. planner batch join combines the results of the jobs into one report and one saved plan.

On GitHub runners (GITHUB_ACTIONS) problems are also printed as annotations, unless -json is given.

The exit code is 0; 1 when a unit failed; 2 with -detailed-exitcode when there are changes.""",
    (
        Flag("detailed-exitcode", "bool", "Exit with 0 for no changes, 1 for errors, 2 for changes."),
        Flag("strict", "bool", "Exit with 1 if removed units still have objects."),
        Flag("out", "string", "Save the plans here, for batch apply DIR.", value="DIR"),
        Flag(
            "json-out-dir",
            "string",
            "Write the plan JSON of each unit to UNIT/tfplan.json in this directory.",
            value="DIR",
        ),
        SINCE,
        REUSE,
        SHARD,
        *MODE,
        DEFER,
        *ASK,
        *JUDGE,
        *SELECT,
        *RUN,
        *REPORTS,
    ),
)
def batch_plan(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0, 1 on errors, or 2 with -detailed-exitcode if there are changes."""
    return plan(arguments, terminal, "plan")


def plan(arguments: Arguments, terminal: Terminal, command: str) -> int:
    """The common part of plan and validate."""
    # Let other processes begin to load modules before this one does.
    if not is_known("."):  # all units will be surveyed
        warm_up(arguments.get("executor", ""))
    return _plan(arguments, terminal, command)


def _plan(arguments: Arguments, terminal: Terminal, command: str) -> int:
    from planner.cli.batch_view import conclude, is_brief, listener
    from planner.workflows.batch import plan as batch

    if terminal.owns_process:
        install()
    if arguments.get("out") and arguments.get("reuse"):
        raise UsageError("Conflicting options", "A saved plan must read all real objects. Remove -reuse.")
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


@command(
    "[options] [WORDS...]",
    f"""Checks the configurations of the units, and that their order has no cycle.

{WORDS}

-shard=3/20 checks a twentieth of the units, as batch plan does.""",
    (SHARD, *SELECT, *RUN, *REPORTS),
)
def batch_validate(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0, or 1 on errors."""
    return plan(arguments, terminal, "validate")


_OTHERS = ("refresh", "minimal-refresh", "replace")


@command(
    "[options] [WORDS...]",
    f"""Compares the states of a fleet's units with the real objects, and reports what was changed outside since the
last apply of each. Nothing is changed.

{WORDS}

The exit code is 0 without drift, 2 when there is drift, and 1 when a unit failed.""",
    (*(flag for flag in (*ASK, *RUN) if flag.name not in _OTHERS), SHARD, *SELECT, *REPORTS),
)
def batch_drift(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0, 1 on errors, or 2 if there is drift."""
    arguments.values |= {"refresh-only": True, "detailed-exitcode": True}
    return plan(arguments, terminal, "plan")
