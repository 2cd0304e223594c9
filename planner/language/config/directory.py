"""Finds the configuration files of a module, and reads and writes modules.json."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from stat import S_ISREG
from typing import Any

from planner.foundation.support.disk import Entry, is_directory, list_directory, path_mode, read_whole, replace_file
from planner.foundation.support.exact_json import orjson
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.version_constraints import parse_constraints
from planner.language.config.model import ModuleCall, ModulePath
from planner.language.config.reading import Problems
from planner.language.config.sources import SourceError, parse_module_source

_EXTENSIONS = (".tf.json", ".tofu.json", ".tf", ".tofu")


def folder_at(root_dir: str, directory: str, absolute: str = "") -> str:
    """The path of the directory of a module. `directory` is absolute or relative to `root_dir`. `absolute`: a directory
    below which absolute paths are looked up, because it contains copies of these directories; "" if there is none."""
    return f"{absolute}/{directory}" if absolute and directory.startswith("/") else os.path.join(root_dir, directory)


@frozen
class ModuleFiles:
    """Sorted names of the normal files, and of the override files that are applied after them."""

    normal: tuple[str, ...]
    override: tuple[str, ...]
    hidden: tuple[str, ...] = ()  # `.tf` files that are not read because there is a `.tofu` file of the same name


def module_files(directory: str, queries: str = "") -> ModuleFiles:
    """The configuration files of a directory, without backups of editors and files whose names begin with a dot. A
    `.tofu` file replaces the `.tf` file of the same name, `.tofu.json` replaces `.tf.json`. `queries`: the suffix of
    query files (files with list blocks); "" if these files are not read. Raises OSError."""
    names = sorted(e.name for e in list_directory(directory) if not is_folder(e) and not _is_ignored(e.name))
    normal: list[str] = []
    override: list[str] = []
    for name in names:
        stem = _stem(name)
        if queries and name.endswith(queries):
            normal.append(name)
        elif stem is not None:
            (override if stem == "override" or stem.endswith("_override") else normal).append(name)
    read = _without_hidden(normal), _without_hidden(override)
    kept = {*read[0], *read[1]}
    return ModuleFiles(*read, tuple(name for name in (*normal, *override) if name not in kept))


def is_module(directory: str) -> bool:
    try:
        # most modules have this file, so the directory is rarely listed
        if S_ISREG(path_mode(f"{directory}/main.tf")):
            return True
    except OSError:
        pass
    try:
        entries = list_directory(directory)
        return any(e.name.endswith(_EXTENSIONS) and not _is_ignored(e.name) and not is_folder(e) for e in entries)
    except OSError:
        return False


def is_folder(entry: Entry) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a symbolic link to itself; the error is reported when the file is read
        return False


def _stem(name: str) -> str | None:
    for extension in _EXTENSIONS:
        if name.endswith(extension):
            return name.removesuffix(extension)
    return None


def _is_ignored(name: str) -> bool:
    return name.startswith(".") or name.endswith("~") or (name.startswith("#") and name.endswith("#"))


def _without_hidden(names: list[str]) -> tuple[str, ...]:
    present = set(names)
    return tuple(n for n in names if not _has_tofu_twin(n, present))


def _has_tofu_twin(name: str, present: set[str]) -> bool:
    for extension in (".tf.json", ".tf"):
        if name.endswith(extension):
            return name.removesuffix(extension) + extension.replace(".tf", ".tofu") in present
    return False


# A quick search for encryption blocks. No part of a configuration with such a block is cached.


VARIABLE = "TF_ENCRYPTION"
_BLOCK = re.compile(rb'(?:^|[\s{/])encryption\s*(?:\{|/\*)|"encryption"\s*:')
_ESCAPED = rb'"[\w\\]*\\u00[4-7][\w\\]*"\s*:'
"""matches a JSON name with an escaped letter, which could be `encryption` when decoded. The pattern is compiled only if
a file has escapes"""


def is_secret(texts: Iterable[bytes]) -> bool:
    """Whether the files of a root module, or the variable TF_ENCRYPTION, may contain an encryption block. The search is
    approximate, so the result may be True without such a block."""
    return bool(os.environ.get(VARIABLE, "").strip()) or any(map(_has_block, texts))


def _has_block(text: bytes) -> bool:
    if b"encryption" in text and _BLOCK.search(text) is not None:
        return True
    return b"\\u00" in text and re.search(_ESCAPED, text) is not None


def is_secret_directory(directory: str) -> bool:
    try:
        files = module_files(directory)
        return is_secret(read_whole(os.path.join(directory, name)) for name in (*files.normal, *files.override))
    except OSError:
        return is_secret(())


# `.terraform/modules/modules.json` maps each called module to its directory, in the ecosystem's format.
#
# Local modules are recorded, too: other tools, and all commands except init, read the module tree from this file.


DATA_DIRECTORY = ".terraform"


@frozen
class ModuleRecord:
    """The entry of an installed module in modules.json. `key`: the names of the module calls that lead to it, joined by
    dots. `source` is normalized, `directory` is relative to the root module."""

    key: str
    source: str
    directory: str
    version: str | None = None


Manifest = dict[str, ModuleRecord]


def module_key(path: ModulePath) -> str:
    return ".".join(path)


def manifest_path(root_dir: str, data_dir: str = DATA_DIRECTORY) -> str:
    return os.path.join(root_dir, data_dir, "modules", "modules.json")


def read_manifest(root_dir: str, data_dir: str = DATA_DIRECTORY) -> tuple[Manifest, list[Diagnostic]]:
    """The installed modules by key; empty before the first init, or if the file is unreadable or damaged (reported)."""
    problems = Problems()
    path = manifest_path(root_dir, data_dir)
    try:
        text = read_whole(path)
    except FileNotFoundError:
        return {}, problems
    except OSError as bad:
        problems.error("unreadable_manifest", "Failed to read the module manifest", f"{path}: {bad.strerror or bad}.")
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
        raise ValueError("it contains no list of modules")
    records: Manifest = {}
    for item in document.get("Modules") or []:
        fields: list[Any] = [item.get(k) for k in ("Key", "Source", "Dir")] if isinstance(item, dict) else [None]
        if not all(isinstance(f, str) for f in fields):
            raise ValueError("an entry has no Key, Source or Dir")
        key, source, directory = fields
        if key in records:
            raise ValueError(f"two entries for {key}")
        with suppress(SourceError):  # an invalid source is kept as recorded; it will not match the configuration
            source = parse_module_source(source).text if source else ""
        version = item.get("Version")
        records[key] = ModuleRecord(key, source, directory, version if isinstance(version, str) and version else None)
    return records


def write_manifest(manifest: Manifest, root_dir: str, data_dir: str = DATA_DIRECTORY) -> None:
    """Write the manifest of installed modules. Raises OSError."""
    path = manifest_path(root_dir, data_dir)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    replace_file(path, manifest_text(manifest), durable=False)


def manifest_text(manifest: Manifest) -> bytes:
    records = []
    for key in sorted(manifest):
        record = manifest[key]
        entry = {"Key": key, "Source": record.source, "Dir": record.directory}
        if record.version:
            entry = {"Key": key, "Source": record.source, "Version": record.version, "Dir": record.directory}
        records.append(entry)
    return _as_in_html(orjson.dumps({"Modules": records}))


def _as_in_html(text: bytes) -> bytes:
    """JSON with the characters escaped that Go's encoder escapes, so that planner and OpenTofu write the same bytes."""
    for character in "<>&\u2028\u2029":
        text = text.replace(character.encode(), f"\\u{ord(character):04x}".encode())
    return text


def fits(record: ModuleRecord, call: ModuleCall, root_dir: str) -> bool:
    """Whether the installed module exists and matches the source and the version constraint of the call."""
    if record.source != call.source or not is_directory(os.path.join(root_dir, record.directory)):
        return False
    try:
        wanted = parse_constraints(call.version) if call.version else None
        return wanted is None or record.version is None or wanted.allows(record.version)
    except ValueError:
        return False
