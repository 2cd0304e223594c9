"""The resource type `terraform_data`: it stores a value, and is replaced when another value changes. `input` is copied
to `output` when the object is created and when `input` changes. `id` is random. A change of `triggers_replace` replaces
the object.

The block `store`, as in Terraform 1.16, stores a value that may be computed from ephemeral values. Its `input` is
write-only; the apply copies it to `output` (with `sensitive = true`, to `sensitive_output`). With a `version`, a
changed input is stored only if the version changes, too; with `replace = true`, it replaces the object. OpenTofu has no
such block, so schemas contain it only if a configuration or a state uses it."""

from __future__ import annotations

from typing import Any

from planner.foundation.support.digests import random_uuid
from planner.foundation.values.json_codec import CodecError, from_json
from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedBlock, coerce, implied_type
from planner.foundation.values.types import BOOL, DYNAMIC, STRING, MapType, ObjectType
from planner.foundation.values.value import NOT_NULL, UNKNOWN, Null, Unknown, Value, identical, type_of
from planner.world.provider import interface

NAME = "terraform_data"
SCHEMA = interface.ResourceSchema(
    BlockSchema(
        {
            "id": AttributeSchema(STRING, computed=True),
            "input": AttributeSchema(DYNAMIC, optional=True),
            "output": AttributeSchema(DYNAMIC, computed=True),
            "triggers_replace": AttributeSchema(DYNAMIC, optional=True),
        }
    )
)
_STORE = BlockSchema(
    {
        "input": AttributeSchema(DYNAMIC, optional=True, write_only=True),
        "replace": AttributeSchema(BOOL, optional=True),
        "sensitive": AttributeSchema(BOOL, optional=True),
        "version": AttributeSchema(DYNAMIC, optional=True),
        "output": AttributeSchema(DYNAMIC, computed=True),
        "sensitive_output": AttributeSchema(DYNAMIC, computed=True, sensitive=True),
    }
)
STORING = interface.ResourceSchema(
    BlockSchema(SCHEMA.block.attributes, {"store": NestedBlock(_STORE, "single", max_items=1)})
)
"""the schema with the block `store`"""
_KEPT = {False: "output", True: "sensitive_output"}
"""{argument `sensitive` of a block `store`: attribute to which the input is copied}"""
_UNKNOWN_ID = Unknown(STRING, NOT_NULL)


def validate(config: Value) -> list[interface.AttributeDiagnostic]:
    if config.__class__ is not dict:
        return []
    return [
        interface.AttributeDiagnostic(
            "error", "Attribute cannot be set", f'"{name}" is computed when the object is created.', None
        )
        for place, names in ((config, ("id", "output")), (config.get("store"), tuple(_KEPT.values())))
        for name in names
        if place.__class__ is dict and place[name].__class__ is not Null
    ]


def plan(request: interface.PlanRequest) -> interface.PlanAnswer:
    proposed, prior = request.proposed, request.prior
    if proposed.__class__ is Null:
        return interface.PlanAnswer(proposed)
    if "store" not in proposed or proposed["store"].__class__ is not dict:
        return _plan(prior, proposed)
    written = request.config["store"]["input"] if request.config["store"].__class__ is dict else Null(DYNAMIC)
    before = prior["store"] if prior.__class__ is dict else Null(DYNAMIC)
    store, path = _planned_store(before, proposed["store"], written)
    answer = _plan(prior, {**proposed, "store": store})
    if not path or prior.__class__ is Null:
        return answer
    given = proposed["input"]
    renewed = {"id": _UNKNOWN_ID, "output": given if given.__class__ is Null else Unknown(type_of(given))}
    renews = answer.renews or (("id", "output") if answer.planned["output"].__class__ is not Unknown else ("id",))
    requires = (*answer.requires_replace, (("attr", "store"), ("attr", path)))
    return interface.PlanAnswer({**answer.planned, **renewed}, requires_replace=requires, renews=renews)


def _planned_store(before: Value, proposed: dict[str, Value], written: Value) -> tuple[Value, str]:
    """The planned store, and its attribute that requires replacement ("" if none does). A newly stored value is
    unknown, because an ephemeral value may be different when it is applied."""
    kept = _KEPT[proposed["sensitive"] is True]
    result = {**proposed, **{name: Null(DYNAMIC) for name in ("input", *_KEPT.values())}}
    if before.__class__ is not dict:
        return {**result, kept: UNKNOWN}, ""
    old = before[_KEPT[before["sensitive"] is True]]
    version, known = proposed["version"], before["version"]
    is_new = not identical(known, version) if version.__class__ is not Null else not identical(old, written)
    result[kept] = UNKNOWN if is_new else old
    return result, kept if is_new and proposed["replace"] is True else ""


def _plan(prior: Value, proposed: Value) -> interface.PlanAnswer:
    given = proposed["input"]
    fresh = given if given.__class__ is Null else Unknown(type_of(given))
    if prior.__class__ is Null:
        return interface.PlanAnswer({**proposed, "id": _UNKNOWN_ID, "output": fresh})
    is_updated = not identical(prior["input"], given)
    if not identical(prior["triggers_replace"], proposed["triggers_replace"]):
        planned = {**proposed, "id": _UNKNOWN_ID, "output": fresh}
        renews = ("id",) if is_updated else ("id", "output")
        return interface.PlanAnswer(planned, requires_replace=((("attr", "triggers_replace"),),), renews=renews)
    if is_updated:
        return interface.PlanAnswer({**proposed, "output": Unknown(type_of(given))})
    return interface.PlanAnswer(proposed)


def apply(planned: Value, config: Value) -> interface.ApplyAnswer:
    if planned.__class__ is Null:
        return interface.ApplyAnswer(planned)
    value = dict(planned)
    if value["output"].__class__ is Unknown:
        value["output"] = value["input"]
    if value["id"].__class__ is Unknown:
        value["id"] = random_uuid()
    store = value.get("store")
    if store.__class__ is dict:
        value["store"] = {k: config["store"]["input"] if v.__class__ is Unknown else v for k, v in store.items()}
    return interface.ApplyAnswer(value)


def upgrade(attributes: dict[str, Any], block: BlockSchema) -> tuple[Value, list[interface.AttributeDiagnostic]]:
    wanted = implied_type(block)
    if "store" not in block.blocks:
        attributes = {name: value for name, value in attributes.items() if name != "store"}
    try:
        return from_json(attributes, wanted), []
    except CodecError as e:
        detail = f"The recorded object cannot be read: {e}."
        return Null(wanted), [interface.AttributeDiagnostic("error", "Invalid object in state", detail)]


def import_object(id: str, block: BlockSchema) -> list[interface.ImportedObject]:
    return [interface.ImportedObject(NAME, coerce({"id": id}, block))]


def move(request: interface.MoveRequest, block: BlockSchema) -> interface.MoveAnswer:
    """Convert a `null_resource`: its id is kept, and its triggers become triggers_replace. For any other type, an error
    is returned."""
    if request.source_type != "null_resource":
        detail = f"A {request.source_type} cannot be converted to a {NAME}; only a null_resource can."
        return interface.MoveAnswer(
            Null(DYNAMIC), diagnostics=(interface.AttributeDiagnostic("error", "Unsupported move", detail, None),)
        )
    source = ObjectType({"id": STRING, "triggers": MapType(STRING)})
    try:
        old = from_json({name: request.attributes.get(name) for name in source.attributes}, source)
    except CodecError as e:
        detail = f"The recorded object cannot be read: {e}."
        problem = interface.AttributeDiagnostic("error", "Invalid object in state", detail, None)
        return interface.MoveAnswer(Null(DYNAMIC), diagnostics=(problem,))
    given: dict[str, Value] = {"id": old["id"]}
    if old["triggers"].__class__ is not Null:
        given["triggers_replace"] = dict(old["triggers"].items)
    return interface.MoveAnswer(coerce(given, block), request.private)
