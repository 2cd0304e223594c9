"""Fetching packs of policies: from git repositories, archives and lists of archives, as modules are."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from planner.foundation.support.archive import check_links
from planner.foundation.support.put_files import copy_directory
from planner.foundation.vocabulary.diagnostic import InstallError
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.version_constraints import Version, parse_constraints
from planner.language.config.sources import SourceError, parse_module_source, split_subdirectory, without_secrets
from planner.world.install.getters import Fetcher, below
from planner.world.install.web import Web, display_url, resolve

_HASH = re.compile(r"sha256:[0-9a-f]{64}")


@frozen
class _Listed:
    version: Version
    url: str
    hash: str


@frozen(eq=False)
class PackFetcher:
    """Fetches packs. A source that ends in .json over http is a list of archives:
    `{"versions": [{"version": "1.2.0", "url": "tags-1.2.0.tar.gz", "hash": "sha256:..."}]}`."""

    web: Web
    fetcher: Fetcher
    say: Callable[[str], None]

    def fetch(self, source: str, constraint: str, version: str, target: Path) -> None:
        """The files of a pack into a directory that does not exist yet. `version` is the one that a list has to give;
        "" for the newest that the constraint allows. Raises InstallError and OSError."""
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
                    "of an archive, or that of a list of archives (.json)"
                )
            address, more = split_subdirectory(parsed.text)
            sub = sub or more
        self.say(f"- Downloading {without_secrets(address)}...")
        whole = target.with_name("whole")
        self.fetcher.fetch(address, whole)
        try:
            inner = below(whole, sub) if sub else whole
            if not inner.is_dir():
                raise InstallError(f"there is no directory {sub} in it")
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
            what = f"version {version}" if version else f'a version that "{constraint}" allows'
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
            raise InstallError(f"{display_url(address)} has an entry without version, url and hash")
        if not _HASH.fullmatch(item["hash"]):
            raise InstallError(f"{display_url(address)} has a hash that is none (sha256: and 64 digits)")
        try:
            entries.append(_Listed(Version(item["version"]), item["url"], item["hash"]))
        except ValueError:
            raise InstallError(f"{display_url(address)} has a version that is none") from None
    return entries
