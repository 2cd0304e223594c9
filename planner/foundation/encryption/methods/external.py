"""`external`: encryption and decryption by programs that the user configures."""

from __future__ import annotations

from planner.foundation.encryption.envelope import Base64Error, decode, encode
from planner.foundation.encryption.keys import EncryptionArguments, Given, Key, Keys, Setting
from planner.foundation.encryption.programs import (
    AnswerError,
    ExitError,
    Kind,
    ProtocolError,
    ask,
    check_members,
    stderr_of,
)
from planner.foundation.encryption.target import DecryptionError, EncryptionError, InvalidMethodError, NoKeyError
from planner.foundation.support.exact_json import dumps
from planner.foundation.values.types import STRING, ListType
from planner.foundation.vocabulary.records import frozen

_COMMAND = Setting(ListType(STRING), required=True)
SETTINGS = EncryptionArguments({"keys": Setting(keys=True), "encrypt_command": _COMMAND, "decrypt_command": _COMMAND})
_KIND = Kind("OpenTofu-External-Encryption-Method", "method", "method")


class _FailedError(Exception):
    """A program failed. The message is the reason."""


@frozen(eq=False, repr=False)
class ExternalMethod:
    """A method that runs programs. `keys` are passed to the programs; None if the programs receive no keys."""

    keys: Keys | None
    encrypt_command: tuple[str, ...]
    decrypt_command: tuple[str, ...]

    def encrypt(self, data: bytes) -> bytes:
        try:
            return _run(self.encrypt_command, self.keys.encryption if self.keys is not None else None, data)
        except _FailedError as bad:
            raise EncryptionError(str(bad)) from None

    def decrypt(self, data: bytes) -> bytes:
        keys = self.keys
        if keys is not None and keys.encryption is not None and keys.decryption is None:
            raise NoKeyError(keys.without_decryption)
        if not data:
            raise DecryptionError("Cannot decrypt empty data.")
        try:
            return _run(self.decrypt_command, keys.decryption if keys is not None else None, data)
        except _FailedError as bad:
            raise DecryptionError(str(bad)) from None


def _run(command: tuple[str, ...], key: Key | None, data: bytes) -> bytes:
    """Pass a payload to a program, and return the payload of its response. Raises _FailedError."""
    request = {"key": encode(key.bytes())} if key is not None else {}
    try:
        answer, stderr = ask(_KIND, command, dumps({**request, "payload": encode(data)}))
        check_members(answer, frozenset(("payload",)), stderr)
        payload = answer.get("payload") or ""
        if not isinstance(payload, str):
            raise AnswerError("payload has to be a string", stderr)
        try:
            return decode(payload)
        except Base64Error as bad:
            raise AnswerError(str(bad), stderr) from None
    except ProtocolError as bad:
        raise _FailedError(f"external encryption method failure ({bad})") from None
    except ExitError as bad:
        how = "non-zero exit code" if bad.has_code else "an error"
        what = f"external encryption method exited with {how} ({bad.status})"
        raise _FailedError(f"{what}\n-----\n{stderr_of(bad.stderr)}\n") from None
    except AnswerError as bad:
        what = f"external encryption method returned an invalid JSON ({bad.reason})"
        raise _FailedError(f"{what}\n-----\n{stderr_of(bad.stderr)}\n") from None


def build(settings: Given) -> ExternalMethod:
    """The method with these settings. Raises InvalidMethodError."""
    for name in ("encrypt_command", "decrypt_command"):
        command = settings.get(name, ())
        if not command:
            raise InvalidMethodError(f"the {name} option is required")
        if not command[0]:
            raise InvalidMethodError(f"the first entry of {name} must not be empty")
    return ExternalMethod(settings.get("keys"), settings["encrypt_command"], settings["decrypt_command"])
