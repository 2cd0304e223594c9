"""Plans that were read from plan JSON look like those that they were made from."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from planner.answers.documents.plan_from_json import JsonPlan
from planner.render.plan import PlanText
from planner.render.terminal import Terminal


def text_of(document: Any) -> str:
    out = io.StringIO()
    read = JsonPlan(document if isinstance(document, bytes) else json.dumps(document).encode())
    PlanText(read.plan, read.schema_of, Terminal(stdout=out)).show()
    return out.getvalue()


FIRST = """
variable "s" {
  default   = "x"
  sensitive = true
}
resource "terraform_data" "a" {
  count = 2
  input = { a = [1, "x"], b = null, c = 0.1 }
}
resource "terraform_data" "b" {
  input            = var.s
  triggers_replace = terraform_data.a[0].id
}
output "o" { value = terraform_data.b.id }
output "p" { value = [1, 2] }
"""


def test_a_plan_and_its_document_read_the_same(tmp_path: Path, planner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text, words in ((FIRST, ()), (FIRST.replace('"x"]', '"y"]'), ("-replace=terraform_data.a[0]",)), ("", ())):
        (tmp_path / "main.tf").write_text(text)
        assert planner("plan", "-out=p", *words).code == 0
        assert text_of(planner("show", "-json", "p").out.encode()) == planner("show", "-no-color", "p").out
        assert planner("apply", "p").code == 0


def attributes(*names: str) -> dict[str, Any]:
    return {"attributes": {name: {"type": "string", "optional": True} for name in names}}


BLOCK = {**attributes("ami"), "block_types": {"disk": {"nesting_mode": "list", "block": attributes("kind", "size")}}}
DOCUMENT = {
    "provider_schemas": {
        "example.com/x/y": {"resource_schemas": {"y_instance": {"version": 1, "block": BLOCK}}},
    },
    "resource_changes": [
        {
            "address": "y_instance.a",
            "mode": "managed",
            "type": "y_instance",
            "name": "a",
            "provider_name": "example.com/x/y",
            "change": {
                "actions": ["update"],
                "before": {"ami": "b", "disk": [{"kind": "ssd", "size": "1"}]},
                "after": {"ami": "c"},
                "after_unknown": {"disk": True},
                "before_sensitive": {},
                "after_sensitive": {"ami": True},
            },
        }
    ],
}


def test_blocks_that_are_not_known() -> None:
    assert """
      ~ disk {
          + kind = (known after apply)
          + size = (known after apply)
        } -> (known after apply)
""" in text_of(DOCUMENT)


def test_without_schemas_values_have_their_own_shape() -> None:
    assert "disk = [" in text_of({**DOCUMENT, "provider_schemas": {}})


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b'{"resource_changes": 1}', b'{"resource_changes": [{}]}', b'{"output_changes": [1]}', b"{" * 5000],
)
def test_what_is_no_plan(data: bytes) -> None:
    with pytest.raises(ValueError, match="not plan JSON"):
        JsonPlan(data)


@pytest.mark.parametrize("change", [{"actions": ["fly"]}, {"address": "a b"}, {"provider_name": 'x"] y'}])
def test_damaged_plans(change: dict[str, Any]) -> None:
    (entry,) = DOCUMENT["resource_changes"]
    wrong = {**entry, **change, "change": {**entry["change"], **change}}
    with pytest.raises(ValueError, match="not plan JSON"):
        JsonPlan(json.dumps({**DOCUMENT, "resource_changes": [wrong]}).encode())
