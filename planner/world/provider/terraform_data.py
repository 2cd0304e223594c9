"""The resource type `terraform_data`: keeps a value, and is replaced when a second value changes.

`output` becomes what `input` is, whenever the object is created or `input` changes; `id` is random; another
`triggers_replace` means another object.
"""

from __future__ import annotations

from planner.foundation.support.digests import random_uuid
from planner.foundation.values.json_codec import CodecError, from_json
from planner.foundation.values.schema import AttributeSchema, BlockSchema, coerce, implied_type
from planner.foundation.values.types import DYNAMIC, STRING, MapType, ObjectType
from planner.foundation.values.value import NOT_NULL, Null, Unknown, Value, identical, type_of
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
_UNKNOWN_ID = Unknown(STRING, NOT_NULL)


def validate(config: Value) -> list[interface.AttributeDiagnostic]:
    if config.__class__ is not dict:
        return []
    return [
        interface.AttributeDiagnostic(
            "error", "Attribute cannot be set", f'"{name}" is decided when the object is created.', None
        )
        for name in ("id", "output")
        if config[name].__class__ is not Null
    ]


def plan(request: interface.PlanRequest) -> interface.PlanAnswer:
    proposed, prior = request.proposed, request.prior
    if proposed.__class__ is Null:
        return interface.PlanAnswer(proposed)
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


def apply(planned: Value) -> interface.ApplyAnswer:
    if planned.__class__ is Null:
        return interface.ApplyAnswer(planned)
    value = dict(planned)
    if value["output"].__class__ is Unknown:
        value["output"] = value["input"]
    if value["id"].__class__ is Unknown:
        value["id"] = random_uuid()
    return interface.ApplyAnswer(value)


def upgrade(attributes: object) -> tuple[Value, list[interface.AttributeDiagnostic]]:
    wanted = implied_type(SCHEMA.block)
    try:
        return from_json(attributes, wanted), []
    except CodecError as e:
        detail = f"The recorded object cannot be read: {e}."
        return Null(wanted), [interface.AttributeDiagnostic("error", "Invalid object in state", detail)]


def import_object(id: str) -> list[interface.ImportedObject]:
    return [interface.ImportedObject(NAME, coerce({"id": id}, SCHEMA.block))]


def move(request: interface.MoveRequest) -> interface.MoveAnswer:
    """Convert a `null_resource`: its id stays, its triggers are triggers here."""
    if request.source_type != "null_resource":
        detail = f"A {request.source_type} cannot become a {NAME}; only a null_resource can."
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
    return interface.MoveAnswer(coerce(given, SCHEMA.block), request.private)
