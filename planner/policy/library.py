"""Where policies are: folders, packs and files of the user's, and the library that comes with planner."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from attrs import frozen

from planner.policy.manifest import MANIFEST, Manifest, PolicyInfo, read_manifest
from planner.policy.packs import data_names, is_pack_file
from planner.programs.table import Files
from planner.support.assets import rules_path
from planner.support.disk import read_text
from planner.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.vocabulary.nearest import did_you_mean

BUILTIN = "builtin:"
PREFIX = "planner."
"""of the names of the library's packs"""


@frozen
class Entry:
    """A policy of the library: `summary` is the first sentence of its comment, `doc` all of it, `info` what its pack
    says of it."""

    name: str
    summary: str
    doc: str
    text: str
    info: PolicyInfo


def library() -> list[Entry]:
    """The policies that come with planner, by name."""
    found = []
    for pack in packs():
        manifest = _manifest(pack)
        found += [_entry(rules_path() / "packs" / pack / f"{code}.dl", i) for code, i in manifest.policies.items()]
    return sorted(found, key=lambda entry: entry.name)


@cache
def packs() -> list[str]:
    """The folders of the packs that come with planner."""
    return sorted(path.parent.name for path in (rules_path() / "packs").glob(f"*/{MANIFEST}"))


@cache
def _manifest(pack: str) -> Manifest:
    path = rules_path() / "packs" / pack / MANIFEST
    return read_manifest(_name(path), path.read_text(encoding="utf-8"))


def _name(path: Path) -> str:
    """What a file of the library is called: like no file of anybody else's."""
    return BUILTIN + path.relative_to(rules_path() / "packs").as_posix()


def _entry(path: Path, info: PolicyInfo) -> Entry:
    text = path.read_text(encoding="utf-8")
    lines = []
    for line in text.splitlines():
        if not line.startswith("//") or line.startswith("///"):
            break
        lines.append(line.removeprefix("//").removeprefix(" "))
    first = " ".join(lines[: lines.index("")] if "" in lines else lines)
    return Entry(path.stem, first.split(". ")[0].rstrip("."), "\n".join(lines), text, info)


def policy_files(words: Iterable[str]) -> Files:
    """The files that `-policy` names: `builtin:NAME` (a policy or a pack), `builtin:all`, a file, or a folder with all
    its `.dl` files and packs, also in folders below and in those that links lead to. A file of a pack stands for the
    pack. What is named twice is read once. Raises Failure."""
    texts: dict[str, str] = {}
    problems: list[Diagnostic] = []
    for word in words:
        if word.startswith(BUILTIN):
            texts.update(_builtin(word.removeprefix(BUILTIN), problems))
            continue
        if not os.path.isdir(word) and os.path.isfile(os.path.join(os.path.dirname(word), MANIFEST)):
            word = os.path.dirname(word) or os.curdir
        files = files_below(word, problems) if os.path.isdir(word) else [Path(word)]
        if not files:
            detail = f"{word} holds no file that ends in .dl."
            problems.append(error("policy.no_files", "No policies in the folder", detail))
        for file in files:
            _read(file, texts, problems)
            if is_pack_file(str(file)):
                _read_around(file, texts, problems)
    if problems:
        raise Failure(problems)
    return tuple(texts.items())


def _read(file: Path, texts: dict[str, str], problems: list[Diagnostic]) -> str:
    """The name of a file that is read now, if that is possible."""
    name = str(file)
    if name in texts:
        return name
    try:
        texts[name] = read_text(file)
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
        problems.append(error("policy.unreadable", "Cannot read a policy", f"{file}: {reason}."))
    return name


def _read_around(file: Path, texts: dict[str, str], problems: list[Diagnostic]) -> None:
    """The data files of a pack, and the packs that it depends on and that stand in folders near it."""
    name = _read(file, texts, problems)
    if name not in texts:
        return
    try:
        manifest = read_manifest(name, texts[name])
    except Failure:
        return  # told where packs are put together
    for data in data_names(manifest, str(file.parent)):
        if os.path.isfile(data):
            if not Path(os.path.realpath(data)).is_relative_to(os.path.realpath(file.parent)):
                detail = f"{data} leads out of the folder of the pack."
                problems.append(error("policy.data", "Data file outside the pack", detail))
                continue
            _read(Path(data), texts, problems)
    for other in manifest.dependencies.values():
        folder = os.path.normpath(file.parent / other.source)
        if other.source.startswith(("./", "../")) and os.path.isfile(os.path.join(folder, MANIFEST)):
            for path in files_below(folder, problems):
                is_new = str(path) not in texts
                _read(path, texts, problems)
                if is_new and is_pack_file(str(path)):
                    _read_around(path, texts, problems)


def files_below(folder: str, problems: list[Diagnostic]) -> list[Path]:
    """The rule files and pack.toml of a folder. What cannot be listed is a problem: nobody knows which policies stand
    there."""
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
        paths += [Path(at, name) for name in (*names, *below) if name.endswith(".dl") or name == MANIFEST]
    return sorted(paths)


def own_files(files: Files) -> list[str]:
    """The names of the files that are not the library's, word for word."""
    root = rules_path() / "packs"
    return [
        name
        for name, text in files
        if not (name.startswith(BUILTIN) and _is_text(root / name.removeprefix(BUILTIN), text))
    ]


def _is_text(path: Path, text: str) -> bool:
    try:
        return path.read_text(encoding="utf-8") == text
    except (OSError, ValueError):
        return False


def _builtin(name: str, problems: list[Diagnostic]) -> dict[str, str]:
    """The files of a pack or of one policy, which are its own and those of its pack that are no policy's."""
    root = rules_path() / "packs"
    plain = name.removeprefix(PREFIX)
    folders, only = packs(), ""
    if name != "all":
        folders = [pack for pack in folders if pack == plain]
        if not folders and plain.isidentifier():
            folders, only = [path.parent.name for path in sorted(root.glob(f"*/{plain}.dl"))], plain
            folders = [pack for pack in folders if plain in _manifest(pack).policies]
    if not folders:
        known = [*packs(), *(code for pack in packs() for code in _manifest(pack).policies)]
        detail = f'The library has no policy "{name}".{did_you_mean(plain, known)} See planner policy list.'
        problems.append(error("policy.unknown", "No such policy", detail))
        return {}
    paths: list[Path] = []
    for pack in folders:
        manifest = _manifest(pack)
        paths += [path for path in sorted((root / pack).rglob("*.dl")) if not only or _belongs(path, only, manifest)]
        paths += [root / pack / MANIFEST, *map(Path, data_names(manifest, str(root / pack)))]
    return {_name(path): path.read_text(encoding="utf-8") for path in paths}


def _belongs(path: Path, code: str, manifest: Manifest) -> bool:
    return path.stem == code or path.stem not in manifest.policies
