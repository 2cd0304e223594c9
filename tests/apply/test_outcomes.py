"""The outcome of each planned change, from what a walk did of its steps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from planner.engine.apply.outcomes import outcomes
from planner.foundation.vocabulary.diagnostic import error

FIRST, THEN = "delete-then-create", "create-then-delete"
ERROR = (error("c", "Bad", "Why.\nMore."),)


@pytest.mark.parametrize(
    ("action", "ends", "now", "kind"),
    [
        ("create", {"apply": ()}, "fine", "done"),
        ("create", {"apply": ERROR}, "tainted", "tainted"),
        ("create", {"apply": ERROR}, "", "failed"),
        ("create", {}, "", "not_reached"),
        ("update", {"apply": ERROR}, "fine", "failed"),
        ("update", {"apply": ERROR, "operated": ()}, "fine", "unmet"),
        ("delete", {"destroy": ()}, "", "done"),
        ("delete", {"destroy": ERROR}, "fine", "failed"),
        (FIRST, {"destroy": (), "apply": ()}, "fine", "done"),
        (FIRST, {"destroy": (), "apply": ERROR}, "tainted", "tainted"),
        (FIRST, {"destroy": (), "apply": ERROR}, "", "lost"),
        (FIRST, {"destroy": ()}, "", "lost"),  # interrupted
        (FIRST, {"destroy": ERROR}, "fine", "failed"),
        (THEN, {"apply": (), "deposed": ERROR}, "fine", "left"),
        (THEN, {"apply": ()}, "fine", "left"),
        (THEN, {"apply": ERROR}, "fine", "failed"),
        ("forget", {"forget": ()}, "", "done"),
    ],
)
def test_outcomes(action: str, ends: dict[str, Any], now: str, kind: str) -> None:
    steps = {"create": "apply", "update": "apply", "delete": "destroy", "forget": "forget"}
    nodes = [steps.get(step, "") for step in action.split("-then-")]
    if action == THEN:
        nodes = ["apply", "deposed"]
    kinds = {"apply": "instance_apply", "destroy": "instance_destroy"}
    kinds |= {"deposed": "deposed_destroy", "forget": "instance_forget"}
    change = SimpleNamespace(address="a.b", deposed="", action=action, resource_address="a.b", key=None)
    object = SimpleNamespace(tainted=now == "tainted") if now else None
    vertices = {one: SimpleNamespace(object="a.b", extra="0a" * (one == "deposed"), kind=kinds[one]) for one in nodes}
    state = SimpleNamespace(object=lambda *_: object)
    operated = {"apply"} if "operated" in ends else set()
    record = SimpleNamespace(ends={k: v for k, v in ends.items() if k != "operated"}, operated=operated, state=state)
    walk: Any = SimpleNamespace(
        graph=SimpleNamespace(nodes=vertices),
        changes={("a.b", ""): change},
        plan=SimpleNamespace(changes=(change,)),
        record=record,
    )
    outcome = outcomes(walk)["a.b"]
    assert outcome.kind == kind
    assert outcome.error == ("Bad: Why." if ERROR in ends.values() else "")
