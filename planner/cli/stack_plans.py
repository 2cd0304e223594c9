"""Plans of deployments that somebody asks about: nothing is shown while they are made, nothing locked or applied."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from planner.cli.commands.stacks_plan import surroundings
from planner.cli.flags import Arguments
from planner.cli.options import operation_options
from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import evolve, frozen
from planner.workflows.stacks.opened_stack import opened

if TYPE_CHECKING:
    from planner.foundation.vocabulary.diagnostic import Diagnostics
    from planner.language.config.stack_files.model import Deployment
    from planner.workflows.stacks.opened_stack import OpenedStack
    from planner.workflows.stacks.steps import DeploymentPlan


@frozen(eq=False)
class PendingDeployment:
    """A plan of a deployment that is asked about."""

    session: OpenedStack
    deployment: Deployment
    plan: DeploymentPlan


def plans_of(
    arguments: Arguments, told: Diagnostics, keeps_values: bool = False, judges: bool = True
) -> list[PendingDeployment]:
    """The plans of the chosen deployments, and in `told` what there is to say. `keeps_values`: the causes of what they
    say will be asked for; `judges`: the plan of each component is judged by policies. Raises Failure."""
    options = evolve(operation_options(arguments), lock=False, keeps_values=keeps_values)
    if not judges:
        options = evolve(options, policies=(), standing_policies=())
    session, said = opened(surroundings(arguments))
    told += said
    found = []
    for deployment in session.chosen(arguments["deployment"]):
        runner = session.runner(deployment, options, Hooks())
        try:
            plan = runner.plan()
        finally:
            told += runner.release()
        told += [d for d in plan.diagnostics if d not in told]
        found.append(PendingDeployment(session, deployment, plan))
    return found


def plan_of(arguments: Arguments, told: Diagnostics, keeps_values: bool = False) -> PendingDeployment:
    """The same of a single deployment. Raises Failure where several are meant."""
    chosen = opened(surroundings(arguments))[0].chosen(arguments["deployment"])
    if len(chosen) > 1:
        raise which(deployment.name for deployment in chosen)
    (asked,) = plans_of(arguments, told, keeps_values)
    return asked


def which(names: Iterable[str]) -> Failure:
    """The question which one of several deployments is meant."""
    return Failure(error("stack.which", "Which deployment?", f"Name one of {', '.join(names)} with -deployment."))
