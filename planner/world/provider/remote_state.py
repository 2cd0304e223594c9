"""The data source `terraform_remote_state`: reads the root outputs of another state, in any backend. As in OpenTofu,
sensitive outputs lose their mark."""

from __future__ import annotations

from collections.abc import Mapping

from planner.foundation.support.signals import reading
from planner.foundation.values.json_codec import plain
from planner.foundation.values.schema import AttributeSchema, BlockSchema
from planner.foundation.values.types import DYNAMIC, STRING, MapType, ObjectType, Primitive
from planner.foundation.values.value import Map, Null, Unknown, Value, is_wholly_known, type_of
from planner.world.provider.interface import AttributeDiagnostic, ReadAnswer, ResourceSchema
from planner.world.state.backend import DEFAULT_WORKSPACE, Backend, open_backend, state_identity
from planner.world.state.encryption_seal import PLAIN, Seal

NAME = "terraform_remote_state"
SCHEMA = ResourceSchema(
    BlockSchema(
        {
            "backend": AttributeSchema(
                STRING, required=True, description="The type of the backend that stores the state, such as `local`."
            ),
            "config": AttributeSchema(
                DYNAMIC, optional=True, description="An object with the arguments that a `backend` block would have."
            ),
            "defaults": AttributeSchema(
                DYNAMIC, optional=True, description="Default values for outputs that the state does not have."
            ),
            "outputs": AttributeSchema(DYNAMIC, computed=True, description="All root outputs, as an object."),
            "workspace": AttributeSchema(STRING, optional=True, description="The workspace whose state is read."),
        }
    )
)


def validate(config: Value) -> list[AttributeDiagnostic]:
    if config.__class__ is not dict:
        return []
    problems: list[AttributeDiagnostic] = []
    if is_wholly_known(config["config"]) and config["backend"].__class__ is str:
        _, problems = _backend(config, only_check=True)
    elif not _is_object(config["config"]):
        problems = [_problem("Invalid backend configuration", "The configuration must be an object.", "config")]
    if not _is_object(config["defaults"]):
        problems.append(_problem("Invalid default values", "The argument defaults must be an object.", "defaults"))
    return problems


def read(config: Value, seal: Seal = PLAIN) -> ReadAnswer:
    """The data source's object for a wholly known configuration. `seal`: the encryption of the state."""
    answer = _read(config, seal)
    if not any(p.severity == "error" for p in answer.diagnostics):
        return answer
    failed = AttributeDiagnostic("error", "Unable to read remote state", "", None)
    return ReadAnswer(answer.value, diagnostics=(failed, *answer.diagnostics))


def source(config: Value) -> str | None:
    """The identity of the state that a wholly known configuration reads (see
    planner.world.state.backend.state_identity); None if the configuration is invalid."""
    kind = "local" if config["backend"] == "_local" else config["backend"]
    if kind.__class__ is not str or not _is_object(config["config"]):
        return None
    settings = {name: plain(value) for name, value in _entries(config["config"]).items()}
    workspace = config["workspace"] if config["workspace"].__class__ is str else DEFAULT_WORKSPACE
    return state_identity(kind, settings, workspace)


def with_outputs(config: Value, outputs: Mapping[str, Value]) -> Value:
    return {**config, "outputs": {**_entries(config["defaults"]), **outputs}}


def _read(config: Value, seal: Seal) -> ReadAnswer:
    backend, problems = _backend(config, seal)
    if backend is None:
        return ReadAnswer(Null(DYNAMIC), diagnostics=tuple(problems))
    workspace = config["workspace"] if config["workspace"].__class__ is str else DEFAULT_WORKSPACE
    try:
        store = backend.store(workspace)
        with reading():
            state, diagnostics = store.read()
    except OSError as problem:
        detail = str(problem.strerror or problem)
        return ReadAnswer(Null(DYNAMIC), diagnostics=(_problem("Error loading state error", detail, "backend"),))
    answers = [AttributeDiagnostic(d.severity, d.summary, d.detail, None) for d in diagnostics]
    if state is None:
        if not answers:
            detail = f'There is no state of the workspace "{workspace}": {store.place} does not exist or is empty.'
            answers.append(_problem("Unable to find remote state", detail, "workspace"))
        return ReadAnswer({**config, "outputs": {}}, diagnostics=tuple(answers))
    outputs = {name: output.value for name, output in state.outputs.items()}
    return ReadAnswer(with_outputs(config, outputs), diagnostics=tuple(answers))


def _backend(
    config: Value, seal: Seal = PLAIN, only_check: bool = False
) -> tuple[Backend | None, list[AttributeDiagnostic]]:
    kind = "local" if config["backend"] == "_local" else config["backend"]
    if kind.__class__ is not str:
        return None, [
            _problem("Invalid backend configuration", "The argument backend must name a type of backend.", "backend")
        ]
    if not _is_object(config["config"]):
        return None, [_problem("Invalid backend configuration", "The configuration must be an object.", "config")]
    settings = {name: plain(value) for name, value in _entries(config["config"]).items()}
    backend, diagnostics = open_backend(kind, settings, seal, only_check)
    where = "backend" if kind != "local" else "config"
    return backend, [_problem(d.summary, d.detail, where) for d in diagnostics]


def _is_object(value: Value) -> bool:
    kind = value.type if value.__class__ in (Null, Unknown) else type_of(value)
    return isinstance(kind, ObjectType | MapType) or (isinstance(kind, Primitive) and kind is DYNAMIC)


def _entries(value: Value) -> dict[str, Value]:
    if value.__class__ is Map:
        return value.items
    return value if value.__class__ is dict else {}


def _problem(summary: str, detail: str, attribute: str) -> AttributeDiagnostic:
    return AttributeDiagnostic("error", summary, detail, (("attr", attribute),))
