"""Implements `policy init`, `policy lock` and `policy update`, which manage the external packs of a policy.toml."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from planner.answers.policy.installed_packs import (
    LOCK,
    MOST_BYTES,
    MOST_FILES,
    Locked,
    folder_hash,
    lock_text,
    packs_command,
    place_of,
    read_lock,
)
from planner.answers.policy.manifest import MANIFEST, read_manifest
from planner.answers.policy.settings import PackUse, read_config
from planner.answers.policy.standing_policies import OWN as POLICIES
from planner.answers.policy.standing_policies import SETTINGS
from planner.answers.policy.strict_toml import TomlFile
from planner.foundation.support.archive import ArchiveLimits, check_links
from planner.foundation.support.disk import read_text, replace_file
from planner.foundation.support.put_files import beside, copy_directory, locked, remove
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, InstallError, error
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Source
from planner.foundation.vocabulary.version_constraints import Version, allowed, parse_constraints
from planner.language.config.sources import SourceError, parse_module_source, split_subdirectory, without_secrets
from planner.world.install.getters import Fetcher, below
from planner.world.install.web import Web, display_url, resolve

Verb = Literal["init", "lock", "update"]
OWN = SETTINGS[0]


def packs(verb: Verb, config: str, say: Callable[[str], None]) -> list[Diagnostic]:
    """Install packs ("init"), write the hashes of packs into the lock file without installing the packs ("lock"), or
    choose and install the newest versions that the constraints allow ("update"). Returns problems. Raises Failure."""
    try:
        text = read_text(config)
    except (OSError, ValueError) as problem:
        detail = f"{config}: {getattr(problem, 'strerror', None) or problem}."
        raise Failure(error("policy.settings", "Cannot read the policy file", detail)) from None
    uses = _remote(config, text)
    known = {} if verb == "update" else read_lock(config)
    locks = {name: entry for name, entry in known.items() if name in uses}
    problems: list[Diagnostic] = []
    changed = False
    with _alone(config):
        for use in uses.values():
            try:
                entry, is_new = _one(verb, config, use, locks.get(use.name), say)
            except Failure as failure:
                problems += failure.diagnostics
                continue
            except (InstallError, OSError) as problem:
                reason = str(problem) if isinstance(problem, InstallError) else f"{problem.strerror or problem}"
                detail = f"{use.name} cannot be fetched from {without_secrets(use.source)}: {reason}."
                problems.append(error("policy.install", "Failed to download a pack", detail, use.span))
                continue
            changed |= is_new
            locks[use.name] = entry
        if locks or known:
            _write(config, locks)
    if not problems and not changed and verb != "lock":
        say("All packs are installed." if uses else "There is no pack with an external source.")
    return problems


FIRST = """\
// Objects are not destroyed by accident. The policy `no_destroy` denies each managed object
// that a plan destroys or replaces.

@name("no_destroy.deny") @reason("{A} would be destroyed")
deny("no_destroy", A, "would be destroyed") :- acts(A, "delete").

@name("no_destroy.judged")
judged("no_destroy", A) :- change(A, _, _, _, _, "managed").
"""
FIRST_CASES = """\
.case "an object that is destroyed, and one that is replaced"
change("a", "terraform_data", "a", "", "p", "managed"). action("a", "delete").
change("b", "terraform_data", "b", "", "p", "managed"). action("b", "delete-then-create").
.want deny("no_destroy", "a", "would be destroyed"), deny("no_destroy", "b", "would be destroyed").

.case "objects that are created and changed"
change("a", "terraform_data", "a", "", "p", "managed"). action("a", "create").
change("b", "terraform_data", "b", "", "p", "managed"). action("b", "update").
.want none deny. .want judged("no_destroy", "a"), judged("no_destroy", "b").
"""


def first_policy(say: Callable[[str], None]) -> None:
    """Write a first policy and its cases into .planner/policies. Existing files with the same names are replaced.
    Raises Failure."""
    for name, text in (("no_destroy.dl", FIRST), ("no_destroy.case", FIRST_CASES)):
        path = os.path.join(POLICIES, name)
        try:
            os.makedirs(POLICIES, exist_ok=True)
            replace_file(path, text.encode())
        except OSError as problem:
            detail = f"{path}: {problem.strerror or problem}."
            raise Failure(error("policy.first", "Cannot write the first policy", detail)) from None
        say(f"Wrote {path}")
    say("It now applies to every plan. To run its cases: planner policy test")


def _remote(config: str, text: str) -> dict[str, PackUse]:
    """{name: use of the pack} for the external packs in the general settings and in those of each workspace. Raises
    Failure."""
    workspaces = TomlFile(Source(config, text), "a policy file", "policy.settings").data.get("workspace", {})
    names = ["", *workspaces] if isinstance(workspaces, dict) else [""]
    result: dict[str, PackUse] = {}
    for name in names:
        for use in read_config(config, text, name, True).packs:
            if use.source and not use.source.startswith(("./", "../", "/")):
                other = result.setdefault(use.name, use)
                if other.source != use.source:
                    detail = (
                        f"{use.name} has another source, {other.source}, at {other.span}: a pack has only one source."
                    )
                    raise Failure(error("policy.settings", "Pack has two sources", detail, use.span))
    return result


def _one(
    verb: Verb, config: str, use: PackUse, known: Locked | None, say: Callable[[str], None]
) -> tuple[Locked, bool]:
    place = place_of(config, use.name)
    if known is not None and known.source != use.source:
        known = None
    if known is not None and use.version and not allowed(use.version, known.version):
        detail = f'{use.name} is locked in version {known.version}, but "{use.version}" is required. '
        detail += f"Choose a version again with: {packs_command(config, 'update')}"
        raise Failure(error("policy.lock", "Wrong pack version", detail, use.span))
    if known is not None and (place / MANIFEST).is_file() and _is_as_locked(place, known):
        return known, False
    with beside(place) as work:  # not a temporary directory, so that the next run finds the files if this run is killed
        fresh = work / "fetched" / "pack"
        fresh.parent.mkdir()
        _fetcher(say).fetch(use.source, use.version, known.version if known is not None else "", fresh)
        entry = _check_pack(use, fresh)
        if known is not None and entry.hash != known.hash:
            detail = f"{use.name} {entry.version} has the hash {entry.hash}, but the lock file has {known.hash} for "
            detail += (
                f"version {known.version}: it was changed since. To accept this: {packs_command(config, 'update')}"
            )
            raise Failure(error("policy.lock", "Changed pack", detail, use.span))
        if verb != "lock":
            copy_directory(fresh, work / "pack")
            remove(place)
            os.replace(work / "pack", place)
            say(f"- {use.name} {entry.version} in {place}")
    return entry, True


def _is_as_locked(place: Path, known: Locked) -> bool:
    try:
        return folder_hash(place) == known.hash
    except Failure:  # for example because of unexpected links
        return False


def _check_pack(use: PackUse, folder: Path) -> Locked:
    """The entry of the lock file for the fetched files of a pack. Raises Failure if the files do not belong to this
    pack, or if their version is not allowed."""
    result = folder_hash(folder)
    path = folder / MANIFEST
    if not path.is_file():
        detail = f"{use.source} does not contain {MANIFEST}. Name a directory in it with //DIRECTORY."
        raise Failure(error("policy.install", "Not a pack", detail, use.span))
    manifest = read_manifest(f"{use.name}/{MANIFEST}", read_text(path))
    if manifest.name != use.name:
        detail = f"{use.source} contains the pack {manifest.name}, not {use.name}."
        raise Failure(error("policy.install", "Another pack", detail, use.span))
    if use.version and not allowed(use.version, manifest.version):
        has = f"{use.source} contains version {manifest.version or '(none)'} of {use.name}"
        detail = f'{has}, but "{use.version}" is required.'
        raise Failure(error("policy.install", "Wrong pack version", detail, use.span))
    return Locked(use.source, manifest.version, result)


def _fetcher(say: Callable[[str], None]) -> PackFetcher:
    web = Web()
    return PackFetcher(web, Fetcher(web, limits=ArchiveLimits(4 * MOST_BYTES, 10 * MOST_FILES)), say)


@contextmanager
def _alone(config: str) -> Iterator[None]:
    """Prevent other processes from installing or changing the packs of a policy.toml. Raises Failure."""
    try:
        with locked(Path(config).parent / "packs" / ".lock"):
            yield
    except InstallError as problem:
        raise Failure(error("policy.install", "Cannot install packs", f"{problem}.")) from None


def _write(config: str, locks: dict[str, Locked]) -> None:
    path = str(Path(config).parent / LOCK)
    text = lock_text(locks)
    try:
        if os.path.exists(path) and read_text(path) == text:
            return
        replace_file(path, text.encode())
    except (OSError, ValueError) as problem:
        detail = f"{path}: {getattr(problem, 'strerror', None) or problem}."
        raise Failure(error("policy.lock", "Cannot write the lock file of packs", detail)) from None


# Fetches packs from git repositories, archives and lists of archives, as for modules


_HASH = re.compile(r"sha256:[0-9a-f]{64}")


@frozen
class _Listed:
    version: Version
    url: str
    hash: str


@frozen(eq=False)
class PackFetcher:
    """Fetches packs. An http source that ends in .json is a list of archives: `{"versions": [{"version": "1.2.0",
    "url": "tags-1.2.0.tar.gz", "hash": "sha256:..."}]}`."""

    web: Web
    fetcher: Fetcher
    say: Callable[[str], None]

    def fetch(self, source: str, constraint: str, version: str, target: Path) -> None:
        """Fetch a pack into the new directory `target`. `version`: the version that is chosen from a list of archives;
        "" for the newest version that `constraint` allows. Raises InstallError and OSError."""
        address, sub = split_subdirectory(source)
        if address.partition("?")[0].endswith(".json") and address.startswith(("https://", "http://")):
            listed = self._fitting_entry(address, constraint, version)
            checksum = listed.hash.replace("sha256:", "sha256%3A")
            url = resolve(address, listed.url)
            address = f"{url}{'&' if '?' in url else '?'}checksum={checksum}"
        else:
            try:
                parsed = parse_module_source(address)
            except SourceError as problem:
                raise InstallError(str(problem)) from None
            if parsed.kind != "remote":
                raise InstallError(
                    f"{without_secrets(source)} is not a source of packs: name a directory (./tags), git::URL, the URL "
                    "of an archive, or the URL of a list of archives (.json)"
                )
            address, more = split_subdirectory(parsed.text)
            sub = sub or more
        self.say(f"- Downloading {without_secrets(address)}...")
        whole = target.with_name("whole")
        self.fetcher.fetch(address, whole)
        try:
            inner = below(whole, sub) if sub else whole
            if not inner.is_dir():
                raise InstallError(f"it has no directory {sub}")
            check_links(inner)
            copy_directory(inner, target)
            shutil.rmtree(target / ".git", ignore_errors=True)
        finally:
            if whole.is_symlink():
                whole.unlink()
            shutil.rmtree(whole, ignore_errors=True)

    def _fitting_entry(self, address: str, constraint: str, version: str) -> _Listed:
        entries = _entries(self.web, address)
        if version:
            fitting = [entry for entry in entries if entry.version.text == version]
        else:
            wanted = parse_constraints(constraint) if constraint else None
            fitting = [
                e
                for e in entries
                if (wanted is None and not e.version.prerelease) or (wanted and wanted.allows(e.version))
            ]
        if not fitting:
            allowed_one = f'a version that "{constraint}" allows' if constraint else "a version other than prereleases"
            what = f"version {version}" if version else allowed_one
            raise InstallError(f"{display_url(address)} does not list {what}")
        return max(fitting, key=lambda entry: entry.version)


def _entries(web: Web, address: str) -> list[_Listed]:
    try:
        document: Any = json.loads(web.document(address))
    except (ValueError, RecursionError) as problem:
        raise InstallError(f"{display_url(address)} is not JSON ({problem})") from None
    versions = document.get("versions") if isinstance(document, dict) else None
    if not isinstance(versions, list):
        raise InstallError(f"{display_url(address)} lists no versions")
    entries = []
    for item in versions:
        if not isinstance(item, dict) or not all(isinstance(item.get(k), str) for k in ("version", "url", "hash")):
            raise InstallError(f"{display_url(address)} has an entry that lacks its version, url or hash")
        if not _HASH.fullmatch(item["hash"]):
            raise InstallError(
                f"{display_url(address)} has an invalid hash: expected sha256: and 64 hexadecimal digits"
            )
        try:
            entries.append(_Listed(Version(item["version"]), item["url"], item["hash"]))
        except ValueError:
            raise InstallError(f"{display_url(address)} has an invalid version") from None
    return entries
