"""`drift`: what was changed outside, and what the configuration makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from provider.plugins import attached, write_plugin

from cli.conftest import Ran
from planner.api.schemas import schema
from planner.foundation.values.value import SENSITIVE, Marked
from planner.render.review.drift import modification

CONFIGURATION = """
terraform {
  required_providers {
    test = { source = "example.com/test/test" }
  }
}
resource "test_thing" "a" {
  name = "a"
  size = 1
  tags = { t = "one", u = "same" }
}
resource "test_thing" "kept" {
  name = "kept"
  tags = { t = "one" }
  lifecycle {
    ignore_changes = [tags]
  }
}
"""


@pytest.fixture
def change(
    tmp_path: Path, planner: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., None]]:
    """A function that changes an object behind planner's back, after an apply; None destroys it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(CONFIGURATION)
    things = tmp_path / "world"
    things.mkdir()
    plugin = {"test": write_plugin(tmp_path / "bin")}
    with attached(plugin, TEST_PROVIDER_WORLD=str(things)) as reattach:
        monkeypatch.setenv("TF_REATTACH_PROVIDERS", reattach)
        assert planner("apply", "-auto-approve").code == 0

        def changed(thing: str, **values: Any) -> None:
            path = things / f"thing-{thing}.json"
            if values:
                path.write_text(json.dumps(json.loads(path.read_text()) | values))
            else:
                path.unlink()

        yield changed


def test_what_drifted_and_what_an_apply_makes_of_it(
    change: Callable[..., None], planner: Callable[..., Ran], tmp_path: Path
) -> None:
    ran = planner("drift")
    assert ran.code == 0 and ran.out.startswith("No drift since state serial ")
    change("a", size=7, tags={"t": "two", "u": "same"}, note="edited")
    change("kept", tags={"t": "two"})
    state = (tmp_path / "terraform.tfstate").read_bytes()
    ran = planner("drift", "-markdown=r.md", "-html=r.html", "-review=r.json")
    assert ran.code == 2 and ran.out.startswith("Drift: 2 changed outside planner since state serial ")
    lines = " ".join(ran.out.split())
    assert (
        'tags["t"]: "one" -> "two" (an apply restores it)' in lines and "size: 1 -> 7 (an apply restores it)" in lines
    )
    assert 'tags["t"]: "one" -> "two" (an apply keeps it)' in lines and "u" not in lines.split("tags")[1].split()[0]
    document = json.loads((tmp_path / "r.json").read_text())
    Draft202012Validator(schema("review")).validate(document)
    assert document == json.loads(planner("drift", "-json").out)
    outcomes = {one["address"]: one["drift"]["outcome"] for one in document["changes"]}
    assert outcomes["test_thing.kept"] == "kept" and outcomes["test_thing.a"] in ("restored", "changed")
    assert {one["kind"] for one in document["decisions"]} >= {"drift_kept"}
    text = (tmp_path / "r.md").read_text()
    assert text.startswith("### Drift: 2 changed outside planner") and "restores it" in text
    assert "restores it" in (tmp_path / "r.html").read_text()
    assert (tmp_path / "terraform.tfstate").read_bytes() == state  # nothing is recorded


def test_an_object_that_is_gone(change: Callable[..., None], planner: Callable[..., Ran]) -> None:
    change("a")
    ran = planner("drift", "-json")
    assert ran.code == 2, ran.err
    (one,) = json.loads(ran.out)["changes"]
    assert one["drift"] == {
        "planned": "create",
        "outcome": "restored",
        "modified_at": "",
        "modified_by": "",
    }
    assert "test_thing.a was destroyed outside planner; an apply creates it again" in planner("drift").out


def test_a_refresh_only_plan(change: Callable[..., None], planner: Callable[..., Ran], tmp_path: Path) -> None:
    change("a")
    change("kept", tags={"t": "two"})
    assert planner("plan", "-refresh-only", "-markdown=r.md", "-review=r.json").code == 0
    document = json.loads((tmp_path / "r.json").read_text())
    decisions = [(one["text"], one["objects"]) for one in document["decisions"]]
    assert decisions == [
        ("destroyed outside planner", ["test_thing.a"]),
        ("changed outside planner", ["test_thing.kept"]),
    ]
    assert "password_wo" not in (text := (tmp_path / "r.md").read_text())
    assert "<code>test_thing.a</code> destroyed outside planner</summary>" in text


def test_drift_is_reported_when_there_is_no_plan(
    change: Callable[..., None], planner: Callable[..., Ran], tmp_path: Path
) -> None:
    change("a", size=7)
    wrong = CONFIGURATION.replace(
        "size = 1", 'size = 1\n  region = "us"\n  lifecycle {\n    prevent_destroy = true\n  }'
    )
    (tmp_path / "main.tf").write_text(wrong)
    ran = planner("drift", "-json")
    assert ran.code == 2, ran.err
    (one,) = json.loads(ran.out)["changes"]
    assert one["drift"]["outcome"] == "unknown"


def test_when_and_by_whom() -> None:
    assert modification({"last_modified": "2026-11-28", "updated_by": "alice", "name": "x"}) == ("2026-11-28", "alice")
    azure = {"id": "x", "system_data": [{"last_modified_at": "2026-11-28", "last_modified_by": "bob"}]}
    assert modification(azure) == ("2026-11-28", "bob")
    assert modification({"updated_by": Marked("eve", frozenset((SENSITIVE,))), "tags": {"updated_by": "x"}}) == ("", "")
