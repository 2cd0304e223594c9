"""Workspaces: several states of one configuration, one of them selected."""

from __future__ import annotations

from planner.api.arguments import expect, switches
from planner.api.base import Work, require, usable, warnings
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import frozen
from planner.operations import workspaces
from planner.operations.workspaces import Selected


@frozen(eq=False)
class WorkspaceList:
    """The names of the workspaces, which of them is selected, and warnings."""

    names: tuple[str, ...]
    selected: str
    diagnostics: tuple[Diagnostic, ...] = ()


class Workspaces(Work):
    """Calls about the workspaces of a configuration. Each raises Failure."""

    def workspace(self) -> tuple[str, list[Diagnostic]]:
        """The name of the selected workspace, and warnings."""
        with self._session():
            return usable(workspaces.workspace_name(self.options))

    def workspaces(self) -> WorkspaceList:
        """All workspaces."""
        with self._session():
            names, selected, problems = workspaces.workspaces(self.options)
            return WorkspaceList(tuple(require(names, problems)), selected, tuple(problems))

    def new_workspace(self, name: str) -> list[Diagnostic]:
        """Create a workspace and select it, and return warnings. It begins with a copy of the state file of the option
        `state_path`, if that is set."""
        expect("name", name, str, "a string")
        with self._session():
            return warnings(workspaces.workspace_new(self.options, name))

    def select_workspace(self, name: str, create: bool = False) -> tuple[Selected, list[Diagnostic]]:
        """Select a workspace: whether it was `created`, `switched` to or is selected `as before`; and warnings."""
        expect("name", name, str, "a string")
        switches(create=create)
        with self._session():
            return usable(workspaces.workspace_select(self.options, name, create=create))

    def delete_workspace(self, name: str, force: bool = False) -> list[Diagnostic]:
        """Delete a workspace and its state, and return warnings. One that manages objects is deleted with `force`
        alone; the objects continue to exist."""
        expect("name", name, str, "a string")
        switches(force=force)
        with self._session():
            return warnings(workspaces.workspace_delete(self.options, name, force=force))
