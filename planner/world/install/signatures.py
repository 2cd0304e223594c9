"""OpenPGP signatures over lists of checksums (RFC 9580, detached)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from planner.foundation.support.problem import InstallError
from planner.foundation.vocabulary.records import frozen

if TYPE_CHECKING:
    from pysequoia import Cert, Sig


@frozen
class Signer:
    """Whose signature it is: the ID of the key, and whether the key has expired."""

    key_id: str
    expired: bool = False


def signer(document: bytes, signature: bytes, keys: Iterable[str], environ: Mapping[str, str]) -> Signer:
    """Who of the owners of the (armoured) keys signed a document. Raises InstallError when nobody did.

    A key that has expired since it signed is good enough unless OPENTOFU_ENFORCE_GPG_EXPIRATION is `true`."""
    try:
        from pysequoia import Cert, Sig
    except ImportError:
        raise InstallError("checking signatures needs the Python package pysequoia, which is missing") from None
    try:
        given = Sig.from_bytes(signature)
    except Exception as bad:
        raise InstallError(f"the signature cannot be read ({_first_line(bad)})") from None
    try:
        certificates = [c for text in keys for c in Cert.split_bytes(text.encode())]
    except Exception as bad:
        raise InstallError(f"a signing key cannot be read ({_first_line(bad)})") from None
    valid = _valid_signer(document, given, certificates)
    for certificate in certificates:
        if certificate.fingerprint == valid:
            expired = certificate.expiration is not None and certificate.expiration < datetime.now(UTC)
            if expired and environ.get("OPENTOFU_ENFORCE_GPG_EXPIRATION") == "true":
                raise InstallError(f"the signing key {_key_id(certificate)} has expired")
            return Signer(_key_id(certificate), expired)
    named = ", ".join(map(_key_id, certificates)) or "none"
    raise InstallError(f"the signature of the checksums is wrong, or not by a key of the registry ({named})")


def _valid_signer(document: bytes, given: Sig, certificates: list[Cert]) -> str:
    from pysequoia import verify

    try:
        signatures = verify(bytes=document, store=lambda _: certificates, signature=given).valid_sigs
    except Exception:  # the library has one kind for everything, with a stack as its text
        return ""
    return str(signatures[0].certificate) if signatures else ""


def _key_id(certificate: Cert) -> str:
    return str(certificate.fingerprint)[-16:].upper()


def _first_line(problem: Exception) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]
