"""Runs list blocks, which search for objects, and generates configuration for the results."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from planner.engine.evaluation.data import data_configuration
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.provider_diagnostics import in_body
from planner.engine.evaluation.schemas import marked_by_schema, schema_marks
from planner.engine.evaluation.searches import MAX_RESULTS, in_config, list_configuration, search_problems
from planner.engine.walk.hooks import FoundResource
from planner.foundation.values.expression_text import expression_text
from planner.foundation.values.json_codec import to_json
from planner.foundation.values.paths import Path, changed_at, marked_paths
from planner.foundation.values.schema import BlockSchema, implied_type
from planner.foundation.values.value import Null, Value, is_wholly_known, type_of, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, has_errors
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.records import evolve
from planner.language.syntax.format import format_text
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.facts.managed import add_found, add_known
from planner.logic.programs.rule_programs import product_program
from planner.world.provider.interface import FoundObject, ListRequest

if TYPE_CHECKING:
    from planner.engine.plan.shared_work import PlanWork


def run_search(walk: PlanWork, it: Instance) -> list[Diagnostic]:
    """Run the search of a list block instance, report the results to the hooks, and set them as the value of the
    instance. Returns problems. Raises Failure."""
    assert it.objects is not None and it.decl is not None
    problems = walk.self_references(it)
    if has_errors(problems):
        return problems
    marked = data_configuration(it, problems)
    search = unmark_deep(marked)[0]
    if not is_wholly_known(search):
        detail = f"{it.address} uses values that are known only after an apply, so it cannot run."
        return [*problems, error("plan.list_unknown", "Unknown value in a list block", detail, it.decl.span)]
    config = list_configuration(search, it.schema)
    problems += search_problems(it.provider, it.decl, config, search, it.address)
    if has_errors(problems):
        return problems
    with_values = search["include_resource"] is True
    limit = MAX_RESULTS if search["limit"].__class__ is Null else int(search["limit"])
    request = ListRequest(it.type, config, with_values or walk.options.describes_found, limit)
    shown = _null_at(config, (path[1:] for path, _ in marked_paths(marked) if path[0] == ("attr", "config")))
    walk.hooks.list_start(it.address, it.type, to_json(shown, implied_type(it.schema.block.blocks["config"].block)))
    results: list[FoundObject] = []
    with closing(it.provider.list_objects(request)) as findings:
        for finding in findings:
            if isinstance(finding, FoundObject):
                results.append(finding)
            else:
                problems += in_body([evolve(finding, path=in_config(finding.path))], it.body, it.address)
    report = _SearchReport(walk, it, with_values)
    problems += report.report(results)
    it.objects.set(it.key, {"data": tuple(map(report.element, results))})
    return problems


class _SearchReport:
    """Reports the results of a search to the hooks. If the plan options request it, each report contains generated
    configuration."""

    def __init__(self, walk: PlanWork, it: Instance, with_values: bool) -> None:
        self.walk, self.it, self.with_values = walk, it, with_values
        self._number = 0
        self.source = parse_provider_configuration(it.configuration).source
        schema = walk.schemas.resource(self.source, "managed", it.type)
        assert schema is not None and schema.identity is not None
        self.schema, self._identity_type = schema, implied_type(schema.identity)
        self._generates = walk.schemas.schema(self.source).generates_config

    def report(self, results: list[FoundObject]) -> list[Diagnostic]:
        """Report the found objects to the hooks. Returns problems of the generated configuration."""
        identities = [to_json(result.identity, self._identity_type) for result in results]
        state = self._compared_with_state(results, identities)
        managed = {number: instance for _, number, instance in sorted(state["managed_as"], reverse=True)}
        pending = {number: instance for _, number, instance in sorted(state["imported_as"], reverse=True)}
        perhaps = {number: instance for _, number, instance in sorted(state["perhaps_managed"], reverse=True)}
        problems: list[Diagnostic] = []
        for number, (result, identity) in enumerate(zip(results, identities, strict=True)):
            config = import_config = ""
            is_wanted = self.walk.options.describes_found and result.value.__class__ is not Null
            if is_wanted and number not in managed and number not in pending:
                name = self._name()
                import_config = _import_text(self.it.type, name, result.identity)
                config, more = self._config(name, result.value)
                problems += more
            shown = None
            if self.with_values and result.value.__class__ is not Null:
                secrets = [path for path, _ in schema_marks(self.schema.block, result.value)]
                shown = to_json(_null_at(result.value, secrets), implied_type(self.schema.block))
            event = FoundResource(
                self.it.type,
                result.display_name,
                identity,
                self.schema.identity_version,
                shown,
                config,
                import_config,
                managed.get(number, ""),
                perhaps.get(number, ""),
                pending.get(number, "") if number not in managed else "",
                _id_of(result.value),
                self.source,
            )
            self.walk.hooks.list_found(self.it.address, event)
        self.walk.hooks.list_complete(self.it.address, self.it.type, len(results), len(managed))
        return problems

    def element(self, result: FoundObject) -> Value:
        value = {"display_name": result.display_name, "identity": result.identity}
        if self.with_values:
            is_known = result.value.__class__ is not Null
            value["state"] = marked_by_schema(result.value, self.schema.block) if is_known else result.value
        return value

    def _compared_with_state(self, results: list[FoundObject], identities: list[dict[str, Any]]) -> Database:
        """The relations that rules/discover/managed.dl derives about the results: `managed_as`, `imported_as` and
        `perhaps_managed`."""
        facts = FactBuilder()
        for number, (result, identity) in enumerate(zip(results, identities, strict=True)):
            add_found(facts, self.it.address, number, self.it.type, identity, _id_of(result.value))
        add_known(facts, self.walk.options.known_objects, self.it.type, self.source, self.schema.identity_version)
        return evaluate(product_program("discover"), facts.build(), ("managed_as", "imported_as", "perhaps_managed"))

    def _name(self) -> str:
        """The next resource name that is not yet declared in the configuration, formed from the name of the list block
        and a number."""
        key = "" if self.it.key is None else re.sub(r"\W", "_", f"_{self.it.key}")
        declared = self.walk.config.root.resources
        while True:
            name = f"{self.it.name}{key}_{self._number}"
            self._number += 1
            if f"{self.it.type}.{name}" not in declared:
                return name

    def _config(self, name: str, value: Value) -> tuple[str, list[Diagnostic]]:
        """A generated resource block for an object, and problems; "" after an error."""
        from planner.engine.plan.generated_config import attributes_text, resource_text

        problems: list[Diagnostic] = []
        if self._generates:
            value, generated = self.it.provider.generate_config(self.it.type, value)
            problems = in_body(generated, None, self.it.address)
        if has_errors(problems):
            return "", problems
        value = marked_by_schema(configurable(self.schema.block, value), self.schema.block)
        provider = parse_provider_configuration(self.it.configuration)
        return resource_text(
            self.it.type, name, attributes_text(self.it.type, provider, self.schema.block, value)
        ), problems


def _id_of(value: Value) -> str:
    """The id of an object; "" if it has none."""
    id = value.get("id") if value.__class__ is dict else None
    return id if isinstance(id, str) else ""


def configurable(block: BlockSchema, value: Value) -> Value:
    """The value of a resource body, with null in place of empty strings in optional attributes, and in place of single
    blocks in which nothing is set. Configurations usually omit these. (Attributes that only a provider sets are omitted
    later, when the block is written.)"""
    if value.__class__ is not dict:
        return value
    made = dict(value)
    for name, attribute in block.attributes.items():
        if attribute.optional and made[name] == "":
            made[name] = Null(attribute.type)
    for name, nested in block.blocks.items():
        inner = made[name]
        if nested.nesting in ("single", "group"):
            inner = configurable(nested.block, inner)
            if inner.__class__ is dict and all(part.__class__ is Null for part in inner.values()):
                inner = Null(implied_type(nested.block))
            made[name] = inner
    return made


def _import_text(type: str, name: str, identity: Value) -> str:
    """An import block for an object, without a line break at the end."""
    parts = [f"    {key} = {expression_text(part)}\n" for key, part in identity.items() if part.__class__ is not Null]
    return format_text(f"import {{\n  to = {type}.{name}\n  identity = {{\n{''.join(parts)}  }}\n}}")


def _null_at(value: Value, paths: Iterable[Path]) -> Value:
    for path in paths:
        value = changed_at(value, path, lambda part: Null(type_of(part)))
    return value
