"""The parts of a review that do not come from the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Span
from planner.operations.removed_blocks import RemovedBlock
from planner.render.review.links import Links

if TYPE_CHECKING:
    from planner.answers.policy.model import Finding


@frozen(eq=False)
class ReviewSubject:
    """The subject of a review. `kind`: plan, apply, drift or policy. `about`: workspace, state, revision and plan file,
    as far as they are known."""

    kind: str = "plan"
    about: Mapping[str, Any] = field(factory=dict)
    links: Links = field(factory=Links)
    findings: Sequence[Finding] = ()
    judged: Sequence[str] = ()
    """lines about the objects that policies checked"""
    checked: Sequence[str] | None = None
    """codes of the checked policies; None if unknown"""
    data: Mapping[str, tuple[str, str]] = field(factory=dict)
    """{object: (holds or none, list with its type)}: whether the object holds data; this is unknown for an object
    without an entry"""
    removed: Mapping[str, RemovedBlock] = field(factory=dict)
    """{object: former place} of blocks that are no longer declared"""
    diagnostics: Sequence[Diagnostic] = ()
    declared: Callable[[str], Span | None] = field(default=lambda address: None)
    """returns the declaration of an object, by its address"""
    written: Callable[[str, str], str] = field(default=lambda address, path: "")
    """returns the expression of an attribute, by object and path; "" if the attribute is not set"""
    hide: Callable[[str], str] = field(default=lambda text: text)
    """replaces sensitive strings"""
    result: Mapping[str, Any] | None = None
    """the result of an apply: `succeeded`, the numbers `added`, `changed` and `destroyed`, and `invoked` if actions
    were invoked"""
