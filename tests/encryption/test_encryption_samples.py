"""What OpenTofu encrypted is read, and written again to the byte when nonce and salt are the same."""

from __future__ import annotations

import json
import os
import shutil
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from thinned import thinned

from planner.foundation.encryption.envelope import indent, read_envelope
from planner.foundation.encryption.key_providers import external, pbkdf2
from planner.foundation.encryption.methods import aes_gcm
from planner.operations.load import Encryption, encryption_of_directory
from planner.world.state.encryption_seal import Seal
from planner.world.state.file import read_state, write_state

SAMPLES = Path(__file__).parent / "samples"
NEEDS_A_SERVICE = ("aws_kms", "openbao")


def _payloads() -> list[str]:
    paths = [*SAMPLES.glob("*/state*.tfstate"), *SAMPLES.glob("*/plan.tfplan"), *SAMPLES.glob("*/config/up.tfstate")]
    names = [str(p.relative_to(SAMPLES)) for p in paths if b'"encryption_version"' in p.read_bytes()]
    return sorted(n for n in names if not n.startswith(("err-", *NEEDS_A_SERVICE)))


PAYLOADS = _payloads()


@pytest.fixture
def encryption(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Encryption:
    """That of the configuration beside a sample, with a copy of it as the working directory."""
    sample = SAMPLES / request.getfixturevalue("payload").split("/")[0]
    shutil.copytree(sample / "config", tmp_path / "w")
    monkeypatch.chdir(tmp_path / "w")
    variables = sample / "TF_ENCRYPTION"
    monkeypatch.setenv("TF_ENCRYPTION", variables.read_text() if variables.exists() else "")
    return _encryption(tmp_path / "w", "0123456789abcdef" if (sample / "secret.json").exists() else "")


def _encryption(directory: Path, secret: str) -> Encryption:
    from planner.language.config.variables import RawValue

    given = {"pass": RawValue("pass", "command line", secret)} if secret else {}
    return encryption_of_directory(str(directory), given, "default")


def _seal(encryption: Encryption, payload: str) -> Seal:
    if payload.endswith(".tfplan"):
        return encryption.plan
    if payload.endswith("up.tfstate"):
        return encryption.remote_state("data.terraform_remote_state.up")
    return encryption.state


def test_all_samples_are_here() -> None:
    """21 that can be read without a key service, and the state that a data source reads."""
    assert len(PAYLOADS) == 21 + 1


@pytest.mark.parametrize("payload", thinned(PAYLOADS, 3))
def test_read(payload: str, encryption: Encryption) -> None:
    data = (SAMPLES / payload).read_bytes()
    opened = _seal(encryption, payload).unseal(data)
    assert opened.is_pending == (payload in ("rollover/state.before.tfstate", "to-unencrypted/state.before.tfstate"))
    if payload.endswith(".tfplan"):
        assert opened.data.startswith(b"PK")
        return
    state, problems = read_state(opened.data)
    assert problems == [] and state is not None
    assert write_state(state, compact=True) == opened.data
    clear = SAMPLES / os.path.dirname(payload) / "plaintext.tfstate"
    if clear.exists():
        assert clear.read_bytes().rstrip(b"\n") == opened.data.rstrip(b"\n")


class Replayed:
    """Random bytes that are those of an envelope."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = list(parts)

    def __call__(self, length: int) -> bytes:
        part = self.parts.pop(0)
        assert len(part) == length
        return part


@pytest.mark.parametrize("payload", thinned(PAYLOADS, 3))
def test_written_to_the_byte(payload: str, encryption: Encryption, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (SAMPLES / payload).read_bytes()
    envelope = read_envelope(data)
    metadata: list[dict[str, Any]] = [json.loads(m) for m in envelope.metadata.values()]
    salts = [b64decode(m["salt"]) for m in metadata if "salt" in m]
    monkeypatch.setattr(pbkdf2, "_random", lambda length: salts[0] if len(salts[0]) == length else os.urandom(length))
    monkeypatch.setattr(aes_gcm, "_random", Replayed(envelope.data[:12]))
    if "before" in payload:  # what was written then is not what would be written now
        pytest.skip("another method encrypts today")
    seal = _seal(encryption, payload)
    written = seal.seal(seal.unseal(data).data)
    if data.startswith(b"{\n"):
        written = indent(written)
    assert written == data.rstrip(b"\n") + (b"\n" if data.endswith(b"\n") else b"")


def test_programs_are_asked_without_a_shell(tmp_path: Path) -> None:
    provider = external.build({"command": ("echo", "$HOME")})
    with pytest.raises(Exception, match="protocol failure"):
        provider.provide(None)


@pytest.mark.parametrize("name", ["rollover", "to-unencrypted", "from-unencrypted"])
def test_going_over(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Any) -> None:
    """The next apply writes the state as it is to be kept now, though nothing changed; the one after does not."""
    shutil.copytree(SAMPLES / name / "config", tmp_path, dirs_exist_ok=True)
    state = tmp_path / "terraform.tfstate"
    shutil.copy(SAMPLES / name / "state.before.tfstate", state)
    shutil.copy(SAMPLES / name / "state.before.tfstate", tmp_path / "terraform.tfstate.backup")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TF_ENCRYPTION", raising=False)
    assert planner("plan").code == 0
    assert state.read_bytes() == (SAMPLES / name / "state.before.tfstate").read_bytes()
    assert planner("apply", "-auto-approve").code == 0
    first, after = json.loads(state.read_bytes()), json.loads((SAMPLES / name / "state.after.tfstate").read_bytes())
    assert (first["serial"], first["lineage"]) == (after["serial"], after["lineage"])
    assert list(first) == list(after)
    assert list(first.get("meta", {})) == list(after.get("meta", {}))
    if name == "from-unencrypted":
        assert "encrypted_data" in json.loads((tmp_path / "terraform.tfstate.backup").read_bytes())
    whole = state.read_bytes()
    assert planner("apply", "-auto-approve").code == 0
    assert state.read_bytes() == whole
