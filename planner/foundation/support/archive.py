"""Unpacks archives from untrusted sources. All content stays in the target directory.

Members are written one by one, below a descriptor of the target directory; links are not followed, and existing files
are never replaced. The following are rejected: names and links that lead out of the directory, members other than
files, directories and links, duplicate names, and archives that expand too much. Python's `tarfile` is not used: its
checks can be circumvented, and its reader can loop."""

from __future__ import annotations

import bz2
import errno
import lzma
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from lzma import LZMAError
from pathlib import Path
from struct import error as StructError  # noqa: N812
from typing import IO, Literal, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from planner.foundation.vocabulary.diagnostic import InstallError

MAX_MEMBERS = 200_000
MAX_BYTES = 16 << 30  # the maximum total size of all members, in bytes
MAX_GROWTH = 250  # the maximum number of bytes to which one byte of an archive may expand; deflate alone reaches 1,032
ALWAYS_FREE = 1 << 20  # an archive of any size may expand to this number of bytes
_LONGEST_NAME = 1024  # bytes
_LARGEST_HEADER = 1 << 20  # bytes
_BLOCK = 1 << 18
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_DRIVE = re.compile(r"[A-Za-z]:")
_SEPARATORS = re.compile(r"[/\\]")

Kind = Literal["file", "folder", "link", "same"]


class Member(NamedTuple):
    """A member of an archive. `parts` are the path elements of the name. `target` is the target of a link, or the
    member that a hard link refers to."""

    name: str
    parts: tuple[str, ...]
    kind: Kind
    size: int = 0
    is_program: bool = False
    target: str = ""


class ArchiveLimits(NamedTuple):
    """The maximum size of an archive's content, in bytes, and the maximum number of members."""

    bytes: int
    members: int


def unpack(archive: Path, target: Path, kind: str, links: bool = True, limits: ArchiveLimits | None = None) -> None:
    """Unpack an archive into a new directory. `kind` is zip, tar, tar.gz, tar.bz2 or tar.xz. `links`: whether links are
    allowed. `limits`: stricter limits, for small content. Raises InstallError, and OSError if writing fails."""
    target.mkdir(mode=0o755)
    try:
        size = allowed_bytes(archive.stat().st_size)
        with _UnpackDirectory(
            target, min(size, limits.bytes) if limits else size, limits.members if limits else None
        ) as place:
            if kind == "zip":
                with ZipFile(archive) as package:
                    _unzip(package, place, links)
            else:
                with _stream(archive, kind) as file:
                    stream = _Stream(file, place.left)
                    for member in _tar_members(stream):
                        end = stream.at + _padded_size(member.size)
                        place.put(member, stream.blocks(member.size), links)
                        for _ in stream.blocks(end - stream.at):
                            pass
            if not place.seen:
                raise InstallError("the archive is empty")
    except _Growth:
        if limits is None or limits.bytes > allowed_bytes(archive.stat().st_size):
            raise
        raise InstallError(f"the archive expands to more than {limits.bytes:,} bytes") from None
    except (BadZipFile, LZMAError, StructError, zlib.error, EOFError, NotImplementedError, ValueError) as problem:
        raise InstallError(f"the archive is damaged or of an unsupported kind ({problem})") from None
    except OSError as problem:
        if problem.errno is None:  # without errno, this is a decompression error
            raise InstallError(f"the archive is damaged ({problem})") from None
        raise


def allowed_bytes(size: int) -> int:
    return min(MAX_BYTES, max(ALWAYS_FREE, MAX_GROWTH * size))


def members(package: ZipFile, size: int, links: bool = False) -> list[tuple[ZipInfo, Member]]:
    """(entry, member) of each member of a zip archive of `size` bytes. `links`: whether links are allowed. Raises
    InstallError if a member is not safe to unpack."""
    entries = package.infolist()
    _few(len(entries))
    listed = [(entry, _zip_member(package, entry)) for entry in entries]
    if sum(member.size for _, member in listed) > allowed_bytes(size):
        raise _too_large()
    if not links and (link := next((m for _, m in listed if m.kind == "link"), None)):
        raise InstallError(f"the archive has a link ({link.name!r}), which is not allowed")
    seen: set[str] = set()
    for _, member in listed:
        _check_duplicate(member, seen)
    return listed


# ---------------------------------------------------------------- names


def _parts(name: str) -> tuple[str, ...]:
    """The path elements of a member's name. Raises InstallError if the name leads out of the archive or is invalid."""
    if name.startswith(("/", "\\")) or _DRIVE.match(name) or ".." in _SEPARATORS.split(name):
        raise InstallError(f"the archive has a member whose path is outside the archive ({name!r})")
    if "\0" in name or len(name.encode("utf-8", "surrogateescape")) > _LONGEST_NAME:
        raise InstallError(f"the archive has a member with an invalid name ({name[:80]!r})")
    return tuple(part for part in name.split("/") if part not in ("", "."))


def stays(target: str, depth: int) -> bool:
    """Whether the target of a link is inside the archive, regardless of other links. `depth`: how many levels the
    directory of the link is below the top. `..` may occur only at the beginning: after the name of another link, it
    would go up from the target of that link."""
    if not target or target.startswith(("/", "\\")) or "\0" in target or _DRIVE.match(target):
        return False
    parts = [part for part in _SEPARATORS.split(target) if part not in ("", ".")]
    up = 0
    while up < len(parts) and parts[up] == "..":
        up += 1
    return up <= depth and ".." not in parts[up:]


def check_links(folder: Path) -> None:
    """Raises InstallError if a link below the directory leads out of the directory, and OSError if a link cannot be
    read."""
    for base, folders, files in os.walk(folder):
        depth = len(Path(base).relative_to(folder).parts)
        for name in sorted((*folders, *files)):
            path = os.path.join(base, name)
            if os.path.islink(path) and not stays(os.readlink(path), depth):
                raise InstallError(f"{os.path.relpath(path, folder)!r} is a link to a target outside the directory")


def _check_duplicate(member: Member, seen: set[str]) -> None:
    """Raises InstallError for duplicate names. Only directories may be repeated. Names that differ only in case count
    as duplicates, because some file systems ignore case."""
    if member.kind == "folder":
        return
    folded = "/".join(member.parts).casefold()
    if not member.parts or folded in seen:
        raise InstallError(
            f"the archive has several members that are named {member.name!r}, or whose names differ only in case"
        )
    seen.add(folded)


def _few(count: int, most: int | None = None) -> None:
    if count > (most or MAX_MEMBERS):
        raise InstallError(f"the archive has more than {most or MAX_MEMBERS:,} members")


class _Growth(InstallError):
    """The archive expands to more bytes than allowed."""


def _too_large() -> InstallError:
    return _Growth(
        f"the archive expands to more than {MAX_BYTES >> 30} GiB, or to more than {MAX_GROWTH} times its size"
    )


# ---------------------------------------------------------------- writing


class _UnpackDirectory:
    """The open target directory. `left`: how many bytes may still be written; `most`: the maximum number of members."""

    def __init__(self, target: Path, left: int, most: int | None = None) -> None:
        self.root = os.open(target, _FOLDER)
        self.left, self.most = left, most
        self.count = 0
        self.seen: set[str] = set()

    def __enter__(self) -> _UnpackDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.root)

    def put(self, member: Member, blocks: Iterable[bytes], links: bool) -> None:
        """Write a member. `links`: whether symbolic links are allowed. Raises InstallError and OSError."""
        self.count += 1
        _few(self.count, self.most)
        _check_duplicate(member, self.seen)
        try:
            if member.kind == "folder":
                with self._folder(member.parts):
                    return
            with self._folder(member.parts[:-1]) as folder:
                if member.kind == "link":
                    self._link(member, folder, links)
                elif member.kind == "file":
                    self._file(member, folder, blocks, member.is_program)
                else:
                    self._hard_link(member, folder)
        except FileExistsError:
            raise InstallError(f"the archive has several members that are named {member.name!r}") from None
        except OSError as problem:
            if problem.errno in (errno.ELOOP, errno.ENOTDIR):
                raise InstallError(f"the archive has {member.name!r} below something that is not a directory") from None
            raise

    @contextmanager
    def _folder(self, parts: tuple[str, ...], make: bool = True) -> Iterator[int]:
        """The descriptor of a subdirectory. `make`: whether to create it if it is missing."""
        at = os.dup(self.root)
        try:
            for part in parts:
                try:
                    below = os.open(part, _FOLDER, dir_fd=at)
                except FileNotFoundError:
                    if not make:
                        raise
                    os.mkdir(part, 0o755, dir_fd=at)
                    below = os.open(part, _FOLDER, dir_fd=at)
                os.close(at)
                at = below
            yield at
        finally:
            os.close(at)

    def _link(self, member: Member, folder: int, links: bool) -> None:
        if not links:
            raise InstallError(f"the archive has a link ({member.name!r}), which is not allowed")
        if not stays(member.target, len(member.parts) - 1):
            raise InstallError(
                f"the archive has a link to a target outside the archive ({member.name!r} to {member.target!r})"
            )
        os.symlink(member.target, member.parts[-1], dir_fd=folder)

    def _file(self, member: Member, folder: int, blocks: Iterable[bytes], is_program: bool) -> None:
        with open(os.open(member.parts[-1], _NEW_FILE, 0o600, dir_fd=folder), "wb") as file:
            for block in blocks:
                self.left -= len(block)
                if self.left < 0:
                    raise _too_large()
                file.write(block)
            os.fchmod(file.fileno(), 0o755 if is_program else 0o644)

    def _hard_link(self, member: Member, folder: int) -> None:
        parts = _parts(member.target)
        number = -1
        try:
            with suppress(OSError), self._folder(parts[:-1], make=False) as other:
                number = os.open(parts[-1] if parts else ".", _OLD_FILE, dir_fd=other)
            if number < 0 or not stat.S_ISREG(mode := os.fstat(number).st_mode):
                raise InstallError(
                    f"the archive has a link to a file that it does not contain ({member.name!r} to {member.target!r})"
                )
            self._file(member, folder, iter(lambda: os.read(number, _BLOCK), b""), bool(mode & 0o100))
        finally:
            if number >= 0:
                os.close(number)


# ---------------------------------------------------------------- zip


def _zip_member(package: ZipFile, entry: ZipInfo) -> Member:
    name, mode = entry.orig_filename.replace("\\", "/"), entry.external_attr >> 16
    parts = _parts(name)
    if entry.flag_bits & 1:
        raise InstallError(f"the archive is encrypted ({name!r})")
    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise InstallError(f"the archive uses an unsupported compression method ({name!r})")
    if name.endswith("/"):
        return Member(name, parts, "folder")
    if stat.S_ISLNK(mode):
        if entry.file_size > _LONGEST_NAME:
            raise InstallError(f"the archive has a link to a target outside the archive ({name!r})")
        return Member(name, parts, "link", entry.file_size)
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise InstallError(f"the archive has a member that is neither file nor directory ({name!r})")
    return Member(name, parts, "file", entry.file_size, not mode or bool(mode & 0o100))


def _unzip(package: ZipFile, place: _UnpackDirectory, links: bool) -> None:
    for entry, member in members(package, os.fstat(_number(package)).st_size, links):
        if member.kind == "folder":
            place.put(member, (), links)
            continue
        with package.open(entry) as source:
            if member.kind == "link":
                target = source.read(_LONGEST_NAME + 1).decode("utf-8", "surrogateescape")
                place.put(member._replace(target=target), (), links)
            else:
                place.put(member, iter(lambda s=source: s.read(_BLOCK), b""), links)  # type: ignore[misc]


def _number(package: ZipFile) -> int:
    assert package.fp is not None
    return package.fp.fileno()


# ---------------------------------------------------------------- tar


def _stream(archive: Path, kind: str) -> IO[bytes]:
    if kind == "tar.gz":
        import gzip

        return gzip.open(archive, "rb")  # type: ignore[return-value]
    if kind == "tar.bz2":
        return bz2.open(archive, "rb")
    if kind == "tar.xz":
        return lzma.open(archive, "rb")
    return open(archive, "rb")


class _Stream:
    """Reads a stream sequentially. `left`: the maximum size of all files, in bytes. In addition, headers may take half
    of this size plus ALWAYS_FREE."""

    def __init__(self, file: IO[bytes], left: int) -> None:
        self.file, self.at, self.end = file, 0, left + (left >> 1) + ALWAYS_FREE

    def read(self, size: int) -> bytes:
        """`size` bytes, or fewer at the end. Raises InstallError."""
        data = b""
        while len(data) < size and (part := self.file.read(size - len(data))):
            data = data + part if data else part
        self.at += len(data)
        if self.at > self.end:
            raise _too_large()
        return data

    def blocks(self, size: int) -> Iterator[bytes]:
        while size:
            block = self.read(min(size, _BLOCK))
            if not block:
                raise EOFError("it ends in the middle of a file")
            size -= len(block)
            yield block


def _tar_members(stream: _Stream) -> Iterator[Member]:
    """The members of a tar archive. The caller must read the content of a member (`size` bytes, rounded up to a
    multiple of 512) before it requests the next member. Raises InstallError, ValueError and EOFError."""
    more: dict[str, str] = {}
    while header := stream.read(512):
        if len(header) < 512:
            raise EOFError("it ends in the middle of a header")
        if not any(header):
            return
        if sum(header[:148]) + sum(header[156:]) + 8 * 32 != _octal(header[148:156]):
            raise ValueError("a header has a wrong checksum")
        flag, size = header[156:157], _octal(header[124:136])
        if flag in b"xLKg":
            if size > _LARGEST_HEADER:
                raise ValueError("a header is too long")
            data = b"".join(stream.blocks(_padded_size(size)))[:size]
            if flag == b"x":
                more |= _extended_records(data)
            elif flag != b"g":  # a global header is only a comment
                more["path" if flag == b"L" else "linkpath"] = _text(data)
            continue
        yield _tar_member(header, flag, size, more)
        more = {}


def _tar_member(header: bytes, flag: bytes, size: int, more: dict[str, str]) -> Member:
    name, prefix = _text(header[:100]), _text(header[345:500]) if header[257:263] == b"ustar\0" else ""
    name = more.get("path") or (f"{prefix}/{name}" if prefix else name)
    parts = _parts(name)
    if any(key.startswith("GNU.sparse") for key in more):
        raise InstallError(f"the archive has a sparse file ({name!r}), which is not supported")
    size = int(more["size"]) if more.get("size", "").isdecimal() else size
    if flag == b"5" or (flag in b"\0" and name.endswith("/")):
        return Member(name, parts, "folder")
    if flag in b"0\x007":
        return Member(name, parts, "file", size, bool(_octal(header[100:108]) & 0o100))
    if flag in b"12":
        target = more.get("linkpath") or _text(header[157:257])
        return Member(name, parts, "same" if flag == b"1" else "link", target=target)
    raise InstallError(f"the archive has a member that is neither file nor directory ({name!r})")


def _extended_records(data: bytes) -> dict[str, str]:
    """Parse the records `LENGTH KEY=VALUE\n` of an extended header. Raises ValueError."""
    texts = {}
    while data:
        length, _, _ = data[:20].partition(b" ")
        end = int(length) if length.isdigit() else 0
        key, equals, value = data[len(length) + 1 : end - 1].partition(b"=")
        if not equals or end > len(data) or data[end - 1 : end] != b"\n":
            raise ValueError("a header cannot be read")
        texts[key.decode("utf-8", "surrogateescape")] = value.decode("utf-8", "surrogateescape")
        data = data[end:]
    return texts


def _octal(field: bytes) -> int:
    """A number in tar's format: octal digits, or binary if it is too large for these. Raises ValueError."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    text = field.partition(b"\0")[0].strip()
    if text.strip(b"01234567"):
        raise ValueError("a header has an invalid number")
    return int(text or b"0", 8)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _padded_size(size: int) -> int:
    return -(-size // 512) * 512
