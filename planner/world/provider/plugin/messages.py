"""The messages of plugin protocols 5 and 6 (up to 5.11 and 6.11) that planner uses, in one table that follows the
published definitions. On the wire, the protocols differ only in a few field numbers and names of calls. Both are built
from this table, each in its own descriptor pool, separate from other users of protobuf in the process.

A field is `name=number:type`. Two numbers are for protocols 5 and 6; `-` means that the protocol does not have the
field. Before the type, `*` means repeated, `%` a map from strings, `?` optional, `^` one of several alternatives.
Enumerations are read as numbers."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto

VERSIONS = (5, 6)

_TABLE = """
Empty
DynamicValue msgpack=1:bytes json=2:bytes
Diagnostic severity=1:int32 summary=2:string detail=3:string attribute=4:AttributePath
FunctionError text=1:string function_argument=2:?int64
AttributePath steps=1:*Step
Step attribute_name=1:^string element_key_string=2:^string element_key_int=3:^int64
RawState json=1:bytes flatmap=2:%string
Timestamp seconds=1:int64 nanos=2:int32
Schema version=1:int64 block=2:Block
Block version=1:int64 attributes=2:*Attribute block_types=3:*NestedBlock description=4:string description_kind=5:int32 \
  deprecated=6:bool deprecation_message=7:string
Attribute name=1:string type=2:bytes nested_type=-/10:Object description=3:string required=4:bool optional=5:bool \
  computed=6:bool sensitive=7:bool description_kind=8:int32 deprecated=9:bool write_only=10/11:bool \
  deprecation_message=11/12:string
NestedBlock type_name=1:string block=2:Block nesting=3:int32 min_items=4:int64 max_items=5:int64
Object attributes=1:*Attribute nesting=3:int32
Function parameters=1:*Parameter variadic_parameter=2:Parameter return=3:Return summary=4:string \
  description=5:string description_kind=6:int32 deprecation_message=7:string
ActionSchema schema=1:Schema
IdentitySchema version=1:int64 identity_attributes=2:*IdentityAttribute
IdentityAttribute name=1:string type=2:bytes required_for_import=3:bool optional_for_import=4:bool description=5:string
IdentityData identity_data=1:DynamicValue
Deferred reason=1:int32
Parameter name=1:string type=2:bytes allow_null_value=3:bool allow_unknown_values=4:bool description=5:string \
  description_kind=6:int32
Return type=1:bytes
ServerCapabilities plan_destroy=1:bool get_provider_schema_optional=2:bool move_resource_state=3:bool \
  generate_resource_config=4:bool
ClientCapabilities deferral_allowed=1:bool write_only_attributes_allowed=2:bool

SchemaAnswer provider=1:Schema resource_schemas=2:%Schema data_source_schemas=3:%Schema diagnostics=4:*Diagnostic \
  provider_meta=5:Schema server_capabilities=6:ServerCapabilities functions=7:%Function \
  ephemeral_resource_schemas=8:%Schema list_resource_schemas=9:%Schema action_schemas=11:%ActionSchema
IdentitySchemasAnswer identity_schemas=1:%IdentitySchema diagnostics=2:*Diagnostic
ProviderConfig config=1:DynamicValue
ProviderConfigAnswer prepared_config=1/-:DynamicValue diagnostics=2:*Diagnostic
Configuration terraform_version=1:string config=2:DynamicValue client_capabilities=3:ClientCapabilities
ResourceConfig type_name=1:string config=2:DynamicValue client_capabilities=3:ClientCapabilities
Diagnostics diagnostics=1:*Diagnostic
OldState type_name=1:string version=2:int64 raw_state=3:RawState
UpgradedState upgraded_state=1:DynamicValue diagnostics=2:*Diagnostic
OldIdentity type_name=1:string version=2:int64 raw_identity=3:RawState
UpgradedIdentity upgraded_identity=1:IdentityData diagnostics=2:*Diagnostic
Read type_name=1:string current_state=2:DynamicValue private=3:bytes provider_meta=4:DynamicValue \
  client_capabilities=5:ClientCapabilities current_identity=6:IdentityData
ReadAnswer new_state=1:DynamicValue diagnostics=2:*Diagnostic private=3:bytes deferred=4:Deferred \
  new_identity=5:IdentityData
Plan type_name=1:string prior_state=2:DynamicValue proposed_new_state=3:DynamicValue config=4:DynamicValue \
  prior_private=5:bytes provider_meta=6:DynamicValue client_capabilities=7:ClientCapabilities \
  prior_identity=8:IdentityData
PlanAnswer planned_state=1:DynamicValue requires_replace=2:*AttributePath planned_private=3:bytes \
  diagnostics=4:*Diagnostic legacy_type_system=5:bool deferred=6:Deferred planned_identity=7:IdentityData
Apply type_name=1:string prior_state=2:DynamicValue planned_state=3:DynamicValue config=4:DynamicValue \
  planned_private=5:bytes provider_meta=6:DynamicValue planned_identity=7:IdentityData
ApplyAnswer new_state=1:DynamicValue private=2:bytes diagnostics=3:*Diagnostic legacy_type_system=4:bool \
  new_identity=5:IdentityData
Import type_name=1:string id=2:string client_capabilities=3:ClientCapabilities identity=4:IdentityData
ImportedResource type_name=1:string state=2:DynamicValue private=3:bytes identity=4:IdentityData
ImportAnswer imported_resources=1:*ImportedResource diagnostics=2:*Diagnostic deferred=3:Deferred
Move source_provider_address=1:string source_type_name=2:string source_schema_version=3:int64 \
  source_state=4:RawState target_type_name=5:string source_private=6:bytes source_identity=7:RawState \
  source_identity_schema_version=8:int64
MoveAnswer target_state=1:DynamicValue diagnostics=2:*Diagnostic target_private=3:bytes target_identity=4:IdentityData
DataSource type_name=1:string config=2:DynamicValue provider_meta=3:DynamicValue \
  client_capabilities=4:ClientCapabilities
DataSourceAnswer state=1:DynamicValue diagnostics=2:*Diagnostic deferred=3:Deferred
FunctionsAnswer functions=1:%Function diagnostics=2:*Diagnostic
FunctionCall name=1:string arguments=2:*DynamicValue
FunctionAnswer result=1:DynamicValue error=2:FunctionError
Open type_name=1:string config=2:DynamicValue client_capabilities=3:ClientCapabilities
OpenAnswer diagnostics=1:*Diagnostic renew_at=2:?Timestamp result=3:DynamicValue private=4:?bytes deferred=5:Deferred
Renew type_name=1:string private=2:?bytes
RenewAnswer diagnostics=1:*Diagnostic renew_at=2:?Timestamp private=3:?bytes
Close type_name=1:string private=2:?bytes
ActionConfig action_type=1:string config=2:DynamicValue
ActionPlan action_type=1:string config=2:DynamicValue client_capabilities=3:ClientCapabilities
ActionPlanAnswer diagnostics=1:*Diagnostic deferred=2:Deferred
Invoke action_type=1:string config=2:DynamicValue client_capabilities=3:ClientCapabilities
InvokeEvent progress=1:^Progress completed=2:^Diagnostics
Progress message=1:string
ListConfig type_name=1:string config=2:DynamicValue include_resource_object=3:DynamicValue limit=4:DynamicValue
List type_name=1:string config=2:DynamicValue include_resource_object=3:bool limit=4:int64
ListEvent identity=1:IdentityData display_name=2:string resource_object=3:?DynamicValue diagnostic=4:*Diagnostic
Generate type_name=1:string state=2:DynamicValue
GeneratedConfig config=1:DynamicValue diagnostics=2:*Diagnostic
StopAnswer Error=1:string
"""

CALLS: dict[str, tuple[str, str, str]] = {
    # name in protocol 6: (name in protocol 5, request message, response message)
    "GetProviderSchema": ("GetSchema", "Empty", "SchemaAnswer"),
    "GetResourceIdentitySchemas": ("GetResourceIdentitySchemas", "Empty", "IdentitySchemasAnswer"),
    "ValidateProviderConfig": ("PrepareProviderConfig", "ProviderConfig", "ProviderConfigAnswer"),
    "ConfigureProvider": ("Configure", "Configuration", "Diagnostics"),
    "ValidateResourceConfig": ("ValidateResourceTypeConfig", "ResourceConfig", "Diagnostics"),
    "ValidateDataResourceConfig": ("ValidateDataSourceConfig", "ResourceConfig", "Diagnostics"),
    "ValidateEphemeralResourceConfig": ("ValidateEphemeralResourceConfig", "ResourceConfig", "Diagnostics"),
    "UpgradeResourceState": ("UpgradeResourceState", "OldState", "UpgradedState"),
    "UpgradeResourceIdentity": ("UpgradeResourceIdentity", "OldIdentity", "UpgradedIdentity"),
    "ReadResource": ("ReadResource", "Read", "ReadAnswer"),
    "PlanResourceChange": ("PlanResourceChange", "Plan", "PlanAnswer"),
    "ApplyResourceChange": ("ApplyResourceChange", "Apply", "ApplyAnswer"),
    "ImportResourceState": ("ImportResourceState", "Import", "ImportAnswer"),
    "MoveResourceState": ("MoveResourceState", "Move", "MoveAnswer"),
    "ReadDataSource": ("ReadDataSource", "DataSource", "DataSourceAnswer"),
    "GetFunctions": ("GetFunctions", "Empty", "FunctionsAnswer"),
    "CallFunction": ("CallFunction", "FunctionCall", "FunctionAnswer"),
    "OpenEphemeralResource": ("OpenEphemeralResource", "Open", "OpenAnswer"),
    "RenewEphemeralResource": ("RenewEphemeralResource", "Renew", "RenewAnswer"),
    "CloseEphemeralResource": ("CloseEphemeralResource", "Close", "Diagnostics"),
    "ValidateActionConfig": ("ValidateActionConfig", "ActionConfig", "Diagnostics"),
    "PlanAction": ("PlanAction", "ActionPlan", "ActionPlanAnswer"),
    "InvokeAction": ("InvokeAction", "Invoke", "InvokeEvent"),
    "ValidateListResourceConfig": ("ValidateListResourceConfig", "ListConfig", "Diagnostics"),
    "ListResource": ("ListResource", "List", "ListEvent"),
    "GenerateResourceConfig": ("GenerateResourceConfig", "Generate", "GeneratedConfig"),
    "StopProvider": ("Stop", "Empty", "StopAnswer"),
}
STREAMS = frozenset({"InvokeAction", "ListResource"})  # calls with streamed responses


def method(version: int, call: str) -> str:
    """The gRPC path of a call."""
    return f"/tfplugin{version}.Provider/{CALLS[call][0] if version == 5 else call}"


@cache
def messages(version: int) -> Any:
    """The message classes of a protocol version, as attributes of one object."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass

    package = f"tfplugin{version}"
    file = FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for line in _TABLE.replace("\\\n", " ").splitlines():
        name, *fields = line.split() or [""]
        if name:
            _add_message(file.message_type.add(name=name), fields, version)
    pool = DescriptorPool()
    pool.Add(file)
    names = [message.name for message in file.message_type]
    return SimpleNamespace(**{name: GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in names})


def _add_message(message: DescriptorProto, fields: list[str], version: int) -> None:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto

    for field in fields:
        name, _, rest = field.partition("=")
        numbers, _, kind = rest.partition(":")
        number = numbers.split("/")[VERSIONS.index(version) if "/" in numbers else 0]
        if number == "-":
            continue
        flag, kind = (kind[0], kind[1:]) if kind[0] in "*%?^" else ("", kind)
        label = FieldDescriptorProto.LABEL_REPEATED if flag in ("*", "%") else FieldDescriptorProto.LABEL_OPTIONAL
        added = message.field.add(name=name, number=int(number), label=label)
        if flag == "%":
            entry = message.nested_type.add(name="".join(map(str.capitalize, name.split("_"))) + "Entry")
            entry.options.map_entry = True
            _add_message(entry, ["key=1:string", f"value=2:{kind}"], version)
            kind = f"{message.name}.{entry.name}"
        if kind[0].isupper():
            added.type, added.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".tfplugin{version}.{kind}"
        else:
            added.type = FieldDescriptorProto.Type.Value(f"TYPE_{kind.upper()}")
        if flag == "^":
            if not message.oneof_decl:
                message.oneof_decl.add(name="selector")
            added.oneof_index = 0
    _mark_optional(message, {f.partition("=")[0] for f in fields if ":?" in f})


def _mark_optional(message: DescriptorProto, names: set[str]) -> None:
    """Mark fields as optional: in proto3, an optional field is the only member of a oneof."""
    for field in message.field:
        if field.name in names:
            field.proto3_optional = True
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field.name}")
