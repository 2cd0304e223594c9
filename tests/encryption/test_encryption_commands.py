"""Encryption in commands: states in services, states that data sources read, files that are named, values given."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from encryption.sealing import ENCRYPTION
from state.backends.servers import block, http  # type: ignore[import-not-found]

SAMPLES = Path(__file__).parent / "samples"
MAIN = 'resource "terraform_data" "a" {\n  input = "a-canary"\n}\noutput "o" {\n  value = terraform_data.a.output\n}\n'
EITHER = "default {\n  method = method.unencrypted.u\n  fallback {\n    method = method.aes_gcm.m\n  }\n}"
Planner = Callable[..., Any]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TF_ENCRYPTION", ENCRYPTION)
    (tmp_path / "main.tf").write_text(MAIN)
    return tmp_path


def test_a_state_in_a_service(work: Path, planner: Planner) -> None:
    """It is encrypted before it is sent, compact and without a line break, like the sample."""
    settings = http().settings()
    (work / "backend.tf").write_text(block("http", settings))
    assert planner("init").code == 0
    assert planner("apply", "-auto-approve").code == 0
    import urllib.request

    with urllib.request.urlopen(settings["address"]) as answer:
        kept = answer.read()
    theirs = (SAMPLES / "pbkdf2-http-backend" / "state.tfstate").read_bytes()
    assert list(json.loads(kept)) == list(json.loads(theirs)) and b"\n" not in kept
    assert planner("plan", "-detailed-exitcode").code == 0
    left = [path for path in work.rglob("*") if path.is_file() and path.name != "main.tf"]
    assert left and not any(b"a-canary" in path.read_bytes() for path in left)


def test_changing_the_method_of_a_state_in_a_service(
    work: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next write has a higher serial there, as OpenTofu gives it."""
    (work / "backend.tf").write_text(block("http", http().settings()))
    assert planner("init").code == 0
    assert planner("apply", "-auto-approve").code == 0
    before = json.loads(planner("state", "pull").out)["serial"]
    fallback = "  fallback {\n    method = method.aes_gcm.m\n  }\n"
    new = ENCRYPTION.replace(
        "method   = method.aes_gcm.m\n  enforced = true\n", f"method = method.aes_gcm.n\n{fallback}"
    )
    more = 'key_provider "pbkdf2" "n" {\n  passphrase = "another-passphrase-now"\n  iterations = 200000\n}\n'
    more += 'method "aes_gcm" "n" {\n  keys = key_provider.pbkdf2.n\n}\n'
    monkeypatch.setenv("TF_ENCRYPTION", new + more)
    assert planner("apply", "-auto-approve").code == 0
    assert json.loads(planner("state", "pull").out)["serial"] == before + 1
    monkeypatch.setenv("TF_ENCRYPTION", new.replace(fallback, "") + more)
    assert planner("plan", "-detailed-exitcode").code == 0


@pytest.mark.parametrize(
    ("targets", "up", "code"),
    [
        ('remote_state_data_source "up" {\n  method = method.aes_gcm.m\n}', "sealed", 0),
        ("default {\n  method = method.aes_gcm.m\n}", "sealed", 0),
        ('remote_state_data_source "other" {\n  method = method.aes_gcm.m\n}', "sealed", 1),
        ('remote_state_data_source "other" {\n  method = method.aes_gcm.m\n}', "clear", 0),
        ("default {\n  method = method.aes_gcm.m\n}", "clear", 1),
        (
            "default {\n  method = method.unencrypted.u\n  fallback {\n    method = method.aes_gcm.m\n  }\n}",
            "sealed",
            0,
        ),
        ("default {\n  method = method.unencrypted.u\n  fallback {\n    method = method.aes_gcm.m\n  }\n}", "clear", 0),
    ],
)
def test_states_that_data_sources_read(
    targets: str, up: str, code: int, tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = SAMPLES / "remote-state-data-source" / "config"
    text = (sample / "main.tf").read_text()
    begins, ends = text.index("    remote_state_data_sources {"), text.index("  }\n}\ndata")
    unencrypted = 'method "unencrypted" "u" {}\n' if "method.unencrypted" in targets else ""
    blocks = f"{unencrypted}remote_state_data_sources {{\n{targets}\n}}\n"
    (tmp_path / "main.tf").write_text(text[:begins] + blocks + text[ends:])
    kept = sample / "up.tfstate" if up == "sealed" else SAMPLES / "pbkdf2" / "plaintext.tfstate"
    shutil.copy(kept, tmp_path / "up.tfstate")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TF_ENCRYPTION", raising=False)
    ran = planner("plan")
    assert ran.code == code, ran.err
    assert ("s3cr3t-é" in ran.out) == (code == 0)


def test_states_and_plans_that_are_named(work: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    assert planner("plan", "-out=p").code == 0
    assert planner("apply", "-state=here.tfstate", "-auto-approve").code == 0
    assert b"a-canary" not in (work / "here.tfstate").read_bytes() + (work / "p").read_bytes()
    for words in (
        ("show", "here.tfstate"),
        ("show", "p"),
        ("state", "show", "-state=here.tfstate", "terraform_data.a"),
    ):
        assert "a-canary" in planner(*words).out
    moved = planner(
        "state", "mv", "-state=here.tfstate", "-state-out=there.tfstate", "terraform_data.a", "terraform_data.b"
    )
    assert moved.code == 0
    assert "terraform_data.b" in planner("show", "there.tfstate").out
    assert b"a-canary" not in (work / "there.tfstate").read_bytes()
    monkeypatch.delenv("TF_ENCRYPTION")
    for words in (("show", "there.tfstate"), ("show", "p"), ("apply", "p"), ("state", "push", "there.tfstate")):
        ran = planner(*words)
        assert ran.code == 1 and "encrypted" in ran.err and "canary" not in ran.out + ran.err


def test_a_state_in_clear_that_is_written_over(work: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its backup is encrypted, too, though the state itself must not be read."""
    monkeypatch.delenv("TF_ENCRYPTION")
    assert planner("apply", "-state=old.tfstate", "-backup=-", "-auto-approve").code == 0
    assert b"a-canary" in (work / "old.tfstate").read_bytes()
    monkeypatch.setenv("TF_ENCRYPTION", ENCRYPTION)
    assert planner("plan", "-state=old.tfstate").code == 1
    assert planner("apply", "-state-out=old.tfstate", "-auto-approve").code == 0
    for name in ("old.tfstate", "old.tfstate.backup"):
        data = (work / name).read_bytes()
        assert b"a-canary" not in data and json.loads(data)["encryption_version"] == "v0"


def test_a_plan_in_clear_is_not_applied(work: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_ENCRYPTION")
    assert planner("plan", "-out=p").code == 0
    monkeypatch.setenv("TF_ENCRYPTION", ENCRYPTION)
    ran = planner("apply", "p")
    assert ran.code == 1 and "encountered unencrypted payload" in " ".join(ran.err.split())
    assert not (work / "terraform.tfstate").exists()


def test_what_is_not_configured_passes(work: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block without targets does nothing, and with `plan` alone the state is in clear."""
    blocks = ENCRYPTION.partition("state {")[0]
    monkeypatch.setenv("TF_ENCRYPTION", blocks)
    assert planner("apply", "-auto-approve").code == 0
    monkeypatch.setenv("TF_ENCRYPTION", blocks + "plan {\n  method = method.aes_gcm.m\n}\n")
    assert planner("plan", "-out=p").code == 0
    assert (work / "p").read_bytes().startswith(b'{"meta":{"key_provider.pbkdf2.k":')
    assert json.loads((work / "terraform.tfstate").read_bytes())["version"] == 4


def test_values_of_static_expressions(tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample's passphrase is made of a variable and a local value, so init needs it."""
    shutil.copytree(SAMPLES / "static-variables" / "config", tmp_path, dirs_exist_ok=True)
    shutil.copy(SAMPLES / "static-variables" / "state.tfstate", tmp_path / "terraform.tfstate")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TF_ENCRYPTION", raising=False)
    ran = planner("init", "-input=false")
    assert ran.code == 1
    assert "local.p depends on var.pass which is not available" in ran.err
    assert "encryption.key_provider.pbkdf2.k depends on local.p which is not available" in ran.err
    given = "-var=pass=0123456789abcdef"
    assert planner("init", given).code == 0
    assert planner("plan", given, "-detailed-exitcode").code == 0
    assert "s3cr3t-é" in planner("output", given, "o").out


def test_programs_of_the_user(tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an external method encrypted is decrypted by it, and its failure is told with what it printed."""
    shutil.copytree(SAMPLES / "external-method" / "config", tmp_path, dirs_exist_ok=True)
    shutil.copy(SAMPLES / "external-method" / "state.tfstate", tmp_path / "terraform.tfstate")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TF_ENCRYPTION", raising=False)
    assert planner("plan", "-detailed-exitcode").code == 0
    (tmp_path / "main.tf").write_text(MAIN)
    assert planner("apply", "-auto-approve").code == 0
    assert b"a-canary" not in (tmp_path / "terraform.tfstate").read_bytes()
    (tmp_path / "xor.py").write_text("import sys\nsys.stderr.write('out of order')\nsys.exit(7)\n")
    ran = planner("plan")
    assert ran.code == 1 and "exit status 7" in ran.err and "out of order" in ran.err


def test_no_encryption_is_loaded_without_any() -> None:
    """A plan without encryption imports nothing of it."""
    import subprocess
    import sys

    code = (
        "import sys, planner.operations.plan, planner.operations.apply, planner.operations.init, "
        "planner.world.state.backends.local, planner.world.provider.builtin, planner.operations.plan_files\n"
        "print([m for m in sys.modules if m.startswith('planner.foundation.encryption') or m in "
        "('cryptography', 'planner.world.state.encrypted_seal', 'planner.operations.encryption_seals', "
        "'planner.language.config.encryption')])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
