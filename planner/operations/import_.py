"""Implements `import`: records an existing object as a resource instance in the state, without planning changes."""

from __future__ import annotations

from collections.abc import Callable

from planner.engine.evaluation.eval_walk import eval_walk
from planner.engine.plan.make_plan import make_plan
from planner.engine.walk.hooks import Hooks
from planner.foundation.values.sets import unknown_as_null
from planner.foundation.values.types import DYNAMIC, STRING
from planner.foundation.values.value import Null, Unknown, type_of, unmark_deep
from planner.foundation.vocabulary.address import AddressError, ResourceAddress, parse_resource_instance
from planner.foundation.vocabulary.diagnostic import (
    Diagnostic,
    Diagnostics,
    Failure,
    ServiceError,
    error,
    has_errors,
    warning,
)
from planner.foundation.vocabulary.limits import Limits
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Expr, ImportDecl
from planner.language.config.variables import RawValue, RawVariables, parsed_value
from planner.language.syntax.nodes import Literal
from planner.language.syntax.parse import parse_expression
from planner.operations import graphs
from planner.operations.backends import current_backend, version_problems
from planner.operations.load import Derived, Loaded, load, load_values
from planner.operations.options import OperationOptions
from planner.operations.plan import Start, Variables, plan_options
from planner.operations.providers_needed import selection_problems
from planner.operations.state_access import Opened, locked, open_backend, read_state, store_of
from planner.world.state.build import StateBuilder
from planner.world.state.model import OutputState, State
from planner.world.state.remote.tfe import TfeStore


def import_object(
    options: OperationOptions,
    address: str,
    id: str,
    begins: Callable[[], object] = bool,
    hooks: Hooks | None = None,
) -> list[Diagnostic]:
    """Read an object, and record it as the resource instance at an address. The configuration must declare the
    resource, and the state must not contain the instance. `begins` is called when the state has been locked and read,
    before the object is read. Returns diagnostics."""
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        loaded = load(options, diagnostics)
        diagnostics.check(selection_problems(loaded.config, options.directory))
        target = _target(loaded, address)
        diagnostics.check(_looked_up(loaded, target))
        opened = open_backend(loaded, diagnostics)
        given = {**_values_of_server(opened, diagnostics), **loaded.given}
        variables, problems = load_values(evolve(loaded, given=given))
        diagnostics += problems
        diagnostics.check()
        diagnostics.check(version_problems(opened.store, options))
        with locked(opened.store, options, "OperationTypeImport", diagnostics):
            start = read_state(opened, diagnostics)
            begins()
            diagnostics += _record(start, variables, target, id, _ReadingHooks(hooks or Hooks()))
    return diagnostics


def _values_of_server(opened: Opened[OperationOptions], diagnostics: Diagnostics) -> RawVariables:
    """The values of root variables that are set in a workspace on a server; {} for other backends. An import runs
    locally, so it needs these values. Sensitive values cannot be read, so they are unknown. Raises Failure."""
    if not isinstance(opened.store, TfeStore):
        return {}
    values: RawVariables = {}
    try:
        variables = opened.store.client.workspace_variables
    except ServiceError as problem:
        raise Failure(error("remote.variables", "Cannot read the variables of the workspace", problem.text)) from None
    for one in variables:
        name, text = str(one.get("key")), str(one.get("value") or "")
        if one.get("category") != "terraform" or name not in opened.config.root.variables:
            continue
        if one.get("sensitive"):
            detail = f"The value of var.{name} is sensitive in the workspace, so it cannot be read for an import."
            diagnostics.append(warning("remote.variables", f"Value for var.{name} unavailable", detail))
            values[name] = RawValue(name, "input", given=Unknown(DYNAMIC if one.get("hcl") else STRING))
        elif one.get("hcl"):
            value, problems = parsed_value(text, f"var.{name} of the workspace")
            diagnostics += problems
            values[name] = RawValue(name, "input", given=Unknown(DYNAMIC) if value is None else value)
        else:
            values[name] = RawValue(name, "input", given=text)
    return values


def _looked_up(loaded: Loaded[OperationOptions], target: ResourceAddress) -> list[Diagnostic]:
    """An error if the state already has an object at `target`. Empty if the state cannot be read yet, because variables
    must be prompted for first."""
    options, workspace = loaded.options, loaded.workspace
    backend, problems = current_backend(options.directory, loaded.config, workspace, loaded.given, loaded.encryption)
    if backend is None or has_errors(problems):
        return []  # this is reported when the backend is opened with all values
    state, _ = store_of(options, backend, workspace).read()
    return _managed(target) if state is not None and _has(state, target) else []


def _managed(target: ResourceAddress) -> list[Diagnostic]:
    detail = (
        f"The state already has an object for {target}. To import a different one, first forget it "
        "with planner state rm."
    )
    return [error("import.managed", "Resource already managed", detail, address=str(target))]


def _target(loaded: Loaded[OperationOptions], text: str) -> ResourceAddress:
    """The address in `text`. Raises Failure if it is not that of an instance of a managed resource that the
    configuration declares."""
    try:
        address = parse_resource_instance(text)
    except AddressError as problem:
        raise Failure(error("import.address", "Invalid address", problem.detail)) from None
    if address.mode != "managed":
        detail = f"{text} is not a managed resource, and only managed resources can be imported."
        raise Failure(error("import.address", "Invalid target resource address", detail))
    module = loaded.config.root.descendant(address.path)
    if module is None:
        detail = f"The configuration does not call {address.module}. Write the module block first."
        raise Failure(error("import.no_module", "Import to non-existent module", detail))
    if address.config.relative not in module.resources:
        where = f"the module {address.module}" if address.path else "the root module"
        detail = (
            f"{address.config} is not in the configuration. Write it in {where} first:\n\n"
            f'resource "{address.type}" "{address.name}" {{\n  # arguments\n}}'
        )
        raise Failure(error("import.no_resource", "Resource not in configuration", detail))
    return address


class _ReadingHooks(Hooks):
    """Hooks that forward only the events of reading objects to other hooks."""

    def __init__(self, hooks: Hooks) -> None:
        self.refresh_start, self.refresh_complete = hooks.refresh_start, hooks.refresh_complete  # type: ignore[method-assign]


def _record(start: Start, variables: Variables, target: ResourceAddress, id: str, hooks: Hooks) -> list[Diagnostic]:
    if _has(start.state, target):
        return _managed(target)
    root = evolve(start.config.root, imports=(_block(str(target), id),))
    options = evolve(start.options, limits=Limits((target,)))
    start = evolve(start, config=evolve(start.config, root=root), options=options, derived=Derived())
    made, problems = make_plan(
        start.config,
        start.state,
        variables,
        start.schemas,
        plan_options(start),
        lambda walk, state: graphs.build(walk, start, state, options.limits),
        hooks,
    )
    if made is None or not _has(made.prior_state, target):
        return [problem for problem in problems if problem.code != "plan.targeting"]
    builder = StateBuilder(start.state)
    resource = str(target.resource)
    builder.put_instance(resource, target.key, made.prior_state.resources[resource])
    _outputs(start, variables, builder)
    _, problems = start.store.write(builder.snapshot())
    return problems


def _outputs(start: Start, variables: Variables, builder: StateBuilder) -> None:
    """Evaluate the root outputs with the imported object, and record them in `builder`. Unknown parts become null."""
    state = builder.snapshot()
    graph = graphs.build("eval", start, state)
    context, _ = eval_walk(graph, start.config, state, variables, start.schemas, start.workspace)
    for name in sorted({*state.outputs, *start.config.root.outputs}):
        decl, value = start.config.root.outputs.get(name), context.root.outputs.get(name)
        plain = unmark_deep(value)[0] if value is not None else None
        if decl is None or plain.__class__ is Null:
            builder.remove_output(name)
        elif value is not None:
            plain = unknown_as_null(plain)
            builder.set_output(name, OutputState(plain, type_of(plain), decl.sensitive, decl.deprecated))


def _has(state: State, target: ResourceAddress) -> bool:
    resource = state.resources.get(str(target.resource))
    instance = resource.instances.get(target.key) if resource is not None else None
    return instance is not None and instance.current is not None


def _block(address: str, id: str) -> ImportDecl:
    source = Source("<import>", address)
    to, _ = parse_expression(source)
    assert to is not None
    target = parse_resource_instance(address)
    return ImportDecl(
        Expr(to, source),
        Expr(Literal(id, 0, len(address)), source),
        None,
        None,
        None,
        Span(source, 0, len(address)),
        target.config,
        target,
    )
