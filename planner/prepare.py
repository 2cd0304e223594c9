"""Preparing a working directory: `init` and `get`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from planner.session import Options, load_configuration, load_variables, missing_providers, open_store
from planner.vocabulary.diagnostic import Diagnostic, error, has_errors

if TYPE_CHECKING:
    from planner.walk.hooks import Hooks


def init(
    options: Options,
    *,
    upgrade: bool = False,
    install_modules: bool = True,
    backend: bool = True,
    backend_config: tuple[str, ...] = (),
    reconfigure: bool = False,
    plugin_dirs: Iterable[str] = (),
    lockfile: str = "",
    from_module: str = "",
    hooks: Hooks | None = None,
) -> list[Diagnostic]:
    """Install modules, check the backend and that every provider can be had. Running it again is harmless."""
    problems = _unsupported(backend_config, from_module)
    if has_errors(problems):
        return problems
    if install_modules:
        problems += get(options, upgrade=upgrade, hooks=hooks)
        if has_errors(problems):
            return problems
    session = load_configuration(options)
    problems += [d for d in session.diagnostics if d not in problems]
    if session.config is None or has_errors(problems):
        return problems
    if backend:
        _, _, more = open_store(options, session.config, session.workspace, session.given)
        problems += more
    return problems + missing_providers(session)


def _unsupported(backend_config: tuple[str, ...], from_module: str) -> list[Diagnostic]:
    found = []
    if backend_config:
        detail = "Settings of the backend can only stand in the backend block yet, not in -backend-config."
        found.append(error("init.backend_config", "Option not supported yet", detail))
    if from_module:
        detail = "Copying a module into the directory with -from-module is not supported yet."
        found.append(error("init.from_module", "Option not supported yet", detail))
    return found


def get(options: Options, *, upgrade: bool = False, hooks: Hooks | None = None) -> list[Diagnostic]:
    """Install the modules that the configuration calls."""
    from planner.config.modules_manifest import install_modules
    from planner.state.workspace import current_workspace, data_directory

    workspace, _, problems = current_workspace(options.directory, os.environ)
    given, more = load_variables(options)
    problems = [*problems, *more]
    installed, found = install_modules(
        options.directory,
        variables=given,
        workspace=workspace,
        upgrade=upgrade,
        data_dir=data_directory(os.environ),
    )
    if hooks is not None:
        for record in installed:
            hooks.log(f"- {record.key} in {record.directory}")
    return problems + found
