"""Finding the root modules of a fleet: the units of a `planner.batch.hcl`, else every folder that is one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Protocol

from planner.batch.model import Fleet, Unit
from planner.batch.reads import Looked, looked_at
from planner.support.disk import read_whole
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, warning

MARKERS = (".planner-unit",)
"""files that make a folder with configuration a unit, though no block in it says so"""
STATE = "terraform.tfstate"
_ROOT_BLOCK = re.compile(rb"^\s*(terraform|language)\s*\{", re.MULTILINE)
_ROOT_SETTING = re.compile(rb"\b(backend|cloud|required_[a-z]+)\b|\bencryption\b")
_JSON_BLOCK = re.compile(rb'"terraform"\s*:')
_PATTERN = re.compile(r"[*?\[]")


class Memory(Protocol):
    """What earlier commands found in folders."""

    def folder(self, path: str) -> tuple[bool, list[str]] | None:
        """Whether it is a root module, and the names of the folders in it; None when that may be different now."""
        ...

    def keep_folder(self, path: str, is_root: bool, below: list[str], looked: Looked) -> None:
        """`looked`: what was looked at to find that out."""
        ...


def find_fleet(words: Iterable[str], file: str, memory: Callable[[str], Memory]) -> tuple[Fleet, list[str]]:
    """The fleet that a command is about, and the words that name something else: units. Folders and patterns of folders
    are units if they have configuration, and say where to look for others; without any it is the working directory. A
    fleet's file there decides; `file` names another. `memory` gives what is known of the folders of a fleet, by its
    root."""
    from planner.batch.batch_file import NAME, read_batch_file
    from planner.config.directory import is_module

    words = list(words)
    if file:
        if not os.path.isfile(file):
            raise Failure(error("batch.no_file", "No such file", f"The fleet's file {file} does not exist."))
        fleet = read_batch_file(file, memory)
        return _below(fleet, words)
    if os.path.isfile(NAME):
        return _below(read_batch_file(NAME, memory), words)
    if len(words) >= 1 and os.path.isfile(os.path.join(words[0], NAME)):
        fleet = read_batch_file(os.path.join(words[0], NAME), memory)
        return _below(fleet, words[1:])
    folders, others = _folders(words)
    root = os.getcwd()
    names: set[str] = set()
    known = memory(root)
    left: list[str] = []
    without: list[str] = []
    for folder in folders or ["."]:
        found = {os.path.join(folder, name) for name in root_modules(folder, known, left=left)}
        if folders and is_module(folder):  # it was named, so it is one, whatever its blocks say
            found.add(folder)
        if not found and folder in words and os.path.realpath(folder) not in map(os.path.realpath, left):
            without.append(folder)
        names.update(os.path.relpath(path, root) for path in found)
    units = {name: Unit(name, name) for name in sorted(names)}
    problems: tuple[Diagnostic, ...] = ()
    detail = (
        "A unit is a folder with configuration that is named, or one with a backend, cloud or required_ setting in "
        f"a terraform block, or with a file {MARKERS[0]}; or it is named in a file {NAME}."
    )
    if not units:
        problems = (error("batch.no_units", f"No units below {', '.join(folders) or root}", detail),)
    elif without:
        problems = (warning("batch.no_units", f"No units below {', '.join(without)}", detail),)
    looked = tuple(os.path.relpath(folder, root) for folder in folders) or (".",)
    states = tuple((os.path.relpath(folder, root), os.path.join(os.path.realpath(folder), STATE)) for folder in left)
    return Fleet(root, units, "", problems, looked=looked, left=states), others


def _folders(words: list[str]) -> tuple[list[str], list[str]]:
    """The folders that words name, patterns filled in; and the other words."""
    from glob import glob

    folders: list[str] = []
    others: list[str] = []
    for word in words:
        if os.path.isdir(word):
            folders.append(word)
            continue
        found = (
            [path for path in sorted(glob(word, recursive=True)) if os.path.isdir(path)] if _is_pattern(word) else []
        )
        folders += found
        if not found:
            others.append(word)
    return folders, others


def _is_pattern(word: str) -> bool:
    return bool(_PATTERN.search(word)) and "(" not in word


def _below(fleet: Fleet, words: list[str]) -> tuple[Fleet, list[str]]:
    """Of a described fleet, a folder among the words stands for the units in it and below."""
    others: list[str] = []
    for word in words:
        if word in fleet.units or not os.path.isdir(word):
            others.append(word)
            continue
        folder = os.path.relpath(word, fleet.root)
        if folder == ".":
            others.append("*")
            continue
        names = [u.name for u in fleet.units.values() if f"{u.folder}/".startswith(f"{folder}/")]
        others += names or [word]
    return fleet, others


def root_modules(folder: str, memory: Memory, pattern: str = "**", left: list[str] | None = None) -> list[str]:
    """The root modules below a folder, by their paths as seen from it, sorted. A pattern other than `**` names folders;
    those are root modules if they have any configuration. `left` gets the others that have a state."""
    from planner.config.directory import is_module

    if pattern != "**":
        from glob import glob

        found = glob(pattern, root_dir=folder, recursive=True)
        return sorted(os.path.normpath(path) for path in found if is_module(os.path.join(folder, path)))
    modules: list[str] = []
    waiting = [""]
    while waiting:
        name = waiting.pop()
        path = os.path.abspath(os.path.join(folder, name))
        is_root, below = memory.folder(path) or _look_into(path, memory)
        if is_root:
            modules.append(name or ".")
        elif left is not None and os.path.exists(os.path.join(path, STATE)):
            left.append(path)
        waiting += [f"{name}/{inner}" if name else inner for inner in below]
    return sorted(modules)


def _look_into(path: str, memory: Memory) -> tuple[bool, list[str]]:
    """Whether a folder is a root module, and the names of those in it that are looked into."""
    looked = looked_at(path, "folder")
    below, names = [], []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if not entry.is_dir():
                    names.append(entry.name)
                elif not entry.name.startswith(".") and not entry.is_symlink():
                    below.append(entry.name)
    except OSError:
        return False, []
    is_root, below = _is_root(path, sorted(names), looked), sorted(below)
    memory.keep_folder(path, is_root, below, looked)
    return is_root, below


def _is_root(folder: str, names: list[str], looked: Looked) -> bool:
    """Whether a folder with these files is a root module of its own."""
    files = [n for n in names if n.endswith((".tf", ".tofu", ".tf.json", ".tofu.json")) and not n.startswith(".")]
    if not files:
        return False
    if any(marker in names for marker in MARKERS):
        return True
    for name in files:
        path = os.path.join(folder, name)
        looked |= looked_at(path, "file")
        try:
            data = read_whole(path)
        except OSError:
            continue
        if _says_root(name, data):
            return True
    return False


def _says_root(name: str, data: bytes) -> bool:
    """Whether the text has a terraform block with a backend, cloud or required setting: by a quick look, and when that
    says so, by the syntax."""
    is_json = name.endswith(".json")
    if not (_JSON_BLOCK if is_json else _ROOT_BLOCK).search(data) or not _ROOT_SETTING.search(data):
        return False
    from planner.syntax.body import BlockSchema, BodySchema
    from planner.syntax.files import load_text

    body, _, _ = load_text(data, name)
    if body is None:
        return False
    content, _ = body.partial_content(BodySchema({}, (BlockSchema("terraform"),)))
    inner = BodySchema(
        {"required_version": False},
        (BlockSchema("backend", ("type",)), BlockSchema("cloud"), BlockSchema("required_providers")),
    )
    for block in content.blocks:
        found, _ = block.body.partial_content(inner)
        if found.blocks or found.attributes:
            return True
    return False
