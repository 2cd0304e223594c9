"""Installs the modules that the configuration and its test runs call, for `get` and `init`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, has_errors
from planner.language.config.directory import Manifest, ModuleRecord, fits, module_key, read_manifest
from planner.language.config.model import Config, ModuleCall, ModulePath
from planner.language.config.reading import Problems
from planner.language.config.sources import split_subdirectory
from planner.language.config.test_files.load import (
    DEFAULT_DIRECTORY,
    TestFiles,
    find_test_files,
    load_test_files,
    module_calls,
    read_test_files,
)
from planner.operations.load import RunInputs, begin
from planner.operations.options import Options, StateOptions
from planner.world.state.workspace import data_directory

if TYPE_CHECKING:
    from planner.language.config.test_files.load import TestFiles
    from planner.operations.install_providers import Say
    from planner.world.install.modules import ModuleInstaller
    from planner.world.install.placing import Progress


def get(
    options: Options,
    *,
    upgrade: bool = False,
    hooks: Hooks | None = None,
    progress: Progress | None = None,
    tests: TestFiles | None = None,
    records: bool = True,
) -> list[Diagnostic]:
    """Install the modules that the configuration and the runs in `tests` call. `records`: whether to record checksums
    of the modules in the lock file. Returns problems."""
    from planner.language.config.module_installer import install_modules

    begun, problems = begin(options)
    say = hooks.log if hooks is not None else (lambda text: None)
    data_dir = data_directory(os.environ)
    with _Fetching(options.directory, data_dir, upgrade, say, progress) as fetch:
        installed, item = install_modules(
            options.directory,
            variables=begun.given,
            workspace=begun.workspace,
            upgrade=upgrade,
            data_dir=data_dir,
            fetch=fetch,
            others=() if tests is None else module_calls(tests),
        )
    if fetch.installer is not None and fetch.installer.installed and records and not has_errors(item):
        item += _record(options.directory, data_dir, fetch.installer)
    for record in installed:
        say(f"- {record.key} in {record.directory}")
    return problems + item


def _record(directory: str, data_dir: str, installer: ModuleInstaller) -> list[Diagnostic]:
    """Write the checksums of the installed modules that are in use to the lock file. Returns problems."""
    from planner.world.provider.lock_file import write_module_hashes

    manifest, _ = read_manifest(directory, data_dir)
    used = {(split_subdirectory(r.source)[0], r.version) for r in manifest.values()}
    hashes = {**installer.installed, **installer.known}
    try:
        write_module_hashes(directory, {key: checksum for key, checksum in hashes.items() if key in used})
    except Failure as failure:
        return failure.diagnostics
    return []


def get_stack(directory: str, *, upgrade: bool, hooks: Hooks | None, progress: Progress | None) -> list[Diagnostic]:
    """Install the modules and the stacks that a stack calls. Returns problems."""
    from planner.language.config.module_installer import ModuleRecorder, install
    from planner.language.config.stack_files.load import StackSources, load_stack

    def load(recorder: ModuleRecorder, problems: Problems) -> None:
        _, item = load_stack(directory, places=StackSources(recorder.locate, recorder.below, False))
        problems.extend(item)

    say = hooks.log if hooks is not None else (lambda text: None)
    data_dir = data_directory(os.environ)
    with _Fetching(directory, data_dir, upgrade, say, progress) as fetch:
        installed, problems = install(directory, load, upgrade, data_dir, fetch)
    for record in installed:
        say(f"- {record.key} in {record.directory}")
    return problems


class _Fetching:
    """Installs modules that are not local, when it is called. The first call loads the code for this, and acquires a
    lock that prevents other processes from installing modules into the directory."""

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
        """Create the installer, after waiting for other processes. Modules that they have installed are not installed
        again. Raises Failure."""
        from planner.operations.install_providers import lock_modules, module_installer

        self.lock.enter_context(lock_modules(self.directory, self.data_dir, self.say))
        if not self.upgrade:
            self.others, _ = read_manifest(self.directory, self.data_dir)
        return module_installer(self.directory, self.data_dir, self.say, self.progress)


def read_tests(directory: str, test_directory: str = "") -> TestFiles | None:
    """The test files of a root module; None if there are none. `test_directory`: "" means the default directory. If
    another directory is named and does not exist, the result contains a problem."""
    names, is_there = find_test_files(directory, test_directory or DEFAULT_DIRECTORY)
    return None if not names and (is_there or not test_directory) else read_test_files(directory, test_directory)


def has_modules(tests: TestFiles | None) -> bool:
    """Whether a run in the test files tests a different module than the root module."""
    return tests is not None and any(run.module is not None for file in tests.files for run in file.runs)


def configurations(begun: RunInputs[StateOptions], test_directory: str = "") -> tuple[list[Config], list[Diagnostic]]:
    """The configurations of the modules that runs in test files name, and the problems of the test files. The modules
    must be installed."""
    tests = loaded_tests(begun, test_directory)
    table = {id(run.config): run.config for file in tests.files for run in file.runs if run.config is not None}
    return list(table.values()), list(tests.problems)


def loaded_tests(begun: RunInputs[StateOptions], test_directory: str = "") -> TestFiles:
    """The test files, with the configurations of the modules that their runs name. The modules must be installed."""
    return load_test_files(
        begun.options.directory,
        test_directory,
        variables=begun.given,
        workspace=begun.workspace,
        data_dir=data_directory(os.environ),
    )


def named_providers(tests: TestFiles | None, config: Config) -> set[str]:
    """The source addresses of the providers that test files configure. Providers that are only mocked are not included,
    because the tested configuration requires them."""
    if tests is None:
        return set()
    return {config.root.provider_source(block.name) for file in tests.files for block in file.providers.values()}


def beside_tests(of_configuration: Iterable[Diagnostic], of_tests: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics of a configuration and of its test files. If the test files have errors, modules are not
    installed, and their absence is not reported."""
    of_tests = list(of_tests)
    if has_errors(of_tests):
        of_configuration = [d for d in of_configuration if d.code != "config.module_not_installed"]
    return [*of_configuration, *of_tests]
