"""Makes, reads, checks, saves and applies plans. After an error, the result contains the incomplete plan, the
diagnostics and the step that failed.

Plan, Configuration, and the commands that show plans and prompt for approval use these calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from planner.api.base import Work
from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.records import evolve

if TYPE_CHECKING:
    from planner.answers.explain.causes import Because
    from planner.answers.policy.model import Verdict
    from planner.operations.apply import Applied as Applied
    from planner.operations.explanations import Chains as Chains
    from planner.operations.options import Approval
    from planner.operations.plan import L as L
    from planner.operations.plan import MadePlan as MadePlan
    from planner.operations.plan import Planned as Planned
    from planner.operations.plan import Start as Start
    from planner.operations.plan_files import Unstored
    from planner.operations.what_if import PlanComparison as PlanComparison
    from planner.render.cause_summary import Causes
    from planner.render.review.subject import ReviewSubject


class Making(Work):
    """Makes and applies plans. Unless described otherwise, errors are among the returned diagnostics."""

    def attempt(self, hooks: Hooks, to_apply: bool = False) -> Planned[Start]:
        """Make a plan. After an error, the plan is incomplete or missing. With `to_apply`, the state remains locked
        until `release` is called."""
        from planner.operations.plan import plan

        with self._session():
            return plan(self.options, hooks, to_apply)

    def release(self, planned: Planned[Start]) -> list[Diagnostic]:
        from planner.operations.plan import release

        with self._session():
            return release(planned)

    def open_file(self, path: str | os.PathLike[str]) -> Planned[Start]:
        """Read the plan in a file, in order to apply it to the currently stored state."""
        from planner.operations.plan_files import open_saved_plan

        with self._session():
            return open_saved_plan(self.options, os.fspath(path))

    def sign(self, path: str, key: str, expires: float = 0.0) -> tuple[str, str]:
        """Approve a saved plan, or the manifest of a fleet's plans, with the private key in a file. `expires`: the
        number of seconds for which the approval is valid (0: forever). Returns the file with the signatures, and the
        fingerprint of the key. Raises Failure."""
        from planner.operations.approvals import sign

        with self._session():
            return sign(self.options, path, key, expires)

    def check_signatures(self, path: str) -> Approval:
        """The approval of a saved plan by the keys that the options require. Raises Failure if signatures are
        missing."""
        from planner.operations.signature_check import approved_file

        with self._session():
            return approved_file(self.options, self.options.signatures, path)[1]

    def plan_to_explain(self, path: str | None = None, hooks: Hooks | None = None) -> Planned[Unstored]:
        """The plan in the file `path`, or a new plan if `path` is None. The state is not locked while this plan is
        made."""
        from planner.operations.plan_files import open_or_make_plan

        with self._session():
            return open_or_make_plan(self.options, path, hooks)

    def drift(self, subject: ReviewSubject | None = None) -> tuple[dict[str, Any], list[Diagnostic]]:
        """A review of the changes made outside planner since the last apply, and diagnostics. The review states for
        each change what an apply would do with it. If the refresh-only plan fails, the review contains no changes."""
        from planner.operations.plan_files import open_or_make_plan
        from planner.render.review.drift import drift_review
        from planner.render.review.of_plan import failed_review
        from planner.render.review.subject import ReviewSubject

        subject = subject or ReviewSubject("drift")
        with self._session():
            drifted = open_or_make_plan(self.having(mode="refresh-only").options)
            problems = list(drifted.diagnostics)
            if drifted.complete is None:
                return failed_review(evolve(subject, diagnostics=problems)), problems
            planned = None
            if any(change.action != "no-op" for change in drifted.complete.plan.drift):
                answer = open_or_make_plan(self.having(mode="normal").options)
                planned = answer.complete
                problems += [
                    evolve(one, severity="warning") for one in answer.diagnostics if one not in problems
                ]  # report the drift even if the plan fails
            return drift_review(drifted.complete, planned, evolve(subject, diagnostics=problems)), problems

    def carry_out(self, planned: Planned[Start], hooks: Hooks) -> Applied:
        """Apply a plan. If the apply fails, the changes made before the failure are also saved in the state."""
        from planner.operations.apply import apply

        with self._session():
            return apply(self.options, planned, hooks)

    def refresh(self, hooks: Hooks) -> Applied:
        """Record the current values of all managed objects in the state."""
        from planner.operations.apply import refresh

        with self._session():
            return refresh(self.having(refresh=True, minimal_refresh=False).options, hooks)

    def discover(
        self,
        hooks: Hooks,
        is_streamed: bool = False,
        fleet: str = "",
        covers: bool = False,
        policies: tuple[str, ...] = (),
    ) -> list[Diagnostic]:
        """Search for existing objects, as query files describe them; the hooks receive the results. With `is_streamed`,
        they also receive the generated configuration; with `covers`, the numbers of managed and unmanaged objects.
        `fleet` is the directory of a fleet; objects that its units manage are also counted as managed. `policies`:
        files and directories of policies about managed and unmanaged objects."""
        from planner.operations.discover import discover
        from planner.workflows.batch.questions import managed_objects

        with self._session():
            others, problems = managed_objects(fleet, self.options.directory) if fleet else ((), [])
            if has_errors(problems):
                return problems
            return [*problems, *discover(self.options, hooks, is_streamed, others, covers, policies)]

    def import_object(
        self, address: str, id: str, hooks: Hooks, begins: Callable[[], object] = bool
    ) -> list[Diagnostic]:
        """Record an existing object as a resource instance that the configuration declares. `begins` is called
        immediately before the object is read."""
        from planner.operations.import_ import import_object

        with self._session():
            return import_object(self.options, address, id, begins, hooks)


def judgement(made: MadePlan[L]) -> tuple[MadePlan[L], Verdict | None, list[Diagnostic]]:
    """Judge a plan by the policies in its options. Returns the plan with the verdict, the verdict, and diagnostics
    about the policies. The verdict is None if a policy is invalid."""
    from planner.operations.policies import judged

    return judged(made)


def findings_of(verdict: Verdict | None) -> list[Diagnostic]:
    from planner.operations.policies import diagnostics

    return diagnostics(verdict) if verdict is not None else []


def save(made: MadePlan[Any], path: str, review: Mapping[str, Any] | None = None) -> list[Diagnostic]:
    """Write the plan file. `review` is stored in the file, because reports about a later apply use it."""
    from planner.operations.plan_files import save_plan

    return save_plan(made, path, review=review)


def saved_review(made: MadePlan[Any], path: str) -> Any:
    """The review in a plan file, without validation; None if there is none."""
    from planner.answers.documents.plan_file import read_review

    return read_review(path, made.loaded.encryption.plan)


def chains_of(made: MadePlan[Any]) -> Chains:
    """The causes of a plan's changes, by the name of the change. The attribute `notes` contains remarks about missing
    former values."""
    from planner.operations.explanations import causes

    return causes(made)


def cause_lines(
    made: MadePlan[Any],
    how: str = "line",
    width: int = 0,
    chains: Mapping[str, Because] | None = None,
    notes: Sequence[str] = (),
) -> Causes:
    """The causes of a plan's changes, for printing. `how`: "line" or "full". `chains`, with their `notes`: the result
    of `chains_of`, if it is already known."""
    from planner.answers.explain.renames import (
        ProposedMove,
        declared_at,
        rename_remarks,
        rename_text,
        same_objects,
        sure_moves,
    )
    from planner.operations.explanations import causes, changed_actions
    from planner.operations.moves import moves
    from planner.operations.plan import plan_words
    from planner.render.cause_summary import Causes, MoveMeant

    if chains is None:
        chains = all_chains = causes(made)
        notes = all_chains.remarks
    moved = [move.text for move in moves(made)]

    @cache
    def renamed() -> tuple[tuple[str, str], ...]:
        return same_objects(made.plan)

    @cache
    def moves_meant() -> tuple[ProposedMove, ...]:
        return sure_moves(made.plan, made.loaded.config, renamed())

    shown = Causes(
        chains,
        changed_actions(made),
        how,
        width,
        moved,
        notes,
        plan_words(made),
        lambda: [
            MoveMeant(move.from_, move.to, declared_at(move, made.loaded.config), move.carried)
            for move in moves_meant()
        ],
    )

    def renames(is_listed: bool) -> str:
        listed = [group for group in shown.groups if group.root.kind == "renewed"]
        of_causes = {name for group in listed for name, kind in group.parts if is_listed or kind == "no-call"}
        covered = {
            old
            for move in (moves_meant() if of_causes else ())
            if not of_causes.isdisjoint((move.from_, *(old for old, _ in move.carried)))
            for old, _ in move.carried
        }
        return rename_text([pair for pair in renamed() if pair[0] not in covered])

    @cache
    def twins() -> dict[str, str]:
        return rename_remarks(pair for move in moves_meant() for pair in move.carried)

    shown.renames, shown.twins = renames, twins
    return shown


def actions_of(made: MadePlan[Any]) -> dict[str, str]:
    """The actions of a plan's changes, by the name of the change."""
    from planner.operations.explanations import changed_actions

    return changed_actions(made)


def compared(
    without: MadePlan[Any], within: MadePlan[Any], causes_of: Callable[[MadePlan[Any]], Any] = chains_of
) -> PlanComparison:
    """Two plans and their differences. `causes_of`: returns the causes of a plan's changes."""
    from planner.operations.what_if import compared

    return compared(without, within, causes_of)
