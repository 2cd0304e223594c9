"""Prepares the work on a unit: determines its options, reads its recipe and, if necessary, runs `init`."""

from __future__ import annotations

import gc
import os
import resource
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from planner.answers.policy.standing_policies import own
from planner.engine.plan.options import ComingState
from planner.foundation.vocabulary.diagnostic import Failure, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.release import DEPTH, DIGITS
from planner.language.config.variables import collect_variables
from planner.operations.backends import data_folder
from planner.operations.load import ConfigurationReading, read_configuration
from planner.operations.options import OperationOptions
from planner.operations.providers_needed import lacks_selected, selection_problems
from planner.workflows.batch import recipe_run
from planner.workflows.batch.inputs import coming_states, inputs
from planner.workflows.batch.model import Request
from planner.workflows.batch.recipe_run import fitting_arguments, looked_at
from planner.world.state.backend import Store, open_backend
from planner.world.state.workspace import current_workspace, read_pointer

NOT_INSTALLED = "config.module_not_installed"
OWN_RULES = os.path.join(".planner", "rules")
"""directory of a unit's own rules"""


def options_of(request: Request) -> OperationOptions:
    """The options for the work on a unit: the options of the request, combined with the options that are given for this
    unit. Raises Failure."""
    options = request.options
    given, coming = _made_of(request)
    files = (("var-file", file) for file in request.var_files)
    return evolve(
        options,
        var_args=(*files, *_arguments(request), *options.var_args),
        mode="destroy" if request.command == "destroy" else options.mode,
        rules=options.rules or ((OWN_RULES,) if os.path.isdir(OWN_RULES) else ()),
        policies=(*request.fleet_policies, *own("."), *options.policies),
        inputs=given,
        surrounding=request.given,
        coming_states=coming,
    )


def _made_of(request: Request) -> tuple[dict[str, Any], dict[str, ComingState]]:
    """The values of variables that the fleet's file sets, and the planned outputs of states that other units will
    write. Raises Failure."""
    if not (request.inputs or request.variables or request.upstream):
        return {}, {}
    given, coming = inputs(request), coming_states(request)
    if given and request.options.var_args:
        given = _without_asked(given, request)
    return given, coming


def _without_asked(given: dict[str, Any], request: Request) -> dict[str, Any]:
    """The values `given` by the fleet's file, without the variables that the command line sets, because -var and
    -var-file take precedence."""
    values, _ = collect_variables(".", request.options.var_args, {})  # loading the configuration reports the problems
    return {
        name: value
        for name, value in given.items()
        if name not in values or values[name].origin not in ("command line", "named file")
    }


def _arguments(request: Request) -> tuple[tuple[str, str], ...]:
    """The recipe's -var and -var-file arguments for the request."""
    if request.recipe is None or not request.recipe.arguments:
        return ()
    return fitting_arguments(request)


def set_up_unit(request: Request) -> None:
    """Run `init` for the unit if modules or providers are not installed, or if the backend is not set up. Raises
    Failure."""
    with ALONE, home(request):
        reading = read_configuration(options_of(request))
        if is_new(reading):
            set_up(request, reading)


def store_of_unit(deployment: str | None = None) -> Store | None:
    """The store of the state of a unit or deployment in the working directory; None if the state is local, or if `init`
    has not set up the backend."""
    if deployment is not None:
        return _store_of_deployment(deployment)
    pointer, _ = read_pointer(data_folder("."))
    backend, _ = open_backend(pointer.type, pointer.settings) if pointer is not None else (None, [])
    return backend.store(current_workspace(".", os.environ)[0]) if backend is not None else None


def _store_of_deployment(deployment: str) -> Store | None:
    from planner.workflows.stacks.settings import backend_of
    from planner.workflows.stacks.states import States

    backend = backend_of(".")
    return None if backend.type == "local" else States(backend, deployment).store()


def is_new(reading: ConfigurationReading[OperationOptions]) -> bool:
    """Whether `init` has to run: modules or providers are not installed, or the backend is not set up."""
    config, directory = reading.config, reading.begun.options.directory
    if any(d.code == NOT_INSTALLED for d in reading.problems):
        return True
    if config is None:
        return False
    if config.root.backend is not None and read_pointer(data_folder(directory)) == (None, []):
        return True
    return bool(selection_problems(config, directory)) or lacks_selected(config, directory)


def set_up(request: Request, reading: ConfigurationReading[OperationOptions]) -> None:
    from planner.operations.init import init

    problems = init(options_of(request), read=reading)
    if has_errors(problems):
        raise Failure(problems)


def with_recipe(request: Request) -> Request:
    """The request; if it has a recipe from a Terragrunt file, with the settings of this file that are needed to read
    the configuration. Raises Failure."""
    if request.recipe is None:
        return request
    return looked_at(request)


def surrounded(request: Request) -> AbstractContextManager[object]:
    """Context in which the environment variables of the unit's recipe are set. Raises Failure."""
    return nullcontext() if request.recipe is None else recipe_run.surrounded(request)


# The context of a unit while a process works on it: its directory, its environment and a lock. Planning uses the
# working directory and the environment, which belong to the process, so both are set for one unit at a time (`ALONE`)
# and restored afterwards.


ALONE = threading.RLock()


@contextmanager
def home(request: Request) -> Iterator[None]:
    """A context with the working directory and environment of a unit, and with the recursion and digit limits of a
    command. Garbage collection is switched off inside the context."""
    here = os.getcwd()
    depth, digits, collecting = sys.getrecursionlimit(), sys.get_int_max_str_digits(), gc.isenabled()
    wanted = dict(request.environment)
    if request.workspace:
        wanted["TF_WORKSPACE"] = request.workspace
    before = {name: os.environ.get(name) for name in wanted}
    try:
        gc.disable()
        sys.setrecursionlimit(max(depth, DEPTH))
        sys.set_int_max_str_digits(DIGITS)
        os.environ.update(wanted)
        os.chdir(request.directory)
        yield
    finally:
        os.chdir(here)
        for name, value in before.items():
            if value is not None:
                os.environ[name] = value
            else:
                os.environ.pop(name, None)
        sys.setrecursionlimit(depth)
        sys.set_int_max_str_digits(digits)
        if collecting:
            gc.enable()


_since_tidy = 0


def tidy() -> None:
    """Collect the youngest generation of garbage after every 100 units, because finished units leave reference
    cycles."""
    global _since_tidy
    _since_tidy += 1
    if _since_tidy >= 100:
        _since_tidy = 0
        gc.collect(0)


def peak() -> int:
    """Peak memory of this process in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
