"""The result of applying a unit, with the changes of its plan."""

from __future__ import annotations

from planner.foundation.vocabulary.records import evolve
from planner.workflows.batch.model import UnitResult


def applied_as(result: UnitResult, planned: UnitResult) -> UnitResult:
    """The result of an apply with the changes of its plan, each in the review with its outcome."""
    review = planned.review
    if review:
        from planner.engine.apply.outcomes import Outcome
        from planner.render.review.results import with_results

        outcomes = {name: Outcome(kind, error) for name, kind, error in result.outcomes}
        review = with_results(review, result.result == "applied", outcomes)
    return evolve(result, changes=planned.changes, outputs=planned.outputs, review=review)
