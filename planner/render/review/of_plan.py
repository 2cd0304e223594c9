"""The review document of a plan, or of a failed attempt to make or read a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from planner.answers.explain.mention_trace import WrittenValues
from planner.foundation.vocabulary.address import AddressError, ResourceAddress, parse_address
from planner.foundation.vocabulary.records import evolve
from planner.language.config.model import Config, ResourceDecl
from planner.operations.explanations import Chains, causes, changed_actions
from planner.operations.moves import moves
from planner.operations.policies import data_held
from planner.operations.removed_blocks import removed_blocks
from planner.render.cause_summary import OUTPUT, Causes
from planner.render.diff_block import SchemaLookup
from planner.render.page.page import hiding
from planner.render.review.attributes import shortened
from planner.render.review.document import bare_document, review_document
from planner.render.review.shape import RECORDED, require_shape
from planner.render.review.subject import ReviewSubject

if TYPE_CHECKING:
    from planner.operations.plan import MadePlan


def plan_review(made: MadePlan[Any], subject: ReviewSubject, chains: Chains | None = None) -> dict[str, Any]:
    """The review of a plan. `chains`: the causes of the changes; None: they are computed."""
    plan = made.plan
    if chains is None:
        chains = Chains() if plan.errored else causes(made)
    moved = [move.text for move in moves(made)] if not plan.errored else []
    shown = Causes(chains, changed_actions(made), moves=moved, notes=chains.remarks)
    places = _declarations(made.loaded.config)
    about = {
        "workspace": made.loaded.workspace,
        "serial": plan.previous_state.serial,
        "lineage": plan.previous_state.lineage,
    }
    subject = evolve(
        subject,
        about={**about, **subject.about},
        data=data_held(made),
        removed=removed_blocks(made, chains.worlds) if chains.worlds is not None else {},
        declared=lambda address: one.span if (one := places.get(_block(address))) is not None else None,
        written=lambda address, path: _expression(places.get(_block(address)), path),
        hide=hiding(plan),
    )
    return review_document(plan, SchemaLookup(made.loaded.schemas).resource_schema, shown, subject)


_MOST_CHANGES, _MOST_ATTRIBUTES, _LONGEST = 60, 12, 200
"""in the review of a fleet: the maximum numbers of changes of a unit, of attributes of a change, and of characters of a
value"""


def short_review(document: dict[str, Any]) -> dict[str, Any]:
    """The parts of a review document that a report on many plans needs: only the first changes and attributes, with the
    numbers of omitted ones."""
    for change in document["changes"]:
        attributes = change["attributes"]
        change["attributes_left_out"] += len(attributes[_MOST_ATTRIBUTES:])
        change["attributes"] = [_shorten(one) for one in attributes[:_MOST_ATTRIBUTES]]
    for cause in document["causes"]:
        outputs = [one for one in cause["changes"] if one["address"].startswith(OUTPUT)]
        cause["changes"] = list({one["address"]: one for one in (*outputs, *cause["changes"][:_MOST_CHANGES])}.values())
        cause["hops"] = cause["hops"][:_MOST_CHANGES]
    shown = ("decisions", "causes", "uncaused", "changes", "outputs")
    return {
        **{name: document[name][:_MOST_CHANGES] for name in shown},
        "changes_left_out": len(document["changes"][_MOST_CHANGES:]),
    }


def _shorten(one: dict[str, Any]) -> dict[str, Any]:
    before, after = shortened(one["before"], one["after"], _LONGEST)
    return {**one, "before": before, "after": after}


def failed_review(subject: ReviewSubject) -> dict[str, Any]:
    """The document for a failed plan, a saved plan that cannot be applied, or drift that could not be determined."""
    title = "Not applied." if "plan_file" in subject.about else "Planning failed."
    return bare_document("Drift is not known." if subject.kind == "drift" else title, subject)


def _expression(decl: ResourceDecl | None, path: str) -> str:
    """The expression that sets the part of an object at `path`, on one line; "" if no single expression sets it."""
    name, *steps = path.partition("[")[0].split(".")
    given = decl.body.just_attributes()[0].get(name) if decl is not None else None
    if given is None or given.is_json:
        return ""
    span, is_written = WrittenValues().part(given.expr_span, tuple(("attr", step) for step in steps))
    return " ".join(span.source.text[span.start : span.end].split()) if is_written else ""


def _declarations(config: Config) -> Mapping[str, ResourceDecl]:
    """{address without keys: declaration} of all resources."""
    places = {}
    for module in config.root.walk():
        prefix = "".join(f"module.{name}." for name in module.path)
        for key, resource in module.resources.items():
            places[f"{prefix}{key}"] = resource
    return places


def _block(address: str) -> str:
    try:
        parsed = parse_address(address)
    except AddressError:
        return ""
    return str(parsed.config) if isinstance(parsed, ResourceAddress) else ""


# The review in a plan file. Its causes come from the run that made the plan, because that run knew the former values.


def recordable(document: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a review that a plan file stores."""
    return {name: document[name] for name in RECORDED}


def recorded_review(record: Any, subject: ReviewSubject) -> dict[str, Any] | None:
    """The review built from the parts in the plan file and from the subject, which contains the result of an apply,
    problems and links. None if `record` is missing or damaged."""
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
