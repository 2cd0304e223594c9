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
    """The parts of a report that do not come from the plan: `kind` is plan, apply or policy; `about` names the
    workspace, the state, the revision and the plan file, as far as they are known."""

    kind: str = "plan"
    about: Mapping[str, Any] = field(factory=dict)
    links: Links = field(factory=Links)
    findings: Sequence[Finding] = ()
    judged: Sequence[str] = ()
    """lines about the objects that policies checked"""
    checked: Sequence[str] | None = None
    """the codes of the policies that were checked; None if that is not known"""
    data: Mapping[str, tuple[str, str]] = field(factory=dict)
    """whether each object holds data (holds, none) and the list that contains its type, by address; for objects that
    are missing here it is unknown"""
    removed: Mapping[str, RemovedBlock] = field(factory=dict)
    """the former places of blocks that are no longer declared, by the addresses of their objects"""
    diagnostics: Sequence[Diagnostic] = ()
    declared: Callable[[str], Span | None] = field(default=lambda address: None)
    """the declaration of an object, by its address"""
    written: Callable[[str, str], str] = field(default=lambda address, path: "")
    """the expression of an attribute, by the address of the object and its path; "" if it is not set"""
    hide: Callable[[str], str] = field(default=lambda text: text)
    """replaces sensitive strings"""
    result: Mapping[str, Any] | None = None
    """the result of an apply: `succeeded`, the numbers `added`, `changed` and `destroyed`, and `invoked` if actions
    were invoked"""
