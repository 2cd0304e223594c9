"""`.terraform/modules/modules.json`: which directory holds each called module, in the ecosystem's format.

Local modules are recorded too: other tools, and every command but init, take the module tree from this file.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from attrs import frozen

from planner.config.model import ModuleCall, ModulePath
from planner.config.reading import Problems
from planner.config.sources import SourceError, parse_module_source, split_subdirectory, without_secrets
from planner.config.version_constraints import parse_constraints
from planner.support.disk import read_whole
from planner.support.fast_json import orjson
from planner.vocabulary.diagnostic import Diagnostic

if TYPE_CHECKING:
    from planner.config.variables import RawVariables

DATA_DIRECTORY = ".terraform"


@frozen
class ModuleRecord:
    """An installed module: call path joined by dots, normalized source, directory relative to the root module."""

    key: str
    source: str
    directory: str
    version: str | None = None


Manifest = dict[str, ModuleRecord]

Fetch = Callable[[ModulePath, ModuleCall, Problems], "ModuleRecord | None"]
"""Installs a module that is not local: given the path and call, and where to report. None when it cannot be had."""


def module_key(path: ModulePath) -> str:
    return ".".join(path)


def manifest_path(root_dir: str, data_dir: str = DATA_DIRECTORY) -> str:
    return os.path.join(root_dir, data_dir, "modules", "modules.json")


def read_manifest(root_dir: str, data_dir: str = DATA_DIRECTORY) -> tuple[Manifest, list[Diagnostic]]:
    """The installed modules by key; none when nothing is installed yet."""
    problems = Problems()
    path = manifest_path(root_dir, data_dir)
    try:
        text = read_whole(path)
    except FileNotFoundError:
        return {}, problems
    except OSError as bad:
        problems.error("unreadable_manifest", "Failed to read the module manifest", f"{path}: {bad.strerror}.")
        return {}, problems
    if not text:
        return {}, problems
    try:
        return _records(orjson.loads(text)), problems
    except ValueError as bad:
        detail = f"{path} is damaged ({bad}). Remove it and run init."
        problems.error("damaged_manifest", "Failed to read the module manifest", detail)
        return {}, problems


def _records(document: Any) -> Manifest:
    if not isinstance(document, dict) or not isinstance(document.get("Modules") or [], list):
        raise ValueError("it holds no list of modules")
    found: Manifest = {}
    for item in document.get("Modules") or []:
        fields: list[Any] = [item.get(k) for k in ("Key", "Source", "Dir")] if isinstance(item, dict) else [None]
        if not all(isinstance(f, str) for f in fields):
            raise ValueError("a module without key, source and directory")
        key, source, directory = fields
        if key in found:
            raise ValueError(f"two entries for {key}")
        with suppress(SourceError):  # otherwise as recorded; it will not match the configuration
            source = parse_module_source(source).text if source else ""
        version = item.get("Version")
        found[key] = ModuleRecord(key, source, directory, version if isinstance(version, str) and version else None)
    return found


def write_manifest(manifest: Manifest, root_dir: str, data_dir: str = DATA_DIRECTORY) -> None:
    """Replace modules.json atomically. Raises OSError."""
    records = []
    for key in sorted(manifest):
        record = manifest[key]
        entry = {"Key": key, "Source": record.source, "Dir": record.directory}
        if record.version:
            entry = {"Key": key, "Source": record.source, "Version": record.version, "Dir": record.directory}
        records.append(entry)
    path = manifest_path(root_dir, data_dir)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(f"{path}.new", "wb") as file:
        file.write(_as_in_html(orjson.dumps({"Modules": records})))
    os.replace(f"{path}.new", path)


def _as_in_html(text: bytes) -> bytes:
    """JSON with the escapes that the ecosystem's encoder adds: the file has the same bytes whoever writes it."""
    for character in "<>&\u2028\u2029":
        text = text.replace(character.encode(), f"\\u{ord(character):04x}".encode())
    return text


def install_modules(
    root_dir: str,
    *,
    variables: RawVariables | None = None,
    workspace: str = "default",
    upgrade: bool = False,
    data_dir: str = DATA_DIRECTORY,
    fetch: Fetch | None = None,
) -> tuple[list[ModuleRecord], list[Diagnostic]]:
    """What init does for modules: find every called module and record it. Gives the records new or changed.

    `fetch` installs a module that is not local; without it such a module is kept when it is already installed as
    called, else refused."""
    from planner.config.load import load_tree

    known, diagnostics = read_manifest(root_dir, data_dir)
    problems = Problems(diagnostics)
    installer = _Installer({} if upgrade else known, root_dir, fetch)
    if upgrade and fetch is None:
        installer.kept = known
    _, found = load_tree(root_dir, variables=variables, workspace=workspace, locate=installer.locate)
    problems.extend(found)
    # modules that were found are installed even if something is wrong in one of them: only then can it be told in full
    if not problems.has_errors or len(installer.manifest) > 1:
        try:
            write_manifest(installer.manifest, root_dir, data_dir)
        except OSError as bad:
            detail = f"{manifest_path(root_dir, data_dir)}: {bad.strerror}."
            problems.error("unwritable_manifest", "Failed to update the module manifest", detail)
    return installer.installed, problems


def fits(record: ModuleRecord, call: ModuleCall, root_dir: str) -> bool:
    """Whether what is installed is there, and what is called now."""
    if record.source != call.source or not os.path.isdir(os.path.join(root_dir, record.directory)):
        return False
    try:
        wanted = parse_constraints(call.version) if call.version else None
        return wanted is None or record.version is None or wanted.allows(record.version)
    except ValueError:
        return False


class _Installer:
    """Locates called modules while the tree is loaded, and remembers them."""

    def __init__(self, known: Manifest, root_dir: str, fetch: Fetch | None) -> None:
        self.known = known
        self.kept: Manifest = known
        self.fetch = fetch
        self.root_dir = root_dir
        self.manifest: Manifest = {"": ModuleRecord("", "", ".")}
        self.installed: list[ModuleRecord] = []

    def locate(self, path: ModulePath, call: ModuleCall, parent: str, problems: Problems) -> str | None:
        """The directory of a called module, None when it cannot be had (reported)."""
        key = module_key(path)
        record = self.known.get(key)
        if record is not None and fits(record, call, self.root_dir):
            self.manifest[key] = record
            return record.directory
        for inner in [k for k in self.known if k == key or k.startswith(f"{key}.")]:
            del self.known[inner]  # what the former module called may be something else now
        if call.source_kind != "local" and self.fetch is not None:
            record = self.fetch(path, call, problems)
            if record is None:
                return None
            self.manifest[key] = record
            self.installed.append(record)
            return record.directory
        if call.source_kind != "local":
            record = self.kept.get(key)
            if record is not None and record.source == call.source and self._is_dir(record.directory):
                self.manifest[key] = record
                return record.directory
            detail = f"This program installs local modules only (./ or ../), not {without_secrets(call.source)}."
            problems.error("remote_module", "Module source is not supported", detail, call.shown_span)
            return None
        if call.version:
            detail = "A local module has no versions; leave out the argument version."
            problems.error("local_version", "Invalid version constraint", detail, call.span)
        directory = posixpath.normpath(posixpath.join(parent, call.source))
        if not self._is_dir(directory):
            detail = f"There is no directory {directory}, which module {call.name} names as its source."
            outside = self._leaves_package(path, call)
            if outside:
                detail = f"{detail} It would be outside of the package {outside}, in which the calling module is."
            problems.error("missing_module", "Unreadable module directory", detail, call.span)
            return None
        directory = self._real(directory)
        record = ModuleRecord(key, call.source, directory)
        self.manifest[key] = record
        self.installed.append(record)
        return directory

    def _leaves_package(self, path: ModulePath, call: ModuleCall) -> str:
        """The source of the package that a local module of it would be outside of; "" when it would not."""
        steps = [call.source]
        for length in range(len(path) - 1, 0, -1):
            record = self.manifest.get(module_key(path[:length]))
            if record is None:
                return ""
            if not record.source.startswith(("./", "../")):
                package, sub = split_subdirectory(record.source)
                inside = posixpath.normpath(posixpath.join("*", sub, *reversed(steps)))
                return "" if inside == "*" or inside.startswith("*/") else without_secrets(package)
            steps.append(record.source)
        return ""

    def _is_dir(self, directory: str) -> bool:
        return os.path.isdir(os.path.join(self.root_dir, directory))

    def _real(self, directory: str) -> str:
        """The directory with the links in its path resolved one by one, as others record it: it becomes absolute only
        where a link is, such as that to a package which is a directory of this machine."""
        done = "/" if directory.startswith("/") else ""
        left = directory.split("/")[::-1]
        while left:
            part = left.pop()
            done = posixpath.normpath(posixpath.join(done, part))
            try:
                target = os.readlink(os.path.join(self.root_dir, done)) if part not in ("", ".", "..") else ""
            except OSError:
                continue
            if target:
                done = posixpath.normpath(posixpath.join(done, "..", "/" if target.startswith("/") else "."))
                left += target.split("/")[::-1]
        return done
