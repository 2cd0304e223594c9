"""Preparing a working directory: `init` and `get`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from planner.operations.session import (
    Options,
    Session,
    load_configuration,
    load_variables,
    open_store,
    override_warnings,
    provider_addresses,
    provider_constraints,
)
from planner.state.backends.local import DEFAULT_WORKSPACE
from planner.vocabulary.diagnostic import Diagnostic, has_errors
from planner.vocabulary.provider_address import BUILTIN

if TYPE_CHECKING:
    from planner.config.model import ModuleCall, ModulePath
    from planner.config.modules_manifest import Manifest, ModuleRecord
    from planner.config.reading import Problems
    from planner.install.modules import ModuleInstaller
    from planner.install.placing import Progress
    from planner.operations.installing import Say
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
    progress: Progress | None = None,
    loaded: Session | None = None,
) -> list[Diagnostic]:
    """Set up the backend, install modules, select and install providers. Running it again is harmless. `ask` answers
    questions about states that have to move (None: they are not to be asked); `progress` is told about downloads (what,
    bytes done, bytes in all); `loaded` is the configuration, if somebody has just loaded it."""
    from planner.operations.backends import BackendInit, init_backend
    from planner.operations.module_copy import copy_module, has_configuration

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
    root, found = (loaded, []) if loaded is not None and loaded.config is not None else root_alone(options)
    if root.config is None:
        return [*problems, *found]
    if backend:
        say("Initializing the backend...")
        how = BackendInit(options, backend_config, reconfigure, migrate_state or force_copy, force_copy, ask, say)
        problems += init_backend(how, root.config, root.workspace, root.given)
    if has_errors(problems):
        return problems
    if install_modules and (from_module or root.config.root.calls):
        say("Upgrading modules..." if upgrade else "Initializing modules...")
        problems += get(options, upgrade=upgrade, hooks=hooks, progress=progress)
        if has_errors(problems):
            return problems
    session = loaded if loaded is not None and stays_as_it_is(loaded) else load_configuration(options)
    problems += [d for d in session.diagnostics if d not in problems]
    if session.config is None or has_errors(problems):
        return problems
    state = None
    if backend:
        _, store, more = open_store(options, session.config, session.workspace, session.given)
        problems += more
        if store is not None and not has_errors(problems):
            state, more = store.read()
            problems += more
    if has_errors(problems):
        return problems
    from planner.provider.cli_config import cache_warnings
    from planner.provider.lock_file import NAME

    problems += cache_warnings(os.environ)
    addresses = provider_addresses(session.config)
    if addresses <= {BUILTIN} and not os.path.lexists(os.path.join(options.directory, NAME)):
        sources = {resource.provider for resource in state.resources.values()} if state is not None else set()
        if all(BUILTIN in source for source in sources):  # nothing to install, so nothing of it is loaded
            say("\nInitializing provider plugins...")
            from planner.provider.registry import versions_of_builtin

            impossible = versions_of_builtin(provider_constraints(session.config))
            if (addresses or sources) and not impossible:
                say(f"- {BUILTIN} is part of this program")
            return problems + impossible
    from planner.operations.installing import Choices, init_providers

    choices = Choices(upgrade, tuple(plugin_dirs), lockfile)
    return [*override_warnings(session), *problems, *init_providers(session, state, choices, say, progress)]


def stays_as_it_is(session: Session) -> bool:
    """Whether `init` finds nothing to do that changes what was loaded: there is no module to install, nothing of
    providers but what is built in, and the default workspace, which is in every backend."""
    config = session.config
    if config is None or config.root.calls or session.workspace != DEFAULT_WORKSPACE:
        return False
    return provider_addresses(config) <= {BUILTIN}


def root_alone(options: Options) -> tuple[Session, list[Diagnostic]]:
    """The root module without those that it calls: enough to know the backend."""
    from planner.config.load import load_root
    from planner.state.workspace import current_workspace

    workspace, _, problems = current_workspace(options.directory, os.environ)
    given, more = load_variables(options)
    config, found = load_root(options.directory, variables=given, workspace=workspace)
    problems = [*problems, *more, *found]
    return Session(options, None if has_errors(problems) else config, given, workspace=workspace), problems


def get(
    options: Options, *, upgrade: bool = False, hooks: Hooks | None = None, progress: Progress | None = None
) -> list[Diagnostic]:
    """Install the modules that the configuration calls."""
    from planner.config.module_installer import install_modules
    from planner.state.workspace import current_workspace, data_directory

    workspace, _, problems = current_workspace(options.directory, os.environ)
    given, more = load_variables(options)
    problems = [*problems, *more]
    say = hooks.log if hooks is not None else (lambda text: None)
    data_dir = data_directory(os.environ)
    with _Fetching(options.directory, data_dir, upgrade, say, progress) as fetch:
        installed, found = install_modules(
            options.directory, variables=given, workspace=workspace, upgrade=upgrade, data_dir=data_dir, fetch=fetch
        )
    for record in installed:
        say(f"- {record.key} in {record.directory}")
    return problems + found


class _Fetching:
    """Installs modules that are not local. What that takes is loaded with the first of them, and from then on other
    processes that install into the same directory have to wait."""

    def __init__(self, directory: str, data_dir: str, upgrade: bool, say: Say, progress: Progress | None) -> None:
        self.directory, self.data_dir, self.upgrade, self.say, self.progress = (
            directory,
            data_dir,
            upgrade,
            say,
            progress,
        )
        self.installer: ModuleInstaller | None = None
        self.others: Manifest = {}
        self.lock = ExitStack()

    def __enter__(self) -> _Fetching:
        return self

    def __exit__(self, *problem: object) -> None:
        self.lock.close()

    def __call__(self, path: ModulePath, call: ModuleCall, problems: Problems) -> ModuleRecord | None:
        from planner.config.modules_manifest import fits, module_key
        from planner.vocabulary.diagnostic import Failure

        if self.installer is None:
            try:
                self.installer = self._begin()
            except Failure as failure:
                problems.extend(failure.diagnostics)
                return None
        record = self.others.get(module_key(path))
        if record is not None and fits(record, call, self.directory):
            return record
        return self.installer.install(path, call, problems)

    def _begin(self) -> ModuleInstaller:
        """Wait for others; what they have installed meanwhile need not be installed again. Raises Failure."""
        from planner.config.modules_manifest import read_manifest
        from planner.operations.installing import lock_modules, module_installer

        self.lock.enter_context(lock_modules(self.directory, self.data_dir, self.say))
        if not self.upgrade:
            self.others, _ = read_manifest(self.directory, self.data_dir)
        return module_installer(self.directory, self.data_dir, self.say, self.progress)


def lock_providers(
    options: Options, addresses: tuple[str, ...], platforms: tuple[str, ...], say: Say, **more: Any
) -> list[Diagnostic]:
    """`providers lock`; see planner.operations.installing."""
    session = load_configuration(options)
    if session.failed:
        return list(session.diagnostics)
    from planner.operations.installing import lock_providers as lock

    return [*session.diagnostics, *lock(session, addresses, platforms, say, **more)]


def mirror_providers(
    options: Options, target: str, platforms: tuple[str, ...], say: Say, **more: Any
) -> list[Diagnostic]:
    """`providers mirror`; see planner.operations.installing."""
    session = load_configuration(options)
    if session.failed:
        return list(session.diagnostics)
    from planner.operations.installing import mirror_providers as mirror

    return [*session.diagnostics, *mirror(session, target, platforms, say, **more)]
