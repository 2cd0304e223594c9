"""The review in a plan file: its causes were found by the run that made the plan, where former values were known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.render.review.document import bare_document
from planner.render.review.shape import RECORDED, require_shape
from planner.render.review.subject import ReviewSubject


def recordable(document: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a review that a plan file keeps."""
    return {name: document[name] for name in RECORDED}


def recorded_review(record: Any, subject: ReviewSubject) -> dict[str, Any] | None:
    """The review of a plan from what its file has, with what the subject adds: the result of an apply, problems, links.
    None where that is nothing, or damaged."""
    try:
        parts = require_shape(record, RECORDED, "the review")
    except (ValueError, RecursionError):
        return None
    known = {name: value for name, value in subject.about.items() if value not in ("", None)}
    made = bare_document(parts["title"], subject)
    own = {name: made[name] for name in (("title",) if subject.result is not None else ())}
    own |= {name: made[name] for name in (("policies",) if subject.findings else ())}
    document = {**made, **parts, **own, "about": {**parts["about"], **known}}
    for one in (*document["causes"], *document["changes"], *document["policies"]["findings"]):
        if link := subject.links.of(one):
            one["link"] = link
    for one in document["policies"]["findings"]:
        rule = one.get("rule")
        if rule and (link := subject.links.of(rule)):
            one["rule"] = {**rule, "link": link}
    return document
