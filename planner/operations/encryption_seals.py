"""The encryption of states and plans (seals) that an encryption block in the configuration, or the environment variable
TF_ENCRYPTION, defines."""

from __future__ import annotations

from collections.abc import Callable

from planner.foundation.encryption.target import Target
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, has_errors
from planner.language.config.encryption import from_text, override_encryption
from planner.language.config.encryption_model import EncryptionDecl, TargetDecl
from planner.language.config.encryption_setup import method_warnings, set_up_target
from planner.language.config.model import Config
from planner.language.config.static import StaticScope
from planner.language.config.variables import RawVariables, given_values
from planner.world.state.encrypted_seal import SealedPlan, SealedState, no_plan, no_state
from planner.world.state.encryption_seal import PLAIN, Seal


class Encrypted:
    """Implements Encryption (planner.operations.load)."""

    def __init__(self, config: Config | None, given: RawVariables, workspace: str, text: str) -> None:
        root = config.root if config is not None else None
        self._declared = root.encryption if root is not None else None
        variables, locals_ = (root.variables, root.locals) if root is not None else ({}, {})
        directory = root.directory if root is not None else "."
        self._scope = StaticScope(variables, locals_, given_values(given), directory, workspace=workspace)
        self._text = text
        self._problems: list[Diagnostic] | None = None
        self._state: Seal = PLAIN
        self._plan: Seal = PLAIN
        self._remote_default: Seal = PLAIN
        self._remotes: dict[str, Seal] = {}

    def check(self) -> list[Diagnostic]:
        return list(self._ready())

    def _ready(self) -> list[Diagnostic]:
        if self._problems is None:
            self._problems = self._set_up()
        return self._problems

    def _set_up(self) -> list[Diagnostic]:
        decl, problems = self._declared, list[Diagnostic]()
        if self._text:
            over, problems = from_text(self._text)
            if over is None or has_errors(problems):
                return problems
            decl = override_encryption(decl, over)
        assert decl is not None
        problems = [*problems, *method_warnings(decl)]
        state = self._target(decl, decl.state, "state", no_state, problems)
        plan = self._target(decl, decl.plan, "plan", no_plan, problems)
        default = self._target(decl, decl.remote_default, "remote.default", no_state, problems)
        for remote in decl.remotes:
            name = f"remote.remote_state_datasource.{remote.name}"
            target = self._target(decl, remote.target, name, no_state, problems)
            if target is not None:
                self._remotes[remote.name] = SealedState(target)
        self._state = SealedState(state) if state is not None else PLAIN
        self._plan = SealedPlan(plan) if plan is not None else PLAIN
        self._remote_default = SealedState(default) if default is not None else PLAIN
        return problems

    def _target(
        self,
        decl: EncryptionDecl,
        target: TargetDecl | None,
        name: str,
        is_clear: Callable[[bytes], str],
        problems: list[Diagnostic],
    ) -> Target | None:
        if target is None:
            return None
        try:
            return set_up_target(decl, target, name, self._scope, is_clear)
        except Failure as failure:
            problems += failure.diagnostics
            return None

    @property
    def state(self) -> Seal:
        self._require()
        return self._state

    @property
    def plan(self) -> Seal:
        self._require()
        return self._plan

    def remote_state(self, address: str) -> Seal:
        self._require()
        name = address.replace("data.terraform_remote_state.", "", 1).removeprefix("module.")
        return self._remotes.get(name, self._remote_default)

    def _require(self) -> None:
        """Raises Failure if the seals cannot be created."""
        problems = self._ready()
        if has_errors(problems):
            raise Failure(problems)
