"""Setting a unit up: the options that it is planned with, what belongs around it, and what `init` does for it where
nobody has done that yet."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from planner.answers.policy.standing_policies import own
from planner.foundation.vocabulary.diagnostic import Failure, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.language.config.variables import collect_variables
from planner.operations.backends import data_folder
from planner.operations.load import read_configuration
from planner.operations.providers_needed import lacks_selected, selection_problems
from planner.workflows.batch import recipe_run
from planner.workflows.batch.inputs import coming_states, inputs
from planner.workflows.batch.model import Request
from planner.workflows.batch.recipe_run import fitting_arguments, looked_at
from planner.workflows.batch.unit_environment import ALONE, home
from planner.world.state.backend import open_backend
from planner.world.state.pointer import read_pointer
from planner.world.state.workspace import current_workspace

if TYPE_CHECKING:
    from planner.engine.plan.options import ComingState
    from planner.operations.load import ConfigurationReading
    from planner.operations.options import OperationOptions
    from planner.world.state.backend import Store

NOT_INSTALLED = "config.module_not_installed"
OWN_RULES = os.path.join(".planner", "rules")
"""where a unit has rules of its own"""


def options_of(request: Request) -> OperationOptions:
    """The options of a command on the unit alone: those of the request, with what the unit itself has. Raises
    Failure."""
    options = request.options
    given, coming = _made_of(request)
    files = (("var-file", file) for file in request.var_files)
    return evolve(
        options,
        var_args=(*files, *_arguments(request), *options.var_args),
        mode="destroy" if request.command == "destroy" else options.mode,
        rules=options.rules or ((OWN_RULES,) if os.path.isdir(OWN_RULES) else ()),
        policies=(*own("."), *options.policies),
        inputs=given,
        surrounding=request.given,
        coming_states=coming,
    )


def _made_of(request: Request) -> tuple[dict[str, Any], dict[str, ComingState]]:
    """The values of variables that the fleet gives, and the states that units before this one are going to write.
    Raises Failure."""
    if not (request.inputs or request.variables or request.upstream):
        return {}, {}
    given, coming = _from_other_units(request)
    if given and request.options.var_args:
        given = _without_asked(given, request)
    return given, coming


def _without_asked(given: dict[str, Any], request: Request) -> dict[str, Any]:
    """What the command line does not give: its -var and -var-file win over the fleet's file."""
    asked, _ = collect_variables(".", request.options.var_args, {})  # problems are reported with the configuration
    return {
        name: value
        for name, value in given.items()
        if name not in asked or asked[name].origin not in ("command line", "named file")
    }


def _arguments(request: Request) -> tuple[tuple[str, str], ...]:
    """What belongs to the unit as options of a command line would give it."""
    if request.recipe is None or not request.recipe.arguments:
        return ()
    return _fitting(request)


def _fitting(request: Request) -> tuple[tuple[str, str], ...]:
    return fitting_arguments(request)


def _from_other_units(request: Request) -> tuple[dict[str, Any], dict[str, ComingState]]:
    return inputs(request), coming_states(request)


def set_up_unit(request: Request) -> None:
    """What `init` does, for a unit that was never set up here. Raises Failure."""
    with ALONE, home(request):
        reading = read_configuration(options_of(request))
        if is_new(reading):
            set_up(request, reading)


def store_of_unit(deployment: str | None = None) -> Store | None:
    """The store in a service that `init` has set up for the unit in work, or that of a deployment of a stack; None when
    it is something else."""
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
    """Whether the unit was never set up: its modules or providers are not installed, or its backend is not chosen."""
    config, directory = reading.config, reading.begun.options.directory
    if any(d.code == NOT_INSTALLED for d in reading.problems):
        return True
    if config is None:
        return False
    if config.root.backend is not None and read_pointer(data_folder(directory)) == (None, []):
        return True
    return bool(selection_problems(config, directory)) or lacks_selected(config, directory)


def set_up(request: Request, reading: ConfigurationReading[OperationOptions]) -> None:
    """What `init` does. Raises Failure."""
    from planner.operations.init import init

    problems = init(options_of(request), read=reading)
    if has_errors(problems):
        raise Failure(problems)


def with_recipe(request: Request) -> Request:
    """A request whose recipe is ready, for looking at the configuration. Raises Failure."""
    if request.recipe is None:
        return request
    return _looked_at(request)


def surrounded(request: Request) -> AbstractContextManager[object]:
    """The environment that belongs to the unit. Raises Failure."""
    return nullcontext() if request.recipe is None else _own_surroundings(request)


def _own_surroundings(request: Request) -> AbstractContextManager[object]:
    return recipe_run.surrounded(request)


def _looked_at(request: Request) -> Request:
    return looked_at(request)
