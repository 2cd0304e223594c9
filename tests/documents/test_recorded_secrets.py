"""The record of an apply does not depend on secrets: with another secret it is the same, byte for byte. So nothing in
it, no digest either, confirms a guess."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.answers.documents.recorded_sources import recorded_sources
from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedBlock
from planner.foundation.values.types import STRING
from planner.language.config.load import load_root
from planner.world.state.input_record import read_record

Run = Callable[..., Any]
RECORD = ".terraform.tfstate.applied.json"
SECRETS = ("1234", "hunter2")


def sections(name: str) -> dict[str, str]:
    """The sections of a file, by their titles."""
    parts = Path(__file__).with_name(name).read_text("utf-8").split("=== ")[1:]
    return {title: text.strip() for title, _, text in (part.partition("\n") for part in parts)}


PLACES = sections("secret_places.txt")
MODULE = """
variable "s" {
  sensitive = true
  default   = "SECRET"
}
resource "terraform_data" "x" { input = { s = var.s, t = 1 } }
output "s" {
  value     = "SECRET"
  sensitive = true
}
output "e" {
  value     = "SECRET"
  ephemeral = true
}
"""


def applied(folder: Path, configuration: str, secret: str, planner: Run, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The record of an apply, without its lineage."""
    files = {
        "main.tf.json" if configuration.startswith("{") else "main.tf": configuration,
        "m/main.tf": MODULE,
        "pin.txt": "SECRET",
        "shown.txt": "shown",
        **({"terraform.tfvars": 'given = "SECRET"\n'} if '"given"' in configuration else {}),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.replace("SECRET", secret), "utf-8")
    monkeypatch.chdir(folder)
    for words in ("init", "apply -auto-approve"):
        ran = planner(*words.split())
        assert ran.code == 0, ran.out + ran.err
    return (folder / RECORD).read_bytes()


@pytest.mark.parametrize("place", PLACES)
def test_another_secret_gives_the_same_record(
    place: str, tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planner.world.state.input_record.fresh_salt", lambda: "5a17")
    records = []
    for secret in SECRETS:
        document = json.loads(applied(tmp_path / secret, PLACES[place], secret, planner, monkeypatch))
        records.append({**document, "lineage": "", "entries": len(document["entries"])})  # which have random ids
    assert records[0] == records[1]
    assert (tmp_path / SECRETS[0] / RECORD).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("call", ['filesha256("pin.txt")', 'md5(file("pin.txt"))', 'filebase64sha512("pin.txt")'])
def test_of_a_file_whose_hash_is_shown_there_is_a_digest(
    call: str, tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = f'resource "terraform_data" "a" {{ input = {call} }}'
    record = read_record(applied(tmp_path, configuration, "hunter2", planner, monkeypatch))
    assert record is not None
    digest, key = record.runs[record.latest].read["pin.txt"]
    assert digest and not key and "hunter2" not in "".join(record.sources.values())


ENCRYPTION = """
terraform {
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = "correct-horse-battery-staple"
      iterations = 200000
    }
    method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
    state { method = method.aes_gcm.m }
  }
}
"""


@pytest.mark.parametrize("how", ["PLANNER_RECORD_KEY", "encryption"])
def test_an_encrypted_record_has_sensitive_values(
    how: str, tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = (
        'variable "given" { sensitive = true }\nvariable "other" { default = "1" }\n'
        'variable "token" {\n ephemeral = true\n default = "SECRET-token"\n}\n'
        'resource "terraform_data" "a" { input = "${var.given}-${var.other}" }\n'
        'resource "terraform_data" "b" { input = sensitive("SECRET") }\n'
    )
    if how == "encryption":
        configuration += ENCRYPTION
    else:
        monkeypatch.setenv(how, 'correct-horse-${battery}-%{staple}"\\')
    record = applied(tmp_path, configuration, "hunter2", planner, monkeypatch)
    assert b"encrypted_data" in record and b"hunter2" not in record
    (tmp_path / "terraform.tfvars").write_text('given = "hunter3"\n', "utf-8")
    ran = planner("why")
    assert ran.code == 0 and "hunter" not in ran.out
    assert "var.given" in ran.out and "causes the only change" in ran.out and "var.other" not in ran.out
    monkeypatch.delenv("PLANNER_RECORD_KEY", raising=False)
    if how != "encryption":
        assert "causes" not in planner("why").out


@pytest.mark.parametrize("unchanged", [True, False])
def test_unknown_beside_known(unchanged: bool, tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a sensitive value was is not on record; what the state has shows whether it matters."""
    main = (
        'variable "size" { default = 1 }\n'
        'variable "s" {\n sensitive = true\n default = "SECRET"\n}\n'
        'resource "terraform_data" "a" { input = "${var.size}-${var.s}" }\n'
        'module "m" {\n source = "./n"\n size = var.size\n}\n'
    )
    inner = main.partition("module")[0]
    (tmp_path / "n").mkdir()
    (tmp_path / "n/main.tf").write_text(inner.replace("SECRET", "hunter2"), "utf-8")
    applied(tmp_path, main, "hunter2", planner, monkeypatch)
    secret = "hunter2" if unchanged else "hunter3"
    (tmp_path / "main.tf").write_text(main.replace("SECRET", secret).replace("= 1", "= 2"), "utf-8")
    (tmp_path / "n/main.tf").write_text(inner.replace("SECRET", secret), "utf-8")
    out = planner("why").out
    assert ("causes all 2 changes" if unchanged else "may be a cause of all 2 changes") in out
    assert "var.size 1 -> 2" in out and "hunter" not in out


class Schemas:
    """The schema of all resources."""

    def of(self, module: Any, decl: Any) -> Any:
        return self

    @property
    def block(self) -> BlockSchema:
        inner = {"name": AttributeSchema(STRING), "value": AttributeSchema(STRING, sensitive=True)}
        own = {
            "input": AttributeSchema(STRING),
            "password": AttributeSchema(STRING, sensitive=True),
            "once": AttributeSchema(STRING, write_only=True),
        }
        return BlockSchema(own, {"setting": NestedBlock(BlockSchema(inner), "list")})


MAIN = """
variable "x" { default = "shown" }
locals { s = "SECRET" }
resource "a_b" "c" {
  input = var.x
  ARGUMENT
}
"""
ARGUMENTS = sections("secret_arguments.txt")


@pytest.mark.parametrize("place", ARGUMENTS)
def test_sensitive_arguments(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = []
    for secret in SECRETS:
        main = MAIN.replace("ARGUMENT", ARGUMENTS[place])
        (tmp_path / "main.tf").write_text(main.replace("SECRET", secret), "utf-8")
        config, _ = load_root(str(tmp_path))
        texts.append(recorded_sources(config, Schemas()).texts["main.tf"])  # type: ignore[arg-type]
    assert texts[0] == texts[1] and "shown" in texts[0]
    assert ("password = local.s" in texts[0]) == (place == "a local value")
