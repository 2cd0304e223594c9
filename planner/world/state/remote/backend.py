"""The common part of backends that store states in a service."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, ServiceError, error, has_errors
from planner.world.state.backend import DEFAULT_WORKSPACE, Store
from planner.world.state.backends.local import LocalBackend
from planner.world.state.encryption_seal import PLAIN, Seal
from planner.world.state.remote.client import RemoteStateClient
from planner.world.state.remote.copy import forget_all
from planner.world.state.remote.store import READ, RemoteStore


class RemoteBackend(ABC):
    """A backend that stores states in a service. A subclass implements access to the state of one workspace and the
    list of workspaces. `makes_empty`: whether `init` saves an empty state if there is none, as in OpenTofu."""

    type: ClassVar[str]
    has_workspaces: ClassVar[bool] = True
    makes_empty: ClassVar[bool] = False
    """whether `init` saves an empty state if none exists, as OpenTofu does for this backend type"""

    def __init__(self, settings: Mapping[str, Any], seal: Seal = PLAIN) -> None:
        self._settings, self.seal = dict(settings), seal

    @property
    def settings(self) -> dict[str, Any]:
        """The settings in the block, without environment variables and defaults."""
        return self._settings

    @abstractmethod
    def client(self, workspace: str) -> RemoteStateClient:
        """The client for the state of a workspace. Raises ServiceError."""

    @abstractmethod
    def names(self) -> list[str]:
        """The names of all workspaces except the default one. Raises ServiceError."""

    def remove(self, workspace: str) -> None:
        """Delete the state of a workspace. Raises ServiceError."""
        self.client(workspace).delete()

    def store(
        self, workspace: str = DEFAULT_WORKSPACE, state: str = "", state_out: str = "", backup: str = ""
    ) -> Store:
        """The store of a workspace; the store of a file if `-state` or `-state-out` names one. Raises ServiceError."""
        if state or state_out:
            return LocalBackend(seal=self.seal).store(DEFAULT_WORKSPACE, state, state_out, backup)
        if not self.has_workspaces and workspace != DEFAULT_WORKSPACE:
            raise ServiceError("workspaces not supported")
        return self.remote_store(workspace, "" if backup == "-" else backup)

    def remote_store(self, workspace: str, backup: str = "") -> RemoteStore:
        return RemoteStore(self.client(workspace), self.seal, backup)

    def workspaces(self) -> list[str]:
        """The default workspace first, the others sorted. Raises ServiceError."""
        if not self.has_workspaces:
            return [DEFAULT_WORKSPACE]
        return [DEFAULT_WORKSPACE, *sorted(set(self.names()) - {DEFAULT_WORKSPACE})]

    def create_workspace(self, workspace: str, with_lock: bool = True) -> None:
        """Create a workspace by saving an empty state, unless it already has a state. Raises Failure, ServiceError."""
        if not self.has_workspaces:
            raise ServiceError("workspaces not supported")
        _raise(self.remote_store(workspace).make_empty(with_lock))

    def prepare(self, workspace: str, with_lock: bool = True) -> list[Diagnostic]:
        if not self.makes_empty:
            return []
        try:
            return self.remote_store(workspace).make_empty(with_lock)
        except ServiceError as problem:
            return [unreachable(self.type, problem)]

    def delete_workspace(self, workspace: str) -> None:
        """Delete a workspace with its state, and the documents next to it. Raises ServiceError."""
        if not self.has_workspaces:
            raise ServiceError("workspaces not supported")
        client = self.client(workspace)
        self.remove(workspace)
        forget_all(client)


def _raise(problems: list[Diagnostic]) -> None:
    if has_errors(problems):
        raise Failure(problems)


def unreachable(kind: str, problem: ServiceError) -> Diagnostic:
    return error(READ, "Error refreshing state", f'Backend "{kind}": {problem.text}')
