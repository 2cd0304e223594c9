"""The review document of a plan that was made or read, or of a failure to make one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from planner.foundation.vocabulary.address import AddressError, ResourceAddress, parse_address
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config
from planner.operations.explanations import Chains, causes, changed_actions
from planner.operations.moves import moves
from planner.operations.policies import holding_data
from planner.render.cause_summary import Causes
from planner.render.diff_block import SchemaLookup
from planner.render.page.page import hiding
from planner.render.review.document import ReviewSubject, bare_document, review_document

if TYPE_CHECKING:
    from planner.operations.plan import MadePlan


def plan_review(made: MadePlan[Any], subject: ReviewSubject, chains: Chains | None = None) -> dict[str, Any]:
    """The document of a plan. `chains`: its causes, where they are known."""
    plan = made.plan
    if chains is None:
        chains = Chains() if plan.errored else causes(made)
    moved = [move.text for move in moves(made)] if not plan.errored else []
    shown = Causes(chains, changed_actions(made), moves=moved, notes=chains.notes)
    places = _declarations(made.loaded.config)
    about = {
        "workspace": made.loaded.workspace,
        "serial": plan.previous_state.serial,
        "lineage": plan.previous_state.lineage,
    }
    subject = evolve(
        subject,
        about={**about, **subject.about},
        stateful=holding_data(made),
        declared=lambda address: places.get(_block(address)),
        hide=hiding(plan),
    )
    return review_document(plan, SchemaLookup(made.loaded.schemas).resource_schema, shown, subject)


def failed_review(subject: ReviewSubject) -> dict[str, Any]:
    """The document of a plan that could not be made."""
    return bare_document("Planning failed.", subject)


def _declarations(config: Config) -> Mapping[str, Span]:
    """The declaration of each resource, by its address without keys."""
    places = {}
    for module in config.root.walk():
        prefix = "".join(f"module.{name}." for name in module.path)
        for key, resource in module.resources.items():
            places[f"{prefix}{key}"] = resource.span
    return places


def _block(address: str) -> str:
    try:
        parsed = parse_address(address)
    except AddressError:
        return ""
    return str(parsed.config) if isinstance(parsed, ResourceAddress) else ""
