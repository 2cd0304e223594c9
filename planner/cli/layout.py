"""Rewrites files in the standard layout, for `fmt`, `rules fmt` and `stacks fmt`. Each command handles a different kind
of file, with its own layout.

Digests of files with the standard layout are cached, because few files change between two runs. If many files without a
cached digest must be checked, several processes check them."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator

from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError
from planner.foundation.support.digests import blake2b
from planner.foundation.support.disk import read_whole
from planner.foundation.support.store import Shelf
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.records import frozen
from planner.render.terminal import Terminal

FLAGS = (
    Flag("list", "bool", "Do not list files whose layout differs.", True),
    Flag("write", "bool", "Do not rewrite the files.", True),
    Flag("diff", "bool", "Show the differences."),
    Flag("check", "bool", "Exit with 3 if a file is not formatted; do not rewrite files."),
    Flag("recursive", "bool", "Include subdirectories."),
)
STDIN = "<stdin>"
KNOWN = Shelf("layouts", 256, 64 << 20, ("language/syntax", "config.lark", "datalog.lark"))
"""digests of texts with the standard layout, by directory and kind of file"""
_DIGEST = 16
_MOST_KNOWN = 200_000
"""maximum number of digests; if there are more, digests of removed files are dropped"""
_AT_ONCE = 32 << 20
"""maximum total size of files in memory, in bytes"""
_WORTH = 200_000
"""minimum number of bytes to check for which a further process is worthwhile"""
_MOST = 8
"""maximum number of processes"""


@frozen
class Layout:
    """A kind of files. `what`: a description of the kind. `wrong`: the title of the error that is reported for files of
    other kinds. `laid_out`: returns the formatted text of a file, or None and problems if the file has mistakes."""

    endings: tuple[str, ...]
    what: str
    wrong: str
    laid_out: Callable[[bytes, str, list[Diagnostic]], str | None]

    def of(self, file: FormattedFile) -> None:
        text = self.laid_out(file.data, file.name, file.problems)
        if text is not None:
            result = text.encode("utf-8")
            file.result = file.data if result == file.data else result


class FormattedFile:
    """A file, with its problems. `result`: the formatted text, which is the same object as `data` if the layout is
    already right; None if the file cannot be formatted."""

    __slots__ = ("data", "name", "problems", "result")

    def __init__(self, name: str, data: bytes) -> None:
        self.name, self.data = name, data
        self.problems: list[Diagnostic] = []
        self.result: bytes | None = None


def rewrite(layout: Layout, words: list[str], arguments: Arguments, terminal: Terminal) -> int:
    """Rewrite, list or compare files. Returns 2 if a file cannot be read, parsed or written, 3 with -check if a layout
    differs, and 0 otherwise. Raises UsageError."""
    stdin = words[0] == "-"
    if stdin and len(words) > 1:
        raise UsageError("Too many words", "Standard input (-) cannot be combined with files.")
    write = arguments["write"] and not stdin and not arguments["check"]
    listed = arguments["list"] and not stdin
    printed = not (listed or write or arguments["diff"] or arguments["check"])
    problems: list[Diagnostic] = []
    differs = False
    known = _KnownLayouts(layout)
    written: set[str] = set()
    for file in _laid_out(
        layout, _read_files(layout, [STDIN] if stdin else words, arguments, terminal, problems), known
    ):
        problems += file.problems
        if file.result is None or file.name in written:  # the same file was named twice
            continue
        if file.result is not file.data:
            differs = True
            if listed:
                terminal.out(file.name)
            if write:
                written.add(file.name)
                _write(file.name, file.result, problems)
            if arguments["diff"]:
                terminal.stdout.write(_difference(file.data.decode("utf-8"), file.result.decode("utf-8"), file.name))
        if printed:
            terminal.stdout.write(file.result.decode("utf-8"))
    known.keep()
    if finish(problems, terminal):
        return 2
    return 3 if arguments["check"] and differs else 0


class _KnownLayouts:
    """Cached digests of texts that have the standard layout and no mistakes."""

    def __init__(self, layout: Layout) -> None:
        self._name = KNOWN.name(os.path.abspath("."), *layout.endings)
        kept = bytes(KNOWN.load(self._name) or b"")
        self._before = {kept[at : at + _DIGEST] for at in range(0, len(kept), _DIGEST)}
        self._found: set[bytes] = set()

    def has(self, file: FormattedFile) -> bool:
        return bool(self._before) and _digest(file) in self._before

    def add(self, file: FormattedFile) -> None:
        """Record a file for the next run, unless it has problems."""
        if file.result is file.data and not file.problems:
            self._found.add(_digest(file))

    def keep(self) -> None:
        if self._found:
            every = self._found | self._before
            KNOWN.store(self._name, b"".join(sorted(every if len(every) <= _MOST_KNOWN else self._found)))


def _digest(file: FormattedFile) -> bytes:
    kind = os.path.splitext(file.name)[1].encode("utf-8", "surrogateescape")
    return blake2b(file.data, digest_size=_DIGEST, person=kind[:16]).digest()


def _laid_out(layout: Layout, files: Iterator[FormattedFile], known: _KnownLayouts) -> Iterator[FormattedFile]:
    """The files with their results, in order. As many files are processed together as the memory limit allows."""
    batch: list[FormattedFile] = []
    size = 0
    for file in files:
        batch.append(file)
        size += len(file.data)
        if size >= _AT_ONCE:
            yield from _batch(layout, batch, known)
            batch, size = [], 0
    yield from _batch(layout, batch, known)


def _batch(layout: Layout, files: list[FormattedFile], known: _KnownLayouts) -> list[FormattedFile]:
    waiting: list[FormattedFile] = []
    for file in files:
        if file.problems:
            continue
        if known.has(file):
            file.result = file.data
        else:
            waiting.append(file)
    size = sum(len(file.data) for file in waiting)
    if size < 2 * _WORTH or not _shared_out(layout, waiting, size // _WORTH):
        for file in waiting:
            layout.of(file)
    for file in waiting:
        known.add(file)
    return files


def _shared_out(layout: Layout, files: list[FormattedFile], most: int) -> bool:
    """Distribute the files over several processes. Returns whether this was possible."""
    from planner.foundation.support.forks import processors, shared_out

    count = processors(min(most, _MOST))
    if count < 2:
        return False

    def share(number: int) -> list[tuple[list[Diagnostic], bytes | None, bool]]:
        done = []
        for file in files[number::count]:
            layout.of(file)
            is_same = file.result is file.data
            done.append((file.problems, None if is_same else file.result, is_same))
        return done

    shares = shared_out(share, count)
    if shares is None:
        return False
    for number, done in enumerate(shares[1:], 1):
        for file, (problems, result, is_same) in zip(files[number::count], done, strict=True):
            file.problems, file.result = problems, file.data if is_same else result
    return True


def _read_files(
    layout: Layout, words: list[str], arguments: Arguments, terminal: Terminal, problems: list[Diagnostic]
) -> Iterator[FormattedFile]:
    """The named files, and the files in named directories. An unreadable file has problems instead of content."""
    diagnostics: list[Diagnostic] = []
    names = iter(words) if words == [STDIN] else _files(layout, words, arguments["recursive"], diagnostics)
    for name in names:
        if diagnostics:
            yield _with_problems(name, diagnostics)
        data = _read(name, terminal, diagnostics)
        yield FormattedFile(name, data) if data is not None else _with_problems(name, diagnostics)
    if diagnostics:
        yield _with_problems("", diagnostics)


def _with_problems(name: str, problems: list[Diagnostic]) -> FormattedFile:
    file = FormattedFile(name, b"")
    file.problems += problems
    problems.clear()
    return file


def _files(layout: Layout, words: list[str], recursive: bool, problems: list[Diagnostic]) -> Iterator[str]:
    for word in words:
        path = os.path.normpath(word)
        if os.path.isdir(path):
            yield from _directory(layout, path, recursive, problems)
        elif not os.path.exists(path):
            problems.append(error("fmt.missing", "No such file", f"There is no file or directory {path}."))
            return
        elif path.endswith(layout.endings):
            yield path
        else:
            detail = f"{path} is not {layout.what}; such files end with {', '.join(layout.endings)}."
            problems.append(error("fmt.ending", layout.wrong, detail))


def _directory(layout: Layout, path: str, recursive: bool, problems: list[Diagnostic]) -> Iterator[str]:
    try:
        names = sorted(os.listdir(path), key=os.fsencode)
    except OSError as problem:
        detail = f"The directory {path} cannot be read: {problem.strerror or problem}."
        problems.append(error("fmt.directory", "Directory cannot be read", detail))
        return
    for name in names:
        if name.startswith(".") or name.endswith("~") or (name.startswith("#") and name.endswith("#")):
            continue  # hidden files, and editors' backups
        inner = os.path.normpath(os.path.join(path, name))
        if os.path.isdir(inner) and not os.path.islink(inner):
            if recursive:
                yield from _directory(layout, inner, recursive, problems)
        elif name.endswith(layout.endings):
            yield inner


def _read(name: str, terminal: Terminal, problems: list[Diagnostic]) -> bytes | None:
    if name == STDIN:
        stdin = terminal.stdin
        if isinstance(stdin, io.TextIOWrapper):  # text mode would change line breaks
            data: bytes = stdin.buffer.read()
            return data
        return stdin.read().encode("utf-8")
    try:
        return read_whole(name)
    except OSError as problem:
        detail = f"The file {name} cannot be read: {problem.strerror or problem}."
        problems.append(error("file.unreadable", "File cannot be read", detail))
        return None


def _write(name: str, data: bytes, problems: list[Diagnostic]) -> None:
    try:
        with open(name, "wb") as file:
            file.write(data)
    except OSError as problem:
        detail = f"The file {name} cannot be written: {problem.strerror or problem}."
        problems.append(error("fmt.unwritable", "File cannot be written", detail))


def _difference(old: str, new: str, name: str) -> str:
    """A unified diff, as printed by the diff program."""
    from difflib import unified_diff

    before, after = io.StringIO(old, newline="\n").readlines(), io.StringIO(new, newline="\n").readlines()
    lines = unified_diff(before, after, f"old/{name}", f"new/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
