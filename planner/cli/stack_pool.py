"""Several deployments of a stack at a time, in the processes that units of fleets run in. The output of each is kept
until it has ended, and shown in the order of names: as if one ran after the other."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from tempfile import TemporaryDirectory

from planner.cli.flags import Arguments
from planner.cli.stack_work import DeploymentResult, Do, StackWork, Turn, options_of
from planner.foundation.support.signals import STOP
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error
from planner.foundation.vocabulary.limits import Mode
from planner.foundation.vocabulary.records import evolve, frozen
from planner.render.terminal import Paint, Terminal
from planner.render.view import BothViews, HumanView, JsonView, View
from planner.workflows.batch.executor import Workplace, busy, is_death
from planner.workflows.batch.executors import open_executor
from planner.workflows.batch.model import Request
from planner.workflows.batch.reports.deployments import DeploymentReport, after_round
from planner.workflows.batch.unit_setup import ALONE, home
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.opened_stack import OpenedStack, open_stack
from planner.workflows.stacks.policy import DeploymentPolicies, standing_policies
from planner.workflows.stacks.rounds import MOST_ROUNDS

_POLL = 0.2


@frozen(eq=False)
class Job:
    """The work on one deployment. `command`: one name for all jobs of a command; `is_human` and `is_json`: who
    listens."""

    command: str
    arguments: Arguments
    around: ServiceStandIns
    mode: Mode
    deployment: str
    directory: str
    colour: bool
    width: int
    is_human: bool
    is_json: bool
    turn: Turn | None = None


@frozen(eq=False)
class JobOutput:
    """The result of a job, packed, and its output as text and as JSON lines."""

    result: bytes
    text: str
    lines: str


def jobs_of(names: Iterable[str], arguments: Arguments, around: ServiceStandIns, mode: Mode, view: View) -> list[Job]:
    """The jobs of a command."""
    views = _views(view)
    human = next((one for one in views if isinstance(one, HumanView)), None)
    paint, width = (human.terminal.paint.enabled, human.terminal.width) if human is not None else (False, 0)
    is_json = any(isinstance(one, JsonView) for one in views)
    command, here = os.urandom(8).hex(), os.getcwd()
    return [
        Job(command, arguments, around, mode, name, here, paint, width, human is not None, is_json) for name in names
    ]


def spread(jobs: list[Job], do: Do, view: View, is_harmless: bool) -> Iterator[DeploymentResult]:
    """The results of jobs, in their order; their output is shown on the way. A job whose process was ended from outside
    is done once more if that is harmless."""
    if not jobs:
        return
    place = open_executor("processes", jobs[0].arguments["workers"] or os.cpu_count() or 1)
    try:
        futures = [place.submit(run, job, do) for job in jobs]
        for job, future in zip(jobs, futures, strict=True):
            answer = _answer(future, place)
            if answer is None and is_harmless and not STOP.requested:
                answer = _answer(place.submit(run, job, do), place)
            if isinstance(answer, JobOutput):
                _show(answer, view)
                yield pickle.loads(answer.result)
            else:
                yield DeploymentResult(job.deployment, (_failure(job, answer),), 1)
    except BaseException:
        place.end()
        raise
    place.shutdown()


def _answer(future: Future[JobOutput], place: Workplace) -> JobOutput | BaseException | None:
    """None where the process is gone."""
    is_told = False
    while not wait((future,), timeout=_POLL).done:
        if STOP.requested and not is_told:
            is_told = True
            place.stop()
    problem = future.exception()
    if problem is None:
        return future.result()
    return None if is_death(problem) else problem


def _failure(job: Job, problem: BaseException | None) -> Diagnostic:
    if problem is not None:
        detail = f"{type(problem).__name__}: {problem}. This is a mistake in planner: please report it."
        return error("stack.internal", f"{job.deployment}: internal error", detail)
    detail = (
        f"The worker process of the deployment {job.deployment} ended without a result. The operations that it started "
        "are in the journals next to its states: the next plan lists those that were in progress."
    )
    return error("stack.died", "A process died", detail)


def _show(answer: JobOutput, view: View) -> None:
    """Print the output of a job."""
    for one in _views(view):
        if isinstance(one, HumanView):
            one.terminal.stdout.write(answer.text)
        elif isinstance(one, JsonView):
            for line in answer.lines.splitlines():
                one.lines.text(line)


def _views(view: View) -> tuple[View, ...]:
    return view.views if isinstance(view, BothViews) else (view,)


def in_turns(
    jobs: list[Job], view: View, plan: Do, apply: Do, is_approved: Callable[[str], bool]
) -> Iterator[DeploymentResult]:
    """The results of deployments that need approval, turn after turn: all are planned, the plans are shown one after
    the other and approved, and the approved ones applied; then those with deferred parts have their next turn."""
    with TemporaryDirectory(prefix="planner-") as folder:
        jobs = [evolve(job, turn=Turn(os.path.join(folder, job.deployment))) for job in jobs]
        reports: dict[str, DeploymentReport] = {}

        def reported(result: DeploymentResult, is_last: bool) -> DeploymentResult:
            """With the report of all turns where this one is the last of its deployment, else without any."""
            if result.report is not None:
                before = reports.get(result.deployment)
                reports[result.deployment] = after_round(before, result.report) if before else result.report
            return evolve(result, report=reports.get(result.deployment) if is_last else None)

        for _ in range(MOST_ROUNDS):
            approved: list[Job] = []
            for job, result in zip(jobs, spread(jobs, plan, view, True), strict=True):
                if not result.code and not result.is_approved and not is_approved(job.deployment):
                    view.about(deployment=job.deployment).log("\nApply cancelled.")
                    result = evolve(result, code=1)
                approved += [] if result.code else [job]
                yield reported(result, bool(result.code))
            jobs = []
            for job, result in zip(approved, spread(approved, apply, view, False), strict=True):
                goes_on = result.is_partial and not result.code
                yield reported(result, not goes_on)
                if goes_on and job.turn is not None:
                    turn = evolve(job.turn, number=job.turn.number + 1, done=result.done)
                    jobs.append(evolve(job, turn=turn))
            if not jobs:
                return
        for job in jobs:
            detail = f"After {MOST_ROUNDS} rounds there is more to do in the deployment {job.deployment}."
            problem = error("stack.no_progress", "Deployment does not converge", detail)
            yield DeploymentResult(job.deployment, (problem,), 1)


# ---------------------------------------------------------------- in whatever process it is

_OPENED: dict[str, tuple[OpenedStack, DeploymentPolicies | None]] = {}
"""the stack of the command in work, read once in a process"""


def run(job: Job, do: Do) -> JobOutput:
    """Do a job in this process."""
    request = Request(job.deployment, job.directory, "plan", environment=tuple(os.environ.items()))
    out, lines = io.StringIO(), io.StringIO()
    terminal = Terminal(io.StringIO(), out, out, width=job.width or None)
    terminal.paint = terminal.error_paint = Paint(job.colour)
    with busy, ALONE, home(request):
        result = _result(job, do, _view(job, terminal, lines), terminal)
    return JobOutput(_pack(result), out.getvalue(), lines.getvalue())


def _result(job: Job, do: Do, view: View, terminal: Terminal) -> DeploymentResult:
    if STOP.requested:
        return DeploymentResult(job.deployment, code=1)
    try:
        session, policies = _open(job)
        (deployment,) = session.chosen([job.deployment])
        options = options_of(job.arguments, job.mode)
        work = StackWork(session, policies, options, view, terminal, job.turn)
        return do(deployment, job.arguments, work)
    except Failure as failure:
        return DeploymentResult(job.deployment, tuple(failure.diagnostics), 1)


def _view(job: Job, terminal: Terminal, lines: io.StringIO) -> View:
    views: list[View] = [HumanView(terminal, job.arguments["show-sensitive"])] if job.is_human else []
    if job.is_json:
        views.append(JsonView(lines))
        lines.seek(0)
        lines.truncate()  # the command has printed its version
    return views[0] if len(views) == 1 else BothViews(*views)


def _open(job: Job) -> tuple[OpenedStack, DeploymentPolicies | None]:
    """The stack; its diagnostics were reported by the command. Raises Failure."""
    if job.command not in _OPENED:
        _OPENED.clear()
        told = Diagnostics()
        try:
            _OPENED[job.command] = open_stack(".", job.around, told), standing_policies(".")
        except Failure as failure:
            raise Failure([*told, *failure.diagnostics]) from None
    return _OPENED[job.command]


def _pack(result: DeploymentResult) -> bytes:
    try:
        return pickle.dumps(result)
    except Exception:  # something in what only explains more
        plain = tuple(evolve(one, difference=None, because=()) for one in result.diagnostics)
        return pickle.dumps(evolve(result, diagnostics=plain))
