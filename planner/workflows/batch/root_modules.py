"""Finds the root modules and stacks below a directory. Each deployment of a stack is a unit, named
FOLDER/DEPLOYMENT."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from glob import glob
from typing import Protocol

from planner.foundation.support.disk import read_whole
from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.records import frozen
from planner.language.config.directory import is_module, is_secret
from planner.language.config.stack_files.load import COMPONENTS, DEPLOYMENTS, is_stack_file
from planner.language.syntax.body import Body, BodySchema, ExpectedBlock
from planner.language.syntax.files import load_text
from planner.language.syntax.nodes import Literal, Template
from planner.workflows.batch.files_read import Looked, looked_at
from planner.workflows.batch.model import FileLocation, Unit

UNKNOWN = ""
"""placeholder for the deployments of a stack whose files cannot be read; a unit for this placeholder reports the
error"""
_LABELLED = BodySchema({}, tuple(ExpectedBlock(kind, ("name",)) for kind in ("deployment", "component", "stack")))
_SOURCE = BodySchema({"source": False})


@frozen
class StackFolder:
    """A stack in a fleet. `deployments`: names of its deployments; empty for a stack that other stacks call. `sources`:
    the sources of its components and child stacks, but only those that are literal local paths."""

    deployments: tuple[str, ...]
    sources: tuple[str, ...]


def stack_folder(folder: str, names: Iterable[str] | None = None, looked: Looked | None = None) -> StackFolder | None:
    """The stack in a directory; None if there is none, or if the directory cannot be read. `names`: the names of the
    files in the directory; None if they are not known yet. The files that were read are added to `looked`."""
    if names is None:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return None
    files = [name for name in names if is_stack_file(name)]
    if not files:
        return None
    deployments: set[str] = set()
    sources: list[str] = []
    for name in files:
        path = os.path.join(folder, name)
        if looked is not None:
            looked |= looked_at(path, "file")
        body = _body(path)
        if name.endswith(DEPLOYMENTS):
            deployments |= {UNKNOWN} if body is None else _labels(body)
        elif name.endswith(COMPONENTS) and body is not None:
            sources += _sources(body)
    is_deployed = any(name.endswith(DEPLOYMENTS) for name in files)
    if is_deployed and (not deployments or UNKNOWN in deployments):
        deployments = {UNKNOWN}
    return StackFolder(tuple(sorted(deployments)), tuple(sources))


def _body(path: str) -> Body | None:
    try:
        return load_text(read_whole(path), path)[0]
    except OSError:
        return None


def _labels(body: Body) -> set[str]:
    content, _ = body.partial_content(_LABELLED)
    names = {block.labels[0].value for block in content.blocks if block.type == "deployment" and block.labels}
    return {name if valid_identifier(name) else UNKNOWN for name in names}


def _sources(body: Body) -> list[str]:
    """The sources in a body that are literal local paths."""
    result = []
    content, _ = body.partial_content(_LABELLED)
    for block in content.blocks:
        attribute = block.body.partial_content(_SOURCE)[0].attributes.get("source")
        node = attribute.expr if attribute is not None else None
        if isinstance(node, Template) and len(node.parts) == 1:
            node = node.parts[0]
        value = node.value if isinstance(node, Literal) else None
        if isinstance(value, str) and value.startswith(("./", "../")):
            result.append(value)
    return result


def units_of(name: str, folder: str, deployments: Iterable[str], place: FileLocation | None = None) -> dict[str, Unit]:
    """{unit name: unit} for the deployments of the stack `name`."""
    units = {}
    for deployment in deployments:
        called = unit_name(name, deployment)
        repeated = (name, deployment) if deployment else ()
        units[called] = Unit(called, folder, called=repeated, place=place, deployment=deployment)
    return units


def unit_name(name: str, deployment: str) -> str:
    if not deployment:
        return name
    return deployment if name == "." else f"{name}/{deployment}"


MARKERS = (".planner-unit",)
"""marker files: a directory with configuration and such a file is a unit, regardless of its blocks"""
TERRAGRUNT = frozenset(("terragrunt.hcl", "terragrunt.hcl.json", "terragrunt.stack.hcl"))
"""Terragrunt's files, which planner.workflows.batch.terragrunt reads"""
STATE = "terraform.tfstate"
STACK = re.compile(r"\.tf(?:deploy|component|stack)\.(?:hcl|json)$")
"""suffix of a stack's files"""
_ROOT_BLOCK = re.compile(rb"^\s*(terraform|language)\s*\{", re.MULTILINE)
_ROOT_SETTING = re.compile(rb"\b(backend|cloud|required_[a-z]+)\b|\bencryption\b")
_JSON_BLOCK = re.compile(rb'"terraform"\s*:')


@frozen
class Found:
    """A directory of a fleet: whether it is a root module, its subdirectories to search, and the stack in it."""

    is_root: bool
    below: list[str]
    stack: StackFolder | None = None


class FolderMemory(Protocol):
    """Cached data about directories."""

    def folder(self, path: str) -> Found | None:
        """The cached data about a directory; None if the directory is not cached or may have changed."""
        ...

    def keep_folder(self, path: str, entries: Found, looked: Looked) -> None:
        """Cache the data `entries` about a directory. `looked`: the files and directories that were read for it."""
        ...


def root_modules(
    folder: str,
    memory: FolderMemory,
    pattern: str = "**",
    left: list[str] | None = None,
    stacks: dict[str, StackFolder] | None = None,
) -> list[str]:
    """The sorted relative paths of the root modules in and below a directory ("." for the directory itself), without
    directories that are sources of stack components. With a `pattern` other than `**`, all matching directories with
    configuration are returned. The stacks are added to `stacks` as {path: stack}. For `**`, the absolute paths of other
    directories with a state are added to `left`."""
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
    if left is not None:  # a state below a stack belongs to a deployment, whose plan reports removed components
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
    """Whether a directory with these files is a root module. Blocks, a marker file or a file of Terragrunt show this.
    The files that were read are added to `looked`."""
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
    """Whether the file has a terraform block with a backend, a cloud block, required_version or required_providers. To
    be fast, only files that contain these words are parsed."""
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
