"""Applies in tests: a folder with a configuration is planned and applied in this process, with a provider that can be
told to fail."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from planner.engine.apply.shared_work import ApplyOptions
from planner.engine.apply.walk import ApplyResult, apply_walk
from planner.engine.evaluation.schemas import Schemas
from planner.engine.plan.make_plan import make_plan
from planner.engine.plan.options import PlanOptions
from planner.engine.walk.hooks import Hooks, ObjectId
from planner.foundation.values.json_codec import from_json
from planner.foundation.values.schema import AttributeSchema, BlockSchema, implied_type
from planner.foundation.values.types import STRING
from planner.foundation.values.value import Null, Unknown, Value
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.language.config.load import load_config
from planner.language.config.variables import collect_variables, root_variables
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.facts.from_config import from_command, from_config
from planner.logic.facts.from_state import from_changes, from_state
from planner.logic.graph.build import build_graph
from planner.logic.model.graph import Graph
from planner.logic.model.plan import Plan
from planner.operations.graphs import SchemaTable
from planner.world.provider.interface import (
    ApplyAnswer,
    ApplyRequest,
    AttributeDiagnostic,
    ImportedObject,
    PlanAnswer,
    PlanRequest,
    Provider,
    ProviderSchema,
    ReadAnswer,
    ResourceSchema,
)
from planner.world.provider.registry import start_provider
from planner.world.state.model import State

THING = ResourceSchema(
    BlockSchema(
        {
            "id": AttributeSchema(STRING, computed=True),
            "size": AttributeSchema(STRING, optional=True),
            "zone": AttributeSchema(STRING, optional=True),
            "secret": AttributeSchema(STRING, optional=True, sensitive=True),
        }
    )
)
LOOKUP = ResourceSchema(
    BlockSchema({"name": AttributeSchema(STRING, required=True), "found": AttributeSchema(STRING, computed=True)})
)


class TestProvider:
    """Things with a size. A new `zone` needs a new object. Sizes say how applying goes: "fail" gives nothing, "partial"
    an object and an error, "odd" something that was not planned, "vague" an unknown id, "gone" no object; a thing of
    size "stuck" cannot be destroyed."""

    __test__ = False

    def __init__(self, is_inline: bool = True) -> None:
        self.is_inline = is_inline
        self.lock = threading.Lock()
        self.calls: list[str] = []

    def schema(self) -> ProviderSchema:
        return ProviderSchema(BlockSchema(), {"test_thing": THING}, {"test_lookup": LOOKUP})

    def validate_provider(self, config: Value) -> list[AttributeDiagnostic]:
        return []

    def configure(self, config: Value) -> list[AttributeDiagnostic]:
        return []

    def validate_resource(self, mode: str, type: str, config: Value) -> list[AttributeDiagnostic]:
        return []

    def upgrade(
        self, type: str, version: int, attributes: dict[str, Any], flat: bool = False
    ) -> tuple[Value, list[AttributeDiagnostic]]:
        block = (THING if type == "test_thing" else LOOKUP).block
        return from_json({name: attributes.get(name) for name in block.attributes}, implied_type(block)), []

    def read(
        self, type: str, current: Value, private: str | None, identity: Value = None, meta: Value = None
    ) -> ReadAnswer:
        return ReadAnswer(current, private)

    def plan(self, request: PlanRequest) -> PlanAnswer:
        proposed, prior = request.proposed, request.prior
        if proposed.__class__ is Null:
            return PlanAnswer(proposed, private=request.prior_private)
        if prior.__class__ is Null:
            return PlanAnswer({**proposed, "id": Unknown(STRING)}, private="bmV3")
        moved = proposed["zone"].__class__ is not str or proposed["zone"] != prior["zone"]
        requires = ((("attr", "zone"),),) if moved and not _both_null(proposed["zone"], prior["zone"]) else ()
        return PlanAnswer(proposed, requires, "b2xk")

    def apply(self, request: ApplyRequest) -> ApplyAnswer:
        prior, planned, private = request.prior, request.planned, request.private
        absent = Null(implied_type(THING.block))
        failure = (AttributeDiagnostic("error", "No luck", "", (("attr", "size"),)),)
        if planned.__class__ is Null:
            self._called(f"delete {prior['id']}")
            if prior["size"] == "stuck":
                return ApplyAnswer(prior, private, diagnostics=failure)
            return ApplyAnswer(absent)
        self._called(f"apply {planned['size']} {private}")
        value = {**planned, "id": f"id-{planned['size']}"} if planned["id"].__class__ is Unknown else planned
        match planned["size"]:
            case "fail":
                return ApplyAnswer(absent, diagnostics=failure)
            case "partial":
                return ApplyAnswer(value, "aGFsZg==", diagnostics=failure)
            case "odd":
                return ApplyAnswer({**value, "size": "other"})
            case "vague":
                return ApplyAnswer(planned)
            case "gone":
                return ApplyAnswer(absent)
        return ApplyAnswer(value, "ZG9uZQ==")

    def import_object(
        self, type: str, id: str, identity: Value = None
    ) -> tuple[list[ImportedObject], list[AttributeDiagnostic]]:
        value = {"id": id, "size": "1", "zone": Null(STRING), "secret": Null(STRING)}
        return [ImportedObject(type, value)], []

    def read_data(self, type: str, config: Value, meta: Value = None, address: str = "") -> ReadAnswer:
        if config["name"] == "nowhere":
            return ReadAnswer(Null(), diagnostics=(AttributeDiagnostic("error", "Not found"),))
        return ReadAnswer({**config, "found": f"found {config['name']}"})

    def function(self, name: str) -> None:
        """There are none."""

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass

    def _called(self, what: str) -> None:
        with self.lock:
            self.calls.append(what)


def _both_null(a: Value, b: Value) -> bool:
    return a.__class__ is Null and b.__class__ is Null


class Events(Hooks):
    """What the walk told, in short words."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def apply_start(self, address: str, action: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        self.seen.append(f"{action} {address}{' deposed' if deposed else ''}{_identity(identity)}")

    def apply_complete(
        self, address: str, action: str, identity: ObjectId | None = None, elapsed: float = 0.0, deposed: str = ""
    ) -> None:
        self.seen.append(f"{action} {address} done{_identity(identity)}")

    def apply_errored(self, address: str, action: str, elapsed: float = 0.0, deposed: str = "") -> None:
        self.seen.append(f"{action} {address} failed")

    def provision_start(self, address: str, type: str) -> None:
        self.seen.append(f"provision {address}")

    def provision_progress(self, address: str, type: str, output: str) -> None:
        if not output.startswith("Executing"):
            self.seen.append(f"output {address} {output}")

    def provision_complete(self, address: str, type: str) -> None:
        self.seen.append(f"provision {address} done")

    def provision_errored(self, address: str, type: str) -> None:
        self.seen.append(f"provision {address} failed")

    def import_complete(self, address: str, id: str) -> None:
        self.seen.append(f"import {address} {id}")


def _identity(identity: ObjectId | None) -> str:
    return f" [{identity.value}]" if identity else ""


class World:
    """A folder, its state and a provider, from one apply to the next."""

    __test__ = False

    def __init__(self, folder: Path, is_inline: bool = True) -> None:
        self.folder = folder
        self.provider = TestProvider(is_inline)
        self.state = State()
        self.events: list[str] = []

    def plan(self, text: str, **options: Any) -> tuple[Plan, Callable[[str, State, Plan | None], Graph], Any]:
        """Plan a configuration; the answer is what `apply` needs."""
        (self.folder / "main.tf").write_text(text, encoding="utf-8")
        given, _ = collect_variables(str(self.folder), [], {})
        config, problems = load_config(str(self.folder), variables=given)
        assert config is not None and not has_errors(problems), problems
        variables, problems = root_variables(config.root.variables, given)
        assert not has_errors(problems), problems
        schemas = Schemas(self._start)

        def graph(walk: str, state: State, plan: Plan | None = None) -> Graph:
            facts = FactBuilder()
            from_command(facts, walk)
            from_config(facts, config, SchemaTable(schemas))
            from_state(facts, state)
            if plan is not None:
                from_changes(facts, plan.changes, state, config)
            return build_graph(facts.build())

        plan, problems = make_plan(config, self.state, variables, schemas, PlanOptions(**options), graph)
        assert plan is not None and not has_errors(problems), [d.summary for d in problems]
        return plan, graph, (config, variables, schemas)

    def apply(self, text: str, options: ApplyOptions | None = None, **plan_options: Any) -> ApplyResult:
        """Plan a configuration and apply the plan; `events` is what happened then."""
        plan, graph, (config, variables, schemas) = self.plan(text, **plan_options)
        hooks = Events()
        self.provider.calls.clear()
        walk = graph("destroy" if plan.mode == "destroy" else "apply", plan.prior_state, plan)
        options = options or ApplyOptions(parallelism=1)
        outcome = apply_walk(walk, plan, config, variables, schemas, options, hooks)
        self.state, self.events = outcome.state, hooks.seen
        return outcome

    @property
    def objects(self) -> dict[str, Any]:
        """The size of every object in the state: tainted ones with a question mark, deposed ones called so."""
        found = {}
        for resource, instance in self.state.instances():
            address = resource.address + ("" if instance.key is None else f"[{instance.key}]")
            records = {
                "": instance.current,
                **dict.fromkeys((" deposed",), next(iter(instance.deposed.values()), None)),
            }
            for suffix, record in records.items():
                if record is not None:
                    found[address + suffix] = f"{record.attributes.get('size')}{'?' if record.tainted else ''}"
        return found

    def _start(self, source: str) -> Provider:
        return self.provider if source.endswith("/test") else start_provider(source)


def summaries(outcome: ApplyResult) -> list[str]:
    """Severity, line and title of every diagnostic."""
    return [f"{d.severity} {d.subject.line if d.subject else 0} {d.summary}" for d in outcome.diagnostics]


def counts(outcome: ApplyResult) -> tuple[int, int, int]:
    """Objects created, changed and destroyed."""
    return outcome.counts[:3]
