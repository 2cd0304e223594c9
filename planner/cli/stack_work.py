"""The work on one deployment of a stack, as commands do it: in this process, or in others (stack_pool.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.cli.flags import Arguments
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import frozen
from planner.logic.programs.actions import Counts
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.opened_stack import opened
from planner.workflows.stacks.selection import split
from planner.workflows.stacks.states import States

if TYPE_CHECKING:
    from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics
    from planner.operations.options import OperationOptions
    from planner.render.terminal import Terminal
    from planner.render.view import View
    from planner.workflows.batch.reports.deployments import DeploymentReport
    from planner.workflows.stacks.names import PromiseName
    from planner.workflows.stacks.opened_stack import OpenedStack
    from planner.workflows.stacks.policy import DeploymentPolicies

FEW = 3
"""so many deployments are quicker in this process than others are begun"""


@frozen(eq=False)
class Turn:
    """A round of a deployment whose plan is approved by somebody elsewhere: the `file` that the plan is kept in, the
    number of the round (from 0), and what was done in those before (add, change, remove, imports, forget)."""

    file: str
    number: int = 0
    done: Counts = Counts()


@frozen(eq=False)
class StackWork:
    """What it is done with."""

    session: OpenedStack
    policies: DeploymentPolicies | None
    options: OperationOptions
    view: View
    terminal: Terminal
    turn: Turn | None = None


@frozen(eq=False)
class JobResult:
    """What came of it: what there is to say, the exit code, whether there is something to do, and the plans as data."""

    deployment: str
    told: tuple[Diagnostic, ...] = ()
    code: int = 0
    has_changes: bool = False
    documents: tuple[dict[str, Any], ...] = ()
    is_approved: bool = False
    """whether the plan needs no approval"""
    is_partial: bool = False
    """whether something is deferred"""
    done: Counts = Counts()
    part: DeploymentReport | None = None
    """for reports"""


class StackResults:
    """What came of all deployments. `told`: what there is to say, `parts` where that of each deployment begins and
    ends in it; `reports`: the parts of reports."""

    def __init__(self, told: Diagnostics) -> None:
        self.told = told
        self.parts: list[tuple[str, int, int]] = []
        self.reports: list[DeploymentReport] = []

    def take(self, said: JobResult) -> None:
        """Add what came of the next one; what was said before is not said again."""
        begin = len(self.told)
        self.told += [d for d in said.told if d not in self.told]
        self.parts.append((said.deployment, begin, len(self.told)))
        self.reports += [said.part] if said.part is not None else []


def is_worth_it(count: int, arguments: Arguments) -> bool:
    """Whether so many deployments are worth processes of their own."""
    return count > FEW and arguments["workers"] != 1


# The state of one component of one deployment, for those who look into it and edit it.


@frozen(eq=False)
class Meant:
    """Addresses in the states of a deployment: each as a component and the address of something in it."""

    session: OpenedStack
    states: States
    parts: tuple[tuple[PromiseName, str], ...]


def meant(arguments: Arguments, addresses: list[str], told: Diagnostics) -> Meant:
    """What addresses mean, each of which begins with a component that has a state. Raises Failure."""
    session, said = opened(ServiceStandIns())
    told += said
    deployments = session.chosen(arguments["deployment"])
    if len(deployments) > 1:
        names = ", ".join(deployment.name for deployment in deployments)
        raise Failure(error("stack.which", "Which deployment?", f"Name one of {names} with -deployment."))
    states = States(session.backend, deployments[0].name)
    recorded = states.recorded()
    parts = tuple(split(recorded, address, deployments[0].name) for address in addresses)
    whole = [str(name) for name, rest in parts if not rest]
    if whole:
        detail = f"{whole[0]} is a component: write the address of something in it after that, {whole[0]}.TYPE.NAME."
        raise Failure(error("stack.whole_component", "Not a resource", detail))
    return Meant(session, states, parts)
