"""Test files in init: it installs the modules and providers of their runs."""

from __future__ import annotations

import os
from collections.abc import Iterable

from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.language.config.model import Config
from planner.language.config.test_files.load import (
    DEFAULT_DIRECTORY,
    TestFiles,
    find_test_files,
    load_test_files,
    read_test_files,
)
from planner.operations.load import RunInputs
from planner.operations.options import StateOptions
from planner.world.state.workspace import data_directory


def read_tests(directory: str, test_directory: str = "") -> TestFiles | None:
    """The test files of a root module; None if there are none. `test_directory`: "" for the default one."""
    names, is_there = find_test_files(directory, test_directory or DEFAULT_DIRECTORY)
    return None if not names and (is_there or not test_directory) else read_test_files(directory, test_directory)


def has_modules(tests: TestFiles | None) -> bool:
    """Whether any run uses a module of its own."""
    return tests is not None and any(run.module is not None for file in tests.files for run in file.runs)


def configurations(begun: RunInputs[StateOptions], test_directory: str = "") -> tuple[list[Config], list[Diagnostic]]:
    """The modules of runs, which must be installed."""
    tests = loaded_tests(begun, test_directory)
    table = {id(run.config): run.config for file in tests.files for run in file.runs if run.config is not None}
    return list(table.values()), list(tests.problems)


def loaded_tests(begun: RunInputs[StateOptions], test_directory: str = "") -> TestFiles:
    """The test files with the modules of their runs, which must be installed."""
    return load_test_files(
        begun.options.directory,
        test_directory,
        variables=begun.given,
        workspace=begun.workspace,
        data_dir=data_directory(os.environ),
    )


def named_providers(tests: TestFiles | None, config: Config) -> set[str]:
    """The providers that test files configure. One that is only mocked must be required by the tested configuration."""
    if tests is None:
        return set()
    return {config.root.provider_source(block.name) for file in tests.files for block in file.providers.values()}


def beside_tests(of_configuration: Iterable[Diagnostic], of_tests: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The problems of a configuration and of its test files, to be fixed before anything is installed."""
    of_tests = list(of_tests)
    if has_errors(of_tests):
        of_configuration = [d for d in of_configuration if d.code != "config.module_not_installed"]
    return [*of_configuration, *of_tests]
