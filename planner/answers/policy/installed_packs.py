"""Finds the installed files of packs from external sources, and checks them against the lock file.

The installed packs of a policy.toml (`packs/NAME`) and its `policy.lock` are in the directory of the policy.toml.
`policy.lock` belongs in version control. It contains the source and the version of each pack, and a hash of the names
and contents of the pack's files."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

from planner.answers.policy.manifest import MANIFEST
from planner.answers.policy.settings import PackUse
from planner.foundation.support.disk import read_text, read_whole
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.version_constraints import allowed

LOCK = "policy.lock"
MOST_FILES = 5_000
MOST_BYTES = 64 << 20
_CODE = "policy.lock"


@frozen
class Locked:
    """The entry of a pack in the lock file."""

    source: str
    version: str
    hash: str


def place_of(config: str, name: str) -> Path:
    """The directory in which a pack of the policy.toml `config` is installed."""
    return Path(config).parent / "packs" / name


def installed_folder(config: str, use: PackUse) -> str:
    """The directory of an installed pack. Raises Failure if the pack is not installed, or does not match the lock file
    or its version constraint."""
    place = place_of(config, use.name)
    locked = read_lock(config).get(use.name)
    if locked is None or not (place / MANIFEST).is_file():
        what = "is not installed" if locked is not None else f"is not in {Path(config).parent / LOCK}"
        raise _failure(
            use, f"{use.name} {what}. Install the packs of {config} with: {packs_command(config)}", "Missing pack"
        )
    if locked.source != use.source:
        detail = f"{use.name} was installed from {locked.source}. "
        detail += f"Install it from its current source: {packs_command(config)}"
        raise _failure(use, detail, "Pack from elsewhere")
    if use.version and not allowed(use.version, locked.version):
        detail = f'{use.name} is installed in version {locked.version}, but the constraint is "{use.version}". '
        raise _failure(
            use, detail + f"Choose a version again with: {packs_command(config, 'update')}", "Wrong pack version"
        )
    result = folder_hash(place)
    if result != locked.hash:
        detail = (
            f"{use.name} in {place} has the hash {result}, but the lock file has {locked.hash}. The pack was changed; "
        )
        raise _failure(use, detail + f"install it again with: {packs_command(config)}", "Changed pack")
    return str(place)


def packs_command(config: str, verb: str = "init") -> str:
    """The command that manages the packs of the policy.toml `config`. The command names the file unless the file is in
    `.planner`."""
    is_own = os.path.basename(os.path.dirname(os.path.abspath(config))) == ".planner"
    return f"planner policy {verb}" + ("" if is_own else f" {config}")


def _failure(use: PackUse, detail: str, summary: str) -> Failure:
    return Failure(error(_CODE, summary, detail, use.span))


def read_lock(config: str) -> dict[str, Locked]:
    """{name of a pack: its entry} in the lock file; empty if there is no lock file. Raises Failure."""
    path = Path(config).parent / LOCK
    if not path.exists():
        return {}
    try:
        document: Any = json.loads(read_text(path))
        if not isinstance(document, dict) or document.get("format_version") != "1.0":
            raise ValueError("it has no format_version 1.0")
        unknown = sorted(document.keys() - {"format_version", "packs"})
        if unknown or not isinstance(document.get("packs"), dict):
            raise ValueError(f"it has {', '.join(unknown)}" if unknown else "it has no packs")
        return {str(name): _locked(entry) for name, entry in document["packs"].items()}
    except (OSError, ValueError, RecursionError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        detail = f"{path} cannot be used: {reason}. Write it again with: {packs_command(config, 'update')}"
        raise Failure(error(_CODE, "Cannot read the lock file of packs", detail)) from None


def _locked(entry: Any) -> Locked:
    if not isinstance(entry, dict) or sorted(entry) != ["hash", "source", "version"]:
        raise ValueError("an entry must have exactly the members source, version and hash")
    if not all(isinstance(value, str) for value in entry.values()):
        raise ValueError("source, version and hash must be strings")
    return Locked(entry["source"], entry["version"], entry["hash"])


def lock_text(locks: dict[str, Locked]) -> str:
    packs = {
        name: {"source": locks[name].source, "version": locks[name].version, "hash": locks[name].hash}
        for name in sorted(locks)
    }
    return json.dumps({"format_version": "1.0", "packs": packs}, indent=2) + "\n"


def folder_hash(folder: Path) -> str:
    """A hash of the names and contents of all files in a directory. Raises Failure if the directory contains links,
    devices, unreadable files or names with control characters, because packs must not contain these, or if it contains
    more than MOST_FILES files or MOST_BYTES bytes."""
    lines: list[str] = []
    size = 0

    def refused(why: str) -> Failure:
        return Failure(error(_CODE, "Untrusted pack", f"{folder} {why}."))

    for at, folders, names in os.walk(folder):
        folders.sort()
        for name in (*folders, *names):
            if os.path.islink(os.path.join(at, name)):
                raise refused(
                    f"has a link, {os.path.relpath(os.path.join(at, name), folder)!r}; packs must not contain links"
                )
        for name in names:
            path = os.path.join(at, name)
            relative = os.path.relpath(path, folder)
            if any(c < " " or c == "\x7f" for c in relative):
                raise refused(f"has a file with a control character in its name, {relative!r}")
            status = os.lstat(path)
            size += status.st_size
            if not stat.S_ISREG(status.st_mode):
                raise refused(f"has {relative!r}, which is not a regular file")
            if len(lines) >= MOST_FILES or size > MOST_BYTES:
                raise refused(f"has more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB")
            try:
                lines.append(f"{hashlib.sha256(read_whole(path)).hexdigest()}  {relative}\n")
            except OSError as problem:
                raise refused(f"has {relative!r}, which cannot be read ({problem.strerror or problem})") from None
    return f"sha256:{hashlib.sha256(''.join(sorted(lines)).encode()).hexdigest()}"
