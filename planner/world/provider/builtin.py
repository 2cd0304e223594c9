"""The built-in provider `terraform.io/builtin/terraform`: `terraform_data`, `terraform_remote_state`, and functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from typing import Any

from planner.foundation.values.expression_text import attributes_text, expression_text
from planner.foundation.values.json_codec import CodecError, from_json
from planner.foundation.values.schema import BlockSchema, implied_type
from planner.foundation.values.types import DYNAMIC, STRING
from planner.foundation.values.value import Null, Value
from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Source
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import ConstantScope
from planner.language.functions.protocol import Function, FunctionError, Param, function
from planner.world.provider import interface, remote_state, terraform_data
from planner.world.state.encryption_seal import PLAIN, Seal

# Functions that convert values to and from source text (`provider::terraform::...`).


FUNCTIONS: list[Function] = []


@function(Param("content", STRING, "The text of a tfvars file"), result=DYNAMIC, into=FUNCTIONS)
def decode_tfvars(content: str) -> Value:
    """Parses the text of a tfvars file and returns an object."""
    from planner.language.syntax.parse import parse_config

    file, item = parse_config(Source("", content))
    _refuse(item)
    attributes, item = file.just_attributes()
    _refuse(item)
    values = {}
    for name, attribute in attributes.items():
        values[name], item = try_evaluate(attribute.expr, ConstantScope(), attribute.source)
        _refuse(item)
    return values


def _refuse(found: list[Diagnostic]) -> None:
    if has_errors(found):
        first = next(d for d in found if d.is_error)
        raise FunctionError(f"The text is not a tfvars file: {first.summary}. {first.detail}", 0)


@function(Param("input", DYNAMIC, "An object whose keys are valid names"), result=STRING, into=FUNCTIONS)
def encode_tfvars(input: Value) -> str:
    """Writes an object as the text of a tfvars file."""
    if input.__class__ is not dict:
        raise FunctionError("Expected an object.", 0)
    for name in sorted(input):
        if not valid_identifier(name):
            raise FunctionError(f'The key "{name}" cannot be the name of a variable.', 0)
    try:
        return attributes_text(input)
    except ValueError as problem:
        raise FunctionError(f"The object cannot be written: {problem}.", 0) from None


@function(Param("expr", DYNAMIC, "The value to write"), result=STRING, into=FUNCTIONS)
def encode_expr(expr: Value) -> str:
    """Writes a value as an expression of the language."""
    try:
        return expression_text(expr)
    except ValueError as problem:
        raise FunctionError(f"The value cannot be written: {problem}.", 0) from None


SCHEMA = interface.ProviderSchema(
    provider=BlockSchema(),
    resources={terraform_data.NAME: terraform_data.SCHEMA},
    data_sources={remote_state.NAME: remote_state.SCHEMA},
    functions={f.name: f for f in FUNCTIONS},
    functions_are_all=True,
    is_configurable=False,
)
STORING = evolve(SCHEMA, resources={terraform_data.NAME: terraform_data.STORING})
"""the provider's schemas if a configuration or a state uses the block `store` of terraform_data"""


class BuiltinProvider(interface.InlineProvider):
    """The built-in provider. Its calls return immediately and it has no state, so one instance serves all
    configurations and threads."""

    def __init__(self, seal_of: Callable[[str], Seal] | None = None, extensions: Collection[str] = ()) -> None:
        """`seal_of`: returns the encryption of the state that the data source with this address reads (default:
        unencrypted). `extensions` contains "store" if the block `store` of terraform_data is used; it may be added
        later."""
        self._seal_of, self._extensions = seal_of, extensions

    def schema(self) -> interface.ProviderSchema:
        return STORING if "store" in self._extensions else SCHEMA

    @property
    def _data(self) -> BlockSchema:
        return self.schema().resources[terraform_data.NAME].block

    def validate_resource(self, mode: str, type: str, config: Value) -> list[interface.AttributeDiagnostic]:
        if mode == "managed" and type == terraform_data.NAME:
            return terraform_data.validate(config)
        if mode == "data" and type == remote_state.NAME:
            return remote_state.validate(config)
        return [_unknown(type)]

    def upgrade(
        self, type: str, version: int, attributes: dict[str, Any], flat: bool = False
    ) -> tuple[Value, list[interface.AttributeDiagnostic]]:
        if type == terraform_data.NAME:
            return terraform_data.upgrade(attributes, self._data)
        if type != remote_state.NAME:
            return Null(DYNAMIC), [_unknown(type)]
        wanted = implied_type(remote_state.SCHEMA.block)
        try:
            return from_json(attributes, wanted), []
        except CodecError as e:
            detail = f"The recorded object cannot be read: {e}."
            return Null(wanted), [interface.AttributeDiagnostic("error", "Invalid object in state", detail)]

    def upgrade_identity(
        self, type: str, version: int, identity: dict[str, Any]
    ) -> tuple[Value, list[interface.AttributeDiagnostic]]:
        return Null(DYNAMIC), [_unknown(type)]

    def move(self, request: interface.MoveRequest) -> interface.MoveAnswer:
        if request.target == terraform_data.NAME:
            return terraform_data.move(request, self._data)
        return interface.MoveAnswer(Null(DYNAMIC), diagnostics=(_unknown(request.target),))

    def plan(self, request: interface.PlanRequest) -> interface.PlanAnswer:
        return terraform_data.plan(request)

    def apply(self, request: interface.ApplyRequest) -> interface.ApplyAnswer:
        return terraform_data.apply(request.planned, request.config)

    def import_object(
        self, type: str, id: str, identity: Value = None
    ) -> tuple[list[interface.ImportedObject], list[interface.AttributeDiagnostic]]:
        if type == terraform_data.NAME:
            return terraform_data.import_object(id, self._data), []
        return [], [_unknown(type)]

    def read_data(self, type: str, config: Value, meta: Value = None, address: str = "") -> interface.ReadAnswer:
        if type == remote_state.NAME:
            return remote_state.read(config, PLAIN if self._seal_of is None else self._seal_of(address))
        return interface.ReadAnswer(Null(DYNAMIC), diagnostics=(_unknown(type),))

    def open(self, type: str, config: Value) -> interface.OpenedEphemeral:
        return interface.OpenedEphemeral(Null(DYNAMIC), diagnostics=(_unknown(type),))

    def renew(self, type: str, private: bytes | None) -> interface.OpenedEphemeral:
        return interface.OpenedEphemeral(Null(DYNAMIC), diagnostics=(_unknown(type),))

    def close_ephemeral(self, type: str, private: bytes | None) -> list[interface.AttributeDiagnostic]:
        return [_unknown(type)]

    def validate_action(self, type: str, config: Value) -> list[interface.AttributeDiagnostic]:
        return [_unknown(type)]

    def plan_action(self, type: str, config: Value) -> interface.ActionPlan:
        return interface.ActionPlan(diagnostics=(_unknown(type),))

    def invoke_action(
        self, type: str, config: Value, progress: Callable[[str], None]
    ) -> list[interface.AttributeDiagnostic]:
        return [_unknown(type)]

    def list_objects(self, request: interface.ListRequest) -> Generator[interface.Finding, None, None]:
        yield _unknown(request.type)

    def function(self, name: str) -> Any:
        return SCHEMA.functions.get(name)


def _unknown(type: str) -> interface.AttributeDiagnostic:
    return interface.AttributeDiagnostic("error", "Unknown type", f'The builtin provider has no type "{type}".')
