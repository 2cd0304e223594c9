"""Reads and edits the state of a configuration, its lock and its journals, and manages workspaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from planner.api.arguments import expect, functions, several, switches, text
from planner.api.arguments import path as path_of
from planner.api.base import Work, require, usable, warnings
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics
from planner.foundation.vocabulary.records import frozen
from planner.operations import show, workspaces
from planner.operations.show import Shown
from planner.operations.show import ShownState as ShownState
from planner.operations.show import shown_json as shown_json
from planner.operations.workspaces import Selected

if TYPE_CHECKING:
    from planner.engine.walk.hooks import Hooks
    from planner.operations.state_journal import Adopted, JournalSummary
    from planner.world.state.lock import LockInfo
    from planner.world.state.model import OutputState
    from planner.world.state.verify import VerifiedFile


class States(Work):
    """Methods for the state of the selected workspace. An edit writes a new version of the state; the former version is
    kept if the backend supports backups. Unless described otherwise, a method raises Failure on errors and returns
    warnings."""

    def stored_state(self) -> tuple[ShownState, list[Diagnostic]]:
        """The stored state, and the schemas of its objects."""
        with self._session():
            return usable(show.stored_state(self.options))

    def state_or_plan(self, path: str | None = None) -> tuple[Shown, list[Diagnostic]]:
        """The plan or the state in the file `path`, or the stored state if `path` is None."""
        file = path_of("path", path) if path is not None else None
        with self._session():
            return usable(show.show(self.options, file))

    def configuration_document(self, module: str = "") -> tuple[dict[str, Any] | None, list[Diagnostic]]:
        """The configuration in the form of plan JSON, or only the module in the directory `module` without the modules
        that it calls; None on errors. Diagnostics are also returned."""
        module = path_of("module", module)
        with self._session():
            return show.module_json(module) if module else show.configuration_json(self.options)

    def outputs(self) -> tuple[dict[str, OutputState], list[Diagnostic]]:
        """The root output values, by name."""
        with self._session():
            return usable(show.outputs(self.options))

    def verify_state(self) -> tuple[list[VerifiedFile], list[Diagnostic]]:
        """The state file, its backup and its journal, each with its problems."""
        with self._session():
            diagnostics = Diagnostics()
            with diagnostics.until_an_error():
                files, problems = show.kept_state(self.options, diagnostics).store.verify()
                return files, [*diagnostics, *problems]
            return require(None, diagnostics)

    def taint(self, address: str, allow_missing: bool = False) -> list[Diagnostic]:
        """Mark a resource instance as tainted, so that the next plan replaces it. With `allow_missing`, a missing
        instance causes only a warning."""
        from planner.operations.state_edit import taint

        switches(allow_missing=allow_missing)
        expect("address", address, str, "a string")
        with self._session():
            return warnings(taint(self.options, address, allow_missing=allow_missing))

    def untaint(self, address: str, allow_missing: bool = False) -> list[Diagnostic]:
        """Remove the mark that `taint` sets. With `allow_missing`, a missing instance causes only a warning."""
        from planner.operations.state_edit import untaint

        switches(allow_missing=allow_missing)
        expect("address", address, str, "a string")
        with self._session():
            return warnings(untaint(self.options, address, allow_missing=allow_missing))

    def move_objects(self, old: str, new: str, dry_run: bool = False) -> tuple[list[tuple[str, str]], list[Diagnostic]]:
        """Change the address of a resource instance, a resource or a module in the state. Returns [(`old`, `new`)], or
        [] if nothing was moved. `dry_run`: whether to write nothing."""
        from planner.operations.state_mv import state_mv

        switches(dry_run=dry_run)
        expect("old", old, str, "a string")
        expect("new", new, str, "a string")
        with self._session():
            return usable(state_mv(self.options, old, new, dry_run=dry_run))

    def forget(self, addresses: Sequence[str], dry_run: bool = False) -> tuple[list[str], list[Diagnostic]]:
        """Forget the instances at or inside the addresses, and return their addresses. The objects continue to exist.
        `dry_run`: whether to write nothing."""
        from planner.operations.state_edit import state_rm

        switches(dry_run=dry_run)
        with self._session():
            return usable(state_rm(self.options, several(addresses, "addresses"), dry_run=dry_run))

    def replace_provider(self, old: str, new: str, dry_run: bool = False) -> tuple[list[str], list[Diagnostic]]:
        """Record the provider `new` for all resources that have the provider `old`, and return the addresses of these
        resources. `dry_run`: whether to write nothing."""
        from planner.operations.state_edit import state_replace_provider

        switches(dry_run=dry_run)
        expect("old", old, str, "a string")
        expect("new", new, str, "a string")
        with self._session():
            return usable(state_replace_provider(self.options, old, new, dry_run=dry_run))

    def pull_state(self) -> tuple[bytes, list[Diagnostic]]:
        """The decrypted content of the state file; empty if there is no state file."""
        from planner.operations.state_edit import state_pull

        with self._session():
            return usable(state_pull(self.options))

    def push_state(self, data: bytes, force: bool = False) -> list[Diagnostic]:
        """Replace the state with `data`, the content of a state file. Unless `force` is set, the new state is rejected
        if it has a different lineage, if it is older than the stored state, or if it has the same serial but different
        content."""
        from planner.operations.state_edit import state_push

        switches(force=force)
        expect("data", data, bytes, "the content of a state file")
        with self._session():
            return warnings(state_push(self.options, data, force=force))

    def journals(self, discard: bool = False) -> tuple[list[JournalSummary], list[Diagnostic]]:
        """The journals of interrupted operations, and diagnostics, including errors. With `discard`, the journals are
        marked, so that later operations ignore them."""
        from planner.operations.state_journal import state_journal

        switches(discard=discard)
        with self._session():
            return state_journal(self.options, discard)

    def adopt_journals(self, on_event: Hooks | None = None) -> tuple[Adopted, list[Diagnostic]]:
        """Add the objects in the journals of interrupted operations to the state. The returned diagnostics include
        errors."""
        from planner.operations.state_journal import adopt_journal

        return self._run(lambda hooks: adopt_journal(self.options, hooks), on_event)

    def unlock(self, lock_id: str, confirm: Callable[[LockInfo], bool] = bool) -> tuple[bool, list[Diagnostic]]:
        """Remove the lock with this ID, for example after a crash of the process that holds it. `confirm` is called
        with the description of the lock and returns whether to remove it. Returns whether the lock was removed, and
        diagnostics, including errors."""
        from planner.operations.state_edit import force_unlock

        functions(confirm=confirm)
        lock_id = text("lock_id", lock_id)
        with self._session():
            return force_unlock(self.options, lock_id, confirm)


@frozen(eq=False)
class WorkspaceList:
    """The names of the workspaces, the name of the selected workspace, and warnings."""

    names: tuple[str, ...]
    selected: str
    diagnostics: tuple[Diagnostic, ...] = ()


class Workspaces(Work):
    """Methods for the workspaces of a configuration. They raise Failure on errors."""

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
        """Create a workspace and select it, and return warnings. If the option `state_path` is set, the workspace
        begins with a copy of that state file."""
        expect("name", name, str, "a string")
        with self._session():
            return warnings(workspaces.workspace_new(self.options, name))

    def select_workspace(self, name: str, create: bool = False) -> tuple[Selected, list[Diagnostic]]:
        """Select a workspace. With `create`, a missing workspace is created. Returns `created`, `switched` or `as
        before` (the workspace was already selected), and warnings."""
        expect("name", name, str, "a string")
        switches(create=create)
        with self._session():
            return usable(workspaces.workspace_select(self.options, name, create=create))

    def delete_workspace(self, name: str, force: bool = False) -> list[Diagnostic]:
        """Delete a workspace and its state, and return warnings. A workspace that manages objects is deleted only with
        `force`; the objects continue to exist."""
        expect("name", name, str, "a string")
        switches(force=force)
        with self._session():
            return warnings(workspaces.workspace_delete(self.options, name, force=force))
