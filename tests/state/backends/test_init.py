"""`init` with backends in services: what has to be set up, what moves where, and who is asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cli.conftest import Ran
from state.backends.servers import SERVERS, block

from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import evolve
from planner.world.state.backends import pg
from planner.world.state.backends.local import StateStore
from planner.world.state.build import StateBuilder
from planner.world.state.encryption_seal import PLAIN
from planner.world.state.file import write_state
from planner.world.state.model import ObjectState
from planner.world.state.settings import SettingsReading

Run = Callable[..., Ran]
MAIN = 'resource "terraform_data" "a" { input = "%s" }\n'


class Directory:
    """A working directory, with what is said there."""

    def __init__(self, path: Path, run: Run) -> None:
        self.path, self.run = path, run
        self.write("one")

    def write(self, value: str) -> None:
        (self.path / "main.tf").write_text(MAIN % value, "utf-8")

    def backend(self, kind: str, settings: dict[str, Any] | None = None) -> None:
        text = block(kind, settings or {}) if kind else ""
        (self.path / "backend.tf").write_text(text, "utf-8")

    def good(self, *words: str, answer: str = "") -> str:
        ran = self.run(*words, stdin=answer, terminal=bool(answer))
        assert ran.code == 0, ran.out + ran.err
        return ran.out + ran.err

    def bad(self, *words: str, answer: str = "") -> str:
        ran = self.run(*words, stdin=answer, terminal=bool(answer))
        assert ran.code == 1, ran.out + ran.err
        return " ".join((ran.out + ran.err).split())

    def state(self) -> dict[str, Any]:
        text = self.good("state", "pull")
        return dict(json.loads(text)) if text.strip() else {}

    def value(self) -> str:
        resources = self.state().get("resources") or []
        return str(resources[0]["instances"][0]["attributes"]["input"]["value"]) if resources else ""

    @property
    def record(self) -> dict[str, Any]:
        return dict(json.loads((self.path / ".terraform/terraform.tfstate").read_text()))


@pytest.fixture
def here(tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch) -> Directory:
    monkeypatch.chdir(tmp_path)
    return Directory(tmp_path, planner)


def test_other_commands_want_init(here: Directory) -> None:
    here.backend("http", SERVERS["http"]().settings())
    text = here.bad("plan")
    assert 'Backend initialization required, please run "planner init"' in text
    assert 'Reason: Initial configuration of the requested backend "http"' in text
    here.good("init", "-input=false")
    here.backend("http", SERVERS["http"]().settings())
    text = here.bad("plan")
    assert "Backend initialization required: please run" in text
    assert "Reason: Backend configuration block has changed" in text
    here.backend("pg", SERVERS["pg"]().settings())
    assert 'Reason: Backend type changed from "http" to "pg"' in here.bad("plan")
    here.backend("")
    assert 'Reason: Unsetting the previously set backend "http"' in here.bad("plan")


def test_the_first_backend_gets_the_local_state(here: Directory) -> None:
    here.good("apply", "-auto-approve")
    before = here.state()
    here.backend("http", SERVERS["http"]().settings())
    text = here.bad("init", "-input=false")
    assert "Can't ask approval for state migration when interactive input is disabled." in text
    assert "Do you want to copy existing state to the new backend?" in here.good("init", answer="maybe\nyes\n")
    assert here.state() == before  # with its serial and lineage
    assert (here.path / "terraform.tfstate").read_bytes() == b""
    assert json.loads((here.path / "terraform.tfstate.backup").read_text()) == before


def test_answering_no_loses_nothing(here: Directory) -> None:
    """OpenTofu empties the local state all the same."""
    here.good("apply", "-auto-approve")
    before = (here.path / "terraform.tfstate").read_bytes()
    here.backend("http", SERVERS["http"]().settings())
    here.good("init", answer="no\n")
    assert here.state() == {} and (here.path / "terraform.tfstate").read_bytes() == before


def test_a_changed_backend_wants_a_word(here: Directory) -> None:
    here.backend("http", SERVERS["http"]().settings())
    here.good("init", "-input=false")
    here.good("apply", "-auto-approve")
    before = here.state()
    here.backend("pg", SERVERS["pg"]().settings())
    text = here.bad("init", "-input=false")
    assert "Backend configuration changed" in text and 'use "planner init -migrate-state".' in text
    assert "choose one" in " ".join(here.run("init", "-migrate-state", "-reconfigure").err.split())
    assert 'type changed from "http" to "pg"' in here.good("init", "-migrate-state", "-force-copy")
    assert here.state() == before
    here.backend("")
    here.good("init", "-force-copy")
    assert here.state() == before and here.value() == "one"
    assert "backend" not in here.record


def test_reconfigure_leaves_states_where_they_are(here: Directory) -> None:
    here.backend("http", SERVERS["http"]().settings())
    here.good("init", "-input=false")
    here.good("apply", "-auto-approve")
    here.backend("http", SERVERS["http"]().settings())
    here.good("init", "-reconfigure")
    assert here.state() == {}


def test_two_states_that_differ(here: Directory) -> None:
    """Both can be looked at before one takes the place of the other."""
    one, other = SERVERS["http"]().settings(), SERVERS["pg"]().settings()
    for kind, settings, value in (("pg", other, "theirs"), ("http", one, "mine")):
        here.write(value)
        here.backend(kind, settings)
        here.good("init", "-reconfigure")
        here.good("apply", "-auto-approve")
    serial = here.state()["serial"]
    here.backend("pg", other)
    text = here.good("init", "-migrate-state", answer="no\n")
    assert "1-http.tfstate" in text and "2-pg.tfstate" in text
    assert here.value() == "theirs"
    here.backend("http", one)
    here.good("init", "-reconfigure")
    here.backend("pg", other)
    here.good("init", "-migrate-state", answer="yes\n")
    assert here.value() == "mine" and here.state()["serial"] == serial + 1


def test_many_workspaces(here: Directory) -> None:
    here.backend("pg", SERVERS["pg"]().settings())
    here.good("init", "-input=false")
    for name in ("default", "blue", "green"):
        here.good("workspace", "select", "-or-create", name)
        here.write(name)
        here.good("apply", "-auto-approve")
    here.backend("s3", SERVERS["s3"]().settings())
    assert "Migration aborted by user." in here.bad("init", "-migrate-state", answer="no\n")
    assert 'Do you want to migrate all workspaces to "s3"?' in here.good("init", "-migrate-state", answer="yes\n")
    for name in ("default", "blue", "green"):
        here.good("workspace", "select", name)
        assert here.value() == name
    here.good("workspace", "select", "blue")
    here.backend("http", SERVERS["http"]().settings())
    text = here.good("init", "-migrate-state", answer="yes\n")
    assert 'Destination state "http" doesn\'t support workspaces.' in text
    assert here.value() == "blue"
    assert "workspaces not supported" in here.bad("workspace", "new", "x")
    assert "workspaces not supported" in here.bad("workspace", "list")


def test_a_workspace_that_is_gone(here: Directory) -> None:
    settings = SERVERS["pg"]().settings()
    here.backend("pg", settings)
    here.good("init", "-input=false")
    for name in ("blue", "green"):
        here.good("workspace", "new", name)
    (here.path / ".terraform/environment").write_text("lost")
    text = here.bad("init", "-input=false")
    assert 'Currently selected workspace "lost" does not exist' in text
    assert "Failed to select workspace" in here.bad("init", answer="x\n")
    here.good("init", answer="2\n")
    assert here.good("workspace", "show").strip() == "blue"


def test_partial_configuration(here: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SERVERS["http"]().settings()
    address = settings.pop("address")
    here.backend("http", settings)
    assert '"address": required field is not set' in here.bad("init", "-input=false")
    here.good("init", f"-backend-config=address={address}")
    config = here.record["backend"]["config"]
    assert config["address"] == address and config["retry_max"] is None
    here.good("plan")
    here.good("init", f"-backend-config=address={address}")
    (here.path / "more.tfbackend").write_text(f'address = "{address}2"\nheaders = {{ X-A = "b" }}\n', "utf-8")
    here.good("init", "-reconfigure", "-backend-config=more.tfbackend")
    assert here.record["backend"]["config"]["headers"] == {"X-A": "b"}
    assert "is not a setting of this backend" in here.bad("init", "-backend-config=addres=x")
    assert "removes all overrides" in here.bad("init", "-backend-config=", f"-backend-config=address={address}")
    (here.path / ".terraform/terraform.tfstate").unlink()
    here.good("init", answer=f"{address}\n")
    assert here.record["backend"]["config"]["address"] == address
    (here.path / ".terraform/terraform.tfstate").unlink()
    monkeypatch.setenv("TF_HTTP_ADDRESS", address)
    here.good("init", "-input=false")
    assert here.record["backend"]["config"]["address"] is None  # what the environment says is not written down


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('backend "etcd" {}', 'The "etcd" backend is not supported in OpenTofu v1.3 or later.'),
        ('backend "azure" {}', 'The "azure" backend name has been removed, please use "azurerm".'),
        ('backend "nimbus" {}', 'There is no backend type named "nimbus".'),
        ('backend "http" { adress = "x" }', "adress"),
        ('backend "http" { address = ["x"] }', 'Inappropriate value for attribute "address"'),
        ('backend "http" { address = "ftp://x" }', "address must be HTTP or HTTPS"),
        ('backend "http" { address = terraform_data.a.id }', "static"),
        ('backend "http" { address = sensitive("http://x") }', "Backend config contains sensitive values"),
        ('backend "s3" {}', 'The "bucket" attribute value must not be empty.'),
        ('backend "s3" {\n bucket = "b"\n key = "/k"\n region = "eu-west-1"\n }', "must not start or end with"),
        (
            'backend "s3" {\n bucket = "b"\n key = "k"\n assume_role = { role_arn = "a", duration = "1s" }\n }',
            "Duration must be between 15m0s and 12h0m0s, had 1s",
        ),
    ],
)
def test_what_is_wrong_is_said(here: Directory, text: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    (here.path / "backend.tf").write_text(f"terraform {{\n  {text}\n}}\n", "utf-8")
    assert said in here.bad("init", "-input=false")
    assert not (here.path / ".terraform/terraform.tfstate").exists()


def test_without_locks(here: Directory) -> None:
    settings = SERVERS["http"]().settings()
    here.backend("http", {"address": settings["address"]})
    here.good("init", "-input=false")
    here.good("apply", "-auto-approve")
    assert "Locking disabled" in here.bad("force-unlock", "-force", "x")


@pytest.mark.parametrize("there", ["", "CREATE SCHEMA {0}"])
def test_two_first_inits_of_a_database_at_once(there: str) -> None:
    settings = SERVERS["pg"]().settings()
    backend = pg.open(SettingsReading({**settings, "schema_name": f"at_once_{len(there)}"}), PLAIN)
    name = pg.quote(backend.table.schema)
    with psycopg.connect(settings["conn_str"]) as first, psycopg.connect(settings["conn_str"], autocommit=True) as eye:
        eye.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE; {there.format(name)}")
        first.execute(f"CREATE SCHEMA IF NOT EXISTS {name}")
        first.execute("CREATE SEQUENCE IF NOT EXISTS public.global_states_id_seq AS bigint")
        first.execute(f"CREATE TABLE {name}.states (id bigint PRIMARY KEY, name text UNIQUE, data text)")
        problems: list[ServiceError] = []

        def second() -> None:
            try:
                backend.session()
            except ServiceError as problem:
                problems.append(problem)

        other = threading.Thread(target=second)
        other.start()
        # for the schema or the table, or for the sequence of all schemas, when this is the first test in the database
        waiting = "SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND query LIKE 'CREATE%'"
        while other.is_alive() and not eye.execute(waiting).fetchall():
            time.sleep(0.01)
        first.commit()
        other.join()
    assert problems == [] and backend.names() == []
    backend.session().run(f"CREATE TABLE {name}.t AS SELECT 1 AS a FROM generate_series(1, 2)")
    with pytest.raises(ServiceError, match="unique index"):
        backend.session().make(f"CREATE UNIQUE INDEX ON {name}.t (a)")


def test_a_workspace_cannot_be_selected_on_a_full_disk(here: Directory) -> None:
    (here.path / ".terraform").mkdir()
    (here.path / ".terraform/environment").symlink_to("/dev/full")
    said = here.bad("workspace", "new", "x")
    assert ".terraform/environment: No space left on device." in said


def test_an_init_does_not_write_into_files_of_another_one(here: Directory) -> None:
    """Both write under a name of their own: here the former common names are taken."""
    (here.path / "m").mkdir()
    (here.path / "m/main.tf").write_text("")
    (here.path / "calls.tf").write_text('module "m" { source = "./m" }\n')
    here.backend("local")
    for name in ("modules/modules.json.new", "terraform.tfstate.new"):
        (here.path / ".terraform" / name).mkdir(parents=True)
    here.good("init")
    assert here.record["backend"]["type"] == "local"
    here.good("plan")


@pytest.mark.parametrize("others_went_on", [False, True])
def test_what_a_journal_says_is_told_before_the_state_goes_where_no_journal_is_found(
    here: Directory, others_went_on: bool
) -> None:
    here.backend("local", {"path": "a.tfstate"})
    here.good("init")
    here.good("apply", "-auto-approve")
    path = here.path / "a.tfstate"
    store = StateStore(str(path))
    before, _ = store.read()
    journal, _ = store.begin_journal("apply")
    assert before is not None and journal is not None
    journal.start("terraform_data.c", "", "create", True)
    work = StateBuilder(before, journal.instance)
    provider = 'provider["terraform.io/builtin/terraform"]'
    work.set_object("", "managed", "terraform_data", "b", None, ObjectState({"id": "b"}), provider)
    journal.close()
    if others_went_on:
        path.write_bytes(write_state(evolve(before, serial=before.serial + 1)))
    here.backend("http", SERVERS["http"]().settings())
    if not others_went_on:
        assert "The create of terraform_data.c began" in here.good("init", "-migrate-state", "-force-copy")
        assert [one["name"] for one in here.state()["resources"]] == ["a", "b"]
        return
    text = here.bad("init", "-migrate-state", "-force-copy")
    assert "- terraform_data.b" in text and "restore the former backend block" in text
    here.backend("local", {"path": "a.tfstate"})
    assert "terraform_data.b: added to the state" in here.good("state", "journal", "-adopt")
    here.backend("http", SERVERS["http"]().settings())
    here.good("init", "-migrate-state", "-force-copy")
    assert [one["name"] for one in here.state()["resources"]] == ["a", "b"]


def test_options_of_other_types_are_expressions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text('terraform {\n  backend "http" {\n    address = "http://127.0.0.1:1/s"\n  }\n}\n')
    ran = planner("init", '-backend-config=headers={"X" = "1"}', "-backend-config=retry_max=0")
    assert "is required" not in ran.err and "connection refused" in ran.err, ran.err
    ran = planner("init", "-backend-config=headers={")
    assert ran.code == 1 and "-backend-config=headers" in ran.err
