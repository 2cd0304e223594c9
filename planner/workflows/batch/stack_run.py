"""Runs the deployments of the stack in the working directory like the units of a fleet: several at a time, each in a
worker process. The output of a deployment is shown after the deployment and all deployments before it in alphabetical
order have ended."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable, Iterable, Mapping
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from planner.foundation.support.signals import STOP
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error
from planner.foundation.vocabulary.records import evolve, frozen
from planner.language.config.stack_files.model import Deployment
from planner.logic.programs.actions import Counts
from planner.operations.options import OperationOptions
from planner.render.terminal import Paint, Terminal
from planner.render.view import BothViews, HumanView, JsonView, View
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.opened_stack import OpenedStack, open_stack
from planner.workflows.stacks.policy import DeploymentPolicies, standing_policies
from planner.workflows.stacks.rounds import MOST_ROUNDS

if TYPE_CHECKING:
    from concurrent.futures import Future

    from planner.workflows.batch.executor import Workplace
    from planner.workflows.batch.model import FinishedUnit, Request
    from planner.workflows.batch.reports.deployments import DeploymentReport
    from planner.workflows.batch.unit_decisions import UnitDecision


@frozen(eq=False)
class Turn:
    """One round of planning and applying a deployment. A worker plans the round, the main process requests approval,
    and a worker applies the plan. `file`: the file with the plan. `number`: number of the round, from 0. `done`: counts
    of the changes in earlier rounds."""

    file: str
    number: int = 0
    done: Counts = Counts()


@frozen(eq=False)
class StackWork:
    """The input of a worker for a deployment. `turn`: the only round to plan or apply; None for all rounds."""

    session: OpenedStack
    policies: DeploymentPolicies | None
    options: OperationOptions
    view: View
    terminal: Terminal
    turn: Turn | None = None


@frozen(eq=False)
class DeploymentResult:
    """The result of a worker. `code`: the exit code."""

    deployment: str
    diagnostics: tuple[Diagnostic, ...] = ()
    code: int = 0
    has_changes: bool = False
    documents: tuple[dict[str, Any], ...] = ()
    """the plans of the deployment as plain data"""
    is_approved: bool = False
    """whether the plan needs no approval by the user"""
    is_partial: bool = False
    """whether some changes are deferred to a later round"""
    done: Counts = Counts()
    report: DeploymentReport | None = None


Do = Callable[[Deployment, StackWork], DeploymentResult]
"""a function that plans or applies a deployment in a worker; it must be importable by name"""


@frozen(eq=False)
class _Command:
    """The data of a command that workers need for each deployment. `name` identifies the command. `is_human`,
    `is_json`: the requested kinds of output."""

    name: str
    around: ServiceStandIns
    options: OperationOptions
    is_human: bool
    is_json: bool
    show_sensitive: bool = False
    colour: bool = False
    width: int = 0


class StackBatch:
    """A command on several deployments. `take` is called with each result, in alphabetical order of the deployments."""

    def __init__(
        self,
        around: ServiceStandIns,
        options: OperationOptions,
        view: View,
        workers: int,
        take: Callable[[DeploymentResult], None],
    ) -> None:
        self.view, self.workers, self.take = view, workers or os.cpu_count() or 1, take
        views = _views(view)
        is_json = any(isinstance(one, JsonView) for one in views)
        self.command = _Command(os.urandom(8).hex(), around, options, False, is_json)
        for one in views:
            if isinstance(one, HumanView):
                colour, width = one.terminal.paint.enabled, one.terminal.width
                show = one.show_sensitive
                self.command = evolve(self.command, is_human=True, show_sensitive=show, colour=colour, width=width)

    def plan(self, names: Iterable[str], plan: Do) -> None:
        """Run the function `plan`, which changes no objects, for each deployment."""
        self._run("plan", dict.fromkeys(names), plan, self.take)

    def deploy(self, names: Iterable[str], deploy: Do) -> None:
        """Run the function `deploy`, which changes objects in all rounds without approval, for each deployment."""
        self._run("deploy", dict.fromkeys(names), deploy, self.take)

    def deploy_in_turns(self, names: Iterable[str], plan: Do, deploy: Do, is_approved: Callable[[str], bool]) -> None:
        """Run deployments whose plans need approval. In each round, all deployments are planned, their plans are shown
        one after the other, and approved plans are applied. Deployments with deferred changes continue in the next
        round, up to MOST_ROUNDS rounds. A deployment whose plan is not approved has the exit code 1."""
        reports: dict[str, DeploymentReport] = {}
        turns: dict[str, Turn | None]
        approved: dict[str, Turn | None]

        def report(result: DeploymentResult, is_last: bool) -> None:
            """Pass a result to `take`. Only the result of a deployment's last round has a report, which covers all
            rounds."""
            from planner.workflows.batch.reports.deployments import after_round

            if result.report is not None:
                before = reports.get(result.deployment)
                reports[result.deployment] = after_round(before, result.report) if before else result.report
            self.take(evolve(result, report=reports.get(result.deployment) if is_last else None))

        def take_plan(result: DeploymentResult) -> None:
            name = result.deployment
            if not result.code and not result.is_approved and not is_approved(name):
                self.view.about(deployment=name).log("\nApply cancelled.")
                result = evolve(result, code=1)
            if not result.code:
                approved[name] = turns[name]
            report(result, bool(result.code))

        def take_apply(result: DeploymentResult) -> None:
            goes_on, turn = result.is_partial and not result.code, approved[result.deployment]
            report(result, not goes_on)
            if goes_on and turn is not None:
                turns[result.deployment] = evolve(turn, number=turn.number + 1, done=result.done)

        with TemporaryDirectory(prefix="planner-") as folder:
            turns = {name: Turn(os.path.join(folder, name)) for name in names}
            for _ in range(MOST_ROUNDS):
                approved = {}
                self._run("plan", turns, plan, take_plan)
                turns = {}
                self._run("deploy", approved, deploy, take_apply)
                if not turns:
                    return
        for name in turns:
            detail = f"After {MOST_ROUNDS} rounds there is more to do in the deployment {name}."
            self.take(DeploymentResult(name, (error("stack.no_progress", "Deployment does not converge", detail),), 1))

    def _run(
        self, kind: str, turns: Mapping[str, Turn | None], do: Do, take: Callable[[DeploymentResult], None]
    ) -> None:
        """Run a function for each deployment. `kind`: the name of the command in the rules (plan or deploy). `turns`:
        {deployment: its round}."""
        from planner.workflows.batch.executors import open_executor
        from planner.workflows.batch.model import Request, UnitResult
        from planner.workflows.batch.record import NoRecord
        from planner.workflows.batch.schedule import BatchListener, PassWork, Schedule

        directory, environment = os.getcwd(), tuple(os.environ.items())
        outputs: dict[str, _Output] = {}
        finished: dict[str, FinishedUnit] = {}
        left, batch = list(turns), self

        class Works(PassWork):
            """Runs a deployment in a worker."""

            def prepare(self, unit: str, decision: UnitDecision) -> Request:
                return Request(unit, directory, kind, environment=environment)

            def submit(self, executor: Workplace, request: Request) -> Future[Any]:
                return executor.submit(_run_deployment, request, batch.command, do, turns[request.unit])

            def received(self, request: Request, result: Any) -> UnitResult:
                outputs[request.unit] = result
                return UnitResult(request.unit, "no-changes")

        class InOrder(BatchListener):
            """Shows the results of deployments in alphabetical order."""

            def finish_unit(self, done: FinishedUnit) -> None:
                finished[done.unit] = done
                while left and left[0] in finished:
                    unit = left.pop(0)
                    take(batch._show(finished[unit], outputs.get(unit)))

        # all jobs are submitted at once, so that workers continue while a prompt waits for an answer
        schedule = Schedule(
            kind,
            {},
            {},
            Works(),
            lambda: open_executor("processes", self.workers),
            len(turns),
            NoRecord(),
            InOrder(),
            {},
            lambda: STOP.requested,
        )
        schedule.run(left.copy())

    def _show(self, done: FinishedUnit, output: _Output | None) -> DeploymentResult:
        """Print a deployment's output, and return its result. If there is no output, because the worker failed, died or
        was stopped, the result has the exit code 1 and, except after a stop, an error."""
        if output is None:
            return DeploymentResult(done.unit, () if done.outcome == "stopped" else (_failure(done),), 1)
        for one in _views(self.view):
            if isinstance(one, HumanView):
                one.terminal.stdout.write(output.text)
            elif isinstance(one, JsonView):
                for line in output.lines.splitlines():
                    one.lines.text(line)
        result: DeploymentResult = pickle.loads(output.result)
        return result


def _failure(done: FinishedUnit) -> Diagnostic:
    if done.outcome == "died" or done.result is None:
        detail = (
            f"The worker process of the deployment {done.unit} ended without a result. The operations that it started "
            "are in the journals next to its states: the next plan lists those that were in progress."
        )
        return error("stack.died", "A process ended unexpectedly", detail)
    reason = "; ".join(one["detail"] for one in done.result.diagnostics)
    detail = f"{reason} This is a mistake in planner: please report it."
    return error("stack.internal", f"{done.unit}: internal error", detail)


def _views(view: View) -> tuple[View, ...]:
    return view.views if isinstance(view, BothViews) else (view,)


# ---------------------------------------------------------------- in the process that does the work


@frozen(eq=False)
class _Output:
    """The pickled result of a deployment, with its output as text and as JSON lines."""

    result: bytes
    text: str
    lines: str


_OPENED: dict[str, tuple[OpenedStack, DeploymentPolicies | None]] = {}
"""{command: its stack and policies}. Each worker reads these once, and keeps them only for the running command"""


def _run_deployment(request: Request, command: _Command, do: Do, turn: Turn | None) -> _Output:
    from planner.workflows.batch.executor import busy
    from planner.workflows.batch.unit_setup import ALONE, home

    out, lines = io.StringIO(), io.StringIO()
    terminal = Terminal(io.StringIO(), out, out, width=command.width or None)
    terminal.paint = terminal.error_paint = Paint(command.colour)
    with busy, ALONE, home(request):
        result = _result(request.unit, command, do, turn, _view(command, terminal, lines), terminal)
    return _Output(_pack(result), out.getvalue(), lines.getvalue())


def _result(
    name: str, command: _Command, do: Do, turn: Turn | None, view: View, terminal: Terminal
) -> DeploymentResult:
    if STOP.requested:
        return DeploymentResult(name, code=1)
    try:
        session, policies = _open(command)
        (deployment,) = session.chosen([name])
        return do(deployment, StackWork(session, policies, command.options, view, terminal, turn))
    except Failure as failure:
        return DeploymentResult(name, tuple(failure.diagnostics), 1)


def _view(command: _Command, terminal: Terminal, lines: io.StringIO) -> View:
    views: list[View] = [HumanView(terminal, command.show_sensitive)] if command.is_human else []
    if command.is_json:
        views.append(JsonView(lines))
        lines.seek(0)
        lines.truncate()  # the command has printed the version line itself
    return views[0] if len(views) == 1 else BothViews(*views)


def _open(command: _Command) -> tuple[OpenedStack, DeploymentPolicies | None]:
    """The stack, and the policies that always apply to it (None if there are none). Warnings are ignored, because the
    command has already reported them. Raises Failure."""
    if command.name not in _OPENED:
        _OPENED.clear()
        diagnostics = Diagnostics()
        try:
            _OPENED[command.name] = open_stack(".", command.around, diagnostics), standing_policies(".")
        except Failure as failure:
            raise Failure([*diagnostics, *failure.diagnostics]) from None
    return _OPENED[command.name]


def _pack(result: DeploymentResult) -> bytes:
    try:
        return pickle.dumps(result)
    except Exception:  # the explanation is optional
        plain = tuple(evolve(one, difference=None, because=()) for one in result.diagnostics)
        return pickle.dumps(evolve(result, diagnostics=plain))
