"""Makes bundles: archives of the files below a fleet's root that a unit needs. An archive is identified by its digest.

A bundle contains the directories of the unit, of each module that it calls and of the units whose outputs it uses, the
files that were read when its configuration was surveyed, and policies. Files that belong to this machine are omitted:
states, plugins, records and git's data. If the unit needs another path below the root, the machine that runs the unit
reports this path before it changes anything. Then a bundle with this path is made and sent."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Iterable, Iterator

from planner.foundation.support.disk import read_whole
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import frozen
from planner.workflows.batch import OF_UNIT

LARGEST = 256 << 20
"""maximum size in bytes of all files in a bundle"""
MOST_FILES = 50_000
_STAYS = frozenset((".git", ".hg", ".svn", ".terragrunt-cache", "__pycache__", "node_modules"))
_OF_DATA = frozenset(("modules",))
"""subdirectories of the data directory (.terraform) that bundles include"""


@frozen
class Bundle:
    """An archive (tar.gz) with its SHA-256. `files`: the paths of all files in the archive. `folders`: directories that
    are included as a whole. `absent`: paths that did not exist. All paths are relative to the root."""

    digest: str
    data: bytes
    files: tuple[str, ...]
    folders: tuple[str, ...]
    absent: tuple[str, ...] = ()


def pack(root: str, folders: Iterable[str], files: Iterable[str], absent: Iterable[str] = ()) -> Bundle:
    """A bundle of whole directories and single files; all paths are relative to `root`. Equal files result in equal
    archives, byte for byte. Raises Failure."""
    whole = _without_inner(folders)
    table: dict[str, bool] = {}
    for folder in whole:  # working directories are included if the caller names them
        for path in _below(root, folder):
            table[path] = True
    for path in files:
        if not stays_here(path) and not os.path.isdir(os.path.join(root, path)):
            table[path] = True
    data = _archive(root, sorted(table))
    return Bundle(
        hashlib.sha256(data).hexdigest(), data, tuple(sorted(table)), tuple(whole), tuple(sorted(set(absent)))
    )


def stays_here(path: str) -> bool:
    """Whether a path, relative to the root, is never sent to other machines: states, plugins, records, data of version
    control."""
    parts = path.split("/")
    name = parts[-1]
    if not _STAYS.isdisjoint(parts) or name.endswith((".tfstate", ".tfstate.backup", ".lock.info", ".tmp")):
        return True
    if ".tfstate." in name or name.startswith("crash.") or ".terraform.tfstate" in name:
        return True
    return any(
        part == special and at + 1 < len(parts) and parts[at + 1] not in kept
        for special, kept in ((".terraform", _OF_DATA), (".planner", OF_UNIT))
        for at, part in enumerate(parts)
    )


def _without_inner(folders: Iterable[str]) -> list[str]:
    """The directories without those that are packed as part of another of these directories."""
    kept: list[str] = []
    for folder in sorted(set(folders)):
        if not any(_is_with(folder, other) for other in kept):
            kept.append(folder)
    return kept


def _is_with(folder: str, other: str) -> bool:
    """Whether packing `other` includes `folder`."""
    if folder == other:
        return True
    inner = folder if other == "." else folder.removeprefix(f"{other}/") if folder.startswith(f"{other}/") else ""
    return bool(inner) and not stays_here(inner)


def _below(root: str, folder: str) -> Iterator[str]:
    top = os.path.join(root, folder)
    for path, folders, files in os.walk(top):
        relative = os.path.relpath(path, root).replace(os.sep, "/")
        prefix = "" if relative == "." else f"{relative}/"
        inner = "" if path == top else f"{os.path.relpath(path, top)}/".replace(os.sep, "/")
        folders[:] = sorted(name for name in folders if not stays_here(f"{inner}{name}"))
        for name in sorted(files):
            if not stays_here(f"{inner}{name}"):
                yield f"{prefix}{name}"
        for name in folders:  # a link to a directory is followed if its target is below the root
            if os.path.islink(os.path.join(path, name)):
                yield from _through_link(root, f"{prefix}{name}")


def _through_link(root: str, path: str) -> Iterator[str]:
    target = os.path.realpath(os.path.join(root, path))
    real = os.path.realpath(root)
    if target != real and not target.startswith(f"{real}{os.sep}"):
        raise _refusal(f"{path} is a link to a target outside {root}. A bundle cannot contain such a link.")
    inner = os.path.relpath(target, real).replace(os.sep, "/")
    if inner in (".", path) or path.startswith(f"{inner}/"):
        raise _refusal(f"{path} is a link to a directory that contains the link.")
    for item in _below(real, inner):
        yield f"{path}/{os.path.relpath(item, inner)}".replace(os.sep, "/")


def _archive(root: str, paths: list[str]) -> bytes:
    if len(paths) > MOST_FILES:
        raise _refusal(f"The bundle would contain {len(paths):,} files; at most {MOST_FILES:,} are allowed.")
    packed, left, real = io.BytesIO(), LARGEST, os.path.realpath(root)
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, compresslevel=6) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        archive.addfile(tarfile.TarInfo("planner-bundle"), io.BytesIO())
        for path in paths:
            where = os.path.join(root, path)
            if os.path.islink(where) and not os.path.realpath(where).startswith(f"{real}{os.sep}"):
                raise _refusal(f"{path} is a link to a target outside {root}. A bundle cannot contain such a link.")
            try:
                data = read_whole(where)
                runs = os.stat(where).st_mode & 0o100
            except FileNotFoundError:
                continue  # a broken link, or a file that was removed meanwhile
            except (OSError, ValueError) as problem:
                raise _refusal(f"{path} cannot be read: {getattr(problem, 'strerror', None) or problem}.") from None
            left -= len(data)
            if left < 0:
                raise _refusal(f"With {path}, the bundle would be larger than {LARGEST >> 20} MiB.")
            member = tarfile.TarInfo(f"tree/{path}")
            member.size, member.mode = len(data), 0o755 if runs else 0o644
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def _refusal(detail: str) -> Failure:
    return Failure(error("batch.bundle", "A unit cannot be packed", detail))
