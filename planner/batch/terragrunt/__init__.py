"""Terragrunt's files as a fleet: terragrunt.hcl and terragrunt.stack.hcl are read, nothing of Terragrunt is run."""

NAME = "terragrunt.hcl"
STACK = "terragrunt.stack.hcl"
VALUES = "terragrunt.values.hcl"
AUTOINCLUDE = "terragrunt.autoinclude.hcl"
FOLDER = ".planner/terragrunt"
"""where working folders and packages are, below a unit and below the root of a fleet"""
