"""`validate` for a configuration with test files: also checks these files and the modules that their runs test."""

from __future__ import annotations

import os
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, has_errors
from planner.language.config.test_files.load import (
    DEFAULT_DIRECTORY,
    check_test_providers,
    find_test_files,
    load_test_files,
)
from planner.operations.get import beside_tests, read_tests
from planner.operations.load import Loaded, load
from planner.operations.options import Options
from planner.operations.providers_needed import override_warnings
from planner.operations.validate import validate_loaded
from planner.world.state.workspace import data_directory


def validate_with_tests(options: Options, test_directory: str = "") -> list[Diagnostic]:
    """The diagnostics about the configuration and its test files. `test_directory`: the directory of the test files; ""
    for the default."""
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        loaded = load(options, diagnostics)
        names, is_there = find_test_files(options.directory, test_directory or DEFAULT_DIRECTORY)
        tests = problems_of_tests(loaded, test_directory) if names or (test_directory and not is_there) else []
        return [*override_warnings(loaded.config), *diagnostics, *validate_loaded(loaded), *tests]
    beside = Diagnostics()
    with beside.until_an_error():
        broken = read_tests(options.directory, test_directory)
        beside += () if broken is None else broken.problems
    return beside_tests(diagnostics, (problem for problem in beside if problem not in diagnostics))


def problems_of_tests(loaded: Loaded[Any], test_directory: str) -> list[Diagnostic]:
    from planner.workflows.testing.expected_failures import expectations
    from planner.workflows.testing.transform import duplicates

    start = loaded
    tests = load_test_files(
        start.options.directory,
        test_directory,
        variables=start.given,
        workspace=start.workspace,
        data_dir=data_directory(os.environ),
    )
    problems = [*tests.problems, *check_test_providers(loaded.config.root, tests.files)]
    if has_errors(problems):
        return problems
    seen: set[int] = set()
    for file in tests.files:
        problems += duplicates(file.overrides, file.module_overrides)
        for run in file.runs:
            is_local = run.module is not None and run.module.source_kind == "local"
            if run.config is not None and is_local and id(run.config) not in seen:
                seen.add(id(run.config))
                mine = Loaded(start.options, start.workspace, start.given, run.config, start.schemas, start.rules)
                problems += validate_loaded(mine)
            problems += [*expectations(run)[1], *duplicates(run.overrides, run.module_overrides)]
    return problems
