"""Reads and writes `.terraform.lock.hcl`: the selected version of each provider, and checksums of its packages. The
file is identical to the one that OpenTofu writes, except for comments with checksums of modules. Reading does not load
the grammar of configurations."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from planner.foundation.clients.settings_syntax import SettingsError, read_settings
from planner.foundation.support.disk import read_whole
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.provider_address import DEFAULT_HOST, is_builtin, provider_source
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.version_constraints import Version, normal_constraints, parse_constraints

NAME = ".terraform.lock.hcl"
_MODULE = "module"
_HEADER = """# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.
"""
"""the first lines of the file, in OpenTofu's words"""


@frozen
class Lock:
    """The selection of one provider. `constraints` has the form that normal_constraints returns; `hashes` is sorted."""

    address: str
    version: Version
    constraints: str = ""
    hashes: tuple[str, ...] = ()


Locks = Mapping[str, Lock]  # selections by provider address


def lock(address: str, version: Version, constraints: str, hashes: Iterable[str]) -> Lock:
    return Lock(address, version, constraints, tuple(sorted(set(hashes))))


def lockable(address: str) -> bool:
    """Whether the lock file can select a version of the provider. It cannot for a built-in provider, which is a part of
    this program, or for a legacy address (namespace `-`)."""
    return not is_builtin(address) and "/-/" not in address


def read_locks(directory: str) -> tuple[dict[str, Lock], list[Diagnostic]]:
    """The selections in the lock file of a directory, and warnings; empty if there is no lock file. Raises Failure if
    the file is damaged."""
    path = Path(directory) / NAME
    try:
        text = read_whole(path).decode("utf-8")
    except FileNotFoundError:
        return {}, []
    except (OSError, UnicodeDecodeError) as problem:
        raise Failure(_damaged_file(path, getattr(problem, "strerror", None) or str(problem))) from None
    locks: dict[str, Lock] = {}
    warnings = []
    try:
        for name, body in read_settings(text):
            if name[0] == "module":
                detail = f"{path} locks modules, but only providers can be locked; this block has no effect."
                warnings = [warning("lock.modules", "Locked modules are not supported", detail)]
            elif name[0] != "provider" or len(name) != 2 or not isinstance(body, list):
                raise SettingsError(f"{name[0]} is not a block of a lock file")
            elif name[1] in locks:
                raise SettingsError(f"there are two selections for {name[1]}")
            else:
                locks[name[1]] = _lock(name[1], {key[0]: value for key, value in body})
    except SettingsError as problem:
        raise Failure(_damaged_file(path, str(problem))) from None
    return locks, warnings


def _lock(address: str, given: dict[str, Any]) -> Lock:
    try:
        full = provider_source(address)
    except ValueError:
        raise SettingsError(f"{address!r} is not a provider address") from None
    if full != address or not lockable(address):
        raise SettingsError(f"the provider {address!r} must be named by its full address, and not be builtin")
    if unknown := sorted(set(given) - {"version", "constraints", "hashes"}):
        raise SettingsError(f"{unknown[0]} is not an argument of a provider block in a lock file")
    text, constraints, hashes = given.get("version"), given.get("constraints", ""), given.get("hashes", [])
    try:
        version = Version(text if isinstance(text, str) else "")
        if not isinstance(constraints, str):
            raise SettingsError(f"the constraints of {address} must be a string")
        if constraints:
            parse_constraints(constraints)
    except SettingsError:
        raise
    except ValueError:
        raise SettingsError(f"the version or the constraints of {address} cannot be parsed") from None
    if str(version) != text or (constraints and normal_constraints(constraints) != constraints):
        raise SettingsError(f"the version and the constraints of {address} must be in their normal form")
    if not isinstance(hashes, list) or not all(isinstance(h, str) and ":" in h for h in hashes):
        raise SettingsError(f"the hashes of {address} must be a list of checksums")
    if "hashes" in given and not hashes:
        raise SettingsError(f"the hashes of {address} must be omitted or contain at least one checksum")
    return lock(address, version, constraints, hashes)


ModuleHashes = Mapping[tuple[str, str], str]
"""checksums of modules by (source, version), which are stored in comments, because OpenTofu ignores comments"""


def read_module_hashes(directory: str) -> dict[tuple[str, str], str]:
    try:
        text = read_whole(Path(directory) / NAME).decode("utf-8", "replace")
    except OSError:
        return {}
    lines = re.findall(rf"^# {_MODULE} (\S+) (\S+) (h1:\S+)$", text, re.M)
    return {(source, version): checksum for source, version, checksum in lines}


def lock_text(locks: Locks, modules: ModuleHashes | None = None) -> str:
    blocks = [_HEADER]
    for address in sorted(locks, key=lambda a: a.split("/")):
        one = locks[address]
        rows = [("version", f'"{one.version}"')]
        if one.constraints:
            rows.append(("constraints", f'"{one.constraints}"'))
        if one.hashes:
            rows.append(("hashes", "[\n" + "".join(f'    "{h}",\n' for h in one.hashes) + "  ]"))
        blocks.append(f'\nprovider "{address}" {{\n{_align(rows)}}}\n')
    if modules:
        blocks.append("\n# Checksums of registry modules. planner checks installed modules against them:\n")
        blocks += [
            f"# {_MODULE} {source} {version} {modules[source, version]}\n" for source, version in sorted(modules)
        ]
    return "".join(blocks)


def _align(rows: list[tuple[str, str]]) -> str:
    """Lines `name = value`. Their equals signs are aligned, except for values of several lines."""
    width = max(len(name) for name, value in rows if "\n" not in value)
    return "".join(f"  {name:<{0 if chr(10) in value else width}} = {value}\n" for name, value in rows)


def write_module_hashes(directory: str, modules: ModuleHashes) -> None:
    """Replace all recorded checksums of modules. Raises Failure."""
    if modules != read_module_hashes(directory):
        write_locks(directory, read_locks(directory)[0], modules)


def write_locks(directory: str, locks: Locks, modules: ModuleHashes | None = None) -> None:
    """Replace the lock file atomically. Without `modules`, checksums of modules are kept. Raises Failure."""
    modules = read_module_hashes(directory) if modules is None else modules
    path = Path(directory) / NAME
    fresh = path.with_name(f"{NAME}.{os.getpid()}.new")
    try:
        try:
            with fresh.open("w", encoding="utf-8", newline="\n") as file:
                file.write(lock_text(locks, modules))
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as problem:
        detail = f"{path} cannot be written: {problem.strerror or problem}."
        raise Failure(error("lock.unwritable", "Failed to update the dependency lock file", detail)) from None


def same_selections(one: Locks, other: Locks) -> bool:
    """Whether versions and checksums are equal, regardless of constraints."""
    return {a: evolve(x, constraints="") for a, x in one.items()} == {
        a: evolve(x, constraints="") for a, x in other.items()
    }


def upgrade_locks(locks: Locks) -> tuple[dict[str, Lock], list[Diagnostic]]:
    """The locks, with selections for providers of Terraform's registry copied to the same providers of OpenTofu's
    registry. Checksums are not copied, because the packages differ."""
    upgraded_locks, changed = dict(locks), []
    for address, old in sorted(locks.items()):
        host, namespace, name = address.split("/")
        new = f"{DEFAULT_HOST}/hashicorp/{name}"
        if (host, namespace) == ("registry.terraform.io", "hashicorp") and new not in locks:
            upgraded_locks[new] = Lock(new, old.version, old.constraints)
            changed.append(f"\n  - {address} => {new}")
    if not changed:
        return upgraded_locks, []
    detail = (
        f"Lock file entries of another registry were copied:{''.join(changed)}\n\nThe versions are the same. The "
        "checksums were not copied, because packages of the two registries differ."
    )
    return upgraded_locks, [warning("lock.upgraded", "Dependency lock file entries updated", detail)]


def _damaged_file(path: Path, reason: str) -> Diagnostic:
    detail = f"{path} cannot be used: {reason}. Correct it, or remove it and run init."
    return error("lock.damaged", "Invalid dependency lock file", detail)
