"""Units that are gone: known by the manifest, told as orphaned, destroyed or forgotten as the fleet's file says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from batch.fleets import BACKEND, batch, unit, write


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Three units, of which two are gone by now; `old-app` depended on `old-db`."""
    write(tmp_path, {
        "planner.batch.hcl": 'unit "a" {}\nunit "old-db" {}\nunit "old-app" {}\n',
        "a/main.tf": unit(),
        "old-db/main.tf": unit(),
        "old-app/main.tf": unit({"up": "old-db"}),
    })  # fmt: skip
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    for name in ("old-db", "old-app"):
        (tmp_path / name / "main.tf").unlink()
    file(tmp_path, "")
    return tmp_path


def file(root: Path, more: str) -> None:
    write(root, {"planner.batch.hcl": f'unit "a" {{}}\n{more}'})


def removed(name: str, action: str) -> str:
    return f'removed "{name}" {{\n  action = "{action}"\n}}\n'


def manifest(root: Path) -> Any:
    return json.loads((root / ".planner/batch/manifest.json").read_text())["units"]


def objects(root: Path, name: str) -> int:
    return len(json.loads((root / name / "terraform.tfstate").read_text())["resources"])


def test_the_manifest_knows_units_and_states(fleet: Path) -> None:
    known = manifest(fleet)
    assert sorted(known) == ["a", "old-app", "old-db"]
    assert known["old-app"]["state"] == str(fleet.resolve() / "old-app/terraform.tfstate")
    assert known["old-app"]["after"] == ["old-db"]
    assert (fleet / ".planner/batch/manifest.json").stat().st_mode & 0o777 == 0o600


def test_units_that_are_gone_are_orphaned(fleet: Path) -> None:
    ran = batch(fleet, "plan", "-json", "-no-cache")
    assert ran.code == 0
    assert [found["unit"] for found in ran.json["orphaned"]] == ["old-app", "old-db"]
    assert batch(fleet, "plan", "-strict").code == 1
    shutil.rmtree(fleet / "old-app")
    assert [found["unit"] for found in batch(fleet, "plan", "-json").json["orphaned"]] == ["old-db"]
    (fleet / "old-db/terraform.tfstate").unlink()
    assert batch(fleet, "plan", "-strict").code == 0


def test_they_are_destroyed_in_order_when_the_file_says_so(fleet: Path) -> None:
    file(fleet, removed("old-db", "destroy") + removed("old-app", "destroy"))
    assert batch(fleet, "graph", "-json").json["edges"] == [["old-db", "old-app"]]
    assert "depended on" in batch(fleet, "why", "old-db", "old-app").out
    ran = batch(fleet, "plan", "-json", "-strict")
    assert ran.code == 0 and ran.unit("old-db")["counts"]["remove"] == 1
    ran = batch(fleet, "apply", "-auto-approve", "-json")
    assert ran.outcomes == {"a": "unchanged", "old-db": "applied", "old-app": "applied"}
    assert [found["unit"] for found in ran.json["units"]] == ["a", "old-app", "old-db"]
    assert objects(fleet, "old-db") == objects(fleet, "old-app") == 0
    assert sorted(manifest(fleet)) == ["a"]
    ran = batch(fleet, "plan")
    assert ran.code == 0 and "old-db has no objects left: remove the block" in " ".join(ran.out.split())


def test_they_are_forgotten_when_the_file_says_so(fleet: Path) -> None:
    file(fleet, removed("old-db", "forget") + removed("old-app", "forget"))
    ran = batch(fleet, "plan", "-strict")
    assert ran.code == 0 and "is forgotten with the next apply" in " ".join(ran.out.split())
    assert batch(fleet, "apply", "-auto-approve").code == 0
    assert objects(fleet, "old-db") == 1 and sorted(manifest(fleet)) == ["a"]


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (removed("a", "destroy"), "a is still a unit of the fleet"),
        (removed("old-db", "destory"), 'Did you mean "destroy"?'),
        (removed("old-db", "forget") * 2, "Duplicate removed"),
        ('removed "old-db" {}\n', 'The argument "action" is required'),
    ],
)
def test_what_is_wrong_with_a_removal_is_said(fleet: Path, block: str, words: str) -> None:
    file(fleet, block)
    ran = batch(fleet, "plan")
    assert ran.code == 1 and words in " ".join(ran.errors.split())


def test_a_removal_that_names_nothing_is_told(fleet: Path) -> None:
    file(fleet, removed("old-dbb", "destroy"))
    ran = batch(fleet, "plan")
    assert ran.code == 0 and 'Did you mean "old-db"?' in " ".join(ran.out.split())


def test_a_manifest_that_is_damaged_is_told_and_kept(fleet: Path) -> None:
    """What was known of units that are gone is not forgotten without a word."""
    path = fleet / ".planner/batch/manifest.json"
    for text in ("", "[]", '{"units": {"x": 1}}', '{"units": {"x": {"state": "/x"}}}'):
        path.write_text(text)
        for _ in range(2):  # the second run finds what the first one kept
            ran = batch(fleet, "plan")
            assert ran.code == 0 and "The list of units is damaged" in ran.out
            assert path.read_text() == text
        assert batch(fleet, "plan", "-strict").code == 1
    path.unlink()
    assert batch(fleet, "plan").code == 0
    assert sorted(manifest(fleet)) == ["a"]


def test_a_manifest_whose_settings_are_nested_deep_is_kept_as_it_is(fleet: Path) -> None:
    path = fleet / ".planner/batch/manifest.json"
    settings = '{"a": ' + "[" * 300 + "]" * 300 + "}"
    backend = f'{{"type": "s3", "settings": {settings}}}'
    entry = f'{{"state": "s3://b/k", "workspace": "", "after": [], "backend": {backend}}}'
    path.write_text(f'{{"format_version": "1.0", "units": {{"x": {entry}}}}}')
    ran = batch(fleet, "plan")
    assert ran.code == 0, ran.errors
    assert {"a", "x"} <= {*manifest(fleet)} and manifest(fleet)["x"] == json.loads(entry)


def test_of_a_manifest_that_is_damaged_nobody_says_that_nothing_is_left(fleet: Path) -> None:
    file(fleet, removed("old-db", "destroy"))
    (fleet / ".planner/batch/manifest.json").write_text('{"units": ')
    ran = batch(fleet, "plan")
    assert ran.code == 1 and "the remaining objects of old-db are not known" in " ".join(ran.errors.split())


def test_what_stands_on_something_that_is_destroyed_alone_is_named(tmp_path: Path) -> None:
    main = BACKEND + 'output "id" { value = "x" }\n'
    reads = BACKEND + 'variable "up" {}\nresource "terraform_data" "r" { input = var.up }\n'
    write(tmp_path, {"net/main.tf": main, "app/main.tf": reads})
    write(tmp_path, {"planner.batch.hcl": 'unit "net" {}\nunit "app" { inputs = { up = unit.net.id } }\n'})
    words = "app may have objects and is not selected, but it depends on net, which is destroyed"
    assert words not in " ".join(batch(tmp_path, "plan", "-destroy", "net").out.split())
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    assert words in " ".join(batch(tmp_path, "plan", "-destroy", "net").out.split())
    assert words not in " ".join(batch(tmp_path, "plan", "net").out.split())
    assert words not in " ".join(batch(tmp_path, "plan", "-destroy").out.split())
    assert words in " ".join(batch(tmp_path, "destroy", "-auto-approve", "net").out.split())
