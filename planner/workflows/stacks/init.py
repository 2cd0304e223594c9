"""`stacks init` installs the modules and child stacks that a stack calls, and selects and locks its providers. `stacks
providers-lock` locks its providers for several platforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics
from planner.foundation.vocabulary.provider_address import BUILTIN
from planner.language.config.model import Config
from planner.language.config.stack_files.model import StackConfig
from planner.operations.get import get_stack
from planner.operations.providers_needed import needed_providers
from planner.workflows.stacks.loading import advised, check_directory, component_configs, read_stack, requirements

if TYPE_CHECKING:
    from planner.world.install.placing import Progress


def init_stack(
    directory: str,
    *,
    upgrade: bool = False,
    lockfile: str = "",
    plugin_dirs: tuple[str, ...] = (),
    hooks: Hooks | None = None,
    progress: Progress | None = None,
) -> list[Diagnostic]:
    """Install a stack's modules, child stacks and providers. Without `upgrade`, everything that is already installed
    remains unchanged. Returns diagnostics."""
    say = hooks.log if hooks is not None else (lambda text: None)
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        check_directory(directory)
        say("Upgrading components..." if upgrade else "Initializing components...")
        diagnostics.check(get_stack(directory, upgrade=upgrade, hooks=hooks, progress=progress))
        stack, problems = read_stack(directory)
        diagnostics.check(d for d in problems if d not in diagnostics)
        configs = list(component_configs(stack.root))
        if {address for config in configs for address in needed_providers(config).all} <= {BUILTIN}:
            return diagnostics
        diagnostics += _init_providers(stack, configs, directory, (upgrade, plugin_dirs, lockfile), say, progress)
    return diagnostics


def _init_providers(
    stack: StackConfig,
    configs: list[Config],
    directory: str,
    chosen: tuple[bool, tuple[str, ...], str],
    say: Callable[[str], None],
    progress: Progress | None,
) -> list[Diagnostic]:
    from planner.operations.install_providers import Choices, init_providers

    result = init_providers(requirements(stack.root), directory, None, Choices(*chosen), say, progress, configs)
    return [advised(problem) for problem in result]


def lock_stack_providers(
    directory: str,
    addresses: tuple[str, ...],
    platforms: tuple[str, ...],
    say: Callable[[str], None],
    fs_mirror: str = "",
    net_mirror: str = "",
    progress: Progress | None = None,
) -> list[Diagnostic]:
    """Record the checksums of the components' providers for these platforms in the lock file. `addresses`: the
    providers; () for all. Returns diagnostics."""
    from planner.operations.install_providers import lock_providers

    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        stack, problems = read_stack(directory)
        diagnostics.check(problems)
        configs = tuple(component_configs(stack.root))
        diagnostics += lock_providers(
            requirements(stack.root), directory, addresses, platforms, say, fs_mirror, net_mirror, progress, configs
        )
    return diagnostics
