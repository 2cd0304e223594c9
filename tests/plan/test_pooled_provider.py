"""Plans with a provider whose calls take time: several at once, bounded, and with the same result as one at a time."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

from plan.planning import plan_folder, write_files

from planner.engine.plan.options import PlanOptions
from planner.engine.walk.hooks import Hooks
from planner.foundation.values.json_codec import from_json
from planner.foundation.values.schema import AttributeSchema, BlockSchema, implied_type
from planner.foundation.values.types import STRING
from planner.foundation.values.value import Null, Unknown, Value
from planner.world.provider.interface import (
    ApplyAnswer,
    ApplyRequest,
    AttributeDiagnostic,
    ImportedObject,
    PlanAnswer,
    PlanRequest,
    ProviderSchema,
    ReadAnswer,
    ResourceSchema,
)

THING = ResourceSchema(
    BlockSchema(
        {
            "id": AttributeSchema(STRING, computed=True),
            "size": AttributeSchema(STRING, optional=True),
            "secret": AttributeSchema(STRING, optional=True, sensitive=True),
        }
    ),
    version=2,
)
SOURCE = "registry.opentofu.org/hashicorp/test"


class SlowProvider:
    """Remembers what it was asked. Sizes in `gone` do not exist any more, "bad" cannot be planned."""

    is_inline = False

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running = 0
        self.most = 0
        self.configured: list[Value] = []
        self.closed = 0

    def schema(self) -> ProviderSchema:
        return ProviderSchema(
            BlockSchema({"region": AttributeSchema(STRING, optional=True)}), {"test_thing": THING}, {}
        )

    def validate_provider(self, config: Value) -> list[AttributeDiagnostic]:
        return []

    def configure(self, config: Value) -> list[AttributeDiagnostic]:
        self.configured.append(config)
        return []

    def validate_resource(self, mode: str, type: str, config: Value) -> list[AttributeDiagnostic]:
        return []

    def upgrade(
        self, type: str, version: int, attributes: dict[str, Any], flat: bool = False
    ) -> tuple[Value, list[AttributeDiagnostic]]:
        known = {name: attributes.get(name) for name in THING.block.attributes}
        return from_json(known, implied_type(THING.block)), []

    def read(
        self, type: str, current: Value, private: str | None, identity: Value = None, meta: Value = None
    ) -> ReadAnswer:
        self._work()
        if current["size"] == "gone":
            return ReadAnswer(Null(implied_type(THING.block)))
        if current["size"] == "drifted":
            return ReadAnswer({**current, "size": "other"}, private)
        return ReadAnswer(current, private)

    def plan(self, request: PlanRequest) -> PlanAnswer:
        self._work()
        proposed = request.proposed
        if proposed.__class__ is not Null and proposed["size"] == "bad":
            problem = AttributeDiagnostic("error", "No such size", "", (("attr", "size"),))
            return PlanAnswer(proposed, diagnostics=(problem,))
        if request.prior.__class__ is Null:
            proposed = {**proposed, "id": Unknown(STRING)}
        return PlanAnswer(proposed, private="cHJpdmF0ZQ==")

    def apply(self, request: ApplyRequest) -> ApplyAnswer:
        raise AssertionError("a plan applies nothing")

    def import_object(
        self, type: str, id: str, identity: Value = None
    ) -> tuple[list[ImportedObject], list[AttributeDiagnostic]]:
        return [ImportedObject(type, {"id": id, "size": "1", "secret": Null(STRING)})], []

    def read_data(self, type: str, config: Value, meta: Value = None, address: str = "") -> ReadAnswer:
        raise AssertionError("there are no data sources")

    def function(self, name: str) -> None:
        """There are none."""

    def stop(self) -> None:
        pass

    def close(self) -> None:
        self.closed += 1

    def _work(self) -> None:
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(0.01)
        with self.lock:
            self.running -= 1


def state(folder: Path, **sizes: str) -> None:
    instances = [
        {
            "index_key": key,
            "schema_version": 1,
            "attributes": {"id": f"id-{key}", "size": size, "old": True},
            "sensitive_attributes": [[{"type": "get_attr", "value": "secret"}]],
        }
        for key, size in sizes.items()
    ]
    resource = {
        "mode": "managed",
        "type": "test_thing",
        "name": "t",
        "provider": f'provider["{SOURCE}"]',
        "instances": instances,
    }
    text = {
        "version": 4,
        "terraform_version": "1.0.0",
        "serial": 1,
        "lineage": "l",
        "outputs": {},
        "resources": [resource],
    }
    (folder / "terraform.tfstate").write_text(json.dumps(text), encoding="utf-8")


CONFIG = """
provider "test" {
  region = "here"
}
resource "test_thing" "t" {
  for_each = { a = "1", b = "gone", c = "drifted", d = "new", e = "5" }
  size     = each.value
  secret   = "s"
}
output "ids" {
  value = [for t in test_thing.t : t.id]
}
"""


def test_instances_are_planned_at_the_same_time_within_the_bound(tmp_path: Path) -> None:
    write_files(tmp_path, {"main.tf": CONFIG})
    state(tmp_path, a="1", b="gone", c="drifted", z="1")
    made: list[SlowProvider] = []

    def start(source: str) -> SlowProvider:
        assert source == SOURCE
        made.append(SlowProvider())
        return made[-1]

    events: list[str] = []

    class Listener(Hooks):
        def refresh_start(self, address: str, identity: Any = None, deposed: str = "") -> None:
            events.append(f"{address} {identity.value if identity else ''}")

    outcome = plan_folder(tmp_path, PlanOptions(parallelism=3), start=start, hooks=Listener())
    assert outcome.words == []
    assert outcome.actions == {
        'test_thing.t["a"]': "update",
        'test_thing.t["b"]': "create",
        'test_thing.t["c"]': "update",
        'test_thing.t["d"]': "create",
        'test_thing.t["e"]': "create",
        'test_thing.t["z"]': "delete",
    }
    (provider,) = made
    assert provider.most in (2, 3)
    assert provider.configured == [{"region": "here"}]
    assert provider.closed == 1
    assert sorted(events) == [f'test_thing.t["{k}"] id-{k}' for k in "abcz"]
    assert outcome.plan is not None
    assert {c.address: c.action for c in outcome.plan.drift} == {
        'test_thing.t["b"]': "delete",
        'test_thing.t["c"]': "update",
    }
    prior = outcome.plan.prior_state.resources["test_thing.t"].instances
    assert sorted(prior) == ["a", "c", "z"]
    assert prior["c"].current is not None
    assert prior["c"].current.attributes == {"id": "id-c", "secret": None, "size": "other"}
    assert {i.current.schema_version for i in prior.values() if i.current} == {2}
    assert outcome.change('test_thing.t["d"]').private == "cHJpdmF0ZQ=="


def test_a_failed_instance_leaves_the_others_planned_and_skips_what_follows(tmp_path: Path) -> None:
    write_files(tmp_path, {"main.tf": CONFIG.replace('"5"', '"bad"')})
    outcome = plan_folder(tmp_path, start=lambda source: SlowProvider())
    assert outcome.words == ["error main.tf:7 No such size"]
    assert len(outcome.actions) == 4
    assert outcome.plan is not None
    assert outcome.plan.outputs == ()
