"""Plans without credentials: providers are known by their schemas and never configured."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conformance import forked
from provider.plugins import SOURCE, is_alive, override, pids

TEXT = f"""
terraform {{
  required_providers {{
    test = {{ source = "{SOURCE}" }}
  }}
}}
provider "test" {{
  fail = "configure"
}}
resource "test_thing" "a" {{
  name = "a"
SIZE
}}
resource "test_thing" "b" {{
  name = "b"
}}
data "test_thing" "d" {{
  id = "x"
}}
ephemeral "test_token" "t" {{
  name = "locked"
}}
import {{
  to = test_named.n
  id = "n"
}}
resource "test_named" "n" {{
  name = "n"
}}
resource "terraform_data" "t" {{
  input = test_thing.a.token
}}
output "id" {{
  value = test_thing.a.id
}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    override(monkeypatch, tmp_path)
    found = tmp_path / "project"
    found.mkdir()
    return found


def run(folder: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = forked.run(words, folder)
    assert done.returncode == code, done.stdout + done.stderr
    assert not any(map(is_alive, pids(folder.parent / "world")))
    return done


def test_a_plan_without_providers(folder: Path) -> None:
    applied = TEXT.replace("SIZE", "").replace('fail = "configure"', "")
    applied = applied[: applied.index("data ")] + applied[applied.index('resource "terraform_data"') :]
    (folder / "main.tf").write_text(applied)
    run(folder, "apply", "-auto-approve")
    before = (folder / "terraform.tfstate").read_text()
    (folder / "main.tf").write_text(TEXT.replace("SIZE", "  size = 3"))
    run(folder, "plan", code=1)
    text = run(folder, "plan", "-offline", "-no-color", "-out=p").stdout
    assert (
        "(undecided because its provider is not called: whether it differs from the state, "
        "whether it can be changed in place)" in text
    )
    shown = json.loads(run(folder, "show", "-json", "p").stdout)
    changes = {c["address"]: c for c in shown["resource_changes"]}
    assert {a: (c["change"]["actions"], c.get("undecided")) for a, c in changes.items()} == {
        "test_thing.a": (["update"], ["object", "replacement"]),
        "test_thing.b": (["no-op"], ["object"]),
        "data.test_thing.d": (["read"], ["values"]),
        "test_named.n": (["create"], ["import"]),
        "terraform_data.t": (["update"], None),
    }
    assert changes["test_thing.a"]["change"]["after_unknown"]["token"] is True
    assert "Cannot apply an offline plan" in run(folder, "apply", "p", code=1).stderr
    assert (folder / "terraform.tfstate").read_text() == before


def test_policies_see_what_is_undecided(folder: Path) -> None:
    (folder / "main.tf").write_text(TEXT.replace("SIZE", ""))
    (folder / "own.dl").write_text(
        '@reason("{A} may be anything")\ndeny("open", A, "an import is open") :- undecided(A, "import").\n'
    )
    done = run(folder, "plan", "-offline", "-no-color", "-policy=own.dl", code=1)
    assert "test_named.n an import is open" in " ".join(done.stderr.split())
    done = run(folder, "policy", "check", "-offline", "-no-color", "-policy=own.dl", code=1)
    assert "1 denied" in done.stdout
