"""Reads policies from their sources: directories, packs and files of the user, packs in a policy.toml, and the
library."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from planner.answers.policy.installed_packs import installed_folder
from planner.answers.policy.library import BUILTIN, PREFIX, builtin_files, manifest_of, packs
from planner.answers.policy.manifest import MANIFEST, read_manifest
from planner.answers.policy.packs import data_names, is_pack_file
from planner.answers.policy.settings import PackUse, is_config, read_config
from planner.foundation.support.disk import read_whole
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.logic.programs.rule_programs import Files

MOST_BYTES = 32 << 20
"""maximum size of a file in bytes"""


def policy_files(words: Iterable[str], workspace: str = "default") -> Files:
    """The files that the words of `-policy` name. A word is `builtin:NAME` (a policy or pack), `builtin:all`, a file,
    or a directory, which means all `.dl` files and packs in and below it, including those behind links. A file of a
    pack means the whole pack, and a policy.toml means its packs. Each file is read only once. Raises Failure."""
    texts: dict[str, str] = {}
    problems: list[Diagnostic] = []
    for word in words:
        if word.startswith(BUILTIN):
            texts.update(builtin_files(word.removeprefix(BUILTIN), problems))
            continue
        if word.endswith(".toml") and os.path.basename(word) != MANIFEST:
            _configured(Path(word), workspace, texts, problems)
            continue
        if not os.path.isdir(word) and os.path.isfile(os.path.join(os.path.dirname(word), MANIFEST)):
            word = os.path.dirname(word) or os.curdir
        files = files_below(word, problems) if os.path.isdir(word) else [Path(word)]
        if not files:
            detail = f"{word} contains no .dl file. Write a policy (planner policy init), or remove the directory."
            problems.append(error("policy.no_files", "No policies in the directory", detail))
        for file in files:
            _read(file, texts, problems)
            if is_pack_file(str(file)):
                _read_around(file, texts, problems)
    if problems:
        raise Failure(problems)
    return tuple(texts.items())


def _configured(file: Path, workspace: str, texts: dict[str, str], problems: list[Diagnostic]) -> None:
    """Add the texts of a policy.toml and its packs, or of a waivers.toml."""
    name = _read(file, texts, problems)
    if name not in texts or not is_config(name):
        return
    try:
        config = read_config(name, texts[name], workspace, True)
    except Failure:
        return  # this is reported when the settings are read
    for use in config.packs:
        if use.name.startswith(PREFIX):
            problems += _of_library(use, texts)
            continue
        if not use.source:
            continue  # these are settings of a pack from an external source
        folder = os.path.normpath(file.parent / use.source)
        if not use.source.startswith(("./", "../", "/")):
            try:
                folder = installed_folder(name, use)
            except Failure as failure:
                problems += failure.diagnostics
                continue
        elif not os.path.isfile(os.path.join(folder, MANIFEST)):
            detail = f"{use.name} should be in {folder}, but there is no {MANIFEST} in it."
            problems.append(error("policy.no_pack", "No such pack", detail, use.span))
            continue
        for path in files_below(folder, problems):
            _read(path, texts, problems)
            if is_pack_file(str(path)):
                _read_around(path, texts, problems)


def _of_library(use: PackUse, texts: dict[str, str]) -> list[Diagnostic]:
    """Add the texts of the selected policies of a library pack. Returns errors for an unknown pack or policy."""
    pack = use.name.removeprefix(PREFIX)
    if pack not in packs():
        detail = f"planner has no pack {use.name}.{did_you_mean(pack, packs())} To list them: planner policy list"
        return [error("policy.unknown", "No such pack", detail, use.span)]
    known = manifest_of(pack).policies
    unknown = [code for code in use.policies or () if code not in known]
    if unknown:
        detail = f"{use.name} has no policy {unknown[0]}.{did_you_mean(unknown[0], known)} "
        return [error("policy.unknown", "No such policy", f"{detail}The policies are {', '.join(known)}.", use.span)]
    problems: list[Diagnostic] = []
    for name in [use.name] if use.policies is None else use.policies:
        texts.update(builtin_files(name, problems))
    return problems


def _read(file: Path, texts: dict[str, str], problems: list[Diagnostic]) -> str:
    """Read a file into `texts`. If the file cannot be read, an error is added to `problems`. Returns the name of the
    file."""
    name = str(file)
    if name in texts:
        return name
    try:
        texts[name] = read_whole(file, MOST_BYTES).decode("utf-8").replace("\r\n", "\n")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        problems.append(error("policy.unreadable", "Cannot read a policy", f"{file}: {reason}."))
    return name


def _read_around(file: Path, texts: dict[str, str], problems: list[Diagnostic]) -> None:
    """Add the texts of the data files of a pack, and of the packs on which it depends and that are in local
    directories."""
    name = _read(file, texts, problems)
    if name not in texts:
        return
    try:
        manifest = read_manifest(name, texts[name])
    except Failure:
        return  # reading the pack reports this
    for data in data_names(manifest, str(file.parent)):
        if os.path.isfile(data):
            if not Path(os.path.realpath(data)).is_relative_to(os.path.realpath(file.parent)):
                detail = f"{data} is outside the directory of the pack."
                problems.append(error("policy.data", "Data file is outside the pack", detail))
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
    """The paths of the rule files and of the files pack.toml in and below a directory, sorted. For a directory that
    cannot be listed, an error is added to `problems`, because its policies would be ignored."""
    paths: list[Path] = []
    seen: set[str] = set()

    def unreadable(problem: OSError) -> None:
        detail = f"{problem.filename or folder}: {problem.strerror or problem}."
        problems.append(error("policy.unreadable", "Cannot read a policy", detail))

    for at, below, names in os.walk(folder, onerror=unreadable, followlinks=True):
        real = os.path.realpath(at)
        if real in seen:  # links may form a cycle
            below.clear()
            continue
        seen.add(real)
        paths += [Path(at, name) for name in (*names, *below) if name.endswith(".dl") or name == MANIFEST]
    return sorted(paths)
