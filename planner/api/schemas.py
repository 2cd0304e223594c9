"""JSON Schemas (draft 2020-12) of the documents that planner prints.

Within a major version of a format, members may be added, so the schemas allow unknown members. Required members are
never removed. There are no schemas of documents whose format OpenTofu and Terraform define (plans, states, provider
schemas)."""

from __future__ import annotations

from typing import Any

from planner.workflows.batch.model import OUTCOMES

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
MAYBE_NUMBER: Schema = {"type": ["number", "null"]}
CELL: Schema = {"type": ["string", "number", "boolean", "null"]}


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None, about: str = "") -> Schema:
    note = {"description": about} if about else {}
    return {**note, "type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


def _list(items: Schema, about: str = "") -> Schema:
    return {**({"description": about} if about else {}), "type": "array", "items": items}


def _map(values: Schema, about: str) -> Schema:
    return {"description": about, "type": "object", "additionalProperties": values}


def _document(about: str, required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    version = {
        "description": "The version of the format. A new minor version may add members.",
        "type": "string",
        "pattern": r"^1\.\d+$",
    }
    return _object({"format_version": version, **required}, optional, about)


def _with_text(schema: Schema, about: str) -> Schema:
    return {**schema, "description": about}


PLACE = _object(
    {},
    {"file": TEXT, "line": COUNT, "column": COUNT, "snippet": TEXT, "command_line": TEXT, "state": TEXT}
    | {"provider": TEXT, "native": TEXT},
    "A position: in a file, on the command line, in a state, or another origin.",
)
STEP = _object(
    {"what": _with_text(TEXT, "An input, a value or an object, named as in `planner why`.")},
    {
        "kind": _with_text(TEXT, "For a root cause: its kind, such as variable, text or drift."),
        "before": _with_text(TEXT, "The former value."),
        "value": _with_text(TEXT, "The present value."),
        "origin": _with_text(
            TEXT,
            "For a variable: default, environment, input, plan or a file. For a tainted object: the step that "
            "failed. For an object that no longer exists: its real name. Otherwise: replace_triggered_by.",
        ),
        "former_place": _with_text(
            TEXT, "For a removed entry of a file, or a removed part of a variable: its former line."
        ),
        "elements": _with_text(
            FLAG,
            "Whether the values are elements of a list: `before` has the removed ones, and `value` the added ones.",
        ),
        "shifted": _with_text(FLAG, "Whether the indexes of unchanged elements of the list have changed."),
        "is_unknown": _with_text(FLAG, "Whether the planned value is known only after the apply."),
        "also": _list(TEXT, "The names of the same step in other instances."),
        "source": PLACE,
    },
)
BECAUSE: dict[str, Schema] = {
    "because": _list(STEP, "The steps from the root cause to the change."),
    "root_causes": _list(STEP, "All inputs that caused the change."),
    "because_is_certain": _with_text(FLAG, "Whether these are exactly the causes; otherwise they are candidates."),
    "checked": _with_text(FLAG, "Whether planner confirmed this by evaluating again with each of the causes reverted."),
    "other_causes": _list(_list(STEP), "The steps from each additional root cause, as in `because`."),
}
GOAL = _list(CELL, "The relation and its columns.")
PROOFS = _map(
    _object(
        {"tuple": GOAL},
        {
            "rule": _with_text(TEXT, "The rule that derives the fact."),
            "rule_at": _object(
                {"file": TEXT, "line": COUNT}, about="The location of the rule, if it is a user's rule."
            ),
            "reason": TEXT,
            "body": _list(
                _object({}, {"proof": TEXT, "not": _list(CELL), "test": TEXT, "aggregate": TEXT, "value": CELL}),
                "A condition of the rule: another proof, an absent fact, a test or an aggregate.",
            ),
            "input": _with_text(FLAG, "An input fact, which no rule derives."),
            "source": PLACE,
        },
    ),
    "The steps of the proof by name; a step that is used several times is listed once.",
)
PROOF: dict[str, Schema] = {
    "goal": GOAL,
    "root": _with_text(TEXT, "The name of the first step."),
    "proofs": PROOFS,
}
CHAINS = _list(
    _object({"text": TEXT, "steps": _list(_object({"text": TEXT, "sources": _list(PLACE)}))}),
    "Additional reasons, step by step: more causes, edges of the graph that determine an order, moves.",
)
ACTION: dict[str, Schema] = {
    "actions": _map(TEXT, "The planned actions of the objects in the steps of `other_causes`."),
    "differences": _list(
        _object({"what": TEXT, "before": TEXT, "value": TEXT}, {"source": PLACE}),
        "The attributes of the object that change, if there are several.",
    ),
    "ways": _list(
        _list(STEP),
        "For each changed object that causes this change: the steps from that object to an attribute of this change.",
    ),
    "lines": _list(
        _object({"what": TEXT, "before": TEXT, "value": TEXT}, {"roots": _list(TEXT)}),
        "The lines in which a string differs, each with its root causes if evaluation confirmed them.",
    ),
    "instances": _list(TEXT, "The instances that the document describes, if an address without keys was requested."),
}
"""{name: schema} of the additional members of an action's proof"""
OBSTACLE = _object(
    {"rule": TEXT, "fails": _with_text(TEXT, "The condition that is false."), "bound": _map(CELL, "Variables.")},
    {
        "head_fits": _with_text(FLAG, "Whether the rule can derive facts of this form at all."),
        "literal": _with_text(COUNT, "The position of the condition in the rule, from 0."),
        "tuple": _with_text(GOAL, "The missing fact."),
        "because": _list({"type": "object"}, "Why the fact is missing, as a list of obstacles like this one."),
    },
)
NEAREST = _list(
    _object({"kind": TEXT, "text": TEXT}, {"lines": _list(TEXT), "sources": _list(PLACE)}),
    "The existing facts, edges or paths that come closest to the missing one.",
)
RULE = _object({"name": TEXT}, {"text": TEXT, "reason": TEXT, "source": PLACE})
VERDICT: dict[str, Schema] = {
    "rule": _with_text(RULE, "For a verdict: the rule of the policy."),
    "culprits": _list(
        _object(
            {"what": TEXT},
            {
                "value": CELL,
                "action": TEXT,
                "is_missing": FLAG,
                "is_prior": _with_text(FLAG, "Whether the value is from the state, not from the plan."),
                "source": PLACE,
                "from": _list(
                    _object({}, {"what": TEXT, "source": PLACE, "origin": TEXT}),
                    "The value from which this value is copied.",
                ),
            },
        ),
        "For a verdict: the values and actions that determine it.",
    ),
    "overridden": _with_text(TEXT, "For an overridden or waived verdict: the reason."),
    "would": _with_text({"enum": ["deny", "warn"]}, "For an undecided verdict: the verdict that may result."),
    "waits_for": _list(
        _object({"what": TEXT}, {"source": PLACE, "why": {"type": "object"}}),
        "For an undecided verdict: the unknown values, each with the proof that it is unknown.",
    ),
    "by_cases": _list(RULE, "For a verdict that does not depend on the unknown values: the rules for its code."),
}
"""{name: schema} of the additional members of the explanation of a policy's verdict"""
COUNTS = _object(
    dict.fromkeys(("add", "change", "remove", "import", "forget"), COUNT), dict.fromkeys(("invoke", "failed"), COUNT)
)
DIAGNOSTIC = _object(
    {"severity": {"enum": ["error", "warning"]}, "summary": TEXT},
    {
        "detail": TEXT,
        "address": TEXT,
        "code": TEXT,
        "range": _object({"filename": TEXT}),
        "snippet": {"type": "object"},
    },
)
CHANGES = _list(_object({"address": TEXT, "action": TEXT}, {"reason": TEXT}))
PAIRS = _list({"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2}, "Pairs (dependent, dependency), sorted.")
FINDING = _object(
    {
        "verdict": {"enum": ["deny", "broken", "undecided", "warn", "overridden", "waived", "info"]},
        "code": TEXT,
        "address": TEXT,
        "message": TEXT,
        "rule": TEXT,
        "proof": {"type": "object"},
    },
    {
        "policy": _object({"file": TEXT, "line": COUNT}),
        "subject": _object({"file": TEXT, "line": COUNT}),
        "would": {"enum": ["deny", "warn"]},
        "by_cases": FLAG,
        "waits_for": _list(_object({"address": TEXT, "path": TEXT})),
        "reason": TEXT,
        "metadata": {"type": "object"},
    },
)
LINE: dict[str, Schema] = {"file": TEXT, "line": COUNT, "link": _with_text(TEXT, "The address of the line.")}
SIDES: dict[str, Schema] = {"before": TEXT, "after": TEXT}
REVIEW_CAUSE = _object(
    {
        "number": COUNT,
        "what": TEXT,
        "kind": TEXT,
        "note": TEXT,
        **SIDES,
        "certain": _with_text(
            FLAG, "Whether this is certainly the cause of its changes; otherwise it is a possible cause."
        ),
        "sets_off": _map(COUNT, "The number of changes by action; `output` counts changes of outputs."),
        "stateful": _map(COUNT, "The number of objects with data that are destroyed or replaced, by action."),
        "changes": CHANGES,
        "hops": _list(TEXT, "The values between the cause and its changes."),
    },
    {
        **LINE,
        "place": TEXT,
        "unit": _with_text(TEXT, "Of a fleet."),
        "commit": _with_text(TEXT, "For a removed block: the commit that contains the block at this line."),
        "unsettles": _list(COUNT, "The numbers of the causes whose new values are unknown because of this cause."),
        "label": _with_text(TEXT, "A readable name, if it differs from `what`."),
        "elements": _with_text(FLAG, "Whether `before` and `after` are the removed and the added elements of a list."),
        "units": _list(TEXT, "Of a fleet: the units with this cause."),
    },
)
OUTCOME: Schema = {
    "description": "The value that something changed outside planner has after an apply: the value of the last apply, "
    "the value from outside, a different value (for an object, this may differ by attribute), or an unknown value.",
    "enum": ["restored", "kept", "changed", "unknown"],
}
DRIFT = _object(
    {
        "planned": _with_text(TEXT, "The action that the configuration requires for the object."),
        "outcome": OUTCOME,
        "modified_at": _with_text(TEXT, "The time of the object's last modification, if the provider reports it."),
        "modified_by": TEXT,
    }
)
WAIT = _object(
    {
        "address": TEXT,
        "path": TEXT,
        "expression": TEXT,
        "known": _with_text(
            {"enum": ["before", "after", ""]},
            "When the value becomes known: before or after the object with the undecided verdict is changed.",
        ),
    },
    {"settled_by": _with_text(CHANGES, "The changed objects to which the value's expression refers.")},
)
RESULT = _object(
    {
        "outcome": _with_text(
            {"enum": ["done", "unmet", "tainted", "lost", "left", "failed", "not_reached"]},
            "Done; done, but a condition failed; created, but tainted; destroyed, but not created again; created, "
            "but the former object still exists; failed; not begun.",
        ),
        "error": _with_text(TEXT, "The first error."),
    }
)
REVIEW_CHANGE = _object(
    {
        "address": TEXT,
        "action": TEXT,
        "verb": _with_text(TEXT, "The action; `replace` means any action that replaces an object."),
        "stateful": _with_text(
            FLAG,
            "Whether the object is destroyed or replaced and, according to the policy protect_stateful, contains data.",
        ),
        "previous_address": TEXT,
        "causes": _list(COUNT, "Numbers of causes."),
        "attributes": _list(
            _object(
                {"path": TEXT, "action": TEXT, **SIDES, "forces_replacement": FLAG},
                {"outcome": OUTCOME, "expected": _with_text(TEXT, "For drift: the value after an apply.")},
            ),
            "Values in the syntax of the configuration language. Long values are shortened to the part that differs.",
        ),
        "attributes_left_out": COUNT,
    },
    {
        **LINE,
        "drift": DRIFT,
        "import_id": _with_text(TEXT, "The id of an imported object."),
        "data": _with_text(
            {"enum": ["holds", "none", "unknown", ""]},
            "For an object that is destroyed or replaced: whether it has data; unknown if no rule covers its type.",
        ),
        "data_by": _with_text(TEXT, "The list or parameter of protect_stateful that contains the object's type."),
        "result": _with_text(RESULT, "Of an apply."),
    },
)
UNIT = _object(
    {
        "unit": TEXT,
        "folder": _with_text(TEXT, "A path relative to the fleet's directory."),
        "tags": _list(TEXT),
        "groups": _list(TEXT),
        "wave": COUNT,
        "outcome": {"enum": list(OUTCOMES)},
        "because": _with_text(TEXT, "The unit that determined the outcome."),
        "because_all": _list(TEXT),
        "reused": FLAG,
        "age": _with_text(
            MAYBE_NUMBER, "The number of seconds since the real objects were read, if an earlier run read them."
        ),
        "state_age": _with_text(
            MAYBE_NUMBER, "The number of seconds since the state was written, if the objects were not read."
        ),
        "attempts": COUNT,
        "selected_by": _list(
            _object({"selector": TEXT, "way": {"enum": ["all", "named", "dependency", "dependent"]}}),
        ),
        "waits_for": _list(TEXT),
        "counts": COUNTS,
        "changes": CHANGES,
        "outputs": _list(_object({"name": TEXT, "action": TEXT})),
        "changed_outputs": _list(TEXT, "The outputs that other units read and that will change."),
        "unknown_outputs": _list(
            _object({"name": TEXT, "path": TEXT}), "The unknown parts of outputs that other units read."
        ),
        "awaits": _list(
            _object({"used_by": TEXT, "unit": TEXT, "output": TEXT, "path": TEXT}),
            "The parts of the plan that depend on unknown outputs of other units.",
        ),
        "diagnostics": _list(DIAGNOSTIC),
        "seconds": NUMBER,
        "plan_file": {"type": ["string", "null"]},
    }
)

SCHEMAS: dict[str, Schema] = {
    "advice": _document("planner suggest -json", {"advice": _list({"type": "object"})}),
    "batch": _document(
        "planner batch plan -json, batch apply -json",
        {
            "command": TEXT,
            "mode": {"enum": ["normal", "destroy", "refresh-only"]},
            "seconds": NUMBER,
            "succeeded": FLAG,
            "outcomes": _map(COUNT, "The number of units with each outcome."),
            "units": _list(UNIT, "The units, sorted by wave and name."),
            "edges": PAIRS,
            "diagnostics": _list(DIAGNOSTIC),
        },
    ),
    "batch-graph": _document(
        "planner batch graph -json",
        {
            "nodes": _list(_object({"unit": TEXT, "folder": TEXT, "wave": COUNT, "tags": _list(TEXT)})),
            "edges": PAIRS,
            "reduced_edges": PAIRS,
        },
    ),
    "causes": _document(
        "planner why -json",
        {
            "changes": COUNT,
            "objects": COUNT,
            "outputs": COUNT,
            "causes": _list(_object({"root": STEP, "certain": FLAG, "changes": CHANGES})),
        },
    ),
    "event": _object(
        {"@level": TEXT, "@message": TEXT, "@module": TEXT, "@timestamp": TEXT, "type": TEXT},
        {"change": {"type": "object"}, "changes": {"type": "object"}, "hook": {"type": "object"}}
        | {"outputs": {"type": "object"}, "diagnostic": DIAGNOSTIC},
        "A line of planner plan -json, apply -json and other commands with JSON lines",
    ),
    "fixes": _document(
        "planner why -fix -json",
        {
            "goal": GOAL,
            "fixes": _list(
                _object(
                    {"places": _list(_object({"text": TEXT}, {"kind": TEXT, "source": PLACE})), "checked": FLAG},
                    {"note": TEXT},
                ),
                "Sets of edits, the smallest first.",
            ),
        },
        {"limit": TEXT, "stuck": TEXT, "notes": _list(TEXT), "also": _list({"type": "object"}, "Further goals.")},
    ),
    "graph": _document(
        "planner graph -json",
        {
            "nodes": _list(TEXT),
            "edges": PAIRS,
            "reduced_edges": PAIRS,
            "details": _map(
                _object({"kind": TEXT, "module": TEXT, "object": TEXT, "deposed": TEXT}), "The vertices by name."
            ),
        },
    ),
    "list": _document("planner why moved|drift|unknown|... -json", {"goal": _list(TEXT), "entries": _list(TEXT)}),
    "proof": {
        **_document(
            "planner why -json",
            {"goal": GOAL},
            {
                **PROOF,
                **BECAUSE,
                **ACTION,
                **VERDICT,
                "chains": CHAINS,
                "options": _with_text(TEXT, "The options of the plan, as command-line words."),
                "also": _list(
                    {"type": "object"},
                    "Documents like this one about further instances, addresses or verdicts; beyond a limit, "
                    "groups of instances have only `instances`.",
                ),
                "holds": _with_text(
                    {"const": False}, "With -not: the document explains why something is not the case."
                ),
                "nearest": NEAREST,
                "rules": _list(OBSTACLE, "With -not: for each rule, why it does not derive the fact."),
            },
        ),
        "anyOf": [
            {"required": ["root", "proofs"]},
            {"description": "Why something is not the case.", "required": ["holds", "nearest", "rules"]},
            {"description": "A verdict of a policy.", "required": ["rule"]},
        ],
    },
    "query": _document("planner query -json", {"columns": _list(TEXT), "rows": _list(_list(CELL))}),
    "review": _document(
        "planner plan -review=FILE, apply, show, policy check and batch plan -review=FILE, drift -json",
        {
            "kind": {"enum": ["plan", "apply", "drift", "policy", "batch", "stacks"]},
            "mode": {"enum": ["normal", "destroy", "refresh-only"]},
            "title": TEXT,
            "about": _with_text(
                {"type": "object"}, "The directory, workspace, state, revision and plan file of the review."
            ),
            "page": TEXT,
            "counts": _map(COUNT, "The number of objects of each kind of change."),
            "result": _with_text(
                {"type": ["object", "null"]},
                "For an apply: whether it succeeded, and the numbers of objects added, changed and destroyed.",
            ),
            "decisions": _list(
                _object({"kind": TEXT, "text": TEXT, "objects": _list(TEXT)}), "The most serious first."
            ),
            "causes": _list(REVIEW_CAUSE, "Root causes, the riskiest first."),
            "uncaused": _list(_object({"text": TEXT, "changes": CHANGES}), "Changes without any other cause."),
            "changes": _list(REVIEW_CHANGE),
            "outputs": _list(_object({"name": TEXT, "action": TEXT, **SIDES, "read_by": _list(TEXT)})),
            "policies": _object(
                {
                    "findings": _list(
                        _object(
                            {"kind": TEXT, "code": TEXT, "address": TEXT, "message": TEXT, "reason": TEXT},
                            {
                                **LINE,
                                "would": {"enum": ["deny", "warn"]},
                                "waits_for": _list(WAIT, "The unknown values on which an undecided verdict depends."),
                                "rule": _object(LINE, LINE),
                            },
                        )
                    ),
                    "judged": _list(TEXT),
                }
            ),
            "notes": _list(TEXT),
            "deferred": _list(_object({"address": TEXT, "argument": TEXT, "place": TEXT})),
            "diagnostics": _list(
                _object({"severity": {"enum": ["error", "warning"]}, "summary": TEXT, "detail": TEXT}, LINE)
            ),
            "units": _list({"type": "object"}, "For a fleet: all units that change."),
        },
    ),
    "rules": _document(
        "planner rules list -json",
        {
            "rules": _list(
                _object({"name": TEXT, "text": TEXT, "reason": TEXT, "predicate": TEXT, "file": TEXT, "line": COUNT})
            )
        },
    ),
    "stacks": _document(
        "planner stacks plan -report=FILE",
        {
            "deployments": _list(
                _object(
                    {"deployment": TEXT, "mode": TEXT, "applyable": FLAG, "complete": FLAG},
                    {"components": _list(_object({"address": TEXT, "action": TEXT}))},
                )
            ),
            "errored": FLAG,
            "diagnostics": _list(DIAGNOSTIC),
        },
    ),
    "validate": _document(
        "planner validate -json",
        {"valid": FLAG, "error_count": COUNT, "warning_count": COUNT, "diagnostics": _list(DIAGNOSTIC)},
    ),
    "vars": _document(
        "planner vars -json",
        {
            "variables": _list(
                _object(
                    {
                        "name": TEXT,
                        "type": TEXT,
                        "sensitive": FLAG,
                        "overrides": _list(
                            _object({"source": TEXT}),
                            "The values that this value overrides, the one with the highest precedence first.",
                        ),
                        "read_by": _list(_object({"address": TEXT, "place": TEXT})),
                    },
                    {
                        "description": TEXT,
                        "value": _with_text({}, "Absent if the value is not set, sensitive or ephemeral."),
                    }
                    | {"source": TEXT},
                )
            )
        },
    ),
    "verdict": _document(
        "planner policy check -format=json",
        {
            "verdict": TEXT,
            "counts": _map(COUNT, "The number of findings of each kind."),
            "findings": _list(FINDING),
        },
    ),
    "what-if": _document(
        "planner what-if -json",
        {
            "differences": _list(
                _object(
                    {"address": TEXT, "without": TEXT, "with": TEXT},
                    {
                        "values": _list(
                            _object({"what": TEXT}, {"without": TEXT, "with": TEXT}),
                            "The values that differ although the action is the same. An unknown value is omitted.",
                        ),
                        **BECAUSE,
                    },
                )
            ),
            "without": COUNTS,
            "with": COUNTS,
        },
    ),
}


def schema(name: str) -> Schema:
    """The JSON Schema of a kind of document, such as "review". Raises KeyError for an unknown kind."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"planner {name}",
        **SCHEMAS[name],
    }
