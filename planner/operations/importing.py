"""`import`: an existing object becomes a resource instance of the state, without a plan of changes to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from attrs import evolve

from planner import pipeline
from planner.operations import graphs
from planner.operations.session import Options, Session, load_configuration, load_values, open_store, selection_problems
from planner.state.model import State
from planner.vocabulary.address import AddressError, ResourceAddress, parse_resource_instance
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.walk.hooks import Hooks

if TYPE_CHECKING:
    from planner.config.model import ImportDecl


def import_object(options: Options, address: str, id: str, begins: Callable[[], object] = bool) -> list[Diagnostic]:
    """Read the object with this id and record it as the instance of an address. The configuration must declare it, and
    the state must not have it yet; `begins` is called when both are so."""
    session = load_configuration(options)
    session = evolve(session, diagnostics=(*session.diagnostics, *selection_problems(session)))
    if session.config is None or session.failed:
        return list(session.diagnostics)
    try:
        target = _target(session, address)
    except Failure as failure:
        return [*session.diagnostics, *failure.diagnostics]
    found = _looked_up(session, target)
    if has_errors(found):
        return [*session.diagnostics, *found]
    variables, problems = load_values(session)
    session = pipeline.open_backend(evolve(session, variables=variables, diagnostics=(*session.diagnostics, *problems)))
    if session.failed or session.store is None:
        return list(session.diagnostics)
    with pipeline.locked(session, "OperationTypeImport") as problems:
        if has_errors(problems):
            return [*session.diagnostics, *problems]
        session = pipeline.read_state(session)
        found = list(session.diagnostics)
        if not session.failed:
            begins()
            found += _record(session, target, id)
    return [*found, *problems]


def _looked_up(session: Session, target: ResourceAddress) -> list[Diagnostic]:
    """Whether the state has no such object yet, as far as that can be seen before anybody is asked for variables."""
    backend, store, problems = open_store(session.options, session.config, session.workspace, session.given)
    if backend is None or store is None or has_errors(problems):
        return []  # said later, by whoever opens it with all values
    state, _ = store.read()
    return _managed(target) if state is not None and _has(state, target) else []


def _managed(target: ResourceAddress) -> list[Diagnostic]:
    detail = (
        f"The state already has an object for {target}. Forget it first (planner state rm) if another one should take "
        "its place."
    )
    return [error("import.managed", "Resource already managed", detail, address=str(target))]


def _target(session: Session, text: str) -> ResourceAddress:
    """The address of an instance that the configuration can have. Raises Failure."""
    assert session.config is not None
    try:
        address = parse_resource_instance(text)
    except AddressError as problem:
        raise Failure(error("import.address", "Invalid address", problem.detail)) from None
    if address.mode != "managed":
        detail = f"{text} is a data source, which is read and never imported. Name a managed resource."
        raise Failure(error("import.address", "Invalid target resource address", detail))
    module = session.config.root.descendant(address.path)
    if module is None:
        detail = f"The configuration calls no module for {address.module}. Write the module block first."
        raise Failure(error("import.no_module", "Import to non-existent module", detail))
    if address.config.relative not in module.resources:
        where = f"the module {address.module}" if address.path else "the root module"
        detail = (
            f"{address.config} is not in the configuration. Write it in {where} first:\n\n"
            f'resource "{address.type}" "{address.name}" {{\n  # arguments\n}}'
        )
        raise Failure(error("import.no_resource", "Resource not in the configuration", detail))
    return address


def _record(session: Session, target: ResourceAddress, id: str) -> list[Diagnostic]:
    from planner.plan.planning import make_plan
    from planner.state.build import StateBuilder

    assert session.config is not None and session.state is not None and session.store is not None
    if _has(session.state, target):
        return _managed(target)
    root = evolve(session.config.root, imports=(_block(str(target), id),))
    session = evolve(
        session,
        config=evolve(session.config, root=root),
        options=evolve(session.options, targets=(str(target),)),
        memory={},
    )
    assert session.config is not None and session.state is not None and session.store is not None
    made, problems = make_plan(
        session.config,
        session.state,
        session.variables,
        session.schemas,
        pipeline.plan_options(session),
        lambda walk, state: graphs.build(walk, session, state),
        Hooks(),
    )
    if made is None or not _has(made.prior_state, target):
        return [problem for problem in problems if problem.code != "plan.targeting"]  # limiting it was our idea
    builder = StateBuilder(session.state)
    resource = str(target.resource)
    builder.put_instance(resource, target.key, made.prior_state.resources[resource])
    _, found = session.store.write(builder.snapshot())
    return found


def _has(state: State, target: ResourceAddress) -> bool:
    resource = state.resources.get(str(target.resource))
    instance = resource.instances.get(target.key) if resource is not None else None
    return instance is not None and instance.current is not None


def _block(address: str, id: str) -> ImportDecl:
    """What an import block with this address and id would be."""
    from planner.config.model import Expr, ImportDecl
    from planner.syntax.nodes import Literal
    from planner.syntax.parse import parse_expression
    from planner.vocabulary.span import Source, Span

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
