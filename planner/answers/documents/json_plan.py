"""Plan JSON: the output of `show -json PLANFILE`, format 1.2."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from planner.answers.documents.json_config import config_json
from planner.answers.documents.json_state import (
    SchemaOf,
    module_tree,
    object_value,
    resource_head,
    resource_schema,
    state_json,
)
from planner.answers.documents.json_values import plain
from planner.engine.evaluation.schemas import marked_by_schema
from planner.foundation.support.disk import collector_paused
from planner.foundation.values.paths import sensitive_structure, unknown_structure
from planner.foundation.values.types import DYNAMIC, type_to_json
from planner.foundation.values.value import Null, Unknown, Value, is_wholly_known, type_of, unmark, unmark_deep
from planner.foundation.vocabulary.address import (
    ResourceAddress,
    format_key,
    parse_address,
    parse_resource_instance,
    sort_key,
)
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.release import COMPATIBLE_VERSION
from planner.language.config.model import Config
from planner.logic.model.check_results import checks_json, plan_groups
from planner.logic.model.plan import Importing, Invocation, OutputChange, Plan, ResourceChange
from planner.logic.programs.actions import does, words
from planner.logic.programs.rule_programs import product_program
from planner.world.state.model import ResourceState

FORMAT_VERSION = "1.2"


def plan_json(plan: Plan, config: Config, schema_of: SchemaOf) -> dict[str, Any]:
    """The plan as JSON, with its prior state and configuration. The members have the same order as in OpenTofu. Raises
    Failure if a schema is missing, or if an object in the state cannot be read."""
    with collector_paused():
        return _plan_json(plan, config, schema_of)


def _plan_json(plan: Plan, config: Config, schema_of: SchemaOf) -> dict[str, Any]:
    writer = _PlanWriter(schema_of)
    out: dict[str, Any] = {"format_version": FORMAT_VERSION, "terraform_version": COMPATIBLE_VERSION}
    variables = _variables(plan, config)
    if variables:
        out["variables"] = variables
    out["planned_values"] = writer.planned_values(plan)
    drift = writer.changes(shown_drift(plan))
    if drift:
        out["resource_drift"] = drift
    changes = writer.changes(plan.changes)
    if changes:
        out["resource_changes"] = changes
    if plan.invocations:  # as in Terraform 1.14 and later
        out["action_invocations"] = [writer.invocation(one) for one in plan.invocations]
    if plan.deferred:  # OpenTofu does not make a plan in this case
        out["complete"] = False
        out["deferred"] = [{"address": a, "argument": b, "place": c} for a, b, c in plan.deferred]
        out["deferred_changes"] = list(writer.deferred_changes(plan))  # as in experimental builds of Terraform
    if plan.outputs:
        out["output_changes"] = {o.name: _output_change(o) for o in sorted(plan.outputs, key=lambda o: o.name)}
    if not plan.prior_state.is_empty:
        # the checks of an earlier run do not apply to this run
        out["prior_state"] = state_json(evolve(plan.prior_state, check_results=None), schema_of)
    out["configuration"] = config_json(config, schema_of)
    if plan.relevant_attributes:
        out["relevant_attributes"] = [
            {"resource": address, "attribute": path_json(path)}
            for address, path in sorted(plan.relevant_attributes, key=lambda r: (r[0], list(map(str, path_json(r[1])))))
        ]
    checks = plan_groups(plan)
    if checks:
        out["checks"] = checks_json(checks)
    if plan.policy is not None and plan.policy.overrides:  # OpenTofu's plans do not have this member
        out["policy_overrides"] = [{"code": code, "reason": reason} for code, reason in plan.policy.overrides]
    if plan.timestamp:
        out["timestamp"] = plan.timestamp
    out["errored"] = plan.errored
    return out


def shown_drift(plan: Plan) -> tuple[ResourceChange, ...]:
    """The objects that changed outside planner. In a refresh-only plan, objects that moved are included even if they
    did not change."""
    return plan.drift if plan.mode == "refresh-only" else tuple(c for c in plan.drift if c.action != "no-op")


def path_json(path: Iterable[tuple[str, Any]]) -> list[Any]:
    """The keys of a path, such as `["tags", 0, "name"]`."""
    return [plain(key) for _, key in path]


class _PlanWriter:
    def __init__(self, schema_of: SchemaOf) -> None:
        self.schema_of = schema_of
        self._sources: dict[str, str] = {}

    def source(self, provider: str) -> str:
        """The source address of the provider, from the address of a provider configuration."""
        known = self._sources.get(provider)
        if known is None:
            known = self._sources[provider] = parse_provider_configuration(provider).source
        return known

    # ------------------------------------------------------------ changes

    def changes(self, changes: Iterable[ResourceChange]) -> list[dict[str, Any]]:
        """The changes of a plan as JSON. Data sources that are only removed from the state are omitted, because this
        does not change real objects."""
        shown = [c for c in changes if c.mode != "data" or not does(c.action, "ends")]
        shown.sort(key=lambda c: (*parse_resource_instance(c.address).sort_key, c.deposed))
        return [self.change(c) for c in shown]

    def change(self, change: ResourceChange) -> dict[str, Any]:
        out: dict[str, Any] = {"address": change.address}
        if change.previous_address and change.previous_address != change.address:
            out["previous_address"] = change.previous_address
        if change.module:
            out["module_address"] = change.module
        source = self.source(change.provider)
        head = resource_head(change.address, change.mode, change.type, change.name, change.key, source)
        out.update(head)
        if change.deposed:
            out["deposed"] = change.deposed
        out["change"] = self.difference(change)
        if change.reason:
            out["action_reason"] = change.reason
        if change.undecided:
            out["undecided"] = list(change.undecided)
        return out

    def difference(self, change: ResourceChange) -> dict[str, Any]:
        before, after = change.before, change.after
        if change.mode == "ephemeral":
            before, after = Null(), Null()
        else:
            source = self.source(change.provider)
            block = resource_schema(self.schema_of, source, change.mode, change.type, change.address).block
            before, after = marked_by_schema(before, block), marked_by_schema(after, block)
        known = is_wholly_known(after)
        out: dict[str, Any] = {"actions": words(change.action), "before": plain(before)}
        if not _is_unknown(after):
            out["after"] = plain(after)
        out["after_unknown"] = {} if known else unknown_structure(after)
        out["before_sensitive"] = sensitive_structure(before)
        out["after_sensitive"] = sensitive_structure(after)
        if change.replace_paths:
            out["replace_paths"] = sorted((path_json(p) for p in change.replace_paths), key=lambda p: list(map(str, p)))
        if change.importing is not None:
            out["importing"] = importing_json(change.importing)
        if change.generated_config:
            out["generated_config"] = change.generated_config
        for name, identity in (("before_identity", change.before_identity), ("after_identity", change.after_identity)):
            if identity is not None:
                out[name] = plain(identity)
        return out

    def invocation(self, one: Invocation) -> dict[str, Any]:
        source = self.source(one.provider)
        schema = resource_schema(self.schema_of, source, "action", one.type, one.address)
        config = marked_by_schema(one.config, schema.block)
        out: dict[str, Any] = {"address": one.address, "type": one.type, "name": one.name}
        if one.event:
            out["lifecycle_action_trigger"] = {
                "triggering_resource_address": one.caller,
                "action_trigger_event": "".join(map(str.capitalize, one.event.split("_"))),
                "action_trigger_block_index": one.block,
                "actions_list_index": one.index,
            }
        else:
            out["invoke_action_trigger"] = {}
        out["config_values"] = plain(config)
        out["config_sensitive"] = sensitive_structure(config)
        out["config_unknown"] = {} if is_wholly_known(config) else unknown_structure(config)
        out["provider_name"] = source
        return out

    # ------------------------------------------------------------ deferred changes

    def deferred_changes(self, plan: Plan) -> Iterator[dict[str, Any]]:
        """The deferred changes as JSON, each with the reason. For an object that its provider has planned, values are
        included. For a block whose objects were not planned, there is one entry for each instance in the state, or one
        entry for the whole block if the state has no instances of it."""
        for one in plan.deferred_changes:
            yield {"reason": one.reason, "resource_change": self.change(one.change)}
        known = {str(parse_resource_instance(one.change.address).config) for one in plan.deferred_changes}
        recorded: dict[str, list[ResourceState]] = {}
        for resource in plan.prior_state.resources.values():
            recorded.setdefault(str(parse_resource_instance(resource.address).config), []).append(resource)
        left = [
            (block, _ARGUMENTS.get(argument, argument)) for block, argument, _ in plan.deferred if block not in known
        ]
        left += [(block, "deferred_prereq") for block in plan.deferred_dependents]
        imported = {block for block, argument, _ in plan.deferred if argument.startswith("import.")}
        shown = _shown_actions([block for block, _ in left], recorded) if left else {}
        for block, reason in left:
            address = parse_address(block)
            if not isinstance(address, ResourceAddress):
                continue  # the block is a module call, whose resources are listed instead
            objects = [change for resource in recorded.get(block, ()) for change in self._objects(resource, shown)]
            if not objects:
                module = {"module_address": str(address.module)} if address.path else {}
                head = {"address": block, **module, "mode": address.mode, "type": address.type, "name": address.name}
                unplanned: dict[str, Any] = {"actions": [shown[block]], "before": None, "after_unknown": True}
                if block in imported:
                    unplanned["importing"] = {"unknown": True}
                objects = [{**head, "change": unplanned}]
            for change in objects:
                yield {"reason": reason, "resource_change": change}

    def _objects(self, resource: ResourceState, shown: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """The deferred changes of the objects of a resource in the state, as JSON. `shown`: {address: action}."""
        source = self.source(resource.provider)
        parts = resource.mode, resource.type, resource.name
        instances = {resource.address + format_key(key): instance for key, instance in resource.instances.items()}
        for address, instance in sorted(instances.items(), key=lambda item: sort_key(item[0])):
            if instance.current is not None:
                schema = resource_schema(self.schema_of, source, resource.mode, resource.type, address)
                before = object_value(instance.current, schema, address)
                module = {"module_address": resource.module} if resource.module else {}
                change = {
                    "actions": [shown[address]],
                    "before": plain(before),
                    "after_unknown": True,
                    "before_sensitive": sensitive_structure(before),
                }
                head = resource_head(address, *parts, instance.key, source)
                yield {"address": address, **module, **head, "change": change}

    # ------------------------------------------------------------ planned values

    def planned_values(self, plan: Plan) -> dict[str, Any]:
        out: dict[str, Any] = {}
        outputs = {
            o.name: _planned_output(o) for o in sorted(plan.outputs, key=lambda o: o.name) if not does(o.action, "ends")
        }
        if outputs:
            out["outputs"] = outputs
        kept = [c for c in plan.changes if not c.deposed and not does(c.action, "removes") and c.mode != "ephemeral"]
        out["root_module"] = module_tree(
            (c.module, self.planned_resource(c)) for c in sorted(kept, key=lambda c: c.address)
        )
        return out

    def planned_resource(self, change: ResourceChange) -> dict[str, Any]:
        source = self.source(change.provider)
        schema = resource_schema(self.schema_of, source, change.mode, change.type, change.address)
        out = resource_head(change.address, change.mode, change.type, change.name, change.key, source)
        out["schema_version"] = schema.version
        values = plain(change.after)
        if values:
            out["values"] = values
        out["sensitive_values"] = sensitive_structure(change.after)
        if change.after_identity is not None:
            out["identity"] = plain(change.after_identity)
            out["identity_schema_version"] = schema.identity_version
        return out


def importing_json(importing: Importing) -> dict[str, Any]:
    """The imported object as JSON: `{"id": ...}` or, if there is no id, `{"identity": {...}}`. {} if there is
    neither."""
    if importing.id:
        return {"id": importing.id}
    return {} if importing.identity is None else {"identity": plain(importing.identity)}


# ---------------------------------------------------------------- outputs and variables


def _planned_output(output: OutputChange) -> dict[str, Any]:
    out: dict[str, Any] = {"sensitive": output.sensitive}
    if is_wholly_known(output.after):
        value, _ = unmark_deep(output.after)
        # plan files do not store the type of null
        out["type"] = type_to_json(DYNAMIC if value.__class__ is Null else type_of(value))
        out["value"] = plain(value)
    return out


def _output_change(output: OutputChange) -> dict[str, Any]:
    out: dict[str, Any] = {"actions": words(output.action), "before": plain(output.before)}
    if not _is_unknown(output.after):
        out["after"] = plain(output.after)
    known = is_wholly_known(output.after)
    out["after_unknown"] = False if known else unknown_structure(output.after)
    out["before_sensitive"] = output.sensitive
    out["after_sensitive"] = output.sensitive
    return out


def _is_unknown(value: Value) -> bool:
    return unmark(value)[0].__class__ is Unknown


def _variables(plan: Plan, config: Config) -> dict[str, Any]:
    """{name: {"value": value}} of the root variables. If a variable is not set, the value is its default."""
    values = {name: value for name, value in plan.variables.items() if value is not None}
    for name, declared in config.root.variables.items():
        if name not in values and declared.default is not None:
            values[name] = declared.default
    return {name: {"value": plain(values[name])} for name in sorted(values)}


_ARGUMENTS = dict.fromkeys(("count", "for_each"), "instance_count_unknown") | dict.fromkeys(
    ("import.id", "import.identity", "import.for_each"), "resource_config_unknown"
)
"""{argument: the reason in plan JSON for deferring a block because this argument is unknown}"""


def _shown_actions(waiting: Iterable[str], recorded: Mapping[str, list[ResourceState]]) -> dict[str, str]:
    """{deferred object or block: the action that plan JSON shows for it}. `waiting`: the deferred blocks. `recorded`:
    {resource: its entries in the state}."""
    from planner.logic.datalog.engine.evaluate import evaluate
    from planner.logic.datalog.engine.fact_base import FactBuilder

    facts = FactBuilder()
    for block in waiting:
        facts.add("waiting_block", block)
        for resource in recorded.get(block, ()):
            for key, instance in resource.instances.items():
                if instance.current is not None:
                    facts.add("waiting_object", resource.address + format_key(key), block)
    return {
        str(address): str(action)
        for address, action in evaluate(product_program("postponed"), facts.build())["shown_as"]
    }
