"""What a fleet keeps, damaged or made up by somebody else: records, manifests, lists, folders of saved plans."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from batch.fleets import Ran, batch, unit, write

from planner.foundation.vocabulary.diagnostic import defect


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    write(tmp_path, {"planner.batch.hcl": 'unit "a" {}\n', "a/main.tf": unit()})
    return tmp_path


def run_folder(root: Path) -> Path:
    """The record of a plan."""
    assert batch(root, "plan", "-out=saved").code == 0
    return max((root / ".planner/batch").glob("2*"))


def said(ran: Ran) -> str:
    return " ".join((ran.out + ran.errors).split())


RUNS = ["[]", "null", "{}", '{"command": "plan"}', '{"command": ["plan"], "options": {}}']


@pytest.mark.parametrize("text", [*RUNS, '{"command": "plan", "options": {"words": 5}}'])
def test_a_run_that_nobody_can_read_is_not_resumed(fleet: Path, text: str) -> None:
    (run_folder(fleet) / "run.json").write_text(text)
    ran = batch(fleet, "resume")
    assert ran.code == 1 and "No such run" in said(ran)
    assert batch(fleet, "plan", "outcome:changes").code == 0
    assert batch(fleet, "apply", "-auto-approve", "saved").code == 0


END = {"event": "finished", "unit": "a", "outcome": "changes"}
EVENTS = [[], {}, {"event": "finished"}, {"event": "started"}, {**END, "unit": 5}, {**END, "outcome": []}, END]


@pytest.mark.parametrize("event", [*EVENTS, {**END, "done": {"unit": "b"}}, {**END, "done": 5}])
def test_events_that_make_no_sense_count_for_nothing(fleet: Path, event: object) -> None:
    with (run_folder(fleet) / "events.jsonl").open("a") as events:
        events.write(json.dumps(event) + "\n")
    ran = batch(fleet, "resume", "-json")
    assert ran.code == 0 and ran.outcomes == {"a": "changes"}
    assert batch(fleet, "plan", "outcome:changes").code == 0
    ran = batch(fleet, "apply", "-auto-approve", "saved")
    assert ran.code == 0, said(ran)


def test_an_end_of_another_unit_is_not_taken_for_one(fleet: Path) -> None:
    path = run_folder(fleet) / "events.jsonl"
    path.write_text(path.read_text().replace('"done":{"unit":"a"', '"done":{"unit":"b"'))
    ran = batch(fleet, "resume", "-json")
    assert ran.code == 0 and ran.outcomes == {"a": "changes"}


def test_a_fleet_without_a_place_for_records_is_told_so(fleet: Path) -> None:
    write(fleet, {".planner/batch": ""})
    ran = batch(fleet, "plan")
    assert ran.code == 1 and "Cannot create a record" in said(ran)


@pytest.mark.parametrize("name", ["..", "../../saved", "/etc", "nope"])
def test_a_run_is_named_by_its_folder_alone(fleet: Path, name: str) -> None:
    run_folder(fleet)
    ran = batch(fleet, "resume", name)
    assert ran.code == 1 and f"{name} is not a valid name of a run" in said(ran)


EVIL = 'path = "x"\n  }\n}\nresource "terraform_data" "evil" {\n  lifecycle {\n    prevent_destroy'


@pytest.mark.parametrize("backend", [{"type": "local", "settings": {EVIL: True}}, {"type": "../evil", "settings": {}}])
def test_a_manifest_puts_nothing_but_a_backend_into_a_configuration(fleet: Path, backend: object) -> None:
    entry = {"state": "pg somewhere", "workspace": "", "after": [], "backend": backend}
    write(fleet, {
        "planner.batch.hcl": 'unit "a" {}\nremoved "old" {\n  action = "destroy"\n}\n',
        ".planner/batch/manifest.json": json.dumps({"format_version": "1.0", "units": {"old": entry}}),
    })  # fmt: skip
    ran = batch(fleet, "plan")
    assert ran.code == 1 and "is not a valid backend" in said(ran)
    assert not (fleet / ".planner/removed/old/main.tf").exists()


def test_a_unit_that_is_gone_where_no_folder_can_be_made_is_an_error(fleet: Path) -> None:
    write(fleet, {"planner.batch.hcl": 'unit "a" {}\nunit "old" {}\n', "old/main.tf": unit()})
    assert batch(fleet, "apply", "-auto-approve").code == 0
    write(
        fleet, {"planner.batch.hcl": 'unit "a" {}\nremoved "old" {\n  action = "destroy"\n}\n', ".planner/removed": ""}
    )
    ran = batch(fleet, "plan")
    assert ran.code == 1 and "A unit cannot be removed" in said(ran)


GENERATES = 'unit "a" {\n  generate "g.tf" {\n    content = ""\n  }\n}\n'


def test_a_pipe_in_the_place_of_a_generated_file_is_not_waited_for(fleet: Path) -> None:
    write(fleet, {"planner.batch.hcl": GENERATES})
    os.mkfifo(fleet / "a/g.tf")
    ran = batch(fleet, "plan")
    assert ran.code == 1 and "planner did not write it" in said(ran)


def test_a_list_of_generated_files_that_cannot_be_written_is_an_error(fleet: Path) -> None:
    write(fleet, {"planner.batch.hcl": GENERATES, ".planner/batch/generated.json/x": ""})
    ran = batch(fleet, "plan")
    assert ran.code == 1 and "Generated files cannot be tracked" in said(ran)


def test_a_link_in_the_place_of_a_generated_file_is_replaced_and_not_followed(fleet: Path) -> None:
    text = GENERATES.replace('content = ""', 'content = ""\n    if_exists = "overwrite"')
    write(fleet, {"planner.batch.hcl": text, "other": "mine"})
    (fleet / "a/g.tf").symlink_to(fleet / "other")
    assert batch(fleet, "plan").code == 0
    assert (fleet / "other").read_text() == "mine" and not (fleet / "a/g.tf").is_symlink()


def test_a_saved_plan_that_was_cut_off_is_no_word_for_units(fleet: Path) -> None:
    run_folder(fleet)
    (fleet / "saved/manifest.json").unlink()
    ran = batch(fleet, "apply", "-auto-approve", "saved")
    assert ran.code == 1 and "batch plan -out failed or was interrupted" in said(ran)
    os.mkfifo(fleet / "saved/manifest.json")
    ran = batch(fleet, "apply", "-auto-approve", "saved")
    assert ran.code == 1 and "saved cannot be applied: manifest.json:" in said(ran)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_what_the_machine_refuses_is_no_mistake_of_planner(number: int) -> None:
    told = defect(OSError(number, os.strerror(number), "/x"))
    assert told.detail == f"/x: {os.strerror(number)}." and "Internal" not in told.summary
    removed = defect(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))  # as os.getcwd raises it
    assert removed.summary == "The working directory does not exist"
