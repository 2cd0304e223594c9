"""Prepares the directory in which a Terragrunt unit runs. As in Terragrunt, a unit without a source runs in its own
directory, and generated files are written to this directory. A unit with a source has a separate working directory. It
contains generated files, and links to the files of the source and of the unit. A list next to the working directory
names the files and links that planner has made. All other files in it, such as states, data directories and files of
programs, are left unchanged."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase

from planner.foundation.support.disk import read_whole
from planner.foundation.support.exact_json import orjson
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.language.config.sources import split_subdirectory
from planner.workflows.batch import OF_UNIT
from planner.workflows.batch.record import make_unversioned
from planner.workflows.batch.terragrunt import FOLDER
from planner.workflows.batch.terragrunt.generated import GenerateBlock, has_mark
from planner.workflows.batch.terragrunt.sources import SourcePackage

_LIST = "files.json"
_LOCK = ".terraform.lock.hcl"
_NEVER = (".git", ".terraform", ".terragrunt-cache", ".terragrunt-stack", ".planner", "terraform.tfstate")


def working_directory(folder: str, source: str, download: str = "") -> str:
    """The directory in which a unit runs. `folder`: the unit's own directory, which is also the result if `source` is
    "". `download`: the directory from the unit's download_dir."""
    if not source:
        return folder
    base, sub = working_base(folder, download), split_subdirectory(source)[1]
    return base if sub.partition("/")[0] == ".." else os.path.normpath(os.path.join(base, sub))


def working_base(folder: str, download: str = "") -> str:
    """The directory with the links to the whole source of a unit. The unit runs in this directory or, if its source has
    a subdirectory (after `//`), in that subdirectory."""
    return os.path.join(download or os.path.join(folder, FOLDER), "work")


def prepare(place: str, package: SourcePackage | None, folder: str, copy: Copy, files: Iterable[GenerateBlock]) -> None:
    """Update the links and generated files in the directory `place`, in which the unit runs. Raises Failure and
    OSError."""
    files = list(files)
    if package is None:
        for file in files:
            _write(place, file, ())
        return
    base = place
    for _ in [part for part in package.sub.split("/") if part not in ("", ".")]:
        base = os.path.dirname(base)
    home = os.path.dirname(base)
    make_unversioned(home)
    wanted = _links(package, folder, copy, os.path.relpath(place, base))
    before = _own_files(home)
    inner = os.path.relpath(place, base)
    for name in sorted(before.keys() - wanted.keys()):
        _drop(os.path.join(base, name), before[name])
    os.makedirs(place, exist_ok=True)
    for name, target in wanted.items():
        _link(os.path.join(base, name), target)
    _lock_file(place, package, folder)
    for file in files:
        name = os.path.normpath(os.path.join(inner, file.path))
        taken = wanted.get(name)
        wanted[name] = ""
        _write(place, file, (taken,) if taken else ())
    data = orjson.dumps(wanted, option=orjson.OPT_SORT_KEYS)
    path = os.path.join(home, _LIST)
    if not _is_same(path, data):
        _put(path, data)


class Copy:
    """Decides which files are linked. `included`: patterns of hidden files to include. `excluded`: patterns of files of
    the unit to exclude."""

    def __init__(self, included: tuple[str, ...] = (), excluded: tuple[str, ...] = ()) -> None:
        self.included, self.excluded = included, excluded

    def takes(self, name: str, is_unit: bool) -> bool:
        if name in _NEVER or name.startswith("terraform.tfstate"):
            return False
        if is_unit and any(fnmatchcase(name, pattern) for pattern in self.excluded):
            return False
        return not name.startswith(".") or any(fnmatchcase(name, pattern) for pattern in self.included)


def _links(package: SourcePackage, folder: str, copy: Copy, inner: str) -> dict[str, str]:
    """The links in the working directory, as {path relative to the working directory: target}."""
    wanted: dict[str, str] = {}
    at, shown = package.folder, ""
    parts = [part for part in package.sub.split("/") if part not in ("", ".")]
    for part in parts:
        for name in sorted(os.listdir(at)):
            if name != part and name not in _NEVER:
                wanted[os.path.normpath(os.path.join(shown, name))] = os.path.join(at, name)
        at, shown = os.path.join(at, part), os.path.join(shown, part)
    _overlay(wanted, inner, at, folder, copy)
    for name in sorted(OF_UNIT):
        own = os.path.join(folder, ".planner", name)
        if os.path.lexists(own):
            wanted[os.path.normpath(os.path.join(inner, ".planner", name))] = own
    return wanted


def _overlay(wanted: dict[str, str], inner: str, below: str, above: str, copy: Copy, depth: int = 0) -> None:
    """Add links to the files of two directories to `wanted`. Files of `above` take precedence over files of `below`,
    and directories that both contain are merged."""
    for name in sorted(os.listdir(below)):
        if copy.takes(name, False) and name != _LOCK and not name.startswith("terragrunt."):
            wanted[os.path.normpath(os.path.join(inner, name))] = os.path.join(below, name)
    if os.path.realpath(below) == os.path.realpath(above):
        return
    for name in sorted(os.listdir(above)):
        path = os.path.normpath(os.path.join(inner, name))
        mine, other = os.path.join(above, name), os.path.join(below, name)
        if not copy.takes(name, True) or name == _LOCK or name.startswith("terragrunt."):
            continue
        if path in wanted and os.path.isdir(mine) and os.path.isdir(other) and depth < 50:
            del wanted[path]
            _overlay(wanted, path, other, mine, copy, depth + 1)
        else:
            wanted[path] = mine


def _link(path: str, target: str) -> None:
    try:
        if os.readlink(path) == target:
            return
    except OSError:
        pass
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.isdir(path) and not os.path.islink(path):
        return  # another program made this directory
    beside = f"{path}.{os.getpid()}.tmp"
    os.symlink(target, beside)
    os.replace(beside, path)


def _drop(path: str, target: str) -> None:
    """Remove a link, or a file with planner's mark."""
    if (os.path.islink(path) and target) or (not target and has_mark(path)):
        os.unlink(path)


def _lock_file(place: str, package: SourcePackage, folder: str) -> None:
    """Copy the lock file of the unit to the working directory. If the unit has none, copy the lock file of the source,
    but only if the working directory has no lock file yet."""
    mine = os.path.join(place, _LOCK)
    for origin in (os.path.join(folder, _LOCK), os.path.join(package.folder, package.sub, _LOCK)):
        if os.path.isfile(origin):
            if not os.path.exists(mine) or (origin.startswith(folder) and read_whole(origin) != read_whole(mine)):
                _put(mine, read_whole(origin))
            return


def _write(place: str, file: GenerateBlock, below: tuple[str, ...]) -> None:
    """Write or remove a generated file. `below`: the file that a link at this path refers to; () if there is no such
    link. `if_exists` determines whether an existing file is kept, is overwritten, or causes an error. Raises
    Failure."""
    path = os.path.normpath(os.path.join(place, file.path))
    there = below[0] if below else path
    ours = has_mark(there)
    if file.text is None:
        if os.path.lexists(path) and (file.if_exists == "overwrite" or ours):
            os.unlink(path)
        return
    data = file.text.encode("utf-8", "surrogatepass")
    if os.path.lexists(there) and not ours:
        if file.if_exists == "skip":
            return
        if file.if_exists in ("error", "overwrite_terragrunt") and not (not below and _is_same(path, data)):
            detail = f"{there} exists already, and neither planner nor Terragrunt wrote it."
            raise Failure(error("terragrunt.exists", "A file would be overwritten", detail, file.span))
    if not os.path.islink(path) and _is_same(path, data):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    _put(path, data)


def _is_same(path: str, data: bytes) -> bool:
    try:
        return read_whole(path) == data
    except OSError:
        return False


def _put(path: str, data: bytes) -> None:
    beside = f"{path}.{os.getpid()}.tmp"
    with open(beside, "wb") as file:
        file.write(data)
    os.replace(beside, path)


def _own_files(home: str) -> dict[str, str]:
    """{path: target of the link} for the files and links that planner has made; the target is "" for a generated
    file."""
    try:
        result = orjson.loads(read_whole(os.path.join(home, _LIST)))
    except (OSError, orjson.JSONDecodeError):
        return {}
    if not isinstance(result, dict):
        return {}
    return {k: v for k, v in result.items() if isinstance(v, str) and not os.path.isabs(k) and not k.startswith("..")}


def rewrite(place: str, files: Iterable[GenerateBlock]) -> None:
    """Write generated files whose content has just become known. Files that neither planner nor Terragrunt wrote are
    not overwritten. Raises Failure and OSError."""
    for file in files:
        path = os.path.join(place, file.path)
        if file.text is not None and (has_mark(path) or not os.path.lexists(path)):
            _write(place, file, ())
