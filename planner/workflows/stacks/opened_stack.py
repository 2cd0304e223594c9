"""Opens a stack with its deployments for planning and applying."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TypeAlias

from planner.engine.walk.hooks import Hooks
from planner.foundation.values.value import SENSITIVE, Value, mark
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error, warning
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import evolve, frozen
from planner.language.config.stack_files.model import Deployment, StackConfig
from planner.operations.load import Encryption, encryption_of
from planner.operations.options import OperationOptions
from planner.operations.providers_needed import not_installed
from planner.workflows.stacks.deploy import Runner
from planner.workflows.stacks.deployments import DeploymentFlow, ServiceStandIns
from planner.workflows.stacks.loading import component_configs, read_stack
from planner.workflows.stacks.settings import backend_of
from planner.workflows.stacks.states import States, recorded_instances
from planner.world.state.backend import DEFAULT_WORKSPACE, Backend


@frozen(eq=False)
class OpenedStack:
    """A stack with its deployments, and the backend of their states."""

    directory: str
    stack: StackConfig
    backend: Backend
    flow: DeploymentFlow
    encryption: Encryption

    def chosen(self, names: Iterable[str]) -> list[Deployment]:
        """The deployments that the names or patterns select; all deployments if `names` is empty. Raises Failure for a
        name or pattern that selects none."""
        known = self.stack.deployments.deployments
        if not known:
            detail = f"There is no deployment block in the files *.tfdeploy.hcl of {os.path.abspath(self.directory)}."
            raise Failure(error("stack.no_deployment", "Nothing to deploy", detail))
        wanted: set[str] = set()
        for name in names:
            items = set(fnmatch.filter(known, name))
            if not items:
                hint = did_you_mean(name, known) or f" The deployments are {', '.join(sorted(known))}."
                detail = f'There is no deployment "{name}".{hint}'
                raise Failure(error("stack.deployment", "No such deployment", detail))
            wanted |= items
        return [known[name] for name in sorted(wanted or known)]

    def only(self, names: Iterable[str]) -> Deployment:
        """The deployment that `names` selects; if `names` is empty, the only deployment of the stack. Raises Failure if
        there is not exactly one."""
        deployment, *others = self.chosen(names)
        if others:
            raise several(one.name for one in (deployment, *others))
        return deployment

    def left_behind(self) -> list[Diagnostic]:
        """A warning for each deployment that has states but is no longer declared. Raises Failure."""
        known = self.stack.deployments.deployments
        items = sorted({d for d, _ in recorded_instances(self.backend)} - set(known))
        return [
            warning(
                "stack.left_behind",
                "Deployment not declared",
                f'The deployment "{name}" has states but is no longer declared: its objects are kept. To '
                "destroy them, declare it again with destroy = true, and apply.",
            )
            for name in items
        ]

    def runner(self, deployment: Deployment, options: OperationOptions, hooks: Hooks) -> Runner:
        """The runner for a deployment. If the deployment has `destroy = true`, the mode is destroy. Raises Failure if
        the inputs cannot be evaluated."""
        if self.flow.is_destroyed(deployment):
            options = evolve(options, mode="destroy")
        inputs = self.flow.inputs(deployment)
        states = States(self.backend, deployment.name)
        return Runner(self.stack, deployment.name, inputs, states, options, hooks, self.encryption)


def several(names: Iterable[str]) -> Failure:
    """The error if several deployments match the arguments of a command that needs a single deployment."""
    return Failure(error("stack.which", "Missing deployment", f"Name one of {', '.join(names)} with -deployment."))


Coming: TypeAlias = "Mapping[tuple[str, str], Mapping[str, Value]]"
"""{(real path of the stack, deployment): planned outputs}"""
NOTHING_COMES: Coming = MappingProxyType({})


def open_stack(
    directory: str,
    around: ServiceStandIns,
    diagnostics: Diagnostics,
    readers: tuple[str, ...] = (),
    coming: Coming = NOTHING_COMES,
) -> OpenedStack:
    """Open the stack in a directory. `readers`: the stacks through which this stack is reached by `upstream_input`
    blocks, nearest last, to detect cycles. `coming`: planned outputs of deployments, which replace their recorded
    outputs. Raises Failure if the stack is invalid or not installed."""
    stack, problems = read_stack(directory)
    diagnostics.check(problems)
    diagnostics.check(not_installed(component_configs(stack.root), directory, "stacks init"))
    backend, encryption = backend_here(directory, diagnostics)

    here = os.path.realpath(directory)
    further = ServiceStandIns(upstream={name: os.path.abspath(path) for name, path in around.upstream.items()})

    def outputs(deployment: str) -> Mapping[str, Value] | None:
        planned = coming.get((here, deployment))
        if planned is not None and not planned:
            detail = f"The deployment {deployment} of the stack in {here} will be destroyed with its outputs."
            raise Failure(error("stack.upstream_goes", "Published outputs would be removed", detail))
        return deployment_outputs(backend, deployment) if planned is None else planned

    def published(folder: str) -> Mapping[str, Value] | None:
        return published_by(folder, further, readers, coming)

    return OpenedStack(directory, stack, backend, DeploymentFlow(stack, around, published, outputs), encryption)


def backend_here(directory: str, diagnostics: Diagnostics) -> tuple[Backend, Encryption]:
    """The backend of a stack's states, and their encryption. Raises Failure."""
    encryption = encryption_of(None, {}, DEFAULT_WORKSPACE)  # only TF_ENCRYPTION applies to stacks
    diagnostics.check(encryption.check())
    return backend_of(directory, encryption.state), encryption


def open_named(around: ServiceStandIns, diagnostics: Diagnostics) -> OpenedStack:
    """Open the stack in the working directory. `around`: files that replace services of the hosted runtime; a
    replacement to which no block matches is an error. Raises Failure."""
    session = open_stack(".", around, diagnostics)
    declared = session.stack.deployments
    problems = [_unmeant("identity-token", n, declared.tokens) for n in around.tokens if n not in declared.tokens]
    addresses = {upstream.source for upstream in declared.upstream.values()}
    if not around.upstream.keys() <= addresses:  # the address may be an upstream of an upstream
        for folder in around.upstream.values():
            stack, _ = read_stack(folder)
            addresses |= {upstream.source for upstream in stack.deployments.upstream.values()}
    problems += [_unmeant("upstream", name, addresses) for name in around.upstream if name not in addresses]
    diagnostics.check(problems)
    return session


def _unmeant(option: str, name: str, known: Iterable[str]) -> Diagnostic:
    there = ", ".join(sorted(known)) or "none"
    hint = did_you_mean(name, known) or f" The names are: {there}."
    detail = f"-{option}={name}=... matches nothing in this stack.{hint}"
    return error("stack.unmeant", "Undeclared name", detail)


def opened(around: ServiceStandIns) -> tuple[OpenedStack, list[Diagnostic]]:
    """Open the stack in the working directory. Returns the stack and diagnostics. Raises Failure with all
    diagnostics."""
    diagnostics = Diagnostics()
    try:
        return open_named(around, diagnostics), diagnostics
    except Failure as failure:
        raise Failure([*diagnostics, *failure.diagnostics]) from None


def deployment_outputs(backend: Backend, deployment: str) -> Mapping[str, Value] | None:
    """The recorded outputs of a deployment; None if it has none, as before its first apply and after its destruction.
    Raises Failure."""
    state = States(backend, deployment).read()
    if state is None or not state.lineage or not state.outputs:
        return None
    secret = frozenset((SENSITIVE,))
    return {name: mark(o.value, secret) if o.sensitive else o.value for name, o in state.outputs.items()}


def published_by(
    folder: str, around: ServiceStandIns, readers: tuple[str, ...] = (), coming: Coming = NOTHING_COMES
) -> Mapping[str, Value] | None:
    """The published outputs of the stack in the directory `folder`. `readers` and `coming`: as in open_stack. Raises
    Failure."""
    real = os.path.realpath(folder)
    if real in readers:
        way = "".join(f"\n  - {reader}" for reader in (*readers[readers.index(real) :], real))
        detail = (
            f"The published outputs of each of these stacks depend on the published outputs of the next stack:{way}"
        )
        raise Failure(error("stack.upstream_circle", "Upstream waits for itself", detail))
    if not os.path.isdir(folder):
        detail = (
            f"The upstream {folder} does not exist. Set the directory of its stack with -upstream=ADDRESS=DIRECTORY."
        )
        raise Failure(error("stack.upstream", "Unknown upstream", detail))
    diagnostics = Diagnostics()
    try:
        with _inside(real):
            session = open_stack(".", around, diagnostics, (*readers, real), coming)
    except Failure as failure:
        shown = os.path.relpath(real)
        problems = [*diagnostics, *failure.diagnostics]
        raise Failure([evolve(d, summary=f"Upstream {shown}: {d.summary}") for d in problems]) from None
    return _Published(session, real)


class _Published(Mapping[str, Value]):
    """The published outputs of a stack, each evaluated on first use, so that a failure does not affect other
    outputs."""

    def __init__(self, session: OpenedStack, folder: str) -> None:
        self._session, self._folder = session, folder

    def __getitem__(self, name: str) -> Value:
        output = self._session.stack.deployments.published[name]
        with _inside(self._folder):
            return self._session.flow.evaluate(output.value)

    def __contains__(self, name: object) -> bool:
        return name in self._session.stack.deployments.published

    def __iter__(self) -> Iterator[str]:
        return iter(self._session.stack.deployments.published)

    def __len__(self) -> int:
        return len(self._session.stack.deployments.published)


@contextmanager
def _inside(folder: str) -> Iterator[None]:
    here = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)
