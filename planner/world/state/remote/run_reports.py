"""Reports of a server about a run, besides its logs: warnings, tasks, estimated costs and policies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from planner.foundation.clients.tfe import path_of
from planner.foundation.vocabulary.records import frozen
from planner.world.state.remote.runs import ServerRun, attributes

_WARNINGS = frozenset(("changed_policy_enforcements", "changed_task_enforcements", "ignored_policy_sets"))
_UNFINISHED = frozenset(("pending", "running", "queued"))
_FAILED = frozenset(("canceled", "errored", "failed"))
_SCOPES = {"organization": "Organization policy check", "workspace": "Workspace policy check"}
Override = Callable[[str], bool]  # asks the user whether to override a failure


@frozen(eq=False)
class Reports:
    """Prints reports of the server about a run. Methods raise ServiceError."""

    run: ServerRun
    line: Callable[[str], None]
    override: Override

    def warnings(self) -> Iterator[str]:
        """Warnings of the server about settings that have changed since the run was configured."""
        answer = self.run.api.ask("GET", path_of("runs", self.run.id, "run-events")) or {}
        for event in map(attributes, answer.get("data") or ()):
            if event.get("action") in _WARNINGS:
                yield str(event.get("description") or event["action"])

    # ------------------------------------------------------------ tasks

    def stage(self, name: str, title: str) -> str:
        """Wait for the tasks of a stage, such as `pre_plan`, and print their results. Returns the reason why the run
        cannot continue ("" if it can)."""
        for id in self.run.related("task-stages"):
            if self.run.part("task-stages", id).get("stage") == name:
                return self._stage(id, title)
        return ""

    def _stage(self, id: str, title: str) -> str:
        tries = 0
        while True:
            answer = (
                self.run.api.ask("GET", path_of("task-stages", id), include="task_results,policy_evaluations") or {}
            )
            status = attributes(answer.get("data") or {}).get("status")
            if status not in _UNFINISHED:
                break
            tries += 1
            self.run.pause(tries)
        if status == "unreachable":
            return ""
        self.line(f"\n{title}:\n")
        results = answer.get("included") or ()
        failed = self._tasks([attributes(one) for one in results if one.get("type") == "task-results"])
        for one in results:
            if one.get("type") == "policy-evaluations":
                self._evaluation(str(one.get("id")), attributes(one))
        if status == "awaiting_override":
            if not self.override("Do you want to override the failed policy check?"):
                return "A policy check failed and was not overridden."
            self.run.override("task-stages", id)
            return ""
        return failed or (f"The stage ended with the status {status}." if status in _FAILED else "")

    def _tasks(self, results: list[dict[str, Any]]) -> str:
        """Print the results of tasks. Returns the reason why the run cannot continue ("" if it can)."""
        mandatory = []
        for task in results:
            status, level = str(task.get("status")), str(task.get("workspace-task-enforcement-level") or "")
            has_passed = status == "passed"
            if not has_passed and level == "mandatory":
                mandatory.append(str(task.get("task-name")))
            self.line(f"  {task.get('task-name')}: {status}{'' if has_passed or not level else f' ({level})'}")
            for text in (task.get("message"), task.get("url") and f"Details: {task['url']}"):
                if text:
                    self.line(f"    {text}")
        return f"These mandatory tasks did not succeed: {', '.join(mandatory)}." if mandatory else ""

    def _evaluation(self, id: str, state: Mapping[str, Any]) -> None:
        counts = state.get("result-count") or {}
        total = sum(int(counts.get(name) or 0) for name in ("advisory-failed", "mandatory-failed", "errored", "passed"))
        self.line(f"  Policies ({state.get('policy-kind') or 'opa'}): {state.get('status')}, {total} evaluated")
        for policies in map(attributes, self.run.api.all(path_of("policy-evaluations", id, "policy-set-outcomes"))):
            self.line(f"    Policy set {policies.get('policy-set-name')}:")
            for outcome in policies.get("outcomes") or ():
                status = str(outcome.get("status"))
                if status == "failed" and outcome.get("enforcement_level") == "advisory":
                    status = "failed (advisory)"
                description = f": {outcome['description']}" if outcome.get("description") else ""
                self.line(f"      {outcome.get('policy_name')} {status}{description}")

    # ------------------------------------------------------------ costs

    def cost(self, has_ended: bool) -> str:
        """Wait for the estimated costs and print them. `has_ended`: whether the run failed or was cancelled; then
        unfinished estimates are skipped. Returns the reason why the run cannot continue ("" if it can)."""
        for id in self.run.related("cost-estimate"):
            tries = 0
            while (state := self.run.part("cost-estimates", id)).get("status") in _UNFINISHED:
                if has_ended:
                    return ""
                tries += 1
                self.run.pause(tries)
            status = state.get("status")
            if status == "finished":
                self._costs(state)
            elif status == "skipped_due_to_targeting":
                self.line("\nCosts are not estimated for plans with -target.")
            elif status == "canceled":
                return "The estimate of costs was cancelled."
            else:
                reason = f": {state['error-message']}" if state.get("error-message") else "."
                self.line(f"\nThe estimate of costs failed{reason}")
        return ""

    def _costs(self, state: Mapping[str, Any]) -> None:
        delta = str(state.get("delta-monthly-cost") or "0")
        sign = "-" if delta.startswith("-") else "+"
        known, total = state.get("matched-resources-count"), state.get("resources-count")
        self.line("\nEstimated costs:")
        self.line(f"  {known} of {total} resources estimated")
        self.line(f"  ${state.get('proposed-monthly-cost')}/mo {sign}${delta.removeprefix('-')}")

    # ------------------------------------------------------------ policies

    def policies(self, has_ended: bool) -> str:
        """Wait for the policy checks (unless `has_ended`: the run failed or was cancelled), and print their logs.
        Returns the reason why the run cannot continue ("" if it can)."""
        for id in self.run.related("policy-checks"):
            tries = 0
            while (state := self.run.part("policy-checks", id)).get("status") in _UNFINISHED:
                if has_ended:
                    return ""
                tries += 1
                self.run.pause(tries)
            status = str(state.get("status"))
            if status == "unreachable":
                continue
            title = _SCOPES.get(str(state.get("scope")), "Policy check")
            log = self.run.api.download(path_of("policy-checks", id, "output"))
            self.line(f"\n{title}:\n")
            self.line(log.decode("utf-8", "replace").strip("\x02\x03\n"))
            if problem := self._outcome(id, state, title):
                return problem
        return ""

    def _outcome(self, id: str, state: Mapping[str, Any], title: str) -> str:
        status = str(state.get("status"))
        if status in ("passed", "overridden"):
            return ""
        may_override = (state.get("actions") or {}).get("is-overridable") and (state.get("permissions") or {}).get(
            "can-override"
        )
        if status == "soft_failed" and may_override:
            if self.override("Do you want to override the soft failed policy check?"):
                self.run.override("policy-checks", id)
                return ""
            return f"{title}: the policy check failed softly and was not overridden."
        return f"{title}: the policy check ended with the status {status.replace('_', ' ')}."


def log_line(text: str) -> Mapping[str, Any] | None:
    """The fields of a line of a structured log; None for plain text."""
    if not text.startswith("{"):
        return None
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) and "@message" in entry else None
