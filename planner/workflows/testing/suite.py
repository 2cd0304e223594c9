"""The test files of a root module: loading them, running them, and choosing those that must run again after an edit."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Collection, Iterable, Mapping

from planner.foundation.support.disk import files_read, forget_files_read, looked_at
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import field, frozen
from planner.language.config.directory import manifest_path
from planner.language.config.load import load_config
from planner.language.config.model import Config
from planner.language.config.test_files.load import DEFAULT_DIRECTORY, MOCKS, check_test_providers, load_test_files
from planner.language.config.test_files.model import TestFile
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import product_program
from planner.operations.get import beside_tests
from planner.operations.load import Loaded, begin, new_schemas
from planner.operations.options import Options
from planner.operations.providers_needed import wake_providers
from planner.workflows.testing.decisions import RunFacts, executed, suite
from planner.workflows.testing.parallel import all_beside
from planner.workflows.testing.results import TestFileResult, TestListener
from planner.workflows.testing.runs import FileRunner, Subjects, facts_of
from planner.workflows.testing.variables import global_values
from planner.world.state.workspace import data_directory

_WORTH_IT = 4
"""minimum number of files for using several processes by default"""


@frozen(eq=False)
class TestOptions(Options):
    """Options of `test`. `test_directory`: "" for the default. `filters`: names of the files to run."""

    __test__ = False

    test_directory: str = ""
    filters: tuple[str, ...] = ()
    verbose: bool = False
    parallelism: int | None = None
    """maximum number of files that run in parallel. None: one for each CPU if there are several files and all of them
    can run in parallel (see `all_beside`), otherwise 1"""
    walk_parallelism: int = 10
    covers: bool = False
    """whether to record coverage"""
    policies: tuple[str, ...] = ()
    """directories and files of policies"""
    standing_policies: tuple[str, ...] = ()
    """policies of the organisation"""
    tells_causes: bool = False
    """whether to explain the values in a failed assertion"""


@frozen(eq=False)
class Suite:
    options: TestOptions
    loaded: Loaded[Options]
    files: tuple[TestFile, ...]
    problems: tuple[Diagnostic, ...] = ()
    given: dict[str, object] = field(factory=dict)
    others: tuple[Config, ...] = ()
    """the modules that runs name instead of the root module"""
    kept: Mapping[str, frozenset[int]] = field(factory=dict)
    """{test file: indexes of its runs that are not executed, because they passed earlier with the same inputs}"""


def load_suite(options: TestOptions) -> tuple[Suite | None, list[Diagnostic]]:
    """The test files and the configuration, and diagnostics. The suite is None if there are errors. No backend is
    opened."""
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        return _load(options, diagnostics), diagnostics
    return None, diagnostics


def _load(options: TestOptions, diagnostics: Diagnostics) -> Suite:
    begun, problems = begin(options)
    diagnostics.check(problems)
    given, problems = global_values(options.directory, options.test_directory or DEFAULT_DIRECTORY, begun.given)
    diagnostics.check(problems)
    data_dir = data_directory(os.environ)
    config, problems = load_config(options.directory, variables=given, workspace=begun.workspace, data_dir=data_dir)
    tests = load_test_files(
        options.directory, options.test_directory, variables=given, workspace=begun.workspace, data_dir=data_dir
    )
    diagnostics.check(beside_tests(problems, tests.problems))
    if config is None:
        raise Failure(())
    diagnostics.check(check_test_providers(config.root, tests.files))
    files = _select(tests.files, options.filters, diagnostics)
    loaded = Loaded(options, begun.workspace, given, config, new_schemas(options.directory, config), ())
    others = {id(run.config): run.config for file in tests.files for run in file.runs if run.config is not None}
    return Suite(options, loaded, files, tuple(diagnostics), dict(given), tuple(others.values()))


def _select(files: tuple[TestFile, ...], filters: tuple[str, ...], diagnostics: Diagnostics) -> tuple[TestFile, ...]:
    """The files that the filters name; all files without filters. Raises Failure if a filter matches no file."""
    if not filters:
        return files
    names = [file.name for file in files]
    filters = tuple(map(posixpath.normpath, filters))
    for wanted in filters:
        if wanted not in names:
            detail = f"There is no test file {wanted}.{did_you_mean(wanted, names)}"
            if not did_you_mean(wanted, names) and names:
                detail += f" The test files are: {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}."
            diagnostics.append(error("test.unknown_file", "Unknown test file", detail))
    diagnostics.check()
    return tuple(file for file in files if file.name in filters)


def processes(suite: Suite) -> int:
    """The number of files that run in parallel."""
    count, wanted = len(suite.files), suite.options.parallelism
    if wanted is not None:
        return max(1, min(wanted, count))
    return 1 if count < _WORTH_IT else _processes(suite, count)


def _processes(suite: Suite, count: int) -> int:
    from planner.foundation.support.forks import processors

    return processors(count) if all_beside(suite.files, suite.loaded.config) else 1


class SuiteRunner:
    """Runs the files of a suite, in an order that the caller chooses. `wakes_providers`: start the plugins of the
    tested module in the background, from this process."""

    def __init__(self, suite: Suite, wakes_providers: bool = False) -> None:
        self.suite = suite
        if wakes_providers and suite.files:
            wake_providers(suite.loaded.config, suite.loaded.schemas)
        self.results = [TestFileResult.of(file, suite.kept.get(file.name, ())) for file in suite.files]
        policies = (suite.options.policies, suite.options.standing_policies)
        self._subjects = Subjects(
            suite.loaded, suite.loaded.given, suite.options.walk_parallelism, policies, suite.others
        )

    def carry_out(self, index: int, listener: TestListener, stopping: Callable[[], bool]) -> TestFileResult:
        """Execute all runs of a file, then clean up."""
        result, options = self.results[index], self.suite.options
        tells = options.verbose, options.tells_causes, options.covers
        runner = FileRunner(result, self._subjects, listener, stopping, *tells)
        forget_files_read()
        try:
            runner.carry_out()
        except KeyboardInterrupt:
            listener.interrupted(runner.interrupted())
            runner.save()
            raise
        finally:
            result.read = tuple(sorted({*files_read(), *looked_at()}))
        self._subjects.forget()
        return result

    def close(self) -> None:
        """Stop the providers."""
        self.suite.loaded.schemas.close()


def suite_status(results: list[TestFileResult]) -> tuple[str, bool]:
    """The status of all files, and whether the exit code reports a failure."""
    runs = []
    for result in results:
        for it in result.runs:
            problems = {"error": {"error"}, "fail": {"assertion"}}.get(it.status, set())
            done, stopped = it.status not in ("skip", "pending"), it.status == "skip" and result.status != "error"
            runs.append(RunFacts(done, frozenset(problems), stopped, result.cleanup_failed))
    return suite(runs)


# The test files to run again after changes of files


_MODULE = (".tf", ".tofu", ".tf.json", ".tofu.json", ".tfvars", ".tfvars.json")

_RULES = (".dl", ".toml")


@frozen(eq=False)
class TestInputs:
    """The files on which the results of a test file depend. `paths`: single files. `directories`: (path, kind), which
    means all files of that kind in the directory."""

    paths: frozenset[str]
    directories: frozenset[tuple[str, str]]


def reads(suite: Suite, read: Mapping[str, Collection[str]]) -> dict[str, TestInputs]:
    """{test file: its inputs}. `read`: {test file: files that functions read in its runs}; the key "" has the files
    that are read for all test files."""
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
    """The files on which the results of all test files depend."""
    values = {value for kind, value in options.var_args if kind == "var-file"}
    manifest = manifest_path(options.directory, data_directory(os.environ))
    return frozenset(map(os.path.normpath, {*values, manifest, ".terraform.lock.hcl"}))


def kind_of(path: str) -> str:
    """The kind of a file by its name: module, mocks, rules or other."""
    if path.endswith(MOCKS):
        return "mocks"
    if path.endswith(_RULES):
        return "rules"
    return "module" if path.endswith(_MODULE) else "other"


def reached(
    files: Iterable[TestFile], known: Mapping[str, TestInputs], changed: Iterable[str], done: Iterable[str]
) -> tuple[dict[str, str], frozenset[str]]:
    """The test files that must run again, as {test file: a changed path, or "" if it has never run}, and the test files
    for which only the test file itself changed. `known`: {test file: its inputs}. `changed`: changed paths. `done`: the
    test files that have run."""
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
    result = evaluate(product_program("testing"), facts.build(), ["file_reached", "file_edited_alone"])
    why: dict[str, str] = {}
    for name, path in result.sorted("file_reached"):
        why.setdefault(str(name), str(path))
    return why, frozenset(str(row[0]) for row in result.sorted("file_edited_alone"))


@frozen
class FileRecord:
    """The data about an executed test file that is needed after an edit. `rest`: its text without the blocks of its
    runs. `runs`: {name of a run: text of its block}, in the order of the file. `uses`: the result of `_uses`. `passed`:
    the names of the runs that passed. `read`: paths that functions read or looked at."""

    rest: str
    runs: Mapping[str, str]
    uses: Mapping[str, tuple[object, ...]]
    passed: frozenset[str]
    read: tuple[str, ...]

    @classmethod
    def of(cls, result: TestFileResult, former: FileRecord | None) -> FileRecord:
        """The record of a result. `former`: the previous record of the file, needed if the result has runs that were
        not executed again."""
        runs = {run.name: run.written for run in result.file.runs}
        passed = frozenset(it.name for it in result.runs if it.status == "pass")
        read = former.read if former is not None and any(it.is_kept for it in result.runs) else ()
        return cls(_rest(result.file), runs, _uses(result.file), passed, tuple(sorted({*read, *result.read})))


def kept_runs(file: TestFile, former: FileRecord) -> frozenset[int]:
    """The indexes of the runs that passed and need not be executed again after an edit of their test file. `former`:
    the record of the file before the edit. The result is empty if the edit removes or moves a run, changes the result
    of `_uses` for a run, or changes the file outside the blocks of runs."""
    runs, uses = {run.name: run.written for run in file.runs}, _uses(file)
    if _rest(file) != former.rest or [name for name in runs if name in former.runs] != [*former.runs]:
        return frozenset()
    if any(uses[name] != used for name, used in former.uses.items()):
        return frozenset()
    same = {name for name in former.passed if runs[name] == former.runs[name]}
    edited = [index for index, run in enumerate(file.runs) if run.name not in same]
    return frozenset(range(len(file.runs))) - executed(facts_of(file), edited)


def _uses(file: TestFile) -> dict[str, tuple[object, ...]]:
    """{name of a run: the facts about the run on which the order of runs depends}. The facts are the name of its state,
    whether it changes and keeps this state, whether it can run in parallel, and the runs that it mentions."""
    names = [run.name for run in file.runs]
    return {
        name: (it.state, it.applies, it.keeps_state, it.parallel, it.asks, frozenset(names[n] for n in it.mentions))
        for name, it in zip(names, facts_of(file), strict=True)
    }


def _rest(file: TestFile) -> str:
    """The text of a file without the blocks of its runs; "" for a file without runs."""
    text = file.runs[0].span.source.text if file.runs else ""
    for run in file.runs:
        text = text.replace(run.written, "", 1)
    return text
