"""`apply` and `destroy`: show a plan, prompt for approval, and apply the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.api.making import Making
from planner.cli.approval import approved, asking
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import (
    DESTROY,
    INPUT,
    JSON_LINES,
    OPERATION,
    POLICY,
    SHOW_SENSITIVE,
    SIGNATURES,
    STATE,
    VARIABLES,
    WHY,
    may_ask,
    plan_calls,
)
from planner.cli.review import REVIEW, Review
from planner.cli.views import judge, may_tell_causes, open_view, runs_there, told_causes
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.foundation.vocabulary.limits import Mode
from planner.foundation.vocabulary.records import evolve
from planner.render.diff_block import SchemaLookup
from planner.render.terminal import Terminal
from planner.render.view import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.api.making import Planned, Start
    from planner.foundation.vocabulary.diagnostic import Diagnostic

APPLY_FLAGS = (
    Flag("auto-approve", "bool", "Apply without prompting for approval."),
    Flag(
        "suppress-forget-errors", "bool", "Do not fail if a destroy only forgets some objects, which continue to exist."
    ),
    INPUT,
    SHOW_SENSITIVE,
    *REVIEW,
    WHY,
    *SIGNATURES,
    *POLICY,
    *OPERATION,
    *STATE,
    *VARIABLES,
    *JSON_LINES,
)


@command(
    "[options] [PLAN]",
    """Makes a plan, shows it, prompts for approval, and applies it. With a plan file of `planner plan -out`,
exactly that plan is applied, without a prompt.

-markdown, -html and -review write the review of the plan together with the result of the apply.""",
    (DESTROY, *APPLY_FLAGS),
)
def apply(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if the user does not approve the plan."""
    return _apply(arguments, terminal, "normal")


def _apply(arguments: Arguments, terminal: Terminal, mode: Mode) -> int:
    """Run `apply` or `destroy`, which differ in the mode of the plan."""
    from planner.world.state.remote.runs import saved_run

    path = arguments.at_most_one_word("At most one plan file can be applied.")
    calls = asking(plan_calls(Making, arguments, mode, needs_configuration=True), terminal, may_ask(arguments))
    review = Review(arguments, "apply")
    calls = calls.having(keeps_values=may_tell_causes(arguments, terminal) or bool(review))
    if path is None and arguments["json"] and not arguments["auto-approve"]:
        raise UsageError("Approval is required", "With -json, apply needs a plan file or -auto-approve.")
    if path is None and arguments.get("require-signature"):
        detail = "Save a plan (plan -out=FILE), have it signed (sign FILE -key=KEY), and apply it (apply FILE)."
        raise UsageError("Only saved plans are signed", detail)
    view = open_view(arguments, terminal)
    if path is not None and (saved := saved_run(path)) is not None:
        from planner.cli.remote_run import apply_saved_there

        return apply_saved_there(arguments, terminal, calls, view, saved)
    if path is not None:
        opened = calls.open_file(path)
        if opened.complete is None:
            return view.finish([*opened.diagnostics, *review.write(None, opened.diagnostics, plan_file=path)])
        view.diagnostics(opened.diagnostics)
        if not opened.complete.plan.errored:
            view.saved_plan(opened.complete.plan)
        chains = review.chains(opened.complete, path)
        return carry_out(calls, opened, view, review, opened.diagnostics, chains=chains, plan_file=path)
    planned = calls.attempt(view.hooks, to_apply=True)
    if runs_there(planned.diagnostics):
        from planner.cli.remote_run import run_there

        return run_there(arguments, terminal, calls, view, to_apply=True)
    try:
        return _approve_and_carry_out(calls, planned, view, review, arguments, terminal, destroyed=mode == "destroy")
    finally:
        view.diagnostics(calls.release(planned))


def _approve_and_carry_out(
    calls: Making,
    planned: Planned[Start],
    view: View,
    review: Review,
    arguments: Arguments,
    terminal: Terminal,
    destroyed: bool,
) -> int:
    """Show the plan, prompt for approval, and apply the plan. `destroyed`: whether to end with the final message of
    `destroy`."""
    made, verdict, problems = planned.made, None, list(planned.diagnostics)
    chains = review.chains(made)
    if made is not None and (made.plan.changes or made.plan.outputs or planned.complete is not None):
        causes = told_causes(made, arguments, terminal, chains)
        view.plan(made.plan, SchemaLookup(made.loaded.schemas).resource_schema, causes)
    if calls.options.judges and planned.complete is not None:
        made, verdict, findings = judge(planned.complete, view)
        problems += findings
    failed = made is None or has_errors(problems)
    must_ask = made is not None and made.plan.can_apply and not arguments["auto-approve"]
    if not failed and not must_ask:
        problems = [d for d in problems if not d.is_check]  # the apply evaluates checks again
    if made is None or failed:
        view.diagnostics([*problems, *review.write(made, problems, verdict, chains=chains)])
        return 1
    view.diagnostics(problems)
    if must_ask and not approved(made.plan.mode, made.loaded, terminal, may_ask(arguments)):
        view.log("\nDestroy cancelled." if made.plan.mode == "destroy" else "\nApply cancelled.")
        return 1
    planned = evolve(planned, made=made)
    return carry_out(calls, planned, view, review, problems, destroyed, verdict=verdict, chains=chains)


def carry_out(
    calls: Making,
    planned: Planned[Start],
    view: View,
    review: Review,
    problems: Sequence[Diagnostic],
    destroyed: bool = False,
    **known: Any,
) -> int:
    """Apply a plan, and report the result. `problems`, `known`: the plan's diagnostics and causes, for the review."""
    applied = calls.carry_out(planned, view.hooks)
    if applied.unsaved:
        view.unsaved_state(applied.unsaved.decode())
    unwritten = review.write_applied(planned.made, applied, problems, **known) if planned.made is not None else []
    view.diagnostics([*applied.diagnostics, *unwritten])
    if has_errors(applied.diagnostics) or unwritten:
        return 1
    view.finished(applied.counts, destroyed)
    if not destroyed and applied.state is not None:
        view.outputs(applied.state.outputs)
    return 0


@command(
    "[options]",
    "Makes a plan to destroy all managed objects, shows it, prompts for approval, and applies it.",
    (Flag("destroy", "bool", ""), *APPLY_FLAGS),
)
def destroy(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if the user does not approve the plan."""
    arguments.no_words("destroy takes no plan file: use `planner plan -destroy -out=FILE`.")
    if arguments["destroy"]:
        raise UsageError("Invalid mode option", "planner destroy always destroys. Remove -destroy.")
    if arguments["refresh-only"]:
        raise UsageError("Conflicting options", "destroy cannot be combined with -refresh-only.")
    return _apply(arguments, terminal, "destroy")
