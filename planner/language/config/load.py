"""Loads the files of a root module into a Config, the tree of modules with all declarations."""

from __future__ import annotations

import gc
import os
import posixpath
from collections.abc import Callable
from contextlib import suppress

from planner.foundation.support.digests import sha256_of
from planner.foundation.support.disk import absolute_path, is_directory, read_whole, real_path
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.release import TERRAFORM, language, set_language
from planner.foundation.vocabulary.version_constraints import parse_constraints
from planner.language.config.directory import (
    DATA_DIRECTORY,
    Manifest,
    folder_at,
    is_secret,
    module_files,
    module_key,
    read_manifest,
)
from planner.language.config.file_content import QUERIES, FileContent, read_file
from planner.language.config.model import Config, LanguageStatement, ModuleCall, ModuleConfig, ModulePath, VariableDecl
from planner.language.config.module import ModuleBuilder
from planner.language.config.provider_checks import check_provider_configurations
from planner.language.config.reading import MALFORMED_TEMPLATE, Problems, expr_of
from planner.language.config.settings import INCOMPATIBLE
from planner.language.config.sources import without_secrets
from planner.language.config.static import Given, StaticScope
from planner.language.config.variables import RawVariables, given_values
from planner.language.syntax.files import load_text

DEEPEST_RECURSION = 16
"""how often a module may call itself, directly or indirectly, in a chain of calls. A module may call itself only if the
source of the call depends on a variable, because a change of the variable's value can end the recursion"""

Locate = Callable[[ModulePath, ModuleCall, str, Problems], "str | None"]
"""Locates a called module. Parameters: its path, the call, the directory of the caller, and the list for problems.
Returns the directory of the module, absolute or relative to the root module; None if the module is not to be loaded."""


def load_config(
    root_dir: str = ".",
    *,
    variables: RawVariables | None = None,
    manifest: Manifest | None = None,
    workspace: str = "default",
    data_dir: str = DATA_DIRECTORY,
    absolute: str = "",
    queries: bool = False,
) -> tuple[Config | None, list[Diagnostic]]:
    """The configuration in a directory, and all problems that can be found without evaluating it.

    `variables`: values of root variables, which static expressions may use. `manifest`: the installed modules, by
    default read from the data directory. `absolute`: as for `folder_at`. `queries`: whether to read the query files
    (list blocks) of the root module, too. File names in diagnostics are relative to the directory. The Config is None
    if there are errors.
    """
    problems = Problems()
    if manifest is None:
        manifest, diagnostics = read_manifest(root_dir, data_dir)
        problems.extend(diagnostics)
    config, diagnostics = load_tree(
        root_dir,
        variables=variables,
        workspace=workspace,
        locate=InstalledModules(manifest, root_dir, absolute).locate,
        absolute=absolute,
        queries=queries,
    )
    problems.extend(diagnostics)
    if not problems.has_errors and (language() or any(module.languages for module in config.root.walk())):
        from planner.language.config.dialects import check_languages

        check_languages(config, problems)
    return (None if problems.has_errors else config), problems


def load_root(
    root_dir: str = ".", *, variables: RawVariables | None = None, workspace: str = "default"
) -> tuple[Config | None, list[Diagnostic]]:
    """The root module without the modules that it calls. It is sufficient to determine the backend. The Config is None
    if there are errors."""
    config, problems = _ConfigLoader(root_dir, variables or {}, workspace, lambda *call: None).load_root()
    return (None if any(d.is_error for d in problems) else config), problems


def load_tree(
    root_dir: str,
    *,
    variables: RawVariables | None,
    workspace: str,
    locate: Locate,
    absolute: str = "",
    directory: str = ".",
    queries: bool = False,
) -> tuple[Config, list[Diagnostic]]:
    """The module tree, as far as it can be loaded. `directory`: the directory of the tree's root relative to
    `root_dir`, if it is not `root_dir` itself. `queries`: whether to read the query files of the root module, too."""
    collecting = gc.isenabled()
    gc.disable()  # no object created here is garbage, and collecting would double the time for large configurations
    try:
        return _ConfigLoader(root_dir, variables or {}, workspace, locate, absolute, queries).load(directory)
    finally:
        if collecting:
            gc.enable()


class InstalledModules:
    """Locates called modules with the manifest that init wrote. `below` is prepended to the path of each call to get
    its key in the manifest. `init`: the command that installs modules, for messages."""

    def __init__(
        self, manifest: Manifest, root_dir: str, absolute: str = "", below: ModulePath = (), init: str = "planner init"
    ) -> None:
        self.manifest, self.init = manifest, init
        self.root_dir, self.absolute, self.below = root_dir, absolute, below

    def has(self, path: ModulePath, call: ModuleCall) -> bool:
        record = self.manifest.get(module_key((*self.below, *path)))
        return (
            record is not None
            and record.source == call.source
            and (not call.version or _fits(call.version, record.version))
        )

    def locate(self, path: ModulePath, call: ModuleCall, parent: str, problems: Problems) -> str | None:
        record = self.manifest.get(module_key((*self.below, *path)))
        if record is None:
            detail = f"Module {call.name} is not installed. Run {self.init}, which installs all modules."
            problems.error("module_not_installed", "Module not installed", detail, call.span)
            return None
        where = call.shown_span
        if call.source and call.source != record.source:
            old, new = without_secrets(record.source), without_secrets(call.source)
            detail = f"The source changed from {old} to {new} since {self.init}. Run {self.init} again."
            problems.error("module_source_changed", "Module source has changed", detail, where)
        if call.version and not _fits(call.version, record.version):
            detail = (
                f"Version {record.version or '(none)'} is installed, but the call requires {call.version}. Run "
                f"{self.init} again."
            )
            problems.error("module_version_changed", "Module version requirements have changed", detail, where)
        if not is_directory(folder_at(self.root_dir, record.directory, self.absolute)):
            detail = f"The directory {record.directory} of module {call.name} no longer exists. Run {self.init} again."
            problems.error("module_not_installed", "Module not installed", detail, call.span)
            return None
        return record.directory


def _fits(wanted: str, version: str | None) -> bool:
    try:
        return version is not None and parse_constraints(wanted).allows(version)
    except ValueError:
        return False


_Read = tuple["FileContent | None", Problems]
_lately_read: dict[tuple[str, str, bool], tuple[str, _Read]] = {}
"""a cache of parsed files: {(path, name in diagnostics, whether it is an override file): (digest of the content,
declarations and problems)}. The most recently used file is last. One process may load a module several times, for
example for init and for a plan"""
_most_files = 64


def keep_files(most: int) -> None:
    """Keep this number of parsed files in memory, in a process that loads the same modules repeatedly."""
    global _most_files
    _most_files = most


class _ConfigLoader:
    def __init__(
        self,
        root_dir: str,
        variables: RawVariables,
        workspace: str,
        locate: Locate,
        absolute: str = "",
        queries: bool = False,
    ) -> None:
        self.root_dir, self.absolute, self.queries = root_dir, absolute, queries
        self.variables = variables
        self.workspace = workspace
        self.locate = locate
        self.files: dict[str, str] = {}
        self.contents: dict[str, _Read] = {}
        self._root_files: dict[tuple[str, str], bytes] = {}
        self._keeps: bool | None = None
        """whether parsed files may be cached: False if the root module, which is read first, may contain encryption
        keys. None until it is read"""

    def load(self, directory: str = ".") -> tuple[Config, list[Diagnostic]]:
        problems = Problems()
        set_language("")
        root, scope = self._module((), directory, None, given_values(self.variables), problems)
        warned = tuple(d for d in problems if not d.is_error)
        if not any(d.is_error and d.code != MALFORMED_TEMPLATE for d in problems):
            mine = Problems()
            top = real_path(folder_at(self.root_dir, directory, self.absolute))
            root = self._with_children(root, scope, (top,), mine)
            if not mine.has_errors:
                check_provider_configurations(root, mine)
            problems.extend(mine)
        errors = [d for d in problems if d.is_error and d.code != MALFORMED_TEMPLATE]
        shown = [d for d in problems if d.code != MALFORMED_TEMPLATE] if errors else list(problems)
        return Config(root, self.files, warned), shown

    def load_root(self) -> tuple[Config, list[Diagnostic]]:
        problems = Problems()
        root, _ = self._module((), ".", None, given_values(self.variables), problems)
        return Config(root, self.files), problems

    # ------------------------------------------------------------ one module

    def _module(
        self, path: ModulePath, directory: str, call: ModuleCall | None, given: Given, problems: Problems
    ) -> tuple[ModuleConfig, StaticScope]:
        mine = Problems()
        normal, override, languages = self._read(directory, QUERIES if self.queries and not path else "", mine)
        for requested in filter(None, (statement.requested for statement in languages)):
            set_language(requested)
        builder = ModuleBuilder(path, directory, call)
        builder.add_requirements(normal, override, mine)
        for file in normal:
            builder.add(file, mine)
        for file in override:
            builder.override(file, mine)
        scope = StaticScope(builder.module.variables, builder.module.locals, given, directory, ".", self.workspace)
        module = builder.finish(scope, mine)
        if languages:
            module = evolve(module, languages=tuple(languages))
        incompatible = [d for d in mine if d.code == INCOMPATIBLE]
        problems.extend(incompatible or mine)
        return module, scope

    def _read(
        self, directory: str, queries: str, problems: Problems
    ) -> tuple[list[FileContent], list[FileContent], list[LanguageStatement]]:
        """The contents of the normal files and of the override files, and their statements about the language."""
        full = folder_at(self.root_dir, directory, self.absolute)
        try:
            files = module_files(full, queries)
        except OSError:
            where = posixpath.normpath(posixpath.join(self.root_dir, directory))
            detail = f"The module directory {where} does not exist or cannot be read."
            problems.error("unreadable_directory", "Failed to read module directory", detail)
            return [], [], []
        if self._keeps is None:
            self._decide(directory, (*files.normal, *files.override))
        normal = [self._file(directory, name, False, problems) for name in files.normal]
        override = [self._file(directory, name, True, problems) for name in files.override]
        kept = [f for f in normal if f is not None], [f for f in override if f is not None]
        languages = [one for files_ in kept for file in files_ for one in file.settings.languages]
        languages += [
            LanguageStatement(TERRAFORM, "", posixpath.normpath(posixpath.join(directory, name)))
            for name in files.hidden
        ]
        return *kept, languages

    def _decide(self, directory: str, names: tuple[str, ...]) -> None:
        folder = folder_at(self.root_dir, directory, self.absolute)
        for name in names:
            with suppress(OSError):
                self._root_files[directory, name] = read_whole(os.path.join(folder, name))
        self._keeps = not is_secret(self._root_files.values())

    def _data(self, directory: str, name: str) -> bytes:
        """The content of a file. Raises OSError."""
        known = self._root_files.pop((directory, name), None)
        if known is not None:
            return known
        return read_whole(os.path.join(folder_at(self.root_dir, directory, self.absolute), name))

    def _file(self, directory: str, name: str, override: bool, problems: Problems) -> FileContent | None:
        """The declarations of a file. The files of a module that is called several times are read once. Their syntax
        errors are reported once, the problems of their declarations for every call. None if the file cannot be read or
        parsed (reported)."""
        shown = posixpath.normpath(posixpath.join(directory, name))
        if shown not in self.contents:
            try:
                data = self._data(directory, name)
            except OSError as bad:
                problems.error("unreadable_file", "Failed to read file", f"{shown}: {bad.strerror or bad}.")
                return None
            digest = self.files[shown] = sha256_of(data)
            key = absolute_path(os.path.join(folder_at(self.root_dir, directory, self.absolute), name)), shown, override
            kept, known = _lately_read.pop(key, ("", None))
            if known is None or kept != digest:
                body, _, diagnostics = load_text(data, shown, bool(self._keeps))
                problems.extend(diagnostics)
                found = Problems()
                known = (read_file(body, name, override, found) if body is not None else None, found)
                digest = digest if not diagnostics else ""
            if digest:
                for oldest in list(_lately_read)[: 1 - _most_files]:  # other threads may load files at the same time
                    _lately_read.pop(oldest, None)
                _lately_read[key] = digest, known
            self.contents[shown] = known
        content, found = self.contents[shown]
        problems.extend(found)
        return content

    # ------------------------------------------------------------ the tree

    def _with_children(
        self, module: ModuleConfig, scope: StaticScope, above: tuple[str, ...], problems: Problems
    ) -> ModuleConfig:
        children: dict[str, ModuleConfig] = {}
        for name in sorted(module.calls):
            call = module.calls[name]
            child = self._child(module, scope, call, above, problems)
            if child is not None:
                children[name] = child
        return evolve(module, children=children)

    def _child(
        self, module: ModuleConfig, scope: StaticScope, call: ModuleCall, above: tuple[str, ...], problems: Problems
    ) -> ModuleConfig | None:
        path = (*module.path, call.name)
        directory = self.locate(path, call, module.directory, problems)
        if directory is None:
            return None
        real = real_path(folder_at(self.root_dir, directory, self.absolute))
        if above.count(real) > (0 if call.source_is_constant else DEEPEST_RECURSION):
            detail = f"The directory {directory} is already being loaded: the module would contain itself without end."
            problems.error("cyclic_module", "Module calls itself", detail, call.span)
            return None

        def input_value(variable: VariableDecl, found: Problems) -> Value | None:
            attribute = call.inputs.get(variable.name)
            if attribute is not None:
                expr = expr_of(attribute, found)
                return scope.evaluate(expr, f"var.{variable.name}", attribute.span, found)
            if variable.default is None:
                title = "Missing required variable in module call"
                detail = f"Module {call.name} needs a value for {variable.name}."
                where = call.body.missing_span if call.body else call.span
                found.error("missing_input", title, detail, where)
            return variable.default

        child, child_scope = self._module(path, directory, call, input_value, problems)
        child = evolve(child, is_remote=module.is_remote or call.source_kind != "local")
        child = self._with_children(child, child_scope, (*above, real), problems)
        if child.backend is not None and child.backend.type != "cloud":
            detail = "The backend of the root module stores the state; this backend has no effect."
            problems.warning("ignored_backend", "Backend configuration ignored", detail, child.backend.span)
        return child
