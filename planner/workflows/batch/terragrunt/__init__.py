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
"""directory that contains the working directories of a unit (below the unit) or downloaded packages (below the fleet's
root)"""


def unit_file(folder: str) -> str:
    """The path of the Terragrunt file of a unit in `folder`; the path of `terragrunt.hcl` if there is none."""
    items = (path for path in (os.path.join(folder, name) for name in NAMES) if os.path.isfile(path))
    return next(items, os.path.join(folder, NAME))


def is_unit(folder: str) -> bool:
    return os.path.isfile(unit_file(folder))
