"""Provider packages: their origin, and the verification of their content."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.diagnostic import InstallError
from planner.foundation.vocabulary.provider_address import DEFAULT_HOST
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.foundation.vocabulary.version_constraints import Version
from planner.world.provider.package_hashes import archive_hash, computable_hashes, matching

if TYPE_CHECKING:
    from pysequoia import Cert, Sig


@frozen
class RegistryClaims:
    """A registry's data about a package: its SHA-256 (hex), the signed list of checksums, the keys that may sign this
    list, and, if available, the size and checksums of the packages for all platforms."""

    sha256: str
    file_name: str
    document: bytes
    signature: bytes
    keys: tuple[str, ...]
    packages: Mapping[str, tuple[int, tuple[str, ...]]] = {}


@frozen
class InstallablePackage:
    """A provider package that can be fetched. `location`: a URL, or the path of an archive or directory. `hashes`: the
    checksums that a mirror reports. `trusted`: whether all these checksums may be recorded in the lock file, even
    unverified ones. `headers` are sent with the request for the package."""

    address: str
    version: Version = field(eq=str)
    platform: str
    location: str
    file_name: str
    claims: RegistryClaims | None = None
    hashes: tuple[str, ...] = ()
    trusted: bool = False
    retries: int | None = None
    headers: Mapping[str, str] = field(default={}, repr=False)

    @property
    def is_remote(self) -> bool:
        return self.location.startswith(("https://", "http://"))


@frozen
class PackageProof:
    """The checksums of a package. `verified`: those that match the content of the package. `by_registry`, `by_mirror`:
    those that a registry or a mirror reported. `signed`: those in a signed list. `key_ids`: the ids of the signers'
    keys."""

    verified: frozenset[str] = frozenset()
    by_registry: frozenset[str] = frozenset()
    by_mirror: frozenset[str] = frozenset()
    signed: frozenset[str] = frozenset()
    key_ids: tuple[str, ...] = ()
    expired: bool = False
    own: frozenset[str] = frozenset()  # checksums known to match the package of this platform

    @property
    def summary(self) -> str:
        """The strongest verification that the package passed, in OpenTofu's words."""
        if self.signed and self.key_ids:
            return "signed"
        if self.by_registry:
            return "signing skipped"
        if self.verified:
            return "verified checksum"
        return "signing skipped" if self.by_mirror else "unauthenticated"


def file_name(address: str, version: Version, platform: str) -> str:
    """The file name of a package's archive in a mirror directory."""
    return f"terraform-provider-{address.rpartition('/')[2]}_{version}_{platform}.zip"


def no_platform(address: str, version: Version, platform: str) -> InstallError:
    return InstallError(f"there is no package of {address} {version} for {platform}", "no_platform")


def must_be_signed(address: str, environ: Mapping[str, str]) -> bool:
    """Whether a package without a signature is rejected. The default registry has no keys for some providers, so its
    packages are rejected only if the user requires signatures."""
    if not address.startswith(f"{DEFAULT_HOST}/"):
        return True
    return environ.get("OPENTOFU_ENFORCE_GPG_VALIDATION") == "true"


def authenticate(package: InstallablePackage, local: Path, environ: Mapping[str, str]) -> PackageProof:
    """Verify a downloaded package against the data that its registry or mirror reported. Raises InstallError."""
    if package.claims is not None:
        return _by_registry(package, package.claims, local, environ)
    if package.hashes:
        return _by_mirror(package, local)
    return PackageProof()


def _by_mirror(package: InstallablePackage, local: Path) -> PackageProof:
    wanted = computable_hashes(package.hashes)
    if not wanted:
        raise InstallError("the mirror reports only checksums of unsupported kinds")
    verified = frozenset(matching(local, wanted))
    if not verified:
        raise InstallError(f"the package has none of the checksums that the mirror reports ({', '.join(wanted)})")
    return PackageProof(
        verified=verified, by_mirror=frozenset(wanted) - verified if package.trusted else frozenset(), own=verified
    )


def _by_registry(
    package: InstallablePackage, claims: RegistryClaims, local: Path, environ: Mapping[str, str]
) -> PackageProof:
    wanted = f"zh:{claims.sha256}"
    proof = PackageProof(verified=frozenset((wanted,)), own=frozenset((wanted,)))
    if claims.packages:
        proof = _of_all_platforms(package, claims, local, proof)
    listed = _parse_checksums(claims)
    if listed.get(claims.file_name) is None:
        raise InstallError(f"the registry's list of checksums does not contain {claims.file_name}")
    if listed[claims.file_name] != claims.sha256:
        raise InstallError(
            f"the registry contradicts itself: {claims.file_name} has the checksum {listed[claims.file_name]} in its "
            f"list, and {claims.sha256} elsewhere"
        )
    got = archive_hash(local)
    if got != wanted:
        raise InstallError(f"the downloaded archive has the checksum {got}, not {wanted}")
    documented = frozenset(f"zh:{sha}" for sha in listed.values())
    proof = evolve(proof, by_registry=proof.by_registry | documented)
    if not claims.keys and not must_be_signed(package.address, environ):
        return proof
    return _signed_proof(claims, environ, proof, documented)


def _signed_proof(
    claims: RegistryClaims, environ: Mapping[str, str], proof: PackageProof, documented: frozenset[str]
) -> PackageProof:
    try:
        by = signer(claims.document, claims.signature, claims.keys, environ)
    except InstallError as bad:
        detail = f"the package is not signed by a valid key, so it may not be what its author published: {bad}"
        raise InstallError(detail) from None
    return evolve(proof, signed=documented, key_ids=(by.key_id,), expired=by.expired)


def _of_all_platforms(
    package: InstallablePackage, claims: RegistryClaims, local: Path, proof: PackageProof
) -> PackageProof:
    if package.platform not in claims.packages:
        raise InstallError(f"the registry lists packages, but none for {package.platform}")
    size, hashes = claims.packages[package.platform]
    arrived = os.path.getsize(local)
    if arrived != size:
        raise InstallError(f"the registry announced a package of {size} bytes, but {arrived} bytes were received")
    if f"zh:{claims.sha256}" not in hashes or any(h.startswith("zh:") and h[3:] != claims.sha256 for h in hashes):
        raise InstallError("the registry contradicts itself about the checksum of the package")
    everywhere = frozenset(h for _, each in claims.packages.values() for h in computable_hashes(each))
    return evolve(proof, by_registry=everywhere, own=proof.own | frozenset(computable_hashes(hashes)))


def _parse_checksums(claims: RegistryClaims) -> dict[str, str]:
    listed: dict[str, str] = {}
    for line in claims.document.decode("utf-8", "replace").splitlines():
        parts = line.split()
        if len(parts) > 1 and len(parts[0]) == 64 and all(c in "0123456789abcdef" for c in parts[0].lower()):
            listed.setdefault(parts[1], parts[0].lower())
    return listed


# OpenPGP signatures of checksum lists (RFC 9580, detached).


@frozen
class Signer:
    key_id: str
    expired: bool = False


def signer(document: bytes, signature: bytes, keys: Iterable[str], environ: Mapping[str, str]) -> Signer:
    """The (armoured) key among `keys` that signed the document. Raises InstallError if there is none,
    or if the signature or a key cannot be read.

    A key that has expired since signing is accepted unless OPENTOFU_ENFORCE_GPG_EXPIRATION is `true`."""
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
    raise InstallError(f"the signature of the checksums is wrong, or was not made with a key of the registry ({named})")


def _valid_signer(document: bytes, given: Sig, certificates: list[Cert]) -> str:
    from pysequoia import verify

    try:
        signatures = verify(bytes=document, store=lambda _: certificates, signature=given).valid_sigs
    except Exception:  # the library raises one exception for all errors, with a stack trace in the message
        return ""
    return str(signatures[0].certificate) if signatures else ""


def _key_id(certificate: Cert) -> str:
    return str(certificate.fingerprint)[-16:].upper()


def _first_line(problem: Exception) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]
