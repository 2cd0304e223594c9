"""Finding root modules: the directories below another that are planned on their own."""

from __future__ import annotations

import os
import re
from glob import glob
from typing import Protocol

from planner.foundation.support.disk import read_whole
from planner.foundation.vocabulary.records import frozen
from planner.language.config.directory import is_module, is_secret
from planner.language.syntax.body import BodySchema, ExpectedBlock
from planner.language.syntax.files import load_text
from planner.workflows.batch.files_read import Looked, looked_at
from planner.workflows.batch.stack_folders import StackFolder, stack_folder

MARKERS = (".planner-unit",)
"""files that make a directory with configuration a unit, even without a block for it"""
TERRAGRUNT = frozenset(("terragrunt.hcl", "terragrunt.hcl.json", "terragrunt.stack.hcl"))
"""files read by planner.workflows.batch.terragrunt that make a folder one or several units"""
STATE = "terraform.tfstate"
STACK = re.compile(r"\.tf(?:deploy|component|stack)\.(?:hcl|json)$")
"""the suffix of stack files"""
_ROOT_BLOCK = re.compile(rb"^\s*(terraform|language)\s*\{", re.MULTILINE)
_ROOT_SETTING = re.compile(rb"\b(backend|cloud|required_[a-z]+)\b|\bencryption\b")
_JSON_BLOCK = re.compile(rb'"terraform"\s*:')


@frozen
class Found:
    """The meaning of a directory for a fleet: whether it is a root module, the names of the directories in it, the
    stack in it."""

    is_root: bool
    below: list[str]
    stack: StackFolder | None = None


class FolderMemory(Protocol):
    """Data of earlier commands about directories."""

    def folder(self, path: str) -> Found | None:
        """The content of a directory; None if it may have changed."""
        ...

    def keep_folder(self, path: str, entries: Found, looked: Looked) -> None:
        """`looked`: the files and directories read to determine it."""
        ...


def root_modules(
    folder: str,
    memory: FolderMemory,
    pattern: str = "**",
    left: list[str] | None = None,
    stacks: dict[str, StackFolder] | None = None,
) -> list[str]:
    """The sorted relative paths of the root modules below a directory. A pattern other than `**` names directories,
    which are root modules if they have any configuration. `left` receives the other directories with a state, `stacks`
    the stacks; the sources of their components are not root modules."""
    stacks = {} if stacks is None else stacks
    if pattern != "**":
        return _matching_directories(folder, pattern, stacks)
    modules: list[str] = []
    states: list[str] = []
    waiting = [""]
    while waiting:
        name = waiting.pop()
        path = os.path.abspath(os.path.join(folder, name))
        result = memory.folder(path) or _look_into(path, memory)
        if result.stack is not None:
            stacks[name or "."] = result.stack
        if result.is_root:
            modules.append(name or ".")
        elif left is not None and os.path.exists(os.path.join(path, STATE)):
            states.append(name)
        waiting += [f"{name}/{inner}" if name else inner for inner in result.below]
    if left is not None:  # states below a stack belong to its deployments, whose plans report remains
        kept = [name for name in states if os.path.normpath(f"{name}/../..") not in stacks]
        left += [os.path.abspath(os.path.join(folder, name)) for name in kept]
    called = {
        os.path.normpath(os.path.join(name, source)) for name, stack in stacks.items() for source in stack.sources
    }
    return sorted(name for name in modules if name not in called)


def _matching_directories(folder: str, pattern: str, stacks: dict[str, StackFolder]) -> list[str]:
    modules = []
    for name in sorted({os.path.normpath(path) for path in glob(pattern, root_dir=folder, recursive=True)}):
        path = os.path.join(folder, name)
        if not os.path.isdir(path):
            continue
        if is_module(path):
            modules.append(name)
        stack = stack_folder(path)
        if stack is not None:
            stacks[name] = stack
    return modules


def _look_into(path: str, memory: FolderMemory) -> Found:
    """The kind of a directory, with the names of the directories in it to search."""
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
        return Found(False, [])
    names.sort()
    stack = stack_folder(path, names, looked) if any(map(STACK.search, names)) else None
    result = Found(_is_root(path, names, looked), sorted(below), stack)
    memory.keep_folder(path, result, looked)
    return result


def _is_root(folder: str, names: list[str], looked: Looked) -> bool:
    """Whether a directory with these files is a root module of its own."""
    files = [n for n in names if n.endswith((".tf", ".tofu", ".tf.json", ".tofu.json")) and not n.startswith(".")]
    if TERRAGRUNT.intersection(names):
        return True
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
    """Whether the text has a terraform block with a backend, cloud or required setting: first by a quick search, then
    by the syntax."""
    is_json = name.endswith(".json")
    if not (_JSON_BLOCK if is_json else _ROOT_BLOCK).search(data) or not _ROOT_SETTING.search(data):
        return False
    return _syntax_says_root(name, data)


def _syntax_says_root(name: str, data: bytes) -> bool:
    body, _, _ = load_text(data, name, keep=not is_secret((data,)))
    if body is None:
        return False
    content, _ = body.partial_content(BodySchema({}, (ExpectedBlock("terraform"),)))
    inner = BodySchema(
        {"required_version": False},
        (ExpectedBlock("backend", ("type",)), ExpectedBlock("cloud"), ExpectedBlock("required_providers")),
    )
    for block in content.blocks:
        inside, _ = block.body.partial_content(inner)
        if inside.blocks or inside.attributes:
            return True
    return False
