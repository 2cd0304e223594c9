"""Determines the causes of a plan that was made on a server, from the plan JSON (in which the server hides sensitive
values), the uploaded configuration, and the state."""

from __future__ import annotations

import re
from typing import Any

from planner.answers.documents.json_schemas import provider_schema
from planner.answers.documents.plan_from_json import JsonPlan
from planner.engine.evaluation.conditions import path_name
from planner.foundation.values.json_codec import CodecError, implied_value
from planner.foundation.values.value import UNKNOWN, Unknown, is_marked_deep
from planner.foundation.vocabulary.diagnostic import Diagnostics, ServiceError
from planner.foundation.vocabulary.records import evolve
from planner.language.config.model import VariableDecl
from planner.language.config.variables import RawValue, root_variables
from planner.logic.model.plan import ResourceChange
from planner.operations.explanations import Chains, causes
from planner.operations.plan import MadePlan
from planner.operations.state_access import Opened, read_state

_VARIABLE = re.compile(r"\bvar\.([\w-]+)")


def certain_causes(opened: Opened[Any], shown: JsonPlan) -> tuple[MadePlan[Any], Chains] | None:
    """The plan with its inputs, and the causes of its changes that evaluation confirmed and that involve no variable
    with an unknown value. None if there are no such causes, if planning failed, or if the plan JSON or the state cannot
    be read. Also None if objects were changed outside planner, because the local copy of the state does not contain
    these changes."""
    if shown.plan.errored or any(change.action != "no-op" for change in shown.plan.drift):
        return None
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        try:
            start = read_state(opened, diagnostics)
            schemas = {source: provider_schema(raw) for source, raw in shown.provider_schemas.items()}
            start.schemas.preset(schemas)
            declared = start.config.root.variables
            given = {name: _raw_variable(one, shown.variables.get(name)) for name, one in declared.items()}
            given = {name: raw for name, raw in given.items() if raw.given != declared[name].default}
            variables = diagnostics.take(root_variables(declared, given))
            changes = tuple(evolve(one, facts=_facts(one)) for one in shown.plan.changes)
            plan = evolve(shown.plan, changes=changes, prior_state=start.state, previous_state=start.state)
            made = MadePlan(plan, start, variables)
            chains = causes(made)
        except (ServiceError, ValueError, KeyError, TypeError, AttributeError):
            return None  # the document has an unknown format, or the server does not respond
        unknown = {name for name, raw in given.items() if raw.given is UNKNOWN}
        certain = Chains(
            (name, one)
            for name, one in chains.items()
            if one.is_checked
            and not one.is_guess
            and unknown.isdisjoint(_VARIABLE.findall(" ".join(root.what for root in one.roots)))
        )
        return (made, certain) if certain else None
    return None


def _raw_variable(declared: VariableDecl, document: Any) -> RawValue:
    """The value of a root variable in the plan JSON of the server; unknown if the value is sensitive or missing."""
    value = UNKNOWN
    if isinstance(document, dict) and not declared.sensitive:
        try:
            value = implied_value(document.get("value"))
        except (CodecError, TypeError, ValueError):
            value = UNKNOWN
    return RawValue(declared.name, "plan", given=value)


def _facts(change: ResourceChange) -> tuple[tuple[str, ...], ...]:
    """The facts because of which rules derive this update, or this replacement because of arguments that cannot be
    changed in place. () for other actions, and if the object has sensitive values, because the plan JSON does not
    contain them."""
    address, before, after = change.address, change.before, change.after
    reasons = {"update": "", "delete-then-create": _REPLACED, "create-then-delete": _REPLACED}
    if change.deposed or change.mode != "managed" or reasons.get(change.action) != change.reason:
        return ()
    if not isinstance(before, dict) or not isinstance(after, dict) or is_marked_deep(before) or is_marked_deep(after):
        return ()
    differs = sorted(name for name, value in after.items() if value != before.get(name))
    required = sorted({path_name(path) for path in change.replace_paths})
    renewed = [name for name in differs if change.reason and name not in required and after[name].__class__ is Unknown]
    facts = [("desired", address), *(("differs", address, name) for name in differs), ("exists", address)]
    facts += [("renews", address, name) for name in renewed]
    return (*facts, *(("requires_replace", address, path) for path in required))


_REPLACED = "replace_because_cannot_update"
