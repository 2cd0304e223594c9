"""`init -from-module`: a copy of a module as the beginning of a configuration."""

from __future__ import annotations

import os

from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.language.config.sources import SourceError, parse_module_source

_CONFIGURATION = (".tf", ".tofu", ".tf.json", ".tofu.json")


def has_configuration(directory: str) -> bool:
    """Whether a directory holds configuration files. Raises OSError."""
    return any(name.endswith(_CONFIGURATION) and not name.startswith(".") for name in os.listdir(directory))


def copy_module(source: str, directory: str) -> list[Diagnostic]:
    """Copy a local module into a directory without configuration. Hidden files stay behind."""
    import shutil

    try:
        if any(name != ".terraform" for name in os.listdir(directory)):
            detail = "-from-module copies a module into an empty directory. Leave the option out."
            return [error("init.not_empty", "The working directory already contains files", detail)]
        kind = "local" if os.path.isabs(source) else parse_module_source(source).kind
    except SourceError as problem:
        return [error("init.from_module", "Invalid module source", f"-from-module={source}: {problem}")]
    except OSError as problem:
        return [_problem(problem, directory)]
    if kind != "local":
        detail = f"This program copies local modules only (./, ../ or an absolute path), not {source}."
        return [error("init.from_module", "Module source is not supported", detail)]
    origin = os.path.join(directory, source)
    if not os.path.isdir(origin):
        detail = f"There is no directory {source}, which -from-module names."
        return [error("init.from_module", "Unreadable module directory", detail)]
    inside = os.path.realpath(directory)

    def left_out(folder: str, names: list[str]) -> set[str]:
        return {n for n in names if n.startswith(".") or os.path.realpath(os.path.join(folder, n)) == inside}

    try:
        shutil.copytree(origin, directory, ignore=left_out, dirs_exist_ok=True)
    except shutil.Error as problem:
        return [
            error("init.copy", "Cannot copy the module", "; ".join(f"{old}: {why}" for old, _, why in problem.args[0]))
        ]
    except OSError as problem:
        return [_problem(problem, directory)]
    return []


def _problem(problem: OSError, directory: str) -> Diagnostic:
    where = problem.filename or directory
    return error("init.copy", "Cannot copy the module", f"{where}: {problem.strerror or problem}.")
