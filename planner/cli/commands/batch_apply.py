"""Apply and destroy the units of a fleet, and continue interrupted runs."""

from __future__ import annotations

import os
from typing import Any

from planner.cli.batch_options import ASK, DEFER, JUDGE, MODE, REPORTS, RUN, SELECT, SHARD, WORDS, batch_options
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import SIGNATURES
from planner.foundation.support.signals import install
from planner.render.terminal import Terminal
from planner.workflows.batch.model import FinishedUnit
from planner.workflows.batch.saved_plan import is_left_over, is_saved_plan

APPROVE = Flag("auto-approve", "bool", "Apply without prompting for approval.")

REFRESH_ONLY = MODE[1]


@command(
    "[options] [WORDS... | DIR]",
    f"""Applies the units of a fleet in their order until no changes are left.

{WORDS}

All units are planned first. Then, wave by wave, units with unknown inputs are planned again with the real values, the
plans are shown, and after the answer "yes" they are applied exactly as shown. With -auto-approve each unit is planned
and applied as soon as its dependencies are done, unless policies judge all plans together (.planner/batch-policies):
then all are planned and judged first.

With a directory that `planner batch plan -out=DIR` saved, the saved plans are applied without a prompt: exactly these,
or none if a state, a file or a plan has changed since, which is reported. Units with incomplete plans are planned
again: a plan that equals the approved one, with the unknown values filled in, is applied; any other needs approval.

If that apply was interrupted, or failed for some units, the same command continues it. Applied units are kept.
Units that were in progress are planned again, and continue if the plan equals the approved one; otherwise they need
approval, and are skipped with -auto-approve.

-shard=3/20 applies one shard of the units, for parallel jobs. Connected units are in the same shard, so a fleet that is
connected as a whole is applied by one job.

A failed unit holds back only its dependents. The run is recorded: planner batch resume continues it after a crash or an
interrupt.""",
    (APPROVE, REFRESH_ONLY, DEFER, SHARD, *SIGNATURES, *ASK, *JUDGE, *SELECT, *RUN, *REPORTS),
)
def batch_apply(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0, or 1 on errors or if something was not approved."""
    return converge(arguments, terminal, "apply")


def converge(arguments: Arguments, terminal: Terminal, command: str) -> int:
    """The common part of apply and destroy."""
    from planner.cli.batch_view import conclude, listener
    from planner.workflows.batch.apply import converge as carry_out

    if arguments["json"] and not arguments["auto-approve"]:
        raise UsageError("Approval is required", "With -json, -auto-approve is needed.")
    if terminal.owns_process:
        install()
    ask = None if arguments["auto-approve"] else approval(command, terminal)
    saved = _saved_plan(arguments) if command == "apply" else ""
    if not saved and arguments.get("require-signature"):
        raise UsageError("Only saved plans are signed", "Save them (batch plan -out=DIR) and sign them (sign DIR).")
    if saved:
        from planner.workflows.batch.apply_saved import apply_saved

        options = batch_options(arguments)
        return conclude(apply_saved(saved, options, listener(arguments, terminal), ask), arguments, terminal)
    report = carry_out(command, batch_options(arguments), listener(arguments, terminal), ask)
    return conclude(report, arguments, terminal)


def _saved_plan(arguments: Arguments) -> str:
    """The directory of a saved plan, if named. Raises UsageError if other arguments are combined with it."""
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
    """A prompt on the terminal for the plans of a wave."""

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
    """Returns 0, or 1 on errors or if something was not approved."""
    return converge(arguments, terminal, "destroy")


@command(
    "[options] [RUN]",
    """Continues a run of plan, validate, apply or destroy that was killed or interrupted, or in which units failed:
the last run below the working directory, or the named one. Units that succeeded are not run again. Units that were in
progress are named and run again, but replacing an object that was being created needs another approval. A run that
was started with -auto-approve is resumed with it. The record contains a copy of a saved plan, so its directory is not
needed any more.""",
    (
        APPROVE,
        Flag("file", "string", "The fleet file, if the run was started with one.", value="FILE"),
        Flag("detailed-exitcode", "bool", "Exit with 0 for no changes, 1 for errors, 2 for changes."),
        *REPORTS,
    ),
)
def batch_resume(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0, 1 on errors, or 2 with -detailed-exitcode if there are changes."""
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
