"""Reads terragrunt.hcl and terragrunt.stack.hcl files as a fleet, without running Terragrunt."""

import os

NAME = "terragrunt.hcl"
NAMES = (NAME, "terragrunt.hcl.json")
"""file names of a unit, in order of precedence"""
STACK = "terragrunt.stack.hcl"
VALUES = "terragrunt.values.hcl"
EXCLUDES = ".terragrunt-excludes"
AUTOINCLUDE = "terragrunt.autoinclude.hcl"
FOLDER = ".planner/terragrunt"
"""directory for working directories (below a unit) and for packages (below the root of a fleet)"""


def unit_file(folder: str) -> str:
    """The path of a unit's file, whether or not it exists."""
    items = (path for path in (os.path.join(folder, name) for name in NAMES) if os.path.isfile(path))
    return next(items, os.path.join(folder, NAME))


def is_unit(folder: str) -> bool:
    return os.path.isfile(unit_file(folder))
