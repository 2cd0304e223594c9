"""`stacks from-modules` converts a root module to a stack, and `stacks to-modules` converts a deployment to a root
module. Files and states are written only after a plan in a temporary directory has shown that no object changes."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from planner.engine.walk.hooks import Hooks
from planner.foundation.support.disk import read_whole, replace_file
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import type_of, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error, has_errors
from planner.language.config.directory import ModuleRecord, read_manifest, write_manifest
from planner.language.config.stack_files.load import is_stack_file
from planner.operations.get import get
from planner.operations.load import load_values
from planner.operations.options import OperationOptions
from planner.operations.plan import Planned, Start, plan
from planner.operations.state_access import Stored, load_stored, locked
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.from_modules import COMPONENTS, DEPLOYMENTS, ConvertedModule, convert
from planner.workflows.stacks.opened_stack import backend_here, open_named, open_stack
from planner.workflows.stacks.states import States
from planner.workflows.stacks.steps import DeploymentPlan
from planner.workflows.stacks.to_modules import RootModule
from planner.workflows.stacks.to_modules import convert as back
from planner.world.provider.lock_file import NAME
from planner.world.state.backends.local import StateStore
from planner.world.state.file import write_state
from planner.world.state.model import OutputState, State

if TYPE_CHECKING:
    from planner.engine.evaluation.schemas import Schemas

TAKEN = (".terraform", "stack-states")


@frozen(eq=False)
class StackMigration:
    """The new stack, its plan (which shows whether an object changes), and diagnostics."""

    converted: ConvertedModule | None
    plan: DeploymentPlan | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def schemas(self) -> Schemas | None:
        """The schemas for showing the plan; None if no instance has a plan."""
        steps = self.plan.steps if self.plan is not None else ()
        made = next((s.planned.made for s in steps if s.planned is not None and s.planned.made is not None), None)
        return made.loaded.schemas if made is not None else None

    @property
    def is_proven(self) -> bool:
        """Whether the plan of the stack changes no object."""
        return self.plan is not None and is_quiet(self.plan) and not has_errors(self.diagnostics)


def is_quiet(plan: DeploymentPlan) -> bool:
    """Whether a plan changes no object. It may add outputs, because the state does not have them yet."""
    return all(
        step.what == "plan" and step.plan is not None and all(change.action == "no-op" for change in step.plan.changes)
        for step in plan.steps
    )


def migrate(options: OperationOptions, deployment: str, writes: bool) -> StackMigration:
    """Convert the root module in the working directory. `writes`: if the plan changes no object, write the stack's
    files and states, and remove the objects from the root module's state."""
    diagnostics = Diagnostics()
    converted: ConvertedModule | None = None
    plan: DeploymentPlan | None = None
    with diagnostics.until_an_error():
        for name in os.listdir("."):
            if is_stack_file(name) and name not in (COMPONENTS, DEPLOYMENTS):
                raise _exists(name)
        stored = load_stored(options, diagnostics)
        if not stored.state.resources:  # an interrupted conversion may have divided the state already
            _check_no_stack()
        with locked(stored.store, options, "OperationTypeApply", diagnostics):
            values = diagnostics.take(load_values(stored))
            converted = convert(".", stored.config, stored.state, values, deployment)
            diagnostics += converted.problems
            _check_unfinished(converted, deployment, diagnostics)
            plan = proven(converted, deployment, options, diagnostics)
            if writes and not has_errors(diagnostics) and is_quiet(plan):
                diagnostics += _write(with_outputs(converted, plan), deployment, stored)
    return StackMigration(converted, plan, tuple(diagnostics))


def _exists(name: str) -> Failure:
    detail = f"{name} already exists: this directory is a stack."
    return Failure(error("stack.exists", "Stack already exists", detail))


def _check_no_stack() -> None:
    for name in (COMPONENTS, DEPLOYMENTS):
        if os.path.lexists(name):
            raise _exists(name)


def _check_unfinished(converted: ConvertedModule, deployment: str, diagnostics: Diagnostics) -> None:
    """Raises Failure if the directory already has files of a stack, or states with objects. Files and states with the
    same content as in this conversion are allowed, because an interrupted conversion may have written them."""
    for name in (COMPONENTS, DEPLOYMENTS):
        try:
            if os.path.lexists(name) and read_whole(name) != converted.files[name].encode():
                raise _exists(name)
        except OSError:
            raise _exists(name) from None
    backend, _ = backend_here(".", diagnostics)
    states = States(backend, deployment)
    for name_of in states.recorded():
        there = states.read(name_of)
        if there is not None and there.resources:
            ours = converted.states.get(name_of, State())
            if write_state(State(resources=there.resources)) != write_state(State(resources=ours.resources)):
                detail = f"The state of {name_of} in the deployment {deployment} already exists here, with"
                detail += " different objects."
                detail += " Name another deployment with -deployment."
                raise Failure(error("stack.state_exists", "State already exists", detail))


def proven(
    converted: ConvertedModule, deployment: str, options: OperationOptions, diagnostics: Diagnostics
) -> DeploymentPlan:
    """Plan the converted stack with its states in a temporary directory. Raises Failure."""
    here = os.path.abspath(".")
    with tempfile.TemporaryDirectory(prefix="planner-stack-") as folder:
        for name in os.listdir(here):
            if name not in (*TAKEN, *converted.files) and not name.endswith((".tfstate", ".tfstate.backup")):
                os.symlink(os.path.join(here, name), os.path.join(folder, name))
        _install(here, folder)
        for name, text in converted.files.items():
            replace_file(os.path.join(folder, name), text.encode(), mode=0o600)
        try:
            os.chdir(folder)
            session = open_stack(".", ServiceStandIns(), diagnostics)
            write_states(States(session.backend, deployment), converted, diagnostics)
            runner = session.runner(session.chosen([deployment])[0], options, Hooks())
            try:
                plan = runner.plan()
            finally:
                diagnostics += runner.release()
            diagnostics += plan.diagnostics
            return plan
        finally:
            os.chdir(here)


def with_outputs(converted: ConvertedModule, plan: DeploymentPlan) -> ConvertedModule:
    """Add the planned outputs of the components to their states, because the state of a root module does not contain
    the outputs of called modules."""
    states = dict(converted.states)
    for step in plan.steps:
        outputs = {
            o.name: OutputState(unmark_deep(o.after)[0], type_of(unmark_deep(o.after)[0]) or DYNAMIC, o.sensitive)
            for o in (step.plan.outputs if step.plan is not None else ())
        }
        states[step.name] = evolve(states.get(step.name, State()), outputs=outputs)
    return evolve(converted, states=states)


def _install(here: str, folder: str) -> None:
    """Make the installed modules and providers of the root module available in the stack's directory `folder`, with
    links."""
    manifest, _ = read_manifest(here)
    os.makedirs(os.path.join(folder, ".terraform", "modules"))
    for kind, inside in (("modules", ".terraform/modules"), ("providers", ".terraform")):
        source = os.path.join(here, ".terraform", kind)
        if kind == "providers" and os.path.isdir(source):
            os.symlink(source, os.path.join(folder, inside, kind))
        elif kind == "modules" and os.path.isdir(source):
            for name in os.listdir(source):
                if name != "modules.json":
                    os.symlink(os.path.join(source, name), os.path.join(folder, inside, name))
    write_manifest(renamed(manifest), folder)


def renamed(manifest: dict[str, ModuleRecord]) -> dict[str, ModuleRecord]:
    """The manifest of installed modules, with the keys that they have in a stack."""
    result = {"": ModuleRecord("", "", ".")}
    for key, record in manifest.items():
        if key:
            result[f"component.{key}"] = evolve(record, key=f"component.{key}")
    return result


def write_states(states: States, converted: ConvertedModule, diagnostics: Diagnostics) -> None:
    """Write the states of the components. Raises Failure."""
    for name, state in sorted(converted.states.items(), key=lambda item: str(item[0])):
        states.create(name)
        store = states.store(name)
        diagnostics.check(store.lock("OperationTypeApply"))
        _, problems = store.write(state)
        diagnostics += store.unlock()
        diagnostics.check(problems)


def _write(converted: ConvertedModule, deployment: str, stored: Stored[OperationOptions]) -> list[Diagnostic]:
    """Write the states, then the stack's files, and finally remove all objects from the root module's state. If this is
    interrupted at any point, the conversion can be run again. Returns diagnostics."""
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        manifest, _ = read_manifest(".")
        write_manifest({**manifest, **renamed(manifest)}, ".")
        backend, _ = backend_here(".", diagnostics)
        write_states(States(backend, deployment), converted, diagnostics)
        for name, text in converted.files.items():
            replace_file(name, text.encode(), mode=0o600)
        _, problems = stored.store.write(State())
        diagnostics += problems
    if has_errors(diagnostics):
        detail = (
            "The state of the root module is unchanged. Fix the problem and run the command again: it continues from "
            "there."
        )
        diagnostics.append(error("stack.half_written", "The stack could not be written", detail))
    return list(diagnostics)


# ---------------------------------------------------------------- to-modules


@frozen(eq=False)
class Return:
    """The result of converting a deployment to a root module: the root module, its plan, and diagnostics."""

    root: RootModule | None
    planned: Planned[Start] | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def is_proven(self) -> bool:
        """Whether a plan of the root module changes no object."""
        plan = self.planned.plan if self.planned is not None else None
        quiet = plan is not None and all(change.action == "no-op" for change in plan.changes)
        return quiet and not has_errors(self.diagnostics)


def give_back(options: OperationOptions, deployment: str, around: ServiceStandIns, out: str, writes: bool) -> Return:
    """Convert a deployment of the stack in the working directory to a root module, and plan the root module. `writes`:
    if the plan changes no object, write the root module with its state into the new directory `out`, and remove the
    states of the deployment."""
    diagnostics = Diagnostics()
    root: RootModule | None = None
    planned: Planned[Start] | None = None
    with diagnostics.until_an_error():
        if os.path.lexists(out):
            raise Failure(
                error("stack.folder", "The directory exists", f"{out} already exists: use a different name with -out.")
            )
        session = open_named(around, diagnostics)
        (chosen,) = session.chosen([deployment])
        states = States(session.backend, chosen.name)
        recorded = {name: states.read(name) for name in states.recorded()}
        table = {name: state for name, state in recorded.items() if state is not None}
        root = back(session.stack, session.flow.inputs(chosen), table, out)
        with tempfile.TemporaryDirectory(prefix="planner-root-", dir=".") as folder:
            trial = back(session.stack, session.flow.inputs(chosen), table, folder)
            planned = _attempt(trial, folder, options, diagnostics)
        if writes and not has_errors(diagnostics) and Return(root, planned, ()).is_proven:
            _place(root, out, diagnostics)
            for name in table:
                diagnostics += states.forget(name)
            diagnostics += states.write_outputs({})
    return Return(root, planned, tuple(diagnostics))


def _attempt(root: RootModule, folder: str, options: OperationOptions, diagnostics: Diagnostics) -> Planned[Start]:
    _place(root, folder, diagnostics)
    here = os.path.abspath(".")
    try:
        os.chdir(folder)
        lock = os.path.join(here, NAME)
        if os.path.exists(lock):
            os.symlink(lock, NAME)
        source = os.path.join(here, ".terraform", "providers")
        if os.path.isdir(source):
            os.makedirs(".terraform", exist_ok=True)
            os.symlink(source, os.path.join(".terraform", "providers"))
        diagnostics.check(get(options))
        planned = plan(options, Hooks())
        diagnostics += planned.diagnostics
        return planned
    finally:
        os.chdir(here)


def _place(root: RootModule, folder: str, diagnostics: Diagnostics) -> None:
    os.makedirs(folder, exist_ok=True)
    for name, text in root.files.items():
        replace_file(os.path.join(folder, name), text.encode(), mode=0o600)
    store = StateStore(os.path.join(folder, "terraform.tfstate"))
    _, problems = store.write(root.state)
    diagnostics.check(problems)
