"""`stacks apply`: do what plans of deployments say, round after round until nothing is deferred."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.cli.approval import ask
from planner.cli.commands.stacks_plan import SHARED, check_words, surroundings
from planner.cli.flags import Arguments, Flag
from planner.cli.options import DESTROY, INPUT, may_ask, operation_options
from planner.cli.stack_policies import judged, standing_policies
from planner.cli.views import hear_interrupts
from planner.render.terminal import Terminal
from planner.render.view import HumanView
from planner.vocabulary.diagnostic import has_errors

if TYPE_CHECKING:
    from planner.config.stack_files.model import Deployment
    from planner.operations.options import OperationOptions
    from planner.render.view import View
    from planner.stacks.policy import DeploymentPolicies
    from planner.stacks.session import Session
    from planner.vocabulary.told import Told

USAGE = "[options]"
HELP = """Plans deployments of the stack, shows the plans, asks, and does what they say. A deployment of which something
is deferred is planned again, round after round, until everything is there."""
FLAGS = (
    Flag("auto-approve", "bool", "Do not ask before applying."),
    DESTROY,
    INPUT,
    *SHARED,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors and when an answer was no."""
    return apply(arguments, terminal, bool(arguments["destroy"]))


def apply(arguments: Arguments, terminal: Terminal, destroys: bool) -> int:
    """Apply the chosen deployments, one after the other."""
    from planner.stacks.session import open_stack
    from planner.vocabulary.told import Told

    check_words(arguments)
    options = operation_options(arguments, "destroy" if destroys else "normal")
    view = HumanView(terminal, arguments["show-sensitive"])
    if terminal.owns_process:
        hear_interrupts(view)
    told = Told()
    code = 0
    with told.until_an_error():
        session = open_stack(".", surroundings(arguments), told)
        told += session.left_behind()
        policies = standing_policies(".")
        for deployment in session.chosen(arguments["deployment"]):
            with told.until_an_error():  # the others are deployed all the same
                code |= _deploy(session, deployment, policies, options, arguments, view, terminal, told)
    view.diagnostics(told)
    return int(code or has_errors(told))


def _deploy(
    session: Session,
    deployment: Deployment,
    policies: DeploymentPolicies | None,
    options: OperationOptions,
    arguments: Arguments,
    view: View,
    terminal: Terminal,
    told: Told,
) -> int:
    """Round after round. 1 when the answer was no, or something failed."""
    from planner.render.schema_lookup import SchemaLookup
    from planner.render.stacks import outputs_text, show_plan, tell_approval
    from planner.stacks.approval import approval
    from planner.stacks.rounds import Rounds

    done = [0, 0, 0]
    rounds = Rounds()
    while True:
        runner = session.runner(deployment, options, view.hooks)
        try:
            plan = runner.plan(to_apply=True)
            told += [d for d in plan.diagnostics if d not in told]
            if has_errors(plan.diagnostics):
                return 1
            show_plan(plan, view, terminal, SchemaLookup(runner.schemas).resource_schema)
            no_progress = rounds.problems(plan)
            if no_progress:
                told += no_progress
                return 1
            said = judged(policies, plan)
            told += [d for d in said if d not in told]
            if has_errors(said):
                return 1
            is_undecided = any(d.code == "policy.undecided" for d in said)
            found = approval(session.flow, deployment, plan, rounds.number - 1)
            tell_approval(found, terminal)
            is_approved = (bool(found.by) and not is_undecided) or arguments["auto-approve"]
            if plan.can_apply and not is_approved and not _approved(plan.deployment, arguments, terminal):
                view.log("\nApply cancelled.")
                return 1
            problems, outputs = runner.apply(plan)
            for place, word in enumerate(("add", "change", "remove")):
                done[place] += sum(getattr(step.counts, word) for step in plan.steps)
            told += [d for d in problems if d not in told]
            if has_errors(problems):
                return 1
        finally:
            told += runner.release()
        if not plan.is_partial:
            break
    text = f"{plan.deployment}: {done[0]} added, {done[1]} changed, {done[2]} destroyed."
    terminal.out(f"\n{terminal.paint(text, 'bold', 'green')}")
    if outputs:
        terminal.out(f"\nOutputs of {plan.deployment}:\n\n{outputs_text(outputs, arguments['show-sensitive'])}")
    return 0


def _approved(deployment: str, arguments: Arguments, terminal: Terminal) -> bool:
    question = f"Do you want to perform these actions in the deployment {deployment}?"
    remark = "Everything described above will be done.\nOnly 'yes' will be accepted to approve."
    return ask(question, remark, terminal, may_ask(arguments)) == "yes"
