"""What is wrong with encryption is told in OpenTofu's words."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from planner.foundation.encryption.key_providers.external import External
from planner.foundation.encryption.keys import MetadataError

SAMPLES = Path(__file__).parent / "samples"
ERRORS = sorted(p.stem for p in (SAMPLES / "errors").glob("*.tf"))
STATES = sorted(p.name for p in SAMPLES.glob("err-*"))
_SAID = re.compile(r"^(?:Error|Warning): ", re.MULTILINE)


def _session(name: str, command: str) -> str:
    """What OpenTofu printed to a command in a session of the transcripts."""
    text = (SAMPLES / "transcripts.txt").read_text()
    part = text.split(f"## {name}\n")[-1].split("\n## ")[0]
    return next(p for p in part.split("$ tofu ") if p.startswith(command))


def _words(text: str) -> list[str]:
    return re.sub(r"\[exit \d\]|\x1b\[\d*m", "", text).split()


def _errors(text: str) -> list[list[str]]:
    """The errors of an output, each as words; whatever is printed besides left out."""
    found = []
    for part in re.split(r"^(?=Error: |Warning: )", text, flags=re.MULTILINE):
        if part.startswith("Error: ") and _words(part) not in found:
            found.append(_words(part))
    return found


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_configurations(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Any) -> None:
    shutil.copy(SAMPLES / "pbkdf2" / "config" / "main.tf", tmp_path)
    shutil.copy(SAMPLES / "errors" / f"{name}.tf", tmp_path / "encryption.tf")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TF_ENCRYPTION", raising=False)
    ran = planner("plan")
    assert ran.code == 1
    assert _errors(ran.err) == _errors(_session(f"errors/{name}", "plan"))


@pytest.mark.parametrize("name", STATES)
def test_states_that_are_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Any) -> None:
    """In the words of `init`; planner has the same for all commands, where OpenTofu blames the lock of the state."""
    shutil.copytree(SAMPLES / name / "config", tmp_path, dirs_exist_ok=True)
    state = tmp_path / "terraform.tfstate"
    shutil.copy(SAMPLES / name / "state.before.tfstate", state)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TF_ENCRYPTION", raising=False)
    (theirs,) = _errors(_session(name, "init"))
    for command in ("init", "plan", "apply -auto-approve"):
        ran = planner(*command.split())
        assert ran.code == 1
        (ours,) = _errors(ran.err)
        if name == "err-no-config-for-encrypted":  # the title is a part of the sentence there
            theirs = (
                " ".join(theirs).replace("Error refreshing state Unsupported", "Unsupported").replace(":", "").split()
            )
            ours = " ".join(ours).replace(":", "").split()
        assert ours[: len(theirs)] == theirs
    assert state.read_bytes() == (SAMPLES / name / "state.after.tfstate").read_bytes()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("foo {}", "Unsupported block type"),
        ("state { ", "Unclosed configuration block"),
        ('{"state": {"method": "method.aes_gcm.zip"}}', 'There is no method "aes_gcm" "zip" block declared'),
        ('{"state": {"method": "${method.aes_gcm.m}"}}', "A single static variable reference is required"),
        ("state {\n  method = method.aes_gcm\n}", "Expected method of form method.<type>.<name>"),
        ("state {\n  method = method.aes_gcm.m\n}\nstate {\n  method = method.aes_gcm.m\n}", "Duplicate state block"),
        ('key_provider "pbkdf2" "k" {}', "no passphrase provided and no chained provider defined"),
        ('method "aes_gcm" "m" {\n  keys = 5\n}', "Expected a key_provider compatible value, found number instead"),
        ('method "aes_gcm" "m" {\n  keys = {decryption_key = []}\n}', "Missing encryption_key value"),
        ('method "aes_gcm" "m" {\n  keys = key_provider.pbkdf2\n}', "Unable to use key_provider.pbkdf2 in static"),
        ('method "aes_gcm" "m" {\n  keys = key_provider.pbkdf2.k\n  aad = [300]\n}', "between 0 and 255 inclusive"),
        ('method "aes_gcm" "m" {}', 'The argument "keys" is required'),
        ('key_provider "pbkdf2" "k" {\n  passphrase = null\n}', "Unsuitable value: null value is not allowed"),
        ('key_provider "pbkdf2" "k" {\n  passphrase = "sixteen-letters--"\n  iterations = 1.5\n}', "a whole number"),
        (
            'key_provider "pbkdf2" "k" {\n  passphrase = "0123456789abcdef"\n  salt_length = 0\n}',
            "the salt length must",
        ),
        ('key_provider "pbkdf2" "k" {\n  passphrase = "0123456789abcdef"\n  key_length = 0\n}', "the key length must"),
        ('key_provider "pbkdf2" "x y" {}', "The provided key provider name is invalid"),
        (
            'key_provider "pbkdf2" "k" {\n  passphrase = "0123456789abcdef"\n  chain = {encryption_key = [1]}\n}',
            "passphrase and chain are mutually exclusive",
        ),
        ('key_provider "pbkdf2" "k" {\n  chain = {encryption_key = [1]}\n}', "an encryption key that is too short"),
        (
            'key_provider "pbkdf2" "k" {\n  chain = {encryption_key = null}\n}',
            "no encryption key provided from upstream",
        ),
        ('key_provider "external" "e" {\n  command = "x"\n}', "Unsuitable value type"),
        ('key_provider "external" "e" {\n  command = []\n}', "the command option is required"),
        ('key_provider "external" "e" {\n  command = ["/no/such/program"]\n}', "exited with an error"),
        ('key_provider "openbao" "e" {}', 'The argument "key_name" is required'),
        ('key_provider "openbao" "e" {\n  key_name = "k"\n  key_length = 17\n}', "16, 32 or 64 bytes: got 17"),
        ('key_provider "aws_kms" "e" {\n  kms_key_id = "k"\n  key_spec = "RSA"\n}', "one of [AES_256 AES_128]"),
        ('key_provider "aws_kms" "e" {\n  kms_key_id = "k"\n  key_spec = "AES_256"\n}', 'the "region" attribute'),
        ('key_provider "gcp_kms" "e" {\n  kms_encryption_key = "k"\n  key_length = 0\n}', "at least 1"),
        (
            'key_provider "azure_vault" "e" {\n  vault_uri = "https://a--b.vault.azure.net"\n  vault_key_name = "k"\n'
            "  key_length = 32\n}",
            "must be nonconsecutive",
        ),
        (
            'key_provider "azure_vault" "e" {\n  vault_uri = "https://abc.vault.azure.net"\n  vault_key_name = "k"\n'
            "  key_length = 32\n  symmetric = true\n}",
            "symmetric_key_size must be given",
        ),
    ],
)
def test_what_the_variable_says(
    text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Any
) -> None:
    """Over a block that is right; and whatever is wrong, the variable itself is never shown."""
    used = re.search(r'key_provider "(\w+)" "e"', text)
    blocks = ["state {\n  method = method.aes_gcm.m\n}"] if "state {\n" not in text else []
    if 'key_provider "pbkdf2" "k"' not in text:
        blocks.append('key_provider "pbkdf2" "k" {\n  passphrase = var.pass\n}')
    if 'method "aes_gcm" "m"' not in text:
        keys = f"key_provider.{used[1]}.e" if used else "key_provider.pbkdf2.k"
        blocks.append(f'method "aes_gcm" "m" {{\n  keys = {keys}\n}}')
    inside = "\n".join(blocks)
    variable = 'variable "pass" {\n  default = "correct-horse-battery-staple"\n}\n'
    (tmp_path / "main.tf").write_text(f"{variable}terraform {{\n  encryption {{\n{inside}\n  }}\n}}\n")
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TF_ENCRYPTION", f"{text} ")
    ran = planner("plan")
    assert ran.code == 1, ran.out
    assert says in " ".join(ran.err.split())
    for line in text.split("\n"):
        assert len(line) < 8 or line.strip() not in ran.err


def test_the_variable_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text("")
    text = 'key_provider "pbkdf2" "k" { passphrase = "the-secret-of-the-house" } }'
    monkeypatch.setenv("TF_ENCRYPTION", text)
    ran = planner("plan")
    assert ran.code == 1 and "TF_ENCRYPTION line 1" in ran.err and "(source code not available)" in ran.err
    assert "the-secret-of-the-house" not in ran.out + ran.err


def test_blocks_of_other_files_and_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Any) -> None:
    """A second block is an error, one in an override file is laid over, one in a module does not count."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TF_ENCRYPTION", raising=False)
    block = (SAMPLES / "pbkdf2" / "config" / "encryption.tf").read_text()
    (tmp_path / "a.tf").write_text(block)
    (tmp_path / "b.tf").write_text(block)
    assert "Duplicate encryption configuration" in planner("plan").err
    (tmp_path / "b.tf").unlink()
    over = 'terraform {\n  encryption {\n    key_provider "pbkdf2" "k" {\n      iterations = 5\n    }\n  }\n}\n'
    (tmp_path / "a_override.tf").write_text(over)
    assert "dangerously low" in planner("plan").err
    (tmp_path / "a_override.tf").unlink()
    (tmp_path / "a.tf").write_text('module "m" {\n  source = "./m"\n}\nresource "terraform_data" "a" {}\n')
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "m.tf").write_text(block)
    assert planner("init").code == 0
    assert planner("apply", "-auto-approve").code == 0
    assert b'"version"' in (tmp_path / "terraform.tfstate").read_bytes()


@pytest.mark.parametrize("number", [10**400, float("inf")])
def test_numbers_that_no_program_is_sent(number: float) -> None:
    with pytest.raises(MetadataError, match="too large"):
        External(("no program",)).provide({"external_data": {"a": [number]}})
