"""What is measured: the commands, how a directory is made ready for each, and what each leaves behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

GENERATE = Path(__file__).with_name("generate.py")
CACHE = "cache"
"""planner's cache while it is measured, beside the configurations of both tools"""
APPLIED = "applied.tfstate"
"""the state after an apply, kept beside the configuration"""
STATE = "terraform.tfstate"
PRIOR = "prior.tfstate"
"""the state that a shape starts with, if any"""

SHAPES = ("dag", "chain", "flat", "splat", "foreach", "modules", "nested", "tenants", "state", "destroy")
PLUGIN_SHAPES = ("plugincount", "pluginblocks", "pluginslow")
"""measured on request only: they need plugins, see generate.py"""


def last_address(shape: str, size: int) -> str:
    """The address of a late object of a shape, for questions about it."""
    return {
        "splat": f"terraform_data.many[{size - 1}]",
        "foreach": f'terraform_data.b["k0-{min(size, 1000) - 1}"]',
        "modules": f"module.m{size - 1}",
        "nested": f"module.m{size - 1}.module.inner.terraform_data.t",
        "tenants": f'module.tenant["{size - 1}"].terraform_data.host',
        "plugincount": f"null_resource.r[{size - 1}]",
        "pluginblocks": f"random_pet.r{size - 1}",
        "pluginslow": f"random_string.r{size - 1}",
    }.get(shape, f"terraform_data.r{size - 1}")


@frozen
class Command:
    """One command: its arguments for a shape of a size, whether it needs an applied state first, whether the peer has
    it too, and shapes for which it makes no sense."""

    name: str
    arguments: Callable[[str, int], list[str]]
    needs_applied: bool = False
    is_common: bool = True
    without: tuple[str, ...] = ()
    again: bool = False
    """planner may tell a plan that it has kept; for all others it has kept none"""


def _fixed(*words: str) -> Callable[[str, int], list[str]]:
    return lambda shape, size: list(words)


PLAN = ("plan", "-input=false", "-no-color")

COMMANDS = {
    command.name: command
    for command in (
        Command("validate", _fixed("validate", "-no-color"), without=("destroy",)),
        Command("graph", _fixed("graph"), without=("destroy",)),
        Command("plan", _fixed(*PLAN)),
        Command("again", _fixed(*PLAN), again=True),
        Command("noop", _fixed(*PLAN), needs_applied=True, without=("state", "destroy")),
        Command("destroy", _fixed(*PLAN, "-destroy"), needs_applied=True, without=("state", "destroy", "modules")),
        Command("apply", _fixed("apply", "-auto-approve", "-input=false", "-no-color"), without=("state",)),
        Command(
            "why",
            lambda shape, size: ["why", last_address(shape, size)],
            is_common=False,
            without=("modules",),
        ),
        Command(
            "query",
            lambda shape, size: ["query", "deps", last_address(shape, size).partition("[")[0]],
            is_common=False,
            without=("destroy",),
        ),
        Command("policy", _fixed("policy", "check", "-policy=builtin:blast_radius"), is_common=False),
    )
}


def generate(shape: str, size: int, directory: Path) -> None:
    """Write the configuration, and keep the state it starts with."""
    subprocess.run([sys.executable, str(GENERATE), shape, str(size), str(directory)], check=True)
    if (directory / STATE).exists():
        shutil.copy(directory / STATE, directory / PRIOR)


def make_ready(directory: Path, command: Command) -> None:
    """The state as it has to be before the command: none, the one it starts with, or the applied one."""
    state = directory / STATE
    source = directory / (APPLIED if command.needs_applied else PRIOR)
    for name in (STATE, f"{STATE}.backup", f"{STATE}.journal"):
        (directory / name).unlink(missing_ok=True)
    if source.exists():
        shutil.copy(source, state)
    if not command.again:
        shutil.rmtree(directory.parent / CACHE / "planner" / "plans", ignore_errors=True)


def keep_applied(directory: Path) -> None:
    """Keep the state of an apply for the commands that need one."""
    os.replace(directory / STATE, directory / APPLIED)
