"""`state verify`, and what is left of a state that could not be saved."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from planner.world.state.backends.local import StateStore

from .conftest import Ran

Planner = Callable[..., Ran]


@pytest.fixture
def here(tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory where something was applied twice."""
    monkeypatch.chdir(tmp_path)
    for value in "ab":
        (tmp_path / "main.tf").write_text(f'resource "terraform_data" "a" {{ input = "{value}" }}')
        assert planner("apply", "-auto-approve").code == 0
    return tmp_path


def interrupt(here: Path) -> None:
    """A journal as a process leaves it that was killed."""
    store = StateStore(str(here / "terraform.tfstate"))
    journal, _ = store.begin_journal("apply")
    assert journal is not None
    journal.start("terraform_data.a", "", "update", True)
    journal.start("terraform_data.a", "", "update", True)
    journal.close()


def append(path: Path, data: bytes) -> None:
    path.write_bytes(path.read_bytes() + data)


def replace(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))


DAMAGES: list[tuple[Callable[[Path], object], int, str]] = [
    (lambda here: None, 0, "terraform.tfstate: serial 2"),
    (interrupt, 0, "2 operations under way"),
    (lambda h: (interrupt(h), append(h / "terraform.tfstate.journal", bytes(9))), 1, "The last 9 bytes are"),
    (lambda h: (interrupt(h), replace(h / "terraform.tfstate.journal", b"update", b"upsate")), 1, "are damaged"),
    (lambda h: (h / "terraform.tfstate.journal").write_bytes(bytes(50)), 1, "Invalid journal"),
    (lambda h: (h / "terraform.tfstate").write_bytes((h / "terraform.tfstate").read_bytes()[:-9]), 1, "not valid JSON"),
    (lambda h: (h / "terraform.tfstate.backup").write_bytes(b"{"), 1, "terraform.tfstate.backup"),
    (lambda h: replace(h / "terraform.tfstate", b'"serial": 2', b'"serial": 0'), 0, "is newer than the state"),
    (lambda h: replace(h / "terraform.tfstate.backup", b'"lineage": "', b'"lineage": "0'), 0, "of a different state"),
    (lambda h: (h / "errored.tfstate").write_bytes((h / "terraform.tfstate").read_bytes()), 0, "rescued state remains"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "code", "said"), DAMAGES)
def test_what_is_lost_or_damaged_is_said(
    here: Path, planner: Planner, damage: Callable[[Path], object], code: int, said: str
) -> None:
    damage(here)
    before = {file.name: file.read_bytes() for file in here.iterdir() if file.is_file()}
    ran = planner("state", "verify")
    assert ran.code == code
    assert said in " ".join((ran.out + ran.err).split())
    assert before == {file.name: file.read_bytes() for file in here.iterdir() if file.is_file()}


def test_json_lines(here: Path, planner: Planner) -> None:
    ran = planner("state", "verify", "-json")
    found = [line for line in map(json.loads, ran.out.splitlines()) if line.get("type") == "state_checked"]
    assert [(line["kind"], line["path"]) for line in found] == [
        ("state", "terraform.tfstate"),
        ("backup", "terraform.tfstate.backup"),
    ]


def test_without_a_state(tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = planner("state", "verify")
    assert ran.code == 1
    assert "No state" in ran.err


@pytest.mark.parametrize("changed", [False, True])
def test_a_rescued_state_goes_when_the_journal_was_taken_in(here: Path, planner: Planner, changed: bool) -> None:
    """It holds what the journal holds; another one stays."""
    from planner.world.state.build import StateBuilder
    from planner.world.state.file import write_state

    store = StateStore("terraform.tfstate")
    journal, _ = store.begin_journal("apply")
    assert journal is not None
    number = journal.start("terraform_data.a", "", "delete", True)
    builder = StateBuilder(store.current, journal.instance)
    builder.remove_object("terraform_data.a")
    journal.end(number, True)
    journal.close()
    recovered, _ = StateStore("terraform.tfstate").read()
    assert recovered is not None
    data = write_state(recovered)
    (here / "errored.tfstate").write_bytes(data.replace(b'"serial": 3', b'"serial": 9') if changed else data)
    (here / "main.tf").write_text('output "o" { value = 1 }')
    assert planner("apply", "-auto-approve").code == 0
    assert (here / "errored.tfstate").exists() == changed
