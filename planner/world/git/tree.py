"""Reads the files of a repository at a revision from git's objects, without a checkout and without changing the work
tree or the index."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import subprocess
import weakref
from collections.abc import Iterable
from contextlib import suppress
from threading import Lock
from typing import IO, TypeAlias

from planner.foundation.support.disk import TreeEntry, list_directory, read_whole, view
from planner.foundation.vocabulary.records import frozen
from planner.language.config.directory import DATA_DIRECTORY
from planner.world.git.revisions import GitError, command, commit_of, environment, run, top_of

_DIRECTORY, _LINK, _SUBMODULE = "40000", "120000", "160000"
_MAX_LINKS = 40
_LFS = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\n")
_GIT_CRYPT = b"\0GITCRYPT\0"


def git_tree(directory: str, ref: str) -> GitTree:
    """The files of a directory's repository at a revision. Raises Failure."""
    return GitTree(top_of(directory), ref, commit_of(directory, ref))


@frozen
class _Object:
    """A file, link or directory of a commit. Objects of a submodule are in the repository of the submodule."""

    mode: str
    name: str  # the hash of the object, or `COMMIT^{tree}`
    objects: _Objects


@frozen
class _OnDisk:
    """A file or directory that is read from the disk."""

    path: str


_Item: TypeAlias = "_Object | _OnDisk | None"


class GitTree:
    """The files of a work tree at a commit (see planner.foundation.support.disk.Tree).

    Links within the tree are followed. Links out of the tree are followed only if the work tree has the same link.
    Submodules are read from their own repositories. A name that is not in the commit does not exist, with three
    exceptions that are read from the disk: names that git ignores, names in a data directory (`.terraform`), and
    untracked names older than the commit."""

    def __init__(self, root: str, ref: str, commit: str) -> None:
        self.root, self.ref, self.commit = root, ref, commit
        objects = _Objects(root)
        kind, data = objects.read(commit)
        dated = re.search(rb"^committer .*> (\d+) [+-]\d{4}$", data.partition(b"\n\n")[0], re.MULTILINE)
        self._time = int(dated[1]) if kind == "commit" and dated else 0
        self._top = _Object(_DIRECTORY, f"{commit}^{{tree}}", objects)
        self._listed: dict[str, tuple[TreeEntry, ...]] = {}
        self._trees: dict[tuple[int, str], dict[str, tuple[str, str]]] = {}
        self._kept: dict[str, frozenset[str]] = {}
        self._submodules: dict[tuple[str, str], _Objects | None] = {}
        self._added: tuple[str, ...] | None = None
        self._taken: dict[str, None] = {}
        self._unreadable: dict[str, str] = {}
        self._data = os.path.normpath(os.environ.get("TF_DATA_DIR") or DATA_DIRECTORY)

    @property
    def taken_from_disk(self) -> tuple[str, ...]:
        """Names that were read from the disk although they changed after the commit, and submodules that git does not
        have: their content may differ from the content at the commit."""
        return tuple(sorted(self._taken))

    @property
    def unreadable(self) -> tuple[tuple[str, str], ...]:
        """Names read so far whose content git does not have, with the reasons."""
        return tuple(sorted(self._unreadable.items()))

    def read(self, name: str) -> bytes:
        """The content of a file. Raises OSError."""
        target = self._find(name)
        if target is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        if isinstance(target, _OnDisk):
            with view(None):
                data = read_whole(target.path)
            self._take(name, target.path)
            return data
        if target.mode in (_DIRECTORY, _SUBMODULE):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        _, data = target.objects.read(target.name)
        if data.startswith(b"version ") and (pointer := _LFS.match(data)):
            return self._large(name, data, pointer[1].decode("ascii"))
        if data.startswith(_GIT_CRYPT):
            raise self._missing(name, "is encrypted by git-crypt")
        return data

    def entries(self, directory: str) -> tuple[TreeEntry, ...]:
        """The entries of a directory, from the commit and from the disk. Raises OSError."""
        known = self._listed.get(directory)
        if known is None:
            known = self._listed[directory] = tuple(self._list(directory))
        return known

    def _list(self, directory: str) -> Iterable[TreeEntry]:
        target = self._find(directory)
        if target is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), directory)
        if isinstance(target, _OnDisk):
            with view(None):
                entries = list_directory(target.path)
            self._take(directory, target.path)
            return [TreeEntry(entry.name, _is_dir(os.path.join(target.path, entry.name))) for entry in entries]
        if target.mode not in (_DIRECTORY, _SUBMODULE):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), directory)
        listed = []
        for name, (mode, _) in self._tree(target).items():
            is_dir = mode in (_DIRECTORY, _SUBMODULE)
            if mode == _LINK:
                with suppress(OSError):
                    is_dir = self._is_directory(self._find(_join(directory, name)))
            listed.append(TreeEntry(name, is_dir))
        for name in sorted(self._kept_names(directory, target)):
            listed.append(TreeEntry(name, _is_dir(os.path.join(self.root, directory, name))))
        return listed

    def _is_directory(self, target: _Item) -> bool:
        if isinstance(target, _OnDisk):
            return _is_dir(target.path)
        return target is not None and target.mode in (_DIRECTORY, _SUBMODULE)

    # ------------------------------------------------------------ names

    def _find(self, name: str) -> _Item:
        """The object with a name, after links have been followed; None if it does not exist. Raises OSError for a cycle
        of links, and for a link out of the tree unless the work tree has the same link."""
        above: list[tuple[str, _Object]] = []
        here = self._top
        rest = [part for part in reversed(name.split("/")) if part not in ("", ".")]
        links = 0
        while rest:
            part = rest.pop()
            if part in ("", "."):
                continue
            place = "/".join(name for name, _ in above)
            if part == "..":
                if not above:
                    return _OnDisk(os.path.normpath(os.path.join(self.root, "..", *reversed(rest))))
                above.pop()
                here = above[-1][1] if above else self._top
                continue
            if here.mode not in (_DIRECTORY, _SUBMODULE):
                return None
            entry = self._tree(here).get(part)
            path = _join(place, part)
            if entry is None:
                is_kept = part in self._kept_names(place or ".", here)
                return _OnDisk(os.path.join(self.root, path, *reversed(rest))) if is_kept else None
            mode, oid = entry
            if mode == _LINK:
                links += 1
                if links > _MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
                target = os.fsdecode(here.objects.read(oid)[1])
                if os.path.isabs(target):
                    if not f"{os.path.normpath(target)}/".startswith(f"{self.root}/"):
                        return self._outside(path, target, target, rest)
                    above, here, target = [], self._top, os.path.relpath(target, self.root)
                elif os.path.normpath(os.path.join(place, target)).split("/")[0] == "..":
                    return self._outside(path, target, os.path.join(self.root, place, target), rest)
                rest += [step for step in reversed(target.split("/")) if step]
                continue
            if mode == _SUBMODULE:
                objects = self._submodule(path, oid)
                if objects is None:
                    self._taken[path] = None
                    return _OnDisk(os.path.join(self.root, path, *reversed(rest)))
                here = _Object(_SUBMODULE, f"{oid}^{{tree}}", objects)
            else:
                here = _Object(mode, oid, here.objects)
            above.append((part, here))
        return here

    def _outside(self, path: str, target: str, place: str, rest: list[str]) -> _OnDisk:
        """The target of a link out of the tree. Raises OSError unless the work tree has the same link."""
        try:
            same = os.readlink(os.path.join(self.root, path)) == target
        except OSError:
            same = False
        if not same:
            raise self._missing(
                path, f"is a link to {target}, outside the repository, and the work tree does not have this link"
            )
        return _OnDisk(os.path.normpath(os.path.join(place, *reversed(rest))))

    def _submodule(self, path: str, commit: str) -> _Objects | None:
        """The objects of a submodule; None if its repository or the commit is not on this machine."""
        if (path, commit) not in self._submodules:
            place = os.path.join(self.root, path)
            candidates = [_Objects(place)] if os.path.lexists(os.path.join(place, ".git")) else []
            with suppress(GitError):
                common = run(self.root, ["rev-parse", "--git-common-dir"])[0].removesuffix("\n")
                candidates.append(_Objects(os.path.join(self.root, common, "modules", path), is_bare=True))
            readable = (objects for objects in candidates if objects.has(f"{commit}^{{tree}}"))
            self._submodules[path, commit] = next(readable, None)
        return self._submodules[path, commit]

    def _tree(self, directory: _Object) -> dict[str, tuple[str, str]]:
        """The entries of a directory: {name: (mode, hash of the object)}."""
        key = (id(directory.objects), directory.name)
        known = self._trees.get(key)
        if known is None:
            _, data = directory.objects.read(directory.name)
            known = self._trees[key] = dict(_entries_of(data, len(self.commit) // 2))
        return known

    # ------------------------------------------------------------ the disk

    def _kept_names(self, directory: str, parent: _Object) -> frozenset[str]:
        """The names in a directory that are not in the commit and whose files are read from the disk."""
        known = self._kept.get(directory)
        if known is None:
            try:
                names = set(os.listdir(os.path.join(self.root, directory))) - self._tree(parent).keys()
            except OSError:
                names = set()
            paths = {_join(directory, name): name for name in names}
            known = self._kept[directory] = frozenset(paths[path] for path in self._unchanged_paths(paths))
        return known

    def _unchanged_paths(self, paths: Iterable[str]) -> set[str]:
        """The paths to read from the disk: data directories, ignored paths, and paths that did not change after the
        commit."""
        kept = {path for path in paths if self._is_data(path)}
        others = sorted(set(paths) - kept)
        if not others:
            return kept
        added = self._added_names()
        others = [path for path in others if not _contains(added, path)]
        return kept | self._ignored_paths(others) | {path for path in others if not self._is_later(path)}

    def _is_data(self, path: str) -> bool:
        """Whether a path is a data directory, or git's own directory `.git`."""
        absolute = os.path.join(self.root, path)
        if os.path.isabs(self._data):
            return f"{absolute}/".startswith(f"{self._data}/") or f"/{path}".endswith("/.git")
        return f"/{path}".endswith((f"/{self._data}", f"/{DATA_DIRECTORY}", "/.git"))

    def _added_names(self) -> tuple[str, ...]:
        if self._added is None:
            words = ["diff-index", "--cached", "--name-only", "--no-renames", "--diff-filter=A", "-z", self.commit]
            try:
                self._added = tuple(sorted(name for name in run(self.root, words)[0].split("\0") if name))
            except GitError:
                self._added = ()
        return self._added

    def _ignored_paths(self, paths: list[str]) -> set[str]:
        if not paths:
            return set()
        # `:` at the beginning would start a pathspec pattern
        names = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
        try:
            output, _ = run(self.root, ["check-ignore", "-z", "--stdin"], names, accepted=(0, 1))
        except GitError:  # git fails for paths beyond a link or in a submodule
            return set()
        return {name.removeprefix("./") for name in output.split("\0") if name}

    def _is_later(self, path: str) -> bool:
        """Whether a file changed, or an entry of a directory was added or removed, after the commit."""
        return _is_later(os.path.join(self.root, path), self._time)

    def _take(self, name: str, path: str) -> None:
        if _is_later(path, self._time):
            self._taken[name] = None

    # ------------------------------------------------------------ files that are not in git's objects

    def _large(self, name: str, pointer: bytes, checksum: str) -> bytes:
        """The content of a file in Git LFS, from the local store or the work tree. Raises OSError."""
        store = os.path.join("lfs", "objects", checksum[:2], checksum[2:4], checksum)
        path = os.path.join(self.root, name)
        with view(None):
            with suppress(OSError, GitError):
                common = run(self.root, ["rev-parse", "--git-common-dir"])[0].removesuffix("\n")
                return read_whole(os.path.join(self.root, common, store))
            with suppress(OSError):
                data = read_whole(path)
                if data == pointer or _LFS.match(data):
                    return pointer  # the work tree also has only the pointer
                if hashlib.sha256(data).hexdigest() == checksum:
                    return data
        raise self._missing(name, "is in Git LFS, and its content is not on this machine: run git lfs fetch")

    def _missing(self, name: str, reason: str) -> OSError:
        self._unreadable[name] = reason
        return OSError(errno.EIO, f"At {self.ref} it {reason}", name)


def _join(directory: str, name: str) -> str:
    return name if directory in ("", ".") else f"{directory}/{name}"


def _contains(names: tuple[str, ...], path: str) -> bool:
    """Whether a path is one of the names, or a directory that contains one."""
    return any(name == path or name.startswith(f"{path}/") for name in names)


def _is_dir(path: str) -> bool:
    try:
        return os.path.isdir(path)
    except OSError:
        return False


def _is_later(path: str, time: int) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return True
    return int(max(status.st_mtime, status.st_ctime)) > time


def _entries_of(data: bytes, size: int) -> Iterable[tuple[str, tuple[str, str]]]:
    """The entries of a directory object: (name, (mode, hash of the object)). `size`: the length of a hash in bytes."""
    at = 0
    while at < len(data):
        space, end = data.index(b" ", at), data.index(b"\0", at)
        yield os.fsdecode(data[space + 1 : end]), (data[at:space].decode("ascii"), data[end + 1 : end + 1 + size].hex())
        at = end + 1 + size


class _Objects:
    """Reads objects of a git repository with one git process, which is started on first use."""

    def __init__(self, directory: str, is_bare: bool = False) -> None:
        """`is_bare`: whether the directory is the repository itself rather than a work tree."""
        self._directory, self._words = directory, ("--git-dir=.", "--work-tree=.") if is_bare else ()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def has(self, name: str) -> bool:
        try:
            self.read(name)
        except OSError:
            return False
        return True

    def read(self, name: str) -> tuple[str, bytes]:
        """The kind and the content of an object. Raises OSError if git does not have the object."""
        with self._lock:
            stdin, stdout = self._streams()
            stdin.write(f"{name}\n".encode("ascii"))
            stdin.flush()
            head = stdout.readline().decode("ascii", "replace").split()
            if len(head) != 3:
                raise OSError(errno.EIO, f"git has no object {name}", self._directory)
            data = stdout.read(int(head[2]))
            stdout.read(1)
        return head[1], data

    def _streams(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None:
            self._process = subprocess.Popen(
                command(*self._words, "cat-file", "--batch"),
                cwd=self._directory,
                env=environment(os.environ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            weakref.finalize(self, _end, self._process)
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        return process.stdin, process.stdout


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    process.wait()
