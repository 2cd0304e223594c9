"""Implements `init`, which prepares a working directory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error, has_errors
from planner.foundation.vocabulary.provider_address import BUILTIN
from planner.foundation.vocabulary.records import evolve
from planner.language.config.load import load_root
from planner.language.config.model import Config
from planner.language.config.sources import SourceError, parse_module_source
from planner.operations.backends import BackendInit, current_backend, init_backend
from planner.operations.get import configurations, get, has_modules, named_providers, read_tests
from planner.operations.load import ConfigurationReading, Encryption, begin, encryption_of, read_configuration
from planner.operations.options import StateOptions
from planner.operations.providers_needed import needed_providers, override_warnings, provider_constraints
from planner.operations.state_access import store_of
from planner.world.provider.lock_file import NAME
from planner.world.provider.registry import versions_of_builtin
from planner.world.state.backend import DEFAULT_WORKSPACE
from planner.world.state.model import State

if TYPE_CHECKING:
    from planner.world.install.placing import Progress
    from planner.world.state.migrate import Ask


def init(
    options: StateOptions,
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
    read: ConfigurationReading[StateOptions] | None = None,
    test_directory: str = "",
) -> list[Diagnostic]:
    """Set up the backend, install modules, and select and install providers. Steps that are already done are not
    repeated. `ask`: prompts the user, for example about copying states; None if prompts are not possible. `progress`
    receives (subject, number of downloaded bytes, total number of bytes). `read`: the configuration, if it has just
    been read. Returns diagnostics."""
    from planner.foundation.clients.cli_config import cache_warnings

    say = hooks.log if hooks is not None else (lambda text: None)
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        if from_module:
            say(f'Copying configuration from "{from_module}"...')
            diagnostics.check(copy_module(from_module, options.directory))
        if os.path.isdir(options.directory) and not has_configuration(options.directory):
            say("This directory has no configuration yet, so there is nothing to prepare.")
            return diagnostics
        root = read if read is not None and read.config is not None else root_alone(options)
        if root.config is None or (root is not read and has_errors(root.problems)):
            broken = read_tests(options.directory, test_directory)
            raise Failure([*root.problems, *(() if broken is None else broken.problems)])
        encryption = encryption_of(root.config, root.begun.given, root.begun.workspace)
        if backend:
            say("Initializing the backend...")
            diagnostics.check(encryption.check())
            migrate = migrate_state or force_copy
            how = BackendInit(options, encryption.state, backend_config, reconfigure, migrate, force_copy, ask, say)
            diagnostics += init_backend(how, root.config, root.begun.workspace, root.begun.given)
        diagnostics.check()
        tests = read_tests(options.directory, test_directory)
        diagnostics.check(() if tests is None else tests.problems)
        if install_modules and (from_module or root.config.root.calls or has_modules(tests)):
            say("Upgrading modules..." if upgrade else "Initializing modules...")
            records = lockfile != "readonly"
            diagnostics.check(
                get(options, upgrade=upgrade, hooks=hooks, progress=progress, tests=tests, records=records)
            )
        whole = read if read is not None and stays_as_it_is(read) else read_configuration(options)
        diagnostics.check(d for d in whole.problems if d not in diagnostics)
        if whole.config is None:
            return diagnostics
        state = _stored_state(whole, whole.config, encryption, diagnostics) if backend else None
        diagnostics.check()
        diagnostics += cache_warnings(os.environ)
        others: list[Config] = []
        if has_modules(tests):
            others, problems = configurations(whole.begun, test_directory)
            diagnostics.check(d for d in problems if d not in diagnostics)
        names = named_providers(tests, whole.config) - {BUILTIN}
        is_all = not names and all(needed_providers(other).all <= {BUILTIN} for other in others)
        is_all = is_all and not (upgrade and lockfile)  # this combination of options is an error
        # avoids loading the code that installs modules and providers
        if is_all and _needs_nothing(whole.config, options.directory, state):
            diagnostics += _only_builtin(whole.config, state, say)
            return diagnostics
        diagnostics[:] = [*override_warnings(whole.config), *diagnostics]
        chosen = (upgrade, tuple(plugin_dirs), lockfile)
        from planner.operations.install_providers import Choices, init_providers

        diagnostics += init_providers(
            whole.config, options.directory, state, Choices(*chosen), say, progress, others, names
        )
    return diagnostics


def _stored_state(
    reading: ConfigurationReading[StateOptions], config: Config, encryption: Encryption, diagnostics: Diagnostics
) -> State | None:
    """The existing state, because its providers are needed, too. None if the state does not exist or cannot be read."""
    begun = reading.begun
    backend, problems = current_backend(begun.options.directory, config, begun.workspace, begun.given, encryption)
    diagnostics += problems
    if backend is None or has_errors(diagnostics):
        return None
    store = store_of(begun.options, backend, begun.workspace)
    state, problems = store.read()
    if problems:
        from planner.world.state.remote.store import RemoteStore

        if isinstance(store, RemoteStore) and store.read_failure:  # OpenTofu's `init` uses a different title
            detail = f"{store.read_failure}\n\n"
            problems = [evolve(d, summary="Error refreshing state", detail=detail + d.detail) for d in problems]
    diagnostics += problems
    return state


def _sources(state: State | None) -> set[str]:
    """The addresses of the provider configurations in a state."""
    return {resource.provider for resource in state.resources.values()} if state is not None else set()


def _needs_nothing(config: Config, directory: str, state: State | None) -> bool:
    """Whether there is neither a provider to install nor a lock file to check."""
    if not needed_providers(config).all <= {BUILTIN} or os.path.lexists(os.path.join(directory, NAME)):
        return False
    return all(BUILTIN in source for source in _sources(state))


def _only_builtin(config: Config, state: State | None, say: Callable[[str], None]) -> list[Diagnostic]:
    say("\nInitializing provider plugins...")
    impossible = versions_of_builtin(provider_constraints(config))
    if (needed_providers(config).all or _sources(state)) and not impossible:
        say(f"- {BUILTIN} is part of this program")
    return impossible


def stays_as_it_is(reading: ConfigurationReading[Any]) -> bool:
    """Whether the configuration need not be read again after `init` has set up the backend and installed modules. This
    is so if there are no module calls, all providers are built-in, and the workspace is the default workspace, which
    all backends have."""
    config = reading.config
    if config is None or config.root.calls or reading.begun.workspace != DEFAULT_WORKSPACE:
        return False
    return needed_providers(config).all <= {BUILTIN}


def root_alone(options: StateOptions) -> ConfigurationReading[StateOptions]:
    """The configuration with only the root module, which is sufficient to determine the backend."""
    begun, problems = begin(options)
    config, more = load_root(options.directory, variables=begun.given, workspace=begun.workspace)
    return ConfigurationReading(begun, config, (), (*problems, *more))


# `init -from-module`: copies a module as the start of a configuration


_CONFIGURATION = (".tf", ".tofu", ".tf.json", ".tofu.json")


def has_configuration(directory: str) -> bool:
    """Whether a directory has configuration files. Raises OSError."""
    return any(name.endswith(_CONFIGURATION) and not name.startswith(".") for name in os.listdir(directory))


def copy_module(source: str, directory: str) -> list[Diagnostic]:
    """Copy a local module, without hidden files, into an empty directory. Returns problems."""
    try:
        if any(name != ".terraform" for name in os.listdir(directory)):
            detail = "-from-module copies a module into an empty directory. Remove the option."
            return [error("init.not_empty", "The working directory already contains files", detail)]
        kind = "local" if os.path.isabs(source) else parse_module_source(source).kind
    except SourceError as problem:
        return [error("init.from_module", "Invalid module source", f"-from-module={source}: {problem}")]
    except OSError as problem:
        return [_problem(problem, directory)]
    if kind != "local":
        detail = f"This program copies local modules only (./, ../ or an absolute path), not {source}."
        return [error("init.from_module", "Module source is not supported", detail)]
    origin = os.path.join(directory, source)
    if not os.path.isdir(origin):
        detail = f"The directory {source}, named by -from-module, does not exist."
        return [error("init.from_module", "Unreadable module directory", detail)]
    inside = os.path.realpath(directory)

    def left_out(folder: str, names: list[str]) -> set[str]:
        return {n for n in names if n.startswith(".") or os.path.realpath(os.path.join(folder, n)) == inside}

    try:
        shutil.copytree(origin, directory, ignore=left_out, dirs_exist_ok=True)
    except shutil.Error as problem:
        return [
            error("init.copy", "Cannot copy the module", "; ".join(f"{old}: {why}" for old, _, why in problem.args[0]))
        ]
    except OSError as problem:
        return [_problem(problem, directory)]
    return []


def _problem(problem: OSError, directory: str) -> Diagnostic:
    where = problem.filename or directory
    return error("init.copy", "Cannot copy the module", f"{where}: {problem.strerror or problem}.")
