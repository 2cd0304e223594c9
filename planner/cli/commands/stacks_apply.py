"""`stacks apply`: do what plans of deployments say, round after round until nothing is deferred."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.cli.approval import ask
from planner.cli.commands.stacks_plan import SHARED, check_words, show_problems, surroundings
from planner.cli.flags import Arguments, Flag
from planner.cli.options import DESTROY, INPUT, JSON_LINES, may_ask, operation_options
from planner.cli.stack_policies import judged, standing_policies
from planner.cli.views import open_view, usage_error_lines
from planner.render.summary import Counts
from planner.render.terminal import Terminal
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
is deferred is planned again, round after round, until everything is there.

With -json, what happens is told in lines as by `planner apply -json`, each with its deployment and component."""
FLAGS = (
    Flag("auto-approve", "bool", "Do not ask before applying."),
    DESTROY,
    INPUT,
    *SHARED,
    *JSON_LINES,
)
usage_error = usage_error_lines


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors and when an answer was no."""
    return apply(arguments, terminal, bool(arguments["destroy"]))


def apply(arguments: Arguments, terminal: Terminal, destroys: bool) -> int:
    """Apply the chosen deployments, one after the other."""
    from planner.stacks.session import open_stack
    from planner.vocabulary.told import Told

    check_words(arguments)
    options = operation_options(arguments, "destroy" if destroys else "normal")
    view = open_view(arguments, terminal)
    told = Told()
    parts = []
    code = 0
    with told.until_an_error():
        session = open_stack(".", surroundings(arguments), told)
        told += session.left_behind()
        policies = standing_policies(".")
        for deployment in session.chosen(arguments["deployment"]):
            begin = len(told)
            with told.until_an_error():  # the others are deployed all the same
                code |= _deploy(session, deployment, policies, options, arguments, view, terminal, told)
            parts.append((deployment.name, begin, len(told)))
    show_problems(told, parts, view)
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
    from planner.render.stacks import add, show_plan, tell_applied, tell_approval, tell_outputs
    from planner.stacks.approval import approval
    from planner.stacks.rounds import Rounds

    rounds = Rounds()
    done = Counts()
    whole = view.about(deployment=deployment.name)
    while True:
        runner = session.runner(deployment, options, whole.hooks)
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
            tell_approval(found, whole)
            is_approved = (bool(found.by) and not is_undecided) or arguments["auto-approve"]
            if plan.can_apply and not is_approved and not _approved(plan.deployment, arguments, terminal):
                whole.log("\nApply cancelled.")
                return 1
            problems, outputs = runner.apply(plan)
            for step in plan.steps:
                add(done, step.counts)
            told += [d for d in problems if d not in told]
            if has_errors(problems):
                return 1
        finally:
            told += runner.release()
        if not plan.is_partial:
            break
    tell_applied(plan.deployment, done, plan.mode, whole, terminal)
    tell_outputs(plan.deployment, outputs, whole, arguments["show-sensitive"])
    return 0


def _approved(deployment: str, arguments: Arguments, terminal: Terminal) -> bool:
    question = f"Do you want to perform these actions in the deployment {deployment}?"
    remark = "Everything described above will be done.\nOnly 'yes' will be accepted to approve."
    return ask(question, remark, terminal, may_ask(arguments)) == "yes"
