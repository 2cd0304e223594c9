"""Starts plans and applies on the server that stores the workspace (such as HCP Terraform), and follows them from this
process."""

from __future__ import annotations

from planner.api.base import Work
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.operations import remote_run
from planner.operations.remote_run import Explain as Explain
from planner.operations.remote_run import RemoteResult, SavedRunShown
from planner.operations.remote_run import RemoteView as RemoteView
from planner.world.state.remote.runs import SavedRun


class ServerRuns(Work):
    """Starts and follows runs on the server. Errors are among the returned diagnostics."""

    def run(self, to_apply: bool, view: RemoteView, save_to: str = "") -> RemoteResult:
        """Plan, or plan and apply, on the server. `view`: shows the progress of the run. `save_to`: the file in which
        to record the run, so that it can be applied later."""
        with self._session():
            return remote_run.remote_run(self.options, to_apply, view, save_to)

    def apply_saved(self, saved: SavedRun, view: RemoteView) -> RemoteResult:
        with self._session():
            return remote_run.apply_saved_run(self.options, saved, view)

    def saved_plan(self, saved: SavedRun, as_json: bool) -> tuple[SavedRunShown | None, list[Diagnostic]]:
        with self._session():
            return remote_run.show_saved_run(self.options, saved, as_json)
