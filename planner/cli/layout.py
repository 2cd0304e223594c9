"""Commands that rewrite files in the standard layout: `fmt` and `rules fmt` differ in the files and the layout."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator

from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError
from planner.render.terminal import Terminal
from planner.support.disk import read_whole
from planner.vocabulary.diagnostic import Diagnostic, error
from planner.vocabulary.records import frozen

FLAGS = (
    Flag("list", "bool", "Do not list the files whose layout differs.", True),
    Flag("write", "bool", "Do not rewrite the files.", True),
    Flag("diff", "bool", "Show the differences."),
    Flag("check", "bool", "Exit with 3 when a file has another layout; rewrite nothing."),
    Flag("recursive", "bool", "Look into sub-folders too."),
)
STDIN = "<stdin>"


@frozen
class Layout:
    """The layout of one kind of files: how their names end, what such a file is, and the title of an error for one that
    is none; the text of a file without mistakes (of any other, the layout could go badly wrong), and it laid out."""

    endings: tuple[str, ...]
    what: str
    wrong: str
    read: Callable[[bytes, str, list[Diagnostic]], str | None]
    laid_out: Callable[[str], str]


def rewrite(layout: Layout, words: list[str], arguments: Arguments, terminal: Terminal) -> int:
    """Rewrite, list or compare the files that the words name. 0; 2 when a file cannot be read, parsed or written; with
    -check 3 when one has another layout."""
    stdin = words[0] == "-"
    if stdin and len(words) > 1:
        raise UsageError("Too many words", "Standard input (-) is formatted alone.")
    write = arguments["write"] and not stdin and not arguments["check"]
    listed = arguments["list"] and not stdin
    printed = not (listed or write or arguments["diff"] or arguments["check"])
    problems: list[Diagnostic] = []
    differs = False
    for name in [STDIN] if stdin else _files(layout, words, arguments["recursive"], problems):
        data = _read(name, terminal, problems)
        text = None if data is None else layout.read(data, name, problems)
        if data is None or text is None:
            continue
        result = layout.laid_out(text)
        encoded = result.encode("utf-8")
        if encoded != data:
            differs = True
            if listed:
                terminal.out(name)
            if write:
                _write(name, encoded, problems)
            if arguments["diff"]:
                terminal.stdout.write(_difference(text, result, name))
        if printed:
            terminal.stdout.write(result)
    if finish(problems, terminal):
        return 2
    return 3 if arguments["check"] and differs else 0


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
            detail = f"{path} is no {layout.what}; such files end with {', '.join(layout.endings)}."
            problems.append(error("fmt.ending", layout.wrong, detail))


def _directory(layout: Layout, path: str, recursive: bool, problems: list[Diagnostic]) -> Iterator[str]:
    try:
        names = sorted(os.listdir(path), key=os.fsencode)
    except OSError as problem:
        detail = f"The directory {path} cannot be read: {problem.strerror}."
        problems.append(error("fmt.directory", "Directory cannot be read", detail))
        return
    for name in names:
        if name.startswith(".") or name.endswith("~") or (name.startswith("#") and name.endswith("#")):
            continue  # hidden files and what editors leave behind
        inner = os.path.normpath(os.path.join(path, name))
        if os.path.isdir(inner) and not os.path.islink(inner):
            if recursive:
                yield from _directory(layout, inner, recursive, problems)
        elif name.endswith(layout.endings):
            yield inner


def _read(name: str, terminal: Terminal, problems: list[Diagnostic]) -> bytes | None:
    if name == STDIN:
        stdin = terminal.stdin
        if isinstance(stdin, io.TextIOWrapper):  # the bytes, for reading text would change line ends
            data: bytes = stdin.buffer.read()
            return data
        return stdin.read().encode("utf-8")
    try:
        return read_whole(name)
    except OSError as problem:
        detail = f"The file {name} cannot be read: {problem.strerror}."
        problems.append(error("file.unreadable", "File cannot be read", detail))
        return None


def _write(name: str, data: bytes, problems: list[Diagnostic]) -> None:
    try:
        with open(name, "wb") as file:
            file.write(data)
    except OSError as problem:
        detail = f"The file {name} cannot be written: {problem.strerror}."
        problems.append(error("fmt.unwritable", "File cannot be written", detail))


def _difference(old: str, new: str, name: str) -> str:
    """A unified diff, as the program diff prints it."""
    from difflib import unified_diff

    before, after = io.StringIO(old, newline="\n").readlines(), io.StringIO(new, newline="\n").readlines()
    lines = unified_diff(before, after, f"old/{name}", f"new/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
