"""Saves a plan with its configuration in a plan file, and opens plan files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from planner.foundation.support.disk import read_whole
from planner.foundation.values.json_codec import CodecError
from planner.foundation.values.value import Value, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, error
from planner.foundation.vocabulary.provider_address import is_builtin, parse_provider_configuration
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Source
from planner.language.config.directory import manifest_path
from planner.language.config.load import load_config
from planner.language.config.model import Config
from planner.language.config.reading import ExpressionPiece
from planner.language.config.variables import (
    Origin,
    RawValue,
    RawVariables,
    RootVariable,
    check_plan_variables,
    undeclared_values,
)
from planner.logic.model.plan import Plan, ResourceChange, change_name
from planner.operations.load import Loaded, begin, encryption_of_directory, grown, new_schemas
from planner.operations.options import OperationOptions, requirements
from planner.operations.plan import MadePlan, Planned, Start, plan
from planner.operations.providers_needed import override_warnings
from planner.operations.state_access import read_state, with_backend
from planner.world.provider.conformity import value_problems
from planner.world.state.backend import open_backend
from planner.world.state.workspace import data_directory

if TYPE_CHECKING:
    from planner.engine.walk.hooks import Hooks
    from planner.world.provider.interface import ProviderSchema, ResourceSchema

Unstored = Loaded[OperationOptions]
"""the inputs of a plan that was read from a file, without the backend of the state"""


def save_plan(
    made: MadePlan[Unstored],
    path: str,
    mode: int = 0o666,
    review: Mapping[str, Any] | None = None,
    durable: bool = True,
) -> list[Diagnostic]:
    """Write the plan file, which also contains the configuration files. `mode`: the permissions of the file, before the
    umask is applied. `review`: the parts of a review that reports about the apply need. `durable`: as for
    `replace_file`. Returns problems."""
    from planner.answers.documents.plan_file import ABSOLUTE, write_plan

    directory = made.loaded.options.directory
    names = {name: os.path.join(directory, name) for name in made.loaded.config.files}
    manifest = manifest_path(directory, data_directory(os.environ))
    if os.path.exists(manifest):
        names[".terraform/modules/modules.json"] = manifest
    sources = {}
    for name, file_path in names.items():
        sources[f"{ABSOLUTE}{name}" if name.startswith("/") else name] = read_whole(file_path)
    try:
        return write_plan(
            path, made.plan, sources, made.loaded.encryption.plan, mode, _schemas_to_show(made), review, durable
        )
    except CodecError as bad:
        detail = f"The plan cannot be saved in {path}: {bad}."
        return [error("plan.unwritable", "Failed to write plan file", detail)]


def _schemas_to_show(made: MadePlan[Unstored]) -> dict[str, ProviderSchema]:
    """The schemas of the resource types in the plan, its state and its configuration, by provider, without built-in
    providers."""
    types: dict[str, set[tuple[str, str]]] = {}

    def count(source: str, mode: str, type: str) -> None:
        if not is_builtin(source):
            types.setdefault(source, set()).add((mode, type))

    plan, schemas = made.plan, made.loaded.schemas
    for change in (*plan.changes, *plan.drift):
        count(parse_provider_configuration(change.provider).source, change.mode, change.type)
    for resource in plan.prior_state.resources.values():
        count(parse_provider_configuration(resource.provider).source, resource.mode, resource.type)
    for module in made.loaded.config.root.walk():
        for decl in module.resources.values():
            count(module.provider_source(decl.provider_name), decl.mode, decl.type)
    return {source: _restricted(schemas.schema(source), types[source]) for source in sorted(types)}


def _restricted(schema: ProviderSchema, types: set[tuple[str, str]]) -> ProviderSchema:
    def select(mode: str, table: Mapping[str, ResourceSchema]) -> dict[str, ResourceSchema]:
        return {type: table[type] for of, type in types if of == mode and type in table}

    return evolve(
        schema,
        resources=select("managed", schema.resources),
        data_sources=select("data", schema.data_sources),
        ephemeral=select("ephemeral", schema.ephemeral),
        functions={},
        actions=select("action", schema.actions),
        list_resources={},
    )


def open_or_make_plan(
    options: OperationOptions, plan_file: str | None = None, hooks: Hooks | None = None
) -> Planned[Unstored]:
    """The plan in the options (`made`), or the plan in the file `plan_file`. If there is neither, a new plan is made
    without locking the state."""
    from planner.engine.walk.hooks import Hooks

    if options.made is not None:
        return Planned(options.made)
    if plan_file is None:
        return plan(evolve(options, lock=False, keeps_values=True), hooks or Hooks())
    diagnostics = Diagnostics()
    made = None
    with diagnostics.until_an_error():
        made = open_plan(options, plan_file, diagnostics)
    return Planned(made, tuple(diagnostics))


def open_saved_plan(options: OperationOptions, path: str) -> Planned[Start]:
    """The plan in a file, with everything that an apply needs: the variable values of the plan, the backend that the
    plan contains, and the currently stored state."""
    diagnostics = Diagnostics()
    made, approval = None, options.approval
    with diagnostics.until_an_error():
        data = None
        if not approval and (required := requirements(options.signatures, os.environ)):
            from planner.operations.signature_check import approved_file

            data, approval = approved_file(options, required, path)
        opened = open_plan(options, path, diagnostics, data=data)
        plan, loaded = opened.plan, opened.loaded
        _, wrong = recorded_variables(loaded.config, loaded.given, plan)
        undeclared = undeclared_values(loaded.config.root.variables, loaded.given)
        diagnostics[:] = [*override_warnings(loaded.config), *diagnostics, *undeclared, *wrong]
        # open the backend that the plan names, even if a different backend is set up now
        settings = {name: value for name, value in plan.backend.items() if name != "type"}
        backend, problems = open_backend(str(plan.backend.get("type", "local")), settings, loaded.encryption.state)
        diagnostics += problems
        if backend is not None:
            stored = read_state(with_backend(loaded, backend), diagnostics)
            made = MadePlan(plan, stored, opened.variables)
    return Planned(made, tuple(diagnostics), approval)


def open_plan(
    options: OperationOptions,
    path: str,
    diagnostics: Diagnostics,
    only_shown: bool = False,
    data: bytes | None = None,
) -> MadePlan[Unstored]:
    """The plan in a file, with its configuration, variable values, limits and user's rules, which all come from the
    file. `only_shown`: whether to use the schemas in the file, so that no providers are started. `data`: the content of
    the file, if it was already read. Raises Failure."""
    import tempfile

    from planner.answers.documents.plan_file import ABSOLUTE, read_plan, unpack_sources

    begun, more = begin(evolve(options, inputs={}))
    encryption = encryption_of_directory(options.directory, begun.given, begun.workspace)
    diagnostics.check(encryption.check())
    kept: dict[str, ProviderSchema] | None = {} if only_shown else None
    plan, sources, problems = read_plan(path, encryption.plan, data, kept)
    plan = diagnostics.take((plan, problems))
    begun = evolve(begun, options=evolve(begun.options, limits=plan.limits))
    diagnostics += more
    with tempfile.TemporaryDirectory(prefix="planner-") as folder:
        root, more = unpack_sources(sources, folder)
        diagnostics.check(more)
        # static expressions use the values that they had when the plan was made
        variables, absolute = planned_variables(plan, begun.given), os.path.join(root, ABSOLUTE)
        config, more = load_config(root, variables=variables, workspace=begun.workspace, absolute=absolute)
    config = diagnostics.take((config, more))
    schemas = new_schemas(options.directory, config, encryption=encryption)
    schemas.serve(plan.prior_state)
    schemas.preset(kept or {})
    known = {"config": config, "encryption": encryption, "schemas": schemas, "rules": plan.rules}
    loaded = grown(Loaded[OperationOptions], begun, **known)
    return MadePlan(plan, loaded, recorded_variables(config, begun.given, plan)[0])


def recorded_variables(
    config: Config, given: RawVariables, plan: Plan
) -> tuple[dict[str, RootVariable], list[Diagnostic]]:
    """The values of the root variables in a plan, and errors. There is an error for each current value that differs
    from the value in the plan, and for each missing value of an ephemeral variable."""
    recorded = {name: value for name, value in plan.variables.items() if value is not None}
    values, problems = check_plan_variables(recorded, config.root.variables, given)
    for name, origin in plan.origins:
        if name in values and values[name].origin == "plan" and values[name].span is None:
            values[name] = evolve(values[name], origin=cast("Origin", origin))
    return values, problems


def planned_variables(plan: Plan, given: RawVariables) -> RawVariables:
    """The values of root variables in a plan. Ephemeral variables, whose values a plan does not contain, have their
    current values."""
    from planner.foundation.values.expression_text import expression_text
    from planner.language.syntax.parse import parse_expression

    recorded = {}
    for name, value in plan.variables.items():
        if value is not None:
            source = Source(f"<planned value of var.{name}>", expression_text(value))
            node, _ = parse_expression(source)
            assert node is not None
            recorded[name] = RawValue(name, "plan", expr=ExpressionPiece(node, source))
    return {**given, **recorded}


# Whether a plan equals an approved plan; an unknown value in the approved plan matches any value.


Differences = tuple[tuple[str, str], ...]


def compared(approved: Plan, now: Plan) -> Differences:
    """(name of the change, "action" or "value") of each change in the plan `now` that differs from the approved plan in
    its action or only in the planned value. Changes that only the approved plan contains are not included."""
    # decided in Python: whether a repeated plan equals the approved one -- a comparison of plans, value by value
    items: set[tuple[str, str]] = set()
    known = {change_name(change): change for change in counted_changes(approved)}
    for change in counted_changes(now):
        name = change_name(change)
        before = known.get(name)
        if before is None or before.action != change.action or before.previous_address != change.previous_address:
            items.add((name, "action"))
        elif not _fits(before.after, change.after):
            items.add((name, "value"))
    outputs = {output.name: output for output in approved.outputs}
    for output in now.outputs:
        if output.action == "no-op":
            continue
        other = outputs.get(output.name)
        if other is None or other.action == "no-op":
            items.add((f"output.{output.name}", "action"))
        elif not _fits(other.after, output.after):
            items.add((f"output.{output.name}", "value"))
    return tuple(sorted(items))


def counted_changes(plan: Plan) -> list[ResourceChange]:
    """The changes of a plan that change or import objects. Data sources are omitted, because reading them needs no
    approval."""
    return [c for c in plan.changes if c.mode != "data" and (c.action != "no-op" or c.importing is not None)]


def _fits(approved: Value, now: Value) -> bool:
    return not value_problems(unmark_deep(approved)[0], unmark_deep(now)[0])
