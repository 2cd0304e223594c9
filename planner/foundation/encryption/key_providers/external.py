"""`external`: keys from a program configured by the user."""

from __future__ import annotations

from typing import Any

from planner.foundation.encryption.envelope import Base64Error, decode, go_json
from planner.foundation.encryption.keys import (
    EncryptionArguments,
    Given,
    Key,
    Keys,
    Metadata,
    MetadataError,
    ProviderError,
    Setting,
)
from planner.foundation.encryption.programs import (
    AnswerError,
    ExitError,
    Kind,
    ProtocolError,
    ask,
    check_members,
    stderr_of,
)
from planner.foundation.values.types import STRING, ListType
from planner.foundation.vocabulary.records import frozen

SETTINGS = EncryptionArguments({"command": Setting(ListType(STRING), required=True)})
_KIND = Kind("OpenTofu-External-Key-Provider", "key provider", "binary")


@frozen(eq=False)
class External:
    """A key provider that runs a program. `command`: the program and its arguments."""

    command: tuple[str, ...]

    def provide(self, metadata: Metadata | None) -> tuple[Keys, Metadata]:
        known = metadata.get("external_data") if metadata is not None else None
        if known is not None and not isinstance(known, dict):
            raise MetadataError("external_data is not an object")
        try:
            request = b"null" if known is None else go_json({"external_data": known})
        except (ValueError, OverflowError):
            raise MetadataError("external_data has a number that is too large") from None
        try:
            answer, stderr = ask(_KIND, self.command, request)
            return _answer(answer, stderr)
        except ProtocolError as bad:
            raise ProviderError(f"external key provider protocol failure: {bad}") from None
        except ExitError as bad:
            how = "a non-zero exit code" if bad.has_code else "an error"
            raise ProviderError(
                f"the external command exited with {how} ({bad.status})\n\n{stderr_of(bad.stderr)}"
            ) from None
        except AnswerError as bad:
            raise ProviderError(
                f"the external command returned an invalid JSON response ({bad.reason})\n\n{stderr_of(bad.stderr)}"
            ) from None


def _answer(answer: dict[str, Any], stderr: str) -> tuple[Keys, Metadata]:
    """The keys and the metadata in the response of a program. Raises AnswerError."""
    check_members(answer, frozenset(("keys", "meta")), stderr)
    keys, meta = answer.get("keys") or {}, answer.get("meta") or {}
    if not isinstance(keys, dict) or not isinstance(meta, dict):
        raise AnswerError("keys and meta have to be objects", stderr)
    check_members(keys, frozenset(("encryption_key", "decryption_key")), stderr)
    check_members(meta, frozenset(("external_data",)), stderr)
    data = meta.get("external_data")
    if data is not None and not isinstance(data, dict):
        raise AnswerError("external_data has to be an object", stderr)
    encryption, decryption = (_key(keys, name, stderr) for name in ("encryption_key", "decryption_key"))
    return Keys(encryption, decryption, "the external command returned none"), {"external_data": data}


def _key(keys: dict[str, Any], name: str, stderr: str) -> Key | None:
    text = keys.get(name)
    if text is None:
        return None
    if not isinstance(text, str):
        raise AnswerError(f"{name} has to be a string", stderr)
    try:
        return Key.of(decode(text))
    except Base64Error as bad:
        raise AnswerError(str(bad), stderr) from None


def build(settings: Given) -> External:
    """The key provider with these settings. Raises ProviderError."""
    command = settings.get("command", ())
    if not command:
        raise ProviderError("the command option is required")
    return External(command)
