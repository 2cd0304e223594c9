"""Terragrunt's files as a fleet: terragrunt.hcl and terragrunt.stack.hcl are read, without running Terragrunt."""

import os

NAME = "terragrunt.hcl"
NAMES = (NAME, "terragrunt.hcl.json")
"""the names that the file of a unit may have; the first that exists is used"""
STACK = "terragrunt.stack.hcl"
VALUES = "terragrunt.values.hcl"
EXCLUDES = ".terragrunt-excludes"
AUTOINCLUDE = "terragrunt.autoinclude.hcl"
FOLDER = ".planner/terragrunt"
"""the directory for working directories and packages, below a unit and below the root of a fleet"""


def unit_file(folder: str) -> str:
    """The path of the unit's file in a directory, whether or not it exists."""
    items = (path for path in (os.path.join(folder, name) for name in NAMES) if os.path.isfile(path))
    return next(items, os.path.join(folder, NAME))


def is_unit(folder: str) -> bool:
    """Whether the directory has the file of a unit."""
    return os.path.isfile(unit_file(folder))
