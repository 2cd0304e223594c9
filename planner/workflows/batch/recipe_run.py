"""Runs a unit with its recipe: environment, hooks, retries and time limit. rules/batch/recipe.dl derives whether to try
again and whether anything may be destroyed.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from planner.foundation.support.disk import read_whole
from planner.foundation.support.exact_json import orjson
from planner.foundation.support.signals import STOP
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Unknown
from planner.foundation.vocabulary.diagnostic import Failure, ServiceError, error
from planner.foundation.vocabulary.records import evolve
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import batch_program
from planner.workflows.batch.hooks import run_program, without
from planner.workflows.batch.model import Request, UnitResult, diagnostics_json
from planner.workflows.batch.recipe import Hook, Recipe, Role

Outputs = Callable[[str], Any]
Run = Callable[[Request], UnitResult]
_COMMANDS = {"apply_plan": "apply", "survey": "plan"}
_SECRET = "Its output is not shown."


def command_of(request: Request) -> str:
    """The name of the request's command in hooks and arguments: apply_plan is called apply, and survey is called
    plan."""
    return _COMMANDS.get(request.command, request.command)


def fitting_arguments(request: Request) -> tuple[tuple[str, str], ...]:
    """The recipe's -var and -var-file arguments for this command, as (kind, text)."""
    recipe, command = request.recipe, command_of(request)
    assert recipe is not None
    items = []
    for kind, text, commands in recipe.arguments:
        if not commands or command in commands:
            is_file = kind == "var-file" and not os.path.isabs(text)
            items.append((kind, os.path.join(recipe.home, text) if is_file and recipe.home else text))
    return tuple(items)


def looked_at(request: Request) -> Request:
    """The request with the settings from its Terragrunt file, which is read with unknown values for the outputs of
    other units. This is enough to load the unit's configuration. Returns the request unchanged if the recipe has
    refusals or does not come from a Terragrunt file. Raises Failure."""
    recipe = request.recipe
    assert recipe is not None
    if recipe.source is None or recipe.refusals:
        return request
    return _ready(request, recipe, lambda unit: Unknown(DYNAMIC), is_late=True)


def _ready(request: Request, recipe: Recipe, outputs: Outputs, is_late: bool = False) -> Request:
    return request if recipe.source is None else _read_again(request, recipe, outputs, is_late)


def _read_again(request: Request, recipe: Recipe, outputs: Outputs, is_late: bool) -> Request:
    from planner.workflows.batch.terragrunt.prepare import made_ready

    recipe, values = made_ready(
        recipe, outputs, os.environ, is_late, "plan" if request.command == "apply_plan" else command_of(request)
    )
    return evolve(request, recipe=recipe, given=values)


def carry_out(request: Request, outputs: Outputs, run: Run, given_up: Callable[[], None]) -> UnitResult:
    """Run a unit with `run` and with its recipe: environment, hooks, retries, time limit. If the recipe has refusals,
    these are the errors of the result. If the Terragrunt file cannot be read now, `given_up` is called before the error
    is reported; it may raise an exception instead. Raises Failure if the unit cannot be started for another reason."""
    recipe = request.recipe
    assert recipe is not None
    if recipe.refusals:
        return UnitResult(request.unit, "error", diagnostics=recipe.refusals)
    if recipe.keeps and decided(request, "keeps_objects")["refused"]:
        detail = f"{request.unit} has prevent_destroy: remove it before destroying the unit."
        raise Failure(error("batch.keeps", "The unit must not be destroyed", detail))
    try:
        request = _ready(request, recipe, outputs)
    except Failure:
        given_up()
        raise
    recipe = request.recipe
    assert recipe is not None
    if recipe.refusals:
        given_up()
        return UnitResult(request.unit, "error", diagnostics=recipe.refusals)
    with surrounded(request) as secrets:
        result = _with_tries(request, recipe, run, secrets)
    _keep_lock_file(recipe)
    return result


# ---------------------------------------------------------------- attempts and time limit


def _with_tries(request: Request, recipe: Recipe, run: Run, secrets: Collection[str]) -> UnitResult:
    tries = 0
    while True:
        tries += 1
        result = _with_hooks(request, recipe, run, secrets)
        if result.result != "error" or not recipe.retries:
            return result
        output = _output_text(result)
        fitting = [r for r in recipe.retries if any(re.search(pattern, output, re.DOTALL) for pattern in r.patterns)]
        if not fitting or not decided(request, "matched", max(r.times for r in fitting), tries)["again"]:
            return result
        if STOP.wait(min(r.pause for r in fitting)):
            return result


def _output_text(result: UnitResult) -> str:
    return "\n".join(f"{d.get('summary', '')}: {d.get('detail', '')}" for d in result.diagnostics)


def decided(request: Request, about: str, most: int = 0, tries: int = 0) -> dict[str, bool]:
    """The decisions of rules/batch/recipe.dl: `again` (run the unit again), `refused` (do not destroy the unit).
    `about`: "keeps_objects" (the unit has prevent_destroy) or "matched" (an error matches a retry). `most`: maximum
    number of runs; `tries`: number of runs so far."""
    facts = FactBuilder()
    facts.add("command", command_of(request))
    if about == "keeps_objects":
        facts.add("keeps_objects", request.unit)
        facts.add("about_unit", request.unit)
    else:
        facts.add("worth_a_try", request.unit, most)
        facts.add("attempts", request.unit, tries)
        if request.command == "apply_plan":
            facts.add("applies_plan", request.unit)
    database = evaluate(batch_program(), facts.build(), ("tries_again", "refuses_destroy"))
    return {"again": bool(database["tries_again"]), "refused": bool(database["refuses_destroy"])}


def _in_time(request: Request, recipe: Recipe, run: Run) -> UnitResult:
    """Run the unit, and request a stop at the time limit. If the time limit ended the run, the result has an error."""
    if not recipe.seconds:
        return run(request)
    is_over = threading.Event()

    def stop() -> None:
        if not STOP.requested:
            is_over.set()
            STOP.request()

    timer = threading.Timer(recipe.seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        result = run(request)
    finally:
        timer.cancel()
        timer.join()
        if is_over.is_set():
            STOP.withdraw()
    if not is_over.is_set() or result.result not in ("stopped", "error"):
        return result
    detail = f"{request.unit} exceeded its time limit of {recipe.seconds:g} s and was stopped."
    problem = error("batch.time", "A unit took too long", detail)
    return evolve(result, result="error", diagnostics=(*diagnostics_json([problem]), *result.diagnostics))


# ---------------------------------------------------------------- hooks


def _with_hooks(request: Request, recipe: Recipe, run: Run, secrets: Collection[str]) -> UnitResult:
    command = command_of(request)
    hooks = [hook for hook in recipe.hooks if command in hook.commands]
    if not hooks:
        return _in_time(request, recipe, run)
    log: list[str] = []
    problems: list[Any] = []
    for hook in hooks:
        if hook.when == "before" and (not problems or hook.always):
            problems += _hook(hook, request, recipe, log, secrets)
    if problems:
        result = UnitResult(request.unit, "error", diagnostics=diagnostics_json(problems))
    else:
        result = _in_time(request, recipe, run)
    is_wrong = result.result in ("error", "stopped", "tainted")
    for hook in hooks:
        if hook.when == "after" and (not is_wrong or hook.always):
            problems += _hook(hook, request, recipe, log, secrets)
    for hook in hooks:
        if hook.when == "error" and result.result == "error" and _matches(hook, _output_text(result)):
            problems += _hook(hook, request, recipe, log, secrets)
    if problems and result.result != "error":
        result = evolve(result, result="error", diagnostics=(*diagnostics_json(problems), *result.diagnostics))
    if log and request.command not in ("plan", "validate"):
        result = evolve(result, text="".join(log) + result.text)
    return result


def _matches(hook: Hook, text: str) -> bool:
    return not hook.patterns or any(re.search(pattern, text, re.DOTALL) for pattern in hook.patterns)


def _hook(hook: Hook, request: Request, recipe: Recipe, log: list[str], secrets: Collection[str]) -> list[Any]:
    """Run a hook, and return errors. Appends the hook's output to `log`; in the output, `secrets` are masked."""
    folder = os.path.normpath(os.path.join(recipe.home or ".", hook.folder)) if hook.folder else "."
    more = {"TG_CTX_COMMAND": command_of(request), "TG_CTX_HOOK_NAME": hook.name, "PLANNER_UNIT": request.unit}
    name = f"The {hook.when} hook {hook.name} of {request.unit}"
    try:
        ran = run_program(hook.words, folder, {**os.environ, **more}, recipe.seconds or None, with_errors=True)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        return [error("batch.hook", "A hook cannot be run", f"{name} runs {hook.words[0]} in {folder}: {reason}.")]
    text = without(ran.output.decode("utf-8", "replace"), secrets)
    log.append(text)
    if ran.is_late:
        return [error("batch.hook", "A hook took too long", f"{name} exceeded the time limit of {recipe.seconds:g} s.")]
    if ran.code:
        detail = f"{name} ran {hook.words[0]}, which exited with {ran.code}.\n\n{text.strip()[-4000:]}".strip()
        return [error("batch.hook", "A hook failed", detail)]
    return []


# ---------------------------------------------------------------- environment


def surrounded(request: Request) -> AbstractContextManager[frozenset[str]]:
    """Context in which the recipe's environment variables and credentials are set. Yields the values of the
    credentials, which must not be shown. Raises Failure."""
    recipe = request.recipe
    assert recipe is not None
    credentials = _credentials(request.unit, recipe)
    wanted = {**dict(recipe.environment), **credentials}
    role = _as_role(request.unit, recipe, wanted)
    return surroundings({**wanted, **role}, frozenset((*credentials.values(), *role.values())))


def _as_role(unit: str, recipe: Recipe, wanted: Mapping[str, str]) -> dict[str, str]:
    return {} if recipe.role is None else taken_on(unit, recipe.role, {**os.environ, **wanted})


@contextmanager
def surroundings(wanted: Mapping[str, str], secrets: frozenset[str]) -> Iterator[frozenset[str]]:
    before = {name: os.environ.get(name) for name in wanted}
    try:
        os.environ.update(wanted)
        yield secrets
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _credentials(unit: str, recipe: Recipe) -> dict[str, str]:
    """The variables that the `auth` program prints as a JSON object of strings; empty if there is no such program. The
    variables are neither stored nor shown. Raises Failure."""
    if not recipe.auth:
        return {}
    program, folder, seconds = recipe.auth[0], recipe.home or ".", recipe.seconds or 300

    def refuse(why: str) -> Failure:
        return Failure(error("batch.auth", "No credentials", f"The auth program {program} of {unit} {why}. {_SECRET}"))

    environment = {**os.environ, **dict(recipe.environment), "PLANNER_UNIT": unit}
    try:
        ran = run_program(recipe.auth, folder, environment, seconds, with_errors=False)
    except (OSError, ValueError) as problem:
        raise refuse(f"cannot be run in {folder}: {getattr(problem, 'strerror', None) or problem}") from None
    if ran.is_late:
        raise refuse(f"did not end within {seconds:g} s")
    if ran.code:
        raise refuse(f"exited with {ran.code}")
    try:
        result = orjson.loads(ran.output)
    except orjson.JSONDecodeError:
        raise refuse("printed no JSON") from None
    if not isinstance(result, dict) or not all(isinstance(v, str) and "\0" not in v for v in result.values()):
        raise refuse("must print a JSON object of strings")
    if any(not name or "=" in name or "\0" in name for name in result):
        raise refuse("printed a name that is not a valid variable name")
    return result


def _keep_lock_file(recipe: Recipe) -> None:
    """Copy the lock file from the working directory to the unit's directory."""
    if not recipe.lock_file:
        return
    try:
        data = read_whole(".terraform.lock.hcl")
        if os.path.exists(recipe.lock_file) and read_whole(recipe.lock_file) == data:
            return
        beside = f"{recipe.lock_file}.{os.getpid()}.tmp"
        with open(beside, "wb") as file:
            file.write(data)
        os.replace(beside, recipe.lock_file)
    except OSError:
        # there is no lock file, or the file remains in the working directory, because the unit's directory is read-only
        return


# AWS roles: temporary credentials that exist only in the environment of a running unit.


REGION = "us-east-1"
"""region for assuming a role if the environment has none"""


def taken_on(unit: str, role: Role, environment: Mapping[str, str]) -> dict[str, str]:
    """Assume the unit's AWS role, and return its credentials as environment variables. Raises Failure."""
    from planner.foundation.clients.aws_settings import aws_of

    settings: dict[str, Any] = {"role_arn": role.arn, "session_name": role.session or "planner"}
    if role.seconds:
        settings["duration"] = f"{role.seconds}s"
    kind = "assume_role"
    if role.token:
        kind = "assume_role_with_web_identity"
        is_file = os.path.isfile(role.token)
        settings["web_identity_token_file" if is_file else "web_identity_token"] = role.token
    wrong: list[str] = []
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or REGION
    try:
        aws = aws_of({"region": region, kind: settings}, environment, lambda title, said: wrong.append(said))
        if wrong:
            raise _refusal(unit, role, "; ".join(wrong))
        result = aws.chain()
    except (ServiceError, OSError) as problem:
        raise _refusal(unit, role, str(problem)) from None
    keys = {"AWS_ACCESS_KEY_ID": result.access_key, "AWS_SECRET_ACCESS_KEY": result.secret_key}
    return {**keys, "AWS_SESSION_TOKEN": result.token}


def _refusal(unit: str, role: Role, why: str) -> Failure:
    detail = f"{unit} cannot assume the role {role.arn}: {why}"
    return Failure(error("batch.role", "The role cannot be assumed", detail))
