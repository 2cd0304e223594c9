"""Terragrunt's files as a fleet: terragrunt.hcl and terragrunt.stack.hcl are read, nothing of Terragrunt is run."""

import os

NAME = "terragrunt.hcl"
NAMES = (NAME, "terragrunt.hcl.json")
"""the names of a unit's file; the first one that exists counts"""
STACK = "terragrunt.stack.hcl"
VALUES = "terragrunt.values.hcl"
EXCLUDES = ".terragrunt-excludes"
AUTOINCLUDE = "terragrunt.autoinclude.hcl"
FOLDER = ".planner/terragrunt"
"""where working folders and packages are, below a unit and below the root of a fleet"""


def unit_file(folder: str) -> str:
    """The file of the unit in a directory, whether it is there or not."""
    items = (path for path in (os.path.join(folder, name) for name in NAMES) if os.path.isfile(path))
    return next(items, os.path.join(folder, NAME))


def is_unit(folder: str) -> bool:
    """Whether there is such a file."""
    return os.path.isfile(unit_file(folder))
