"""`batch plan`, `validate`, `drift`, `apply`, `destroy` and `resume`."""

from __future__ import annotations

import os
from typing import Any

from planner.cli.batch_options import ASK, DEFER, JUDGE, MODE, REPORTS, REUSE, RUN, SELECT, SHARD, WORDS, batch_options
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import SIGNATURES, SINCE
from planner.foundation.support.signals import install
from planner.foundation.vocabulary.nearest import word
from planner.foundation.vocabulary.records import evolve
from planner.render.terminal import Terminal
from planner.workflows.batch.model import FinishedUnit
from planner.workflows.batch.saved_plan import is_left_over, is_saved_plan


@command(
    "[options] [WORDS...]",
    f"""Plans the units of a fleet: each unit after its dependencies, independent units in parallel.

{WORDS}

A unit that reads changed outputs of another unit is planned with their planned values. If such a value cannot be known
before apply and the plan depends on it, the plan is incomplete and cannot be applied.

Plans are reused while their inputs are unchanged. A unit without plugins is planned again only when an input of its
last plan has changed; for other units the real objects are read in every run, unless -reuse=15m accepts earlier results
or -refresh=false skips reading. In both cases the age of the results is printed.

-refresh-only plans no changes: it compares the states with the real objects and reports drift; with -detailed-exitcode,
the exit code is then 2. -destroy plans to destroy all objects, dependents before their dependencies. With -target but
without WORDS, only the units that -target names are planned. It is an error if -var, -target or -replace names
something that no unit has.

-out saves the plans with their inputs: planner batch apply DIR applies exactly these plans, or none.

The plan of each unit is checked against the policies in .planner/policies of the fleet's directory and of its own
directory, and those of -policy, with the parameters of packs that its .planner/policy.toml sets. The rules in
.planner/batch-policies apply to all plans together: see planner batch policy. Denied plans are shown, but neither saved
nor applied.

-shard=3/20 plans the third of twenty shards of the units, for parallel jobs; each job computes the same shards.
Connected units are in the same shard unless it would become too large. A unit of another shard whose outputs are read
is also planned, but only for its values. planner batch join combines the results of the jobs into one report and one
saved plan.

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
    """Returns 1 on errors, 2 if there are changes and -detailed-exitcode is set, and 0 otherwise."""
    return plan(arguments, terminal, "plan")


def plan(arguments: Arguments, terminal: Terminal, command: str) -> int:
    """Run `batch plan`, `batch validate` or `batch drift`."""
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

-shard=3/20 checks the third of the twenty shards into which batch plan divides the units.""",
    (SHARD, *SELECT, *RUN, *REPORTS),
)
def batch_validate(arguments: Arguments, terminal: Terminal) -> int:
    return plan(arguments, terminal, "validate")


_OTHERS = ("refresh", "minimal-refresh", "replace")


@command(
    "[options] [WORDS...]",
    f"""Compares the states of a fleet's units with the real objects, and reports changes made outside planner since the
last apply of each unit. Nothing is changed.

{WORDS}

The exit code is 0 without drift, 2 when there is drift, and 1 when a unit failed.""",
    (*(flag for flag in (*ASK, *RUN) if flag.name not in _OTHERS), SHARD, *SELECT, *REPORTS),
)
def batch_drift(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, 2 for drift, and 0 otherwise."""
    arguments.values |= {"refresh-only": True, "detailed-exitcode": True}
    return plan(arguments, terminal, "plan")


APPROVE = Flag("auto-approve", "bool", "Apply without prompting for approval.")

REFRESH_ONLY = MODE[1]


@command(
    "[options] [WORDS... | DIR]",
    f"""Applies the units of a fleet in their order until no changes are left.

{WORDS}

All units are planned first. Then, wave by wave, units with unknown inputs are planned again with the real values, the
plans are shown, and after the answer "yes" they are applied exactly as shown. With -auto-approve each unit is planned
and applied as soon as its dependencies are done, unless policies apply to all plans together
(.planner/batch-policies): then all units are planned and checked first.

With a directory that `planner batch plan -out=DIR` saved, the saved plans are applied without a prompt: exactly these
plans, or none. If a state, a file or a plan has changed since then, the change is reported, and nothing is applied.
Units with incomplete plans are planned again: a plan that equals the approved one, with the unknown values filled in,
is applied; any other plan needs approval.

If an apply of saved plans was interrupted, or failed for some units, the same command continues it. Units that were
applied are not planned again. Units that were in progress are planned again, and continue if the plan equals the
approved one; otherwise they need approval, and are skipped with -auto-approve.

-shard=3/20 applies one shard of the units, for parallel jobs. Connected units are in the same shard, so a fleet that is
connected as a whole is applied by one job.

If a unit fails, only its dependents are skipped. The run is recorded: planner batch resume continues it after a crash
or an interrupt.""",
    (APPROVE, REFRESH_ONLY, DEFER, SHARD, *SIGNATURES, *ASK, *JUDGE, *SELECT, *RUN, *REPORTS),
)
def batch_apply(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if a plan was not approved."""
    return converge(arguments, terminal, "apply")


def converge(arguments: Arguments, terminal: Terminal, command: str) -> int:
    """Run `batch apply` or `batch destroy`."""
    from planner.cli.batch_view import conclude, listener
    from planner.workflows.batch.apply import converge as carry_out

    if arguments["json"] and not arguments["auto-approve"]:
        raise UsageError("Approval is required", "With -json, -auto-approve is needed.")
    if terminal.owns_process:
        install()
    ask = None if arguments["auto-approve"] else approval(command, terminal)
    saved = _saved_plan(arguments) if command == "apply" else ""
    if not saved and arguments.get("require-signature"):
        raise UsageError(
            "Only saved plans are signed", "Save the plans (batch plan -out=DIR), sign them (sign DIR), and apply DIR."
        )
    if saved:
        from planner.workflows.batch.apply_saved import apply_saved

        options = batch_options(arguments)
        return conclude(apply_saved(saved, options, listener(arguments, terminal), ask), arguments, terminal)
    report = carry_out(command, batch_options(arguments), listener(arguments, terminal), ask)
    return conclude(report, arguments, terminal)


def _saved_plan(arguments: Arguments) -> str:
    """The directory of the saved plan that the arguments name; "" if they name none. Raises UsageError if other
    arguments are combined with it."""
    result = next((word for word in arguments.words if is_saved_plan(word) or is_left_over(word)), "")
    more = [f"-{name}" for name in _WHOLE if arguments.get(name)] + [f"-{name}" for name, _ in arguments.ordered]
    if result and (len(arguments.words) > 1 or more):
        what = ", ".join([*(word for word in arguments.words if word != result), *more])
        raise UsageError("A saved plan is applied as a whole", f"{what} cannot be combined with {result}.")
    return result


_WHOLE = (
    "tag",
    "group",
    "changed",
    "exclude",
    "target",
    "replace",
    "refresh-only",
    "shard",
    "policy",
    "policy-override",
)


def approval(command: str, terminal: Terminal) -> Any:
    """A function that prompts for approval of the plans of a wave, the units that are applied together."""

    def approve(title: str, wave: list[FinishedUnit]) -> bool:
        from planner.cli.approval import ask
        from planner.cli.batch_lines import line

        terminal.out(f"\n{terminal.paint(title[:1].upper() + title[1:], 'bold')}:")
        for done in wave:
            terminal.out(f"  {line(done, terminal)}")
            for address, action, _ in done.result.changes if done.result is not None else ():
                terminal.out(f"    {action} {address}")
            for refusal in done.result.refusals if done.result is not None else ():
                terminal.out(f"    {refusal}")
        what = "Everything above will be destroyed" if command == "destroy" else "The plans above will be applied"
        remark = f"{what}.\nOnly 'yes' will be accepted to approve."
        return ask(f"Do you want to continue with {title}?", remark, terminal, True) == "yes"

    return approve


@command(
    "[options] [WORDS...]",
    f"""Destroys the objects of the units, in reverse order: dependents before their dependencies.

{WORDS}""",
    (APPROVE, *ASK, *JUDGE, *SELECT, *RUN, *REPORTS),
)
def batch_destroy(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if a plan was not approved."""
    return converge(arguments, terminal, "destroy")


@command(
    "[options] [RUN]",
    """Continues a run of plan, validate, apply or destroy that was killed or interrupted, or in which units failed: the
last run below the working directory, or the named one. Units that succeeded are not run again. Units that were in
progress are named and run again, but replacing an object that was being created needs another approval. A run that was
started with -auto-approve continues without prompts. If the run applied saved plans, its record contains copies of
them, so their directory is not needed any more.""",
    (
        APPROVE,
        Flag("file", "string", "The fleet file, if the run was started with one.", value="FILE"),
        Flag("detailed-exitcode", "bool", "Exit with 0 for no changes, 1 for errors, 2 for changes."),
        *REPORTS,
    ),
)
def batch_resume(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if the run was denied, not approved or stopped; 2 if there are changes and
    -detailed-exitcode is set; otherwise 0."""
    from planner.cli.batch_view import conclude, listener
    from planner.workflows.batch.resume import resume

    name = arguments.at_most_one_word("Name one run: a directory below .planner/batch.", "")
    if terminal.owns_process:
        install()

    def began(name: str, in_flight: list[str]) -> None:
        if not arguments["json"]:
            terminal.out(f"Resuming {name}.")
            for unit in in_flight:
                terminal.out(f"{unit}: was in progress when the run was interrupted")

    root = os.path.dirname(os.path.abspath(arguments["file"])) if arguments["file"] else os.getcwd()
    ask = None if arguments["auto-approve"] else approval("apply", terminal)
    report = resume(name, root, listener(arguments, terminal), ask, began)
    return conclude(report, arguments, terminal)
