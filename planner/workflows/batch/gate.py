"""The check between planning and applying a fleet: plans that the fleet's policies deny are neither saved nor
applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import evolve
from planner.workflows.batch.analyse import Analysis
from planner.workflows.batch.model import BAD, FinishedUnit, UnitResult, diagnostics_json
from planner.workflows.batch.unit_decisions import decide
from planner.workflows.batch.unit_options import UnitArguments

if TYPE_CHECKING:
    from planner.answers.policy.model import Finding
    from planner.workflows.batch.fleet_policies import FleetPolicies

_DONE = frozenset(("applied", "unchanged"))


class Gate:
    """Checks the plans of a run. `done`: the run's finished units. `order`: the units that the run may mark as denied.
    `end`: records the outcome of a unit. `arguments`: the command line, which may accept denials. `diagnostics`:
    findings about units that are not in `order`, and problems of the policies. `is_closed`: whether a plan was
    denied."""

    def __init__(
        self,
        policies: FleetPolicies | None,
        analysis: Analysis,
        done: dict[str, FinishedUnit],
        order: Sequence[str],
        end: Callable[[FinishedUnit], None],
        arguments: UnitArguments,
    ) -> None:
        self.policies, self.analysis, self.done = policies, analysis, done
        self.order, self.end, self.arguments = order, end, arguments
        self.diagnostics: list[Diagnostic] = list(policies.problems) if policies is not None else []
        self.is_closed = False
        self.contents: dict[str, UnitResult] = {}
        """{unit: result of its last plan}, stored because the result of an apply has no facts about the plan"""
        self.reported: set[tuple[str, str, str, str]] = set()

    def judge(self, command: str) -> bool:
        """Check all plans together, and mark the denied units. Returns whether no plan is denied; True if there are no
        policies."""
        if self.policies is None:
            return True
        for unit, done in self.done.items():
            if done.result is not None and done.result.facts:
                self.contents[unit] = done.result
        known = {unit: self._with_contents(done) for unit, done in self.done.items()}
        verdict = self.policies.verdict(self.analysis, known, self.arguments)
        self.is_closed = verdict.is_denied
        findings: dict[str, list[Finding]] = {}
        for finding in verdict.findings:
            key = (finding.kind, finding.code, finding.address, finding.message)
            if key not in self.reported:
                self.reported.add(key)
                findings.setdefault(finding.address, []).append(finding)
        for unit, ours in findings.items():
            self._report(command, unit, ours)
        return not self.is_closed

    def _with_contents(self, done: FinishedUnit) -> FinishedUnit:
        kept = self.contents.get(done.unit)
        if done.result is None or done.result.facts or kept is None:
            return done
        return evolve(done, result=evolve(done.result, facts=kept.facts))

    def _report(self, command: str, unit: str, findings: list[Finding]) -> None:
        from planner.workflows.batch.fleet_policies import diagnostics

        problems = diagnostics(findings)
        done = self.done.get(unit)
        if done is None or done.result is None or unit not in self.order:
            self.diagnostics += problems
            return
        done = evolve(
            done, result=evolve(done.result, diagnostics=(*done.result.diagnostics, *diagnostics_json(problems)))
        )
        is_denied = any(problem.is_error for problem in problems) and done.outcome not in (*BAD, "applied")
        if is_denied:
            self.end(evolve(done, outcome=decide(command, {}, result="denied").outcome, because=""))
        else:
            self.done[unit] = done

    def hold(self) -> None:
        """Skip all units that are not done, because a plan was denied."""
        denied = next((unit for unit in self.order if self._outcome(unit) == "denied"), "")
        for unit in self.order:
            if self._outcome(unit) not in (*BAD, *_DONE):
                self.end(FinishedUnit(unit, "skipped", denied))

    def _outcome(self, unit: str) -> str:
        return self.done[unit].outcome if unit in self.done else ""
