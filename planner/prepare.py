"""Preparing a working directory: `init` and `get`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from planner.session import Options, Session, load_configuration, load_variables, provider_addresses
from planner.vocabulary.diagnostic import Diagnostic, has_errors

if TYPE_CHECKING:
    from planner.state.migrate import Ask
    from planner.walk.hooks import Hooks


def init(
    options: Options,
    *,
    upgrade: bool = False,
    install_modules: bool = True,
    backend: bool = True,
    backend_config: tuple[str, ...] = (),
    reconfigure: bool = False,
    migrate_state: bool = False,
    force_copy: bool = False,
    plugin_dirs: Iterable[str] = (),
    lockfile: str = "",
    from_module: str = "",
    hooks: Hooks | None = None,
    ask: Ask | None = None,
) -> list[Diagnostic]:
    """Set up the backend, install modules, and check that every provider can be had. Running it again is harmless.
    `ask` answers questions about states that have to move; None: they are not to be asked."""
    from planner.backends import BackendInit, init_backend
    from planner.module_copy import copy_module, has_configuration

    say = hooks.log if hooks is not None else (lambda text: None)
    problems: list[Diagnostic] = []
    if from_module:
        say(f'Copying configuration from "{from_module}"...')
        problems += copy_module(from_module, options.directory)
        if has_errors(problems):
            return problems
    if os.path.isdir(options.directory) and not has_configuration(options.directory):
        say("There is no configuration in this directory yet, and nothing to prepare.")
        return problems
    root, found = root_alone(options)
    if root.config is None:
        return [*problems, *found]
    if backend:
        say("Initializing the backend...")
        how = BackendInit(options, backend_config, reconfigure, migrate_state or force_copy, force_copy, ask, say)
        problems += init_backend(how, root.config, root.workspace, root.given)
    if has_errors(problems):
        return problems
    if install_modules and (from_module or root.config.root.calls):
        problems += get(options, upgrade=upgrade, hooks=hooks)
        if has_errors(problems):
            return problems
    session = load_configuration(options)
    problems += [d for d in session.diagnostics if d not in problems]
    if session.config is None or has_errors(problems):
        return problems
    return problems + _providers(session)


def root_alone(options: Options) -> tuple[Session, list[Diagnostic]]:
    """The root module without those that it calls: enough to know the backend."""
    from planner.config.load import load_root
    from planner.state.workspace import current_workspace

    workspace, _, problems = current_workspace(options.directory, os.environ)
    given, more = load_variables(options)
    config, found = load_root(options.directory, variables=given, workspace=workspace)
    problems = [*problems, *more, *found]
    return Session(options, None if has_errors(problems) else config, given, workspace=workspace), problems


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


def _providers(session: Session) -> list[Diagnostic]:
    """Whether every provider that the configuration uses can be started."""
    from planner.vocabulary.diagnostic import Failure

    assert session.config is not None
    found: list[Diagnostic] = []
    for source in sorted(provider_addresses(session.config)):
        try:
            session.schemas.provider(source)
        except Failure as failure:
            found += failure.diagnostics
    return found
