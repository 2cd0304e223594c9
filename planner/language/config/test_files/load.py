"""Loads the test files of a root module, and the modules of their runs."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable

from planner.foundation.support.disk import is_directory, list_directory, read_whole
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.provider_address import provider_source
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.directory import (
    DATA_DIRECTORY,
    Manifest,
    folder_at,
    is_module,
    is_secret_directory,
    module_key,
    read_manifest,
)
from planner.language.config.load import InstalledModules, load_tree
from planner.language.config.model import Config, ModuleCall, ModuleConfig, ModulePath
from planner.language.config.reading import Problems
from planner.language.config.sources import provider_display
from planner.language.config.test_files.model import RunModule, TestFile, TestRun
from planner.language.config.test_files.read import read_test_file
from planner.language.config.variables import RawVariables
from planner.language.syntax.body import Body
from planner.language.syntax.files import load_text


@frozen(eq=False)
class TestFiles:
    """Test files sorted by the bytes of their names."""

    __test__ = False

    files: tuple[TestFile, ...]
    problems: tuple[Diagnostic, ...] = ()


def read_test_files(root_dir: str, directory: str = "", names: Iterable[str] | None = None) -> TestFiles:
    """Read test files without the modules of their runs. `directory`: "" for the default directory. `names`: read only
    these files. Raises Failure if a directory cannot be read."""
    problems = Problems()
    item, is_there = find_test_files(root_dir, directory or DEFAULT_DIRECTORY)
    if directory and not is_there:
        title, detail = "Test directory does not exist", f"Requested test directory {directory} does not exist."
        problems.warning("no_test_directory", title, detail)
    keep = not is_secret_directory(root_dir)
    files = []
    for name in item if names is None else names:
        file = _read(root_dir, name, keep, problems)
        files += [] if file is None else [file]
    return TestFiles(tuple(files), tuple(problems))


def _read(root_dir: str, name: str, keep: bool, problems: Problems) -> TestFile | None:
    try:
        data = read_whole(os.path.join(root_dir, name))
    except OSError as bad:
        problems.error("unreadable_file", "Failed to read file", f"{name}: {bad.strerror or bad}.")
        return None
    body, _, diagnostics = load_text(data, name, keep)
    problems.extend(diagnostics)
    if body is None:
        return None
    if not name.endswith(OWN):
        return read_test_file(body, name, problems)
    mocks = _MockFiles(root_dir, keep)
    file = read_test_file(body, name, problems, mocks.read)
    return evolve(file, sources=tuple(mocks.asked))


class _MockFiles:
    """Reads the files with mocks in directories, which are relative to the root module."""

    def __init__(self, root_dir: str, keep: bool) -> None:
        self.root_dir, self.keep = root_dir, keep
        self.asked: dict[str, None] = {}
        """the directories whose mock files were requested"""

    def read(self, directory: str, span: Span, problems: Problems) -> list[Body]:
        """The bodies of the mock files in a directory, sorted by name. Reports a directory that has no mock files, and
        a file that cannot be read."""
        self.asked[directory] = None
        folder = folder_at(self.root_dir, directory)
        try:
            present = [entry.name for entry in list_directory(folder)]
            names = sorted(name for name in present if name.endswith(MOCKS) and not name.startswith("."))
            items = [(name, read_whole(os.path.join(folder, name))) for name in names]
        except OSError as bad:
            detail = f"{bad.filename or directory}: {bad.strerror or bad}."
            problems.error("unreadable_mocks", "Failed to read mock files", detail, span)
            return []
        if not items:
            detail = f"There is no file *{MOCKS} in {directory}."
            problems.error("no_mocks", "Failed to read mock files", detail, span)
        bodies = []
        for name, data in items:
            body, _, diagnostics = load_text(data, posixpath.normpath(posixpath.join(directory, name)), self.keep)
            problems.extend(diagnostics)
            bodies += [] if body is None else [body]
        return bodies


def load_test_files(
    root_dir: str,
    directory: str = "",
    *,
    variables: RawVariables | None = None,
    workspace: str = "default",
    data_dir: str = DATA_DIRECTORY,
    manifest: Manifest | None = None,
) -> TestFiles:
    """Read test files and the modules of their runs, which init must have installed. If the test files have errors, no
    module is read. Raises Failure if a directory cannot be read."""
    read = read_test_files(root_dir, directory)
    problems = Problems(read.problems)
    if problems.has_errors or not any(run.module for file in read.files for run in file.runs):
        return read
    if manifest is None:
        manifest, item = read_manifest(root_dir, data_dir)
        problems.extend(item)
    known: dict[tuple[str, str], Config] = {}
    files = []
    for file in read.files:
        runs = [_with_module(root_dir, file, run, variables, workspace, manifest, known, problems) for run in file.runs]
        files.append(evolve(file, runs=tuple(runs)))
    return TestFiles(tuple(files), tuple(problems))


def _with_module(
    root_dir: str,
    file: TestFile,
    run: TestRun,
    variables: RawVariables | None,
    workspace: str,
    manifest: Manifest,
    known: dict[tuple[str, str], Config],
    problems: Problems,
) -> TestRun:
    if run.module is None:
        return run
    below = run_key(file.name, run.name)
    where = _installed_directory(root_dir, run.module, manifest, module_key(below), problems)
    if where is None:
        return run
    # a local module is loaded only once, with the path of the first run that uses it
    key = (where, "" if run.module.source_kind == "local" else module_key(below))
    if key not in known:
        locate = InstalledModules(manifest, root_dir, below=below).locate
        config, item = load_tree(root_dir, variables=variables, workspace=workspace, locate=locate, directory=where)
        problems.extend(item)
        known[key] = config
    return evolve(run, config=known[key])


def _installed_directory(
    root_dir: str, module: RunModule, manifest: Manifest, key: str, problems: Problems
) -> str | None:
    record = manifest.get(key)
    title, hint = "Module not installed", 'Run "planner init" to install all modules required by this configuration.'
    is_local = module.source_kind == "local"
    if record is None and is_local and is_module(root_dir) and not is_directory(folder_at(root_dir, module.source)):
        detail = f"This module's local cache directory could not be read. {hint}"
        problems.error("module_not_installed", title, detail, module.span)
        return None
    if record is None:
        problems.error("module_not_installed", title, f"This module is not yet installed. {hint}", module.span)
        return None
    if record.source != module.source:
        detail = (
            'The source address was changed since this module was installed. Run "planner init" to install all '
            "modules required by this configuration."
        )
        problems.error("module_source_changed", "Module source has changed", detail, module.source_span)
    if not is_directory(folder_at(root_dir, record.directory)):
        detail = f"This module's local cache directory {record.directory} could not be read. {hint}"
        problems.error("module_not_installed", title, detail, module.span)
        return None
    return record.directory


def check_test_providers(root: ModuleConfig, files: Iterable[TestFile]) -> list[Diagnostic]:
    """Errors for runs that pass a configuration of the wrong provider to the module under test: explicitly in the
    argument `providers`, or implicitly by the name of a provider block."""
    problems = Problems()
    for file in files:
        types = _types_of_providers(root, file)
        for run in (run for run in file.runs if run.module is None):
            for inner, outer in run.providers:
                wanted = root.provider_source(inner.name)
                given = types.get(outer.name, wanted)
                if given != wanted:
                    detail = f"{outer} is {provider_display(given)} in {file.name}, but {inner} is "
                    detail += f"{provider_display(wanted)} in the root module."
                    problems.error("provider_mismatch", _MISMATCH, detail, outer.span)
        if all(run.providers or run.module is not None for run in file.runs):
            continue
        required = root.required_providers.values()
        expected = {str(alias): r.source for r in required for alias in (r.name, *r.configuration_aliases)}
        for key, wanted in {**expected, **{k: root.provider_source(b.name) for k, b in root.providers.items()}}.items():
            block = file.providers.get(key)
            if block is not None and types[block.name] != wanted:
                detail = f"In {file.name}, runs use {key} for the provider {provider_display(types[block.name])}, but "
                detail += f"in the root module {key} is {provider_display(wanted)}."
                problems.error("provider_mismatch", _MISMATCH, detail, block.span)
    return list(problems)


_MISMATCH = "Provider type mismatch"


def _provider_addresses(module: ModuleConfig) -> dict[str, str]:
    names = [*module.required_providers, *(block.name for block in module.providers.values())]
    return {name: module.provider_source(name) for name in names}


def _types_of_providers(root: ModuleConfig, file: TestFile) -> dict[str, str]:
    """The full address of the provider for each name of a provider block in the test file. As in OpenTofu, the first
    run that uses a name determines its provider. A name that no run uses has the provider that the name implies."""
    types: dict[str, str] = {}
    names = {block.name for block in file.providers.values()}
    for run in file.runs:
        module = run.config.root if run.config is not None else root
        used = [(outer.name, module.provider_source(inner.name)) for inner, outer in run.providers]
        for name, source in used or _provider_addresses(module).items():
            if name in names:
                types.setdefault(name, source)
    return {name: types.get(name) or provider_source(name) for name in names}


def module_calls(tests: TestFiles) -> list[tuple[ModulePath, ModuleCall]]:
    """The modules of runs as module calls, with the paths under which modules.json records them."""
    table: dict[ModulePath, ModuleCall] = {}
    for file in tests.files:
        for run in file.runs:
            module = run.module
            if module is not None:
                table[run_key(file.name, run.name)] = ModuleCall(
                    run.name,
                    module.source,
                    module.version,
                    None,
                    None,
                    None,
                    (),
                    (),
                    {},
                    module.span,
                    module.block,
                    module.source_span,
                    source_kind=module.source_kind,
                    written_source=module.written,
                )
    return list(table.items())


def run_key(file: str, run: str) -> tuple[str, ...]:
    return ("test", *file.removesuffix(".tftest.hcl").split("/"), run)


# Test files are files directly in the root module's directory or in the test directory.


DEFAULT_DIRECTORY = "tests"
_PAIRS = ((".tftest.hcl", ".tofutest.hcl"), (".tftest.json", ".tofutest.json"))
OWN = ".plannertest.hcl"  # the suffix of files that may use planner's extensions
ENDINGS = (*(ending for pair in _PAIRS for ending in pair), OWN)
MOCKS = ".tfmock.hcl"  # the suffix of files with `mock_provider` blocks


def is_test_file(name: str) -> bool:
    if name.startswith(".") or name.endswith("~") or (name.startswith("#") and name.endswith("#")):
        return False
    return name.endswith(ENDINGS)


def find_test_files(root_dir: str, directory: str = DEFAULT_DIRECTORY) -> tuple[list[str], bool]:
    """Paths of test files relative to the root module, sorted by bytes, and whether the test directory exists.
    `x.tofutest.hcl` replaces a file `x.tftest.hcl` next to it. Raises Failure for a directory that cannot be read."""
    found = _of(root_dir, ".") or []
    inside = _of(root_dir, directory)
    if inside is not None and posixpath.normpath(directory) != ".":
        found += inside
    return sorted(found, key=os.fsencode), inside is not None


def _of(root_dir: str, directory: str) -> list[str] | None:
    folder = os.path.join(root_dir, directory)
    try:
        entries = list_directory(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as bad:
        raise Failure(
            error("config.unreadable_tests", "Failed to read directory", f"{folder}: {bad.strerror or bad}.")
        ) from bad
    named = [entry.name for entry in entries if is_test_file(entry.name)]
    names = {name for name in named if not is_directory(os.path.join(folder, name))}
    for hidden, hiding in _PAIRS:
        for name in [name for name in names if name.endswith(hiding)]:
            names.discard(name.removesuffix(hiding) + hidden)
    return [posixpath.normpath(posixpath.join(directory, name)) for name in names]
