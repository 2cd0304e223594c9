"""What commands show without planning: outputs, states and saved plans, as values and as JSON."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from planner.operations.session import Options, Session, load_configuration, new_schemas, open_store
from planner.support.disk import MOST_BYTES, read_given
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors

if TYPE_CHECKING:
    from planner.config.variables import RawVariables, RootVariable
    from planner.model.plan import Plan
    from planner.state.backends.local import StateStore
    from planner.state.model import OutputState, State


@frozen(eq=False)
class Shown:
    """What `show` reads: a plan, or a state (None: there is none yet)."""

    session: Session
    plan: Plan | None = None
    state: State | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


def stored_state(options: Options) -> Shown:
    """The state of the selected workspace. The configuration only says where it is kept."""
    shown = _opened(options)
    store = shown.session.store
    if store is None:
        return shown
    state, problems = store.read()
    return evolve(
        shown,
        session=evolve(shown.session, state=state),
        state=state,
        diagnostics=(*shown.diagnostics, *problems),
    )


def state_store(options: Options) -> tuple[StateStore | None, list[Diagnostic]]:
    """Where the state of the selected workspace is kept."""
    opened = _opened(options)
    return opened.session.store, list(opened.diagnostics)


def _opened(options: Options) -> Shown:
    """The session with its store; nothing is read from that yet."""
    from planner.config.load import load_root
    from planner.state.workspace import current_workspace

    workspace, _, problems = current_workspace(options.directory, os.environ)
    session = Session(options, workspace=workspace, schemas=new_schemas(options.directory))
    config = None
    if options.state_path is None and _has_configuration(options.directory):
        loaded = load_configuration(options)
        config = loaded.config
        session = evolve(session, config=config, given=loaded.given, schemas=loaded.schemas)
        if config is None:  # modules that are not installed do not matter here
            config, found = load_root(options.directory, variables=loaded.given, workspace=workspace)
            if config is None:
                return Shown(session, diagnostics=(*problems, *found))
    backend, store, more = open_store(options, config, workspace, session.given)
    return Shown(evolve(session, backend=backend, store=store), diagnostics=(*problems, *more))


def _has_configuration(directory: str) -> bool:
    endings = (".tf", ".tofu", ".tf.json", ".tofu.json")
    try:
        return any(name.endswith(endings) for name in os.listdir(directory))
    except OSError:
        return False


def outputs(options: Options) -> tuple[dict[str, OutputState], list[Diagnostic]]:
    """The root output values in the state."""
    shown = stored_state(options)
    if has_errors(shown.diagnostics) or shown.state is None:
        return {}, list(shown.diagnostics)
    return dict(shown.state.outputs), list(shown.diagnostics)


def show(options: Options, path: str | None) -> Shown:
    """The state of the workspace, or the plan or state in a file."""
    if path is None:
        return stored_state(options)
    from planner.documents.plan_file import is_plan_file
    from planner.state.file import read_state

    if is_plan_file(path):
        session, plan, problems = open_plan(options, path)
        return Shown(session, plan, None, tuple(problems))
    session = Session(options, schemas=new_schemas(options.directory))
    try:
        data = read_given(path, MOST_BYTES)
    except OSError as problem:
        detail = f"{path}: {problem.strerror or problem}."
        return Shown(session, diagnostics=(error("show.unreadable", "Cannot read the file", detail),))
    state, problems = read_state(data, path)
    return Shown(session, None, state, tuple(problems))


def open_plan(options: Options, path: str) -> tuple[Session, Plan | None, list[Diagnostic]]:
    """A saved plan, and a session as it was when the plan was made: with its configuration, the values of its
    variables, its targets and excludes, and the user's rules it was made with."""
    import tempfile

    from planner.config.load import load_config
    from planner.config.variables import collect_variables
    from planner.documents.plan_file import ABSOLUTE, read_plan, unpack_sources
    from planner.state.workspace import current_workspace

    plan, sources, problems = read_plan(path)
    session = Session(options, schemas=new_schemas(options.directory))
    if plan is None or has_errors(problems):
        return session, None, problems
    workspace, _, more = current_workspace(options.directory, os.environ)
    given, found = collect_variables(options.directory, options.var_args)
    problems = [*problems, *more, *found]
    with tempfile.TemporaryDirectory(prefix="planner-") as folder:
        root, found = unpack_sources(sources, folder)
        problems += found
        if has_errors(problems):
            return session, None, problems
        # what static expressions need was given when the plan was made
        variables, absolute = planned_variables(plan, given), os.path.join(root, ABSOLUTE)
        config, found = load_config(root, variables=variables, workspace=workspace, absolute=absolute)
    problems += found
    session = Session(
        evolve(options, targets=plan.targets, excludes=plan.excludes),
        config=config,
        given=given,
        workspace=workspace,
        schemas=new_schemas(options.directory, config),
        rules=plan.rules,
    )
    return evolve(session, variables=recorded_variables(session, plan)[0]), plan, problems


def recorded_variables(session: Session, plan: Plan) -> tuple[dict[str, RootVariable], list[Diagnostic]]:
    """The values of the variables of a plan, and what keeps it from being applied with what is given now: another
    value for one on record, none for an ephemeral one."""
    from planner.config.variables import check_plan_variables

    if session.config is None:
        return {}, []
    recorded = {name: value for name, value in plan.variables.items() if value is not None}
    return check_plan_variables(recorded, session.config.root.variables, session.given)


def planned_variables(plan: Plan, given: RawVariables) -> RawVariables:
    """The values that the plan recorded, as given values; what is given now for the others (ephemeral ones)."""
    from planner.config.reading import Piece
    from planner.config.variables import RawValue
    from planner.syntax.parse import parse_expression
    from planner.values.expression_text import expression_text
    from planner.vocabulary.span import Source

    recorded = {}
    for name, value in plan.variables.items():
        if value is not None:
            source = Source(f"<planned value of var.{name}>", expression_text(value))
            node, _ = parse_expression(source)
            assert node is not None
            recorded[name] = RawValue(name, "plan", expr=Piece(node, source))
    return {**given, **recorded}


def plan_json(shown: Shown) -> dict[str, Any]:
    """What `show -json PLAN` prints. Raises Failure."""
    from planner.documents.json_plan import plan_json

    assert shown.plan is not None
    if shown.session.config is None:
        raise Failure(shown.diagnostics)
    return plan_json(shown.plan, shown.session.config, schema_of(shown.session))


def state_json(shown: Shown) -> dict[str, Any]:
    """What `show -json` prints of a state. Raises Failure."""
    from planner.documents.json_state import state_json

    return state_json(shown.state, schema_of(shown.session))


def schema_of(session: Session) -> Any:
    """What a provider (by its address) offers."""
    return session.schemas.schema
