"""One unit's work, in whatever process it happens: a request in, a result out, nothing else kept."""

from __future__ import annotations

import os
import time

from planner.foundation.support.files_read import service_reads
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import evolve
from planner.language.config.secrecy import is_secret_directory
from planner.operations.backends import data_folder
from planner.operations.load import read_configuration
from planner.workflows.batch.diagnostics_codec import described
from planner.workflows.batch.executor import Unmet
from planner.workflows.batch.files_read import RECORDER, entries
from planner.workflows.batch.model import Request, Survey, UnitResult
from planner.workflows.batch.plan_unit import Check, failed
from planner.workflows.batch.unit_environment import ALONE, home, peak, tidy
from planner.workflows.batch.unit_setup import is_new, options_of, set_up, surrounded, with_recipe
from planner.workflows.batch.unit_work import do


def _nothing() -> None:
    pass


def run_unit(request: Request, before_changes: Check = _nothing) -> UnitResult:
    """Plan, apply, destroy or validate one unit. What goes wrong is in the result; nothing is raised but the Unmet that
    `before_changes` raises, which is called when all is read and before anything is changed."""
    begin, used, started = time.monotonic(), time.process_time(), time.time()
    with ALONE, home(request), RECORDER.recording() as paths:
        if os.path.isabs(request.state):
            RECORDER.look(request.state)  # it is read through its lock, which opens it for writing
        secret = is_secret_directory(".")
        before = service_reads()
        try:
            result = do(request, before_changes)
        except Failure as failure:
            result = failed(request, failure.diagnostics)
        except Unmet:
            raise
        except Exception as problem:
            detail = f"{type(problem).__name__}: {problem}. This is a mistake in planner: please report it."
            result = failed(request, [error("batch.internal", "Internal error", detail)])
        looked_at = dict(paths)
    reads = entries(looked_at, request.foreign_states) or []
    tidy()
    return evolve(
        result,
        seconds=time.monotonic() - begin,
        cpu=time.process_time() - used,
        memory=peak(),
        reads=reads,
        is_secret=secret,
        asks_services=service_reads() > before,
        made_at=started,
    )


def survey_units(requests: list[Request], folders: list[str]) -> list[Survey]:
    """What the configurations of some units say by themselves."""
    return [_survey(request, folder) for request, folder in zip(requests, folders, strict=True)]


def _survey(request: Request, folder: str) -> Survey:
    from planner.operations.init import stays_as_it_is
    from planner.workflows.batch.survey import survey

    if request.deployment is not None:
        return _survey_deployment(request, folder)
    with ALONE, home(request), RECORDER.recording() as paths:
        try:
            request = with_recipe(request)
            with surrounded(request):
                reading, is_whole = read_configuration(options_of(request)), True
                if is_new(reading) and not (request.recipe is not None and request.recipe.refusals):
                    try:
                        set_up(request, reading)
                    except Failure:  # its plan says why; who waits for it is known without
                        is_whole = False
                    if stays_as_it_is(reading):
                        RECORDER.look_again(data_folder(reading.begun.options.directory))
                    else:
                        RECORDER.begin_again()  # what it was like before does not matter
                        reading = read_configuration(options_of(request))
                made = survey(request.unit, reading, folder)
        except Failure as failure:
            made = Survey(request.unit, "", problems=described(failure.diagnostics))
            is_whole = False
        looked_at = dict(paths)
        if made.problems and is_secret_directory("."):
            is_whole = False  # what they say is not for the cache
    return evolve(made, reads=(entries(looked_at) or []) if is_whole else [])


def _survey_deployment(request: Request, folder: str) -> Survey:
    from planner.workflows.batch.survey_deployment import survey_deployment

    with ALONE, home(request), RECORDER.recording() as paths:
        made, is_whole = survey_deployment(request, folder)
        looked_at = dict(paths)
    return evolve(made, reads=(entries(looked_at) or []) if is_whole else [])
