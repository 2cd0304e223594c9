"""`apply`: do what a plan says, after showing it and asking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.cli.approval import approved, asking
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import (
    DESTROY,
    INPUT,
    JSON_LINES,
    OPERATION,
    POLICY,
    SHOW_SENSITIVE,
    STATE,
    VARIABLES,
    may_ask,
    options,
)
from planner.render.summary import Counts
from planner.render.terminal import Terminal
from planner.render.verdicts import judge
from planner.render.view import View, open_view, usage_error_lines

if TYPE_CHECKING:
    from planner.pipeline import Options, Planned

USAGE = "[options] [PLAN]"
HELP = """Plans, shows the plan, asks, and then does what it says. Given a plan file that `planner plan -out`
saved, it does exactly that without asking."""
APPLY_FLAGS = (
    Flag("auto-approve", "bool", "Do not ask before applying."),
    Flag("suppress-forget-errors", "bool", "Destroying may leave forgotten objects behind without an error."),
    INPUT,
    SHOW_SENSITIVE,
    *POLICY,
    *OPERATION,
    *STATE,
    *VARIABLES,
    *JSON_LINES,
)
FLAGS = (DESTROY, *APPLY_FLAGS)
usage_error = usage_error_lines


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors and when the answer was no."""
    return apply(arguments, terminal, "normal")


def apply(arguments: Arguments, terminal: Terminal, mode: str) -> int:
    """What `apply`, `destroy` and `refresh` have in common: they differ in the mode of the plan."""
    if len(arguments.words) > 1:
        raise UsageError("Too many words", "At most one plan file can be applied.")
    settings = asking(options(arguments, mode, needs_configuration=True), terminal)
    path = arguments.words[0] if arguments.words else None
    if path is None and arguments["json"] and not arguments["auto-approve"]:
        raise UsageError("Nobody can be asked", "With -json, apply needs a plan file or -auto-approve.")
    from planner import pipeline

    view = open_view(arguments, terminal)
    if path is not None:
        saved = pipeline.saved(settings, path)
        if any(d.is_error for d in saved.diagnostics):
            return view.finish(saved.diagnostics)
        view.diagnostics(saved.diagnostics)
        if saved.plan is not None and not saved.plan.errored:
            view.saved_plan(saved.plan)
        return carry_out(settings, saved, view, destroyed=False)
    planned = pipeline.plan(settings, view.hooks, to_apply=True)
    try:
        return _approve_and_carry_out(settings, planned, view, arguments, terminal, destroyed=mode == "destroy")
    finally:
        view.diagnostics(pipeline.release(planned))


def _approve_and_carry_out(
    settings: Options, planned: Planned, view: View, arguments: Arguments, terminal: Terminal, destroyed: bool
) -> int:
    """Show the plan, ask, and apply it. `destroyed`: the command is destroy, which ends in its own words."""
    from planner.render.schema_lookup import SchemaLookup

    plan = planned.plan
    if plan is not None and (plan.changes or plan.outputs or not any(d.is_error for d in planned.diagnostics)):
        view.plan(plan, SchemaLookup(planned.session.schemas).resource_schema)
    problems = list(dict.fromkeys(planned.diagnostics))
    if settings.judges and planned.plan is not None and not any(d.is_error for d in problems):
        planned, found = judge(planned, view)
        problems += found
    failed = planned.plan is None or any(d.is_error for d in problems)
    must_ask = planned.plan is not None and planned.plan.can_apply and not arguments["auto-approve"]
    if not failed and not must_ask:
        problems = [d for d in problems if not d.is_check]  # applying checks again, and nobody decides in between
    view.diagnostics(problems)
    if planned.plan is None or failed:
        return 1
    destroys = planned.plan.mode == "destroy"
    if must_ask and not approved(planned.plan.mode, planned.session, terminal, may_ask(arguments)):
        view.log("\nDestroy cancelled." if destroys else "\nApply cancelled.")
        return 1
    return carry_out(settings, planned, view, destroyed)


def carry_out(settings: Options, planned: Planned, view: View, destroyed: bool) -> int:
    """Apply a plan and tell how it ended."""
    from planner import pipeline

    applied = pipeline.apply(settings, planned, view.hooks)
    if applied.unsaved:
        view.unsaved_state(applied.unsaved.decode())
    view.diagnostics(applied.diagnostics)
    if any(d.is_error for d in applied.diagnostics):
        return 1
    counts = applied.counts
    view.finished(Counts(counts.add, counts.change, counts.remove, counts.imports, counts.forget), destroyed)
    if not destroyed and applied.state is not None:
        view.outputs(applied.state.outputs)
    return 0
