"""Finds the units of a fleet. If there is a `planner.batch.hcl`, these are its units. Otherwise they are the units in
Terragrunt's files or, without such files, the root modules and the deployments of stacks."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from glob import glob

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.language.config.directory import is_module
from planner.language.config.stack_files.load import is_stack
from planner.workflows.batch.batch_file import read_batch_file
from planner.workflows.batch.model import Fleet, Unit
from planner.workflows.batch.root_modules import (
    MARKERS,
    STATE,
    TERRAGRUNT,
    FolderMemory,
    StackFolder,
    root_modules,
    units_of,
)

NAME = "planner.batch.hcl"
_PATTERN = re.compile(r"[*?\[]")


def find_fleet(words: Iterable[str], file: str, memory: Callable[[str], FolderMemory]) -> tuple[Fleet, list[str]]:
    """The fleet of a command, and the arguments among `words` that name units instead of directories. An argument can
    be a directory or a pattern of directories. Such a directory is a unit if it has configuration, and its
    subdirectories are searched for more units. The default is the working directory. A fleet's file takes precedence:
    `file`, or a `planner.batch.hcl` in the working directory or in the first directory of `words`. `memory`: a function
    from the root of a fleet to the cached data about the fleet's directories. Raises Failure if `file` does not exist,
    or if Terragrunt's list of excluded units cannot be read."""
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
    stacks: dict[str, StackFolder] = {}
    known = memory(root)
    left: list[str] = []
    without: list[str] = []
    for folder in folders or ["."]:
        table: dict[str, StackFolder] = {}
        paths = {os.path.join(folder, name) for name in root_modules(folder, known, left=left, stacks=table)}
        stacks |= {os.path.relpath(os.path.join(folder, name), root): stack for name, stack in table.items()}
        if folders and is_module(folder):  # a directory named by the command is a unit, regardless of its blocks
            paths.add(folder)
        if (
            not (paths or any(one.deployments for one in table.values()))
            and folder in words
            and os.path.realpath(folder) not in map(os.path.realpath, left)
        ):
            without.append(folder)
        names.update(os.path.relpath(path, root) for path in paths)
    if any(os.path.exists(os.path.join(name, file)) for name in names for file in TERRAGRUNT):
        return _terragrunt(root, names), others
    units = {name: Unit(name, name) for name in names}
    problems: tuple[Diagnostic, ...] = ()
    if stacks:
        problems = _add_stacks(units, stacks)
    units = {name: units[name] for name in sorted(units)}
    detail = (
        "A unit is one of these: a directory with configuration that the command names; a directory with a file "
        f"{MARKERS[0]}, or with a backend, cloud or required_ setting in a terraform block; a deployment of a stack; "
        f"or a unit in a file {NAME}."
    )
    if not units:
        problems += (error("batch.no_units", f"No units below {', '.join(folders) or root}", detail),)
    elif without:
        problems += (warning("batch.no_units", f"No units below {', '.join(without)}", detail),)
    looked = tuple(os.path.relpath(folder, root) for folder in folders) or (".",)
    states = tuple((os.path.relpath(folder, root), os.path.join(os.path.realpath(folder), STATE)) for folder in left)
    return Fleet(root, units, "", problems, looked=looked, left=states), others


def _add_stacks(units: dict[str, Unit], stacks: dict[str, StackFolder]) -> tuple[Diagnostic, ...]:
    """Add the deployments of stacks. Returns an error for each name that is used twice."""
    problems = []
    for folder, stack in sorted(stacks.items()):
        for name, unit in units_of(folder, folder, stack.deployments).items():
            if name in units:
                detail = (
                    f"{name} is both a directory with configuration and the deployment {unit.deployment} of the stack "
                    f"in {folder}. Declare both in a file {NAME}, with different names."
                )
                problems.append(error("batch.same_name", "Two units have the same name", detail))
            units[name] = unit
    return tuple(problems)


def _terragrunt(root: str, names: Iterable[str]) -> Fleet:
    from planner.workflows.batch.terragrunt.find import find_units, has_files

    return find_units(root, sorted(name for name in names if has_files(os.path.join(root, name))), os.environ)


def _folders(words: list[str]) -> tuple[list[str], list[str]]:
    """The directories that the words name, directly or by a pattern, and the words that name no directory."""
    folders: list[str] = []
    others: list[str] = []
    for word in words:
        if os.path.isdir(word):
            folders.append(word)
            continue
        matched = (
            [path for path in sorted(glob(word, recursive=True)) if os.path.isdir(path) and not _is_part(path)]
            if _is_pattern(word)
            else []
        )
        folders += matched
        if not matched:
            others.append(word)
    return folders, others


def _is_part(path: str) -> bool:
    """Whether a path may name a deployment of a stack (STACK/DEPLOYMENT): its parent directory contains a stack, and
    the path does not."""
    return is_stack(os.path.dirname(path) or ".") and not is_stack(path)


def _is_pattern(word: str) -> bool:
    return bool(_PATTERN.search(word)) and "(" not in word


def _below(fleet: Fleet, words: list[str]) -> tuple[Fleet, list[str]]:
    """The fleet, and the words with each directory replaced by the units in and below it. The fleet's root becomes `*`,
    which matches all units; a directory without units is kept."""
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
