"""Where policies are: folders and files of the user's, and the library that comes with planner."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from attrs import frozen

from planner.policy.program import Files
from planner.support.assets import rules_path
from planner.support.disk import read_text
from planner.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.vocabulary.nearest import did_you_mean

BUILTIN = "builtin:"


@frozen
class Entry:
    """A policy of the library: `summary` is the first sentence of its comment, `doc` all of it."""

    name: str
    summary: str
    doc: str
    text: str


def library() -> list[Entry]:
    """The policies that come with planner, by name."""
    return [_entry(path) for path in sorted((rules_path() / "policies").glob("*.dl"))]


def file_name(policy: str) -> str:
    """What the file of a policy of the library is called."""
    return f"policies/{policy}.dl"


def _entry(path: Path) -> Entry:
    text = path.read_text(encoding="utf-8")
    lines = []
    for line in text.splitlines():
        if not line.startswith("//") or line.startswith("///"):
            break
        lines.append(line.removeprefix("//").removeprefix(" "))
    first = " ".join(lines[: lines.index("")] if "" in lines else lines)
    return Entry(path.stem, first.split(". ")[0].rstrip("."), "\n".join(lines), text)


def policy_files(words: Iterable[str]) -> Files:
    """The files that `-policy` names: `builtin:NAME`, `builtin:all`, a file, or a folder with all its `.dl` files, also
    in folders below and in those that links lead to. Files that are named twice are read once. Raises Failure."""
    texts: dict[str, str] = {}
    problems: list[Diagnostic] = []
    taken = {file_name(path.stem) for path in (rules_path() / "policies").glob("*.dl")}
    for word in words:
        if word.startswith(BUILTIN):
            texts.update(_builtin(word.removeprefix(BUILTIN), problems))
            continue
        files = files_below(word, problems) if os.path.isdir(word) else [Path(word)]
        if not files:
            detail = f"{word} holds no file that ends in .dl."
            problems.append(error("policy.no_files", "No policies in the folder", detail))
        for file in files:
            name = str(file)
            if name in taken:  # another file than the library's
                name = os.path.join(os.curdir, name)
            try:
                texts[name] = read_text(file)
            except (OSError, ValueError) as problem:
                reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
                problems.append(error("policy.unreadable", "Cannot read a policy", f"{file}: {reason}."))
    if problems:
        raise Failure(problems)
    return tuple(texts.items())


def files_below(folder: str, problems: list[Diagnostic]) -> list[Path]:
    """The rule files of a folder. What cannot be listed is a problem: nobody knows which policies stand there."""
    paths: list[Path] = []
    seen: set[str] = set()

    def unreadable(problem: OSError) -> None:
        detail = f"{problem.filename}: {problem.strerror}."
        problems.append(error("policy.unreadable", "Cannot read a policy", detail))

    for at, below, names in os.walk(folder, onerror=unreadable, followlinks=True):
        real = os.path.realpath(at)
        if real in seen:  # links that lead in circles
            below.clear()
            continue
        seen.add(real)
        paths += [Path(at, name) for name in (*names, *below) if name.endswith(".dl")]
    return sorted(paths)


def own_files(files: Files) -> list[str]:
    """The names of the files that are not the library's, word for word."""
    known = {(file_name(entry.name), entry.text) for entry in library()}
    return [file[0] for file in files if file not in known]


def _builtin(name: str, problems: list[Diagnostic]) -> dict[str, str]:
    entries = {entry.name: entry for entry in library()}
    if name == "all":
        return {file_name(entry.name): entry.text for entry in entries.values()}
    if name not in entries:
        detail = f'The library has no policy "{name}".{did_you_mean(name, entries)} See planner policy list.'
        problems.append(error("policy.unknown", "No such policy", detail))
        return {}
    return {file_name(name): entries[name].text}
