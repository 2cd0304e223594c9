"""Keys that other programs made, and signatures that they check: ssh-keygen, ssh-agent, openssl."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.foundation.signatures import ssh
from planner.foundation.signatures.envelope import encode, envelope, verify_envelope
from planner.foundation.signatures.keys import PASSPHRASE, load_signer, load_verifiers
from planner.foundation.vocabulary.diagnostic import Failure, ServiceError

needs_openssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="without OpenSSH")
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="without openssl")
STATEMENT = {"_type": "https://in-toto.io/Statement/v1", "subject": [], "predicateType": "x", "predicate": {}}


def run(*words: str, data: bytes = b"") -> bytes:
    return subprocess.run(words, input=data, capture_output=True, check=True).stdout


def ssh_key(folder: Path, kind: str = "ed25519", passphrase: str = "", name: str = "key") -> Path:
    path = folder / name
    run("ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "alice", "-f", str(path))
    return path


def pem_key(folder: Path, *options: str) -> tuple[Path, Path]:
    private, public = folder / "key.pem", folder / "key.pub.pem"
    run("openssl", "genpkey", *options, "-out", str(private))
    run("openssl", "pkey", "-in", str(private), "-pubout", "-out", str(public))
    return private, public


def parts(line: bytes) -> tuple[bytes, bytes]:
    """The signed bytes and the signature of an envelope."""
    whole = json.loads(line)
    return encode(base64.b64decode(whole["payload"])), base64.b64decode(whole["signatures"][0]["sig"])


def armored(data: bytes) -> str:
    """A signature as a file for ssh-keygen."""
    encoded = base64.b64encode(data).decode()
    lines = (encoded[at : at + 70] for at in range(0, len(encoded), 70))
    return "\n".join(("-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""))


@needs_openssh
@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_ssh_keygen_checks_what_keys_of_openssh_sign(tmp_path: Path, kind: str) -> None:
    key = ssh_key(tmp_path, kind)
    line = envelope(STATEMENT, load_signer(str(key)))
    message, signature = parts(line)
    (tmp_path / "signature").write_text(armored(signature))
    (tmp_path / "allowed").write_text(f"alice {(tmp_path / 'key.pub').read_text()}")
    checked = run(
        *("ssh-keygen", "-Y", "verify", "-f", str(tmp_path / "allowed"), "-I", "alice", "-n", ssh.NAMESPACE),
        *("-s", str(tmp_path / "signature")),
        data=message,
    )
    assert b"Good" in checked
    for keys in ("key.pub", "allowed"):
        (signed,) = verify_envelope(line, load_verifiers((str(tmp_path / keys),)))
        assert [one.key_id for one in signed.signers] == [json.loads(line)["signatures"][0]["keyid"]]
        assert signed.signers[0].key_id.encode() in run("ssh-keygen", "-l", "-f", str(tmp_path / "key.pub"))


@needs_openssh
def test_what_ssh_keygen_signs_is_accepted(tmp_path: Path) -> None:
    key = ssh_key(tmp_path)
    message = tmp_path / "message"
    message.write_bytes(b"hello")
    run("ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", ssh.NAMESPACE, str(message))
    body = "".join(line for line in (tmp_path / "message.sig").read_text().splitlines() if "-----" not in line)
    (verifier,) = load_verifiers((str(key) + ".pub",))
    assert verifier.accepts(b"hello", base64.b64decode(body)) and not verifier.accepts(b"other", base64.b64decode(body))
    message.write_bytes(b"hello")
    (tmp_path / "message.sig").unlink()
    run("ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", "file", str(message))  # for another purpose
    body = "".join(line for line in (tmp_path / "message.sig").read_text().splitlines() if "-----" not in line)
    assert not verifier.accepts(b"hello", base64.b64decode(body))


@needs_openssl
@pytest.mark.parametrize(
    ("options", "check"),
    [
        (
            ("-algorithm", "ed25519"),
            ("pkeyutl", "-verify", "-pubin", "-rawin", "-in", "{message}", "-sigfile", "{sig}"),
        ),
        (
            ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"),
            ("dgst", "-sha256", "-verify", "{key}", "-signature", "{sig}", "{message}"),
        ),
    ],
    ids=["ed25519", "ecdsa"],
)
def test_openssl_checks_what_other_keys_sign(tmp_path: Path, options: tuple[str, ...], check: tuple[str, ...]) -> None:
    private, public = pem_key(tmp_path, *options)
    line = envelope(STATEMENT, load_signer(str(private)))
    message, signature = parts(line)
    files = {"message": tmp_path / "message", "sig": tmp_path / "sig", "key": public}
    files["message"].write_bytes(message)
    files["sig"].write_bytes(signature)
    words = [word.format(**files) for word in check]
    run("openssl", *words, *(("-inkey", str(public)) if "pkeyutl" in words else ()))
    (signed,) = verify_envelope(line, load_verifiers((str(public),)))
    assert len(signed.signers) == 1
    changed = json.loads(line)
    changed["payload"] = base64.b64encode(json.dumps({**STATEMENT, "predicateType": "y"}).encode()).decode()
    (signed,) = verify_envelope(json.dumps(changed).encode(), load_verifiers((str(public),)))
    assert signed.signers == ()


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    path = str(tmp_path / "agent")
    process = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    monkeypatch.setenv("SSH_AUTH_SOCK", path)
    yield
    process.terminate()
    process.wait()
    process.stdout.close()


@needs_openssh
@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
def test_an_agent_signs(tmp_path: Path, agent: None, kind: str) -> None:
    key = ssh_key(tmp_path, kind)
    public = str(key) + ".pub"
    signer = load_signer(public)
    with pytest.raises(ServiceError, match="it does not have this key"):
        signer.sign(b"x")
    run("ssh-add", "-q", str(key))
    (signed,) = verify_envelope(envelope(STATEMENT, signer), load_verifiers((public,)))
    assert len(signed.signers) == 1


@needs_openssh
def test_without_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    public = str(ssh_key(tmp_path)) + ".pub"
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with pytest.raises(ServiceError, match="SSH_AUTH_SOCK is not set"):
        load_signer(public).sign(b"x")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "none"))
    with pytest.raises(ServiceError, match="does not respond"):
        load_signer(public).sign(b"x")


@needs_openssh
def test_a_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = ssh_key(tmp_path, passphrase="secret words")
    monkeypatch.delenv(PASSPHRASE, raising=False)
    with pytest.raises(Failure) as failed:
        load_signer(str(key))
    assert PASSPHRASE in failed.value.diagnostics[0].detail
    monkeypatch.setenv(PASSPHRASE, "wrong words")
    with pytest.raises(Failure):
        load_signer(str(key))
    monkeypatch.setenv(PASSPHRASE, "secret words")
    assert load_signer(str(key)).sign(b"x")


@pytest.mark.parametrize(
    "text", ["", "hello", "ssh-ed25519 AAAA", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"]
)
def test_what_is_no_key(tmp_path: Path, text: str) -> None:
    (tmp_path / "key").write_text(text)
    for read in (load_signer, lambda path: load_verifiers((path,))):
        with pytest.raises(Failure):
            read(str(tmp_path / "key"))
    with pytest.raises(Failure):
        load_verifiers((str(tmp_path / "missing"),))
    (tmp_path / "empty").mkdir()
    with pytest.raises(Failure, match="no public keys"):
        load_verifiers((str(tmp_path / "empty"),))


@needs_openssl
def test_weak_keys_are_refused(tmp_path: Path) -> None:
    _, public = pem_key(tmp_path, "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024")
    with pytest.raises(Failure, match="2048"):
        load_verifiers((str(public),))


@pytest.fixture(scope="module")
def signed_line(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    """An envelope, and the public key of its signer."""
    folder = tmp_path_factory.mktemp("signed")
    key = ssh_key(folder)
    return envelope(STATEMENT, load_signer(str(key))), f"{key}.pub"


@needs_openssh
@settings(max_examples=examples(80))
@given(more=st.binary(max_size=300), at=st.integers(0, 400), flip=st.integers(1, 255))
def test_damaged_envelopes_prove_nothing(signed_line: tuple[bytes, str], more: bytes, at: int, flip: int) -> None:
    line, public = signed_line
    verifiers = load_verifiers((public,))
    assert not any(signed.signers for signed in verify_envelope(more, verifiers))
    whole = json.loads(line)
    signature = bytearray(base64.b64decode(whole["signatures"][0]["sig"]))
    signature[at % len(signature)] ^= flip
    whole["signatures"][0]["sig"] = base64.b64encode(bytes(signature)).decode()
    assert not any(signed.signers for signed in verify_envelope(json.dumps(whole).encode(), verifiers))


def test_a_message_that_ends_too_early() -> None:
    with pytest.raises(ValueError, match="missing"):
        ssh.Reader(b"\xff\xff\xff\xff").text()
