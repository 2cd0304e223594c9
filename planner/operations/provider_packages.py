"""`providers lock` and `providers mirror`, of the providers of a configuration. The work is in install_providers.py,
which is loaded when the configuration is valid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics
from planner.operations.install_providers import lock_providers as lock
from planner.operations.install_providers import mirror_providers as mirror
from planner.operations.load import load
from planner.operations.options import Options

Say = Callable[[str], None]


def lock_providers(
    options: Options, addresses: tuple[str, ...], platforms: tuple[str, ...], say: Say, **more: Any
) -> list[Diagnostic]:
    """`providers lock`; see planner.operations.install_providers."""
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        config = load(options, diagnostics).config
        diagnostics += lock(config, options.directory, addresses, platforms, say, **more)
    return diagnostics


def mirror_providers(
    options: Options, target: str, platforms: tuple[str, ...], say: Say, **more: Any
) -> list[Diagnostic]:
    """`providers mirror`; see planner.operations.install_providers."""
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        config = load(options, diagnostics).config
        diagnostics += mirror(config, options.directory, target, platforms, say, **more)
    return diagnostics
