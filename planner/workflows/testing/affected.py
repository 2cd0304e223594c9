"""Test files to be run again after files were changed."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection, Iterable, Mapping

from planner.foundation.vocabulary.records import frozen
from planner.language.config.directory import manifest_path
from planner.language.config.test_files.load import MOCKS
from planner.language.config.test_files.model import TestFile
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import product_program
from planner.workflows.testing.suite import Suite, TestOptions
from planner.world.state.workspace import data_directory

_MODULE = (".tf", ".tofu", ".tf.json", ".tofu.json", ".tfvars", ".tfvars.json")

_RULES = (".dl", ".toml")


@frozen(eq=False)
class TestInputs:
    """The files that a test file reads: `paths`, and all files of a kind in `directories` (path, kind)."""

    paths: frozenset[str]
    directories: frozenset[tuple[str, str]]


def reads(suite: Suite, read: Mapping[str, Collection[str]]) -> dict[str, TestInputs]:
    """The inputs of each file of a suite, by name. `read`: files read by functions when it was run; under "" those read
    for all files."""
    options = suite.options
    shared = read_by_all(options) | {*read.get("", ())}
    values = {posixpath.normpath(options.test_directory or "tests"), "."}
    result = {}
    for file in suite.files:
        directories = {(directory, "module") for directory in values}
        for config in (run.config or suite.loaded.config for run in file.runs):
            directories |= {(posixpath.normpath(module.directory), "module") for module in config.root.walk()}
        directories |= {(posixpath.normpath(source), "mocks") for source in file.sources}
        asked = [file.name, *shared, *read.get(file.name, ())]
        if options.covers or any(run.policies or run.queries for run in file.runs):
            own = (os.path.join(".planner", "rules"), os.path.join(".planner", "policies"))
            rules = (*options.policies, *options.standing_policies, *own)
            directories |= {(os.path.normpath(folder), "rules") for folder in rules}
            asked += rules
        paths = set(map(os.path.normpath, asked))
        result[file.name] = TestInputs(frozenset(paths), frozenset(directories))
    return result


def read_by_all(options: TestOptions) -> frozenset[str]:
    """Files that are read for any test file."""
    values = {value for kind, value in options.var_args if kind == "var-file"}
    manifest = manifest_path(options.directory, data_directory(os.environ))
    return frozenset(map(os.path.normpath, {*values, manifest, ".terraform.lock.hcl"}))


def kind_of(path: str) -> str:
    """The kind of a file according to its name: module, mocks, rules or other."""
    if path.endswith(MOCKS):
        return "mocks"
    if path.endswith(_RULES):
        return "rules"
    return "module" if path.endswith(_MODULE) else "other"


def reached(
    files: Iterable[TestFile], known: Mapping[str, TestInputs], changed: Iterable[str], done: Iterable[str]
) -> dict[str, str]:
    """The files to run, each with a path that was changed, or "" when it was never run."""
    facts = FactBuilder()
    for file in files:
        facts.add("test_file", file.name)
        for path in sorted(known[file.name].paths):
            facts.add("file_reads", file.name, path)
        for directory, kind in sorted(known[file.name].directories):
            facts.add("file_reads_all", file.name, directory, kind)
    for path in sorted(changed):
        facts.add("path_changed", path, os.path.dirname(path) or ".", kind_of(path))
    for name in sorted(done):
        facts.add("file_done", name)
    items = evaluate(product_program("testing"), facts.build(), ["file_reached"]).sorted("file_reached")
    why: dict[str, str] = {}
    for name, path in items:
        why.setdefault(str(name), str(path))
    return why
