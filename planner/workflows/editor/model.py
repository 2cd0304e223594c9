"""The model of a module in the editor, including unsaved texts: declarations, known values, schemas and diagnostics."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

from planner.engine.evaluation.schemas import Schemas
from planner.foundation.support.disk import is_directory, own_reads, view, working_in
from planner.foundation.values.schema import BlockSchema
from planner.foundation.values.types import Type
from planner.foundation.values.value import Value, is_wholly_known, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, defect, has_errors, warning
from planner.foundation.vocabulary.records import evolve
from planner.language.config.directory import read_manifest
from planner.language.config.load import InstalledModules, load_tree
from planner.language.config.model import Config, Expr, ModuleCall, ModuleConfig, ModulePath, VariableDecl
from planner.language.config.reading import Problems
from planner.language.config.static import StaticScope
from planner.language.config.variables import RawVariables, collect_variables, given_values, root_variables
from planner.operations.load import Loaded, begin
from planner.operations.options import Options
from planner.operations.providers_needed import needed_providers, provider_constraints
from planner.operations.validate import validate_loaded
from planner.workflows.editor.stand_ins import guessed_provider, is_loose, missing_module, with_modules
from planner.workflows.editor.workspace import QUERIES, Workspace
from planner.workflows.testing.validate import problems_of_tests
from planner.world.provider.interface import Provider
from planner.world.provider.registry import start_provider
from planner.world.state.workspace import data_directory


class Model:
    """The module in a directory, read as a root module. If `is_deep`, called modules are read completely; otherwise
    only their variables and outputs. Providers and modules that are not installed are replaced with substitutes.
    `missing`: {provider: error that explains why its schema is not known}."""

    def __init__(self, workspace: Workspace, directory: str, is_deep: bool = False) -> None:
        self.workspace, self.directory, self.is_deep = workspace, directory, is_deep
        self.missing: dict[str, Diagnostic] = {}
        self._absent: set[ModulePath] = set()
        self._places: dict[ModulePath, str] = {}
        self._called: dict[str, ModuleConfig] = {}
        with self.reading():
            self._begun, problems = begin(Options(directory, offline=True))
            self._manifest = read_manifest(directory, data_directory(os.environ))[0]
            self._own, more = load_tree(
                directory,
                variables=self._begun.given,
                workspace=self._begun.workspace,
                locate=self._locate,
                queries=any(path.endswith(QUERIES) for path in workspace.opened.documents),
            )
            self.problems = [*problems, *more]
            for name, call in self.root.calls.items():
                if name not in self.root.children and (name,) not in self._places and (name,) not in self._absent:
                    self._locate((name,), call, ".", Problems())  # loading does not locate calls of an invalid module
        self.schemas = Schemas(self._start)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Context in which files are read with the editor's unsaved texts."""
        with working_in(self.directory), view(self.workspace.overlay()), own_reads():
            yield

    @property
    def root(self) -> ModuleConfig:
        """The module. It has child modules only if the model is deep, because only a complete check needs them."""
        return self._own.root

    @cached_property
    def config(self) -> Config:
        """The module with its called modules. Each called module is read on first use, because there may be
        hundreds."""
        if not self.root.calls:
            return self._own
        with self.reading():
            return evolve(self._own, root=with_modules(self.root, self._module))

    def path(self, name: str) -> str:
        """The absolute path of a file that a diagnostic names."""
        return os.path.normpath(os.path.join(self.directory, name))

    @cached_property
    def directories(self) -> frozenset[str]:
        """The directories of the module and of called modules."""
        places = [*self._places.values(), *(self.root.calls[path[0]].source for path in self._absent if len(path) == 1)]
        called = [os.path.join(self.directory, place) for place in places]
        files = [os.path.dirname(self.path(name)) for name in self._own.files]
        return frozenset([self.directory, *map(os.path.normpath, called), *files])

    @cached_property
    def _text(self) -> str:
        """The content of all files of the module as one string."""
        texts = []
        for name in self._own.files:
            with suppress(OSError):
                texts.append(self.workspace.opened.read(self.path(name)).decode("utf-8", "replace"))
        return "\n".join(texts)

    def child(self, name: str, source: str = "") -> ModuleConfig | None:
        """The module that the call `name` calls; None if it is unknown. `source`: the source of the call, for a call in
        a file that cannot be parsed."""
        known = self.root.children.get(name) or self._called.get(name)
        if known is None and name in self.root.calls:
            with self.reading():
                known = self._module((name,), self.root.calls[name])
        if known is None and source:
            known = self.workspace.single_module(self.directory, source)
        if known is not None:
            self._called[name] = known
        return known

    # ---------------------------------------------------------------- what is installed

    def _locate(self, path: ModulePath, call: ModuleCall, parent: str, problems: Problems) -> str | None:
        directory = None
        if call.source_kind == "local":
            directory = posixpath.normpath(posixpath.join(parent, call.source))
            below = os.path.normpath(os.path.join(self.directory, directory))
            if not self.workspace.is_known(below) and not is_directory(below):
                detail = f"There is no directory {directory}."
                problems.error("unreadable_directory", "Module directory does not exist", detail, call.shown_span)
                directory = None
        else:
            manifest = InstalledModules(self._manifest, self.directory)
            if manifest.has(path, call):
                directory = manifest.locate(path, call, parent, problems)
            else:
                detail = (
                    f"The arguments and outputs of {call.name} are not checked. Run planner init, which installs it."
                )
                problems.warning("module_not_installed", "Module not installed", detail, call.shown_span)
        if directory is None:
            self._absent.add(path)
        elif not self.is_deep:
            self._places[path] = directory
        return directory if self.is_deep else None

    def _module(self, path: ModulePath, call: ModuleCall) -> ModuleConfig | None:
        """A called module that is not read yet, or a substitute if it is not installed. None if the call was not
        located."""
        if path in self._places:
            module = self.workspace.single_module(self.directory, self._places[path])
            return evolve(module, path=path, call=call, is_remote=call.source_kind != "local")
        return missing_module(path, call, self._text) if path in self._absent else None

    def _start(self, address: str) -> Provider:
        if address.startswith("terraform.io/builtin/"):
            return start_provider(address)
        try:
            return self._cached(address)
        except Failure as failure:
            self.missing[address] = failure.diagnostics[0]
        return guessed_provider(self._own, address, [self._text])

    def _cached(self, address: str) -> Provider:
        """A provider whose schemas are cached, in the version that is installed in this directory or in the directory
        of a root module that calls this module. Raises Failure."""
        folders = (self.directory, *self.workspace.roots_above(self.directory))
        wanted = provider_constraints(self._own)
        first: Failure | None = None
        for number, folder in enumerate(folders):
            if not number or os.path.isdir(os.path.join(folder, data_directory(os.environ))):
                provider = self.workspace.provider(folder, address, wanted)
                if not isinstance(provider, Failure):
                    return provider
                first = first or provider
        assert first is not None
        raise Failure(first.diagnostics)  # a new exception, because each raise extends the traceback

    def schema(self, mode: str, type: str, provider: str = "") -> BlockSchema | None:
        """The schema of a resource type; None if it is unknown. `provider`: local name of the provider; "" if the type
        implies it."""
        source = self.root.provider_source(provider or type.split("_", 1)[0])
        try:
            hit = self.schemas.resource(source, mode, type)
        except Failure:
            return None
        return hit.block if hit is not None else None

    def provider_schema(self, name: str) -> Any:
        """The schema of a provider by its local name; None if it is unknown."""
        try:
            source = self.root.provider_source(name)
            schema = self.schemas.schema(source)
        except Failure:
            return None
        return None if source in self.missing else schema

    @cached_property
    def provider_names(self) -> list[str]:
        """Local names of providers: `terraform`, and those that the module requires, configures or uses."""
        used = (decl.provider_name for decl in self.root.resources.values())
        names = {"terraform", *self.root.required_providers, *(p.name for p in self.root.providers.values()), *used}
        return sorted(names)

    # ---------------------------------------------------------------- values

    @cached_property
    def _scope(self) -> StaticScope:
        given = given_values(self._begun.given)
        return StaticScope(self.root.variables, self.root.locals, given, ".", ".", self._begun.workspace)

    def value(self, expr: Expr, name: str) -> Value | None:
        """The value of an expression that uses only variables and local values; None if the value is not known."""
        with self.reading():
            try:
                value = self._scope.evaluate(expr, name, expr.span, Problems())
            except (Failure, RecursionError):
                return None
        return value if value is not None and is_wholly_known(unmark_deep(value)[0]) else None

    def variable_value(self, name: str) -> Value | None:
        """The value of a variable: its supplied value or, without one, its default. None if there is neither, or if the
        value is not known."""
        with self.reading():
            try:
                value = self._scope.root_value(name, Problems()) if name in self.root.variables else None
            except (Failure, RecursionError):
                return None
        return value if value is not None and is_wholly_known(unmark_deep(value)[0]) else None

    def is_given(self, name: str) -> bool:
        """Whether a file or the environment supplies a value for a variable."""
        return name in self._begun.given

    def object_type(self, key: str) -> Type | None:
        """The type of a reference to the resource block `key`; None if it is unknown."""
        decl = self.root.resources.get(key)
        if decl is None:
            return None
        try:
            return self.schemas.find_object_type(self.root, decl)
        except Failure:
            return None

    # ---------------------------------------------------------------- all problems

    def validate(self) -> list[tuple[str, Diagnostic]]:
        """The diagnostics of the module and of called modules, as (file, diagnostic); the file is "" if a diagnostic
        has no place."""
        problems = list(self.problems)
        try:
            with self.reading():
                if not has_errors(problems):
                    problems += self._deeper()
                    problems += self._values()
        except Failure as failure:
            problems += failure.diagnostics
        except Exception as bad:
            problems.append(defect(bad))
        unique = {id(d): d for d in problems}
        return [(self.path(d.subject.filename) if d.subject is not None else "", d) for d in unique.values()]

    def _deeper(self) -> list[Diagnostic]:
        problems: list[Diagnostic] = []
        for address in sorted(needed_providers(self.config).started):
            try:
                self.schemas.provider(address)
            except Failure as failure:
                problems += failure.diagnostics
        if has_errors(problems):
            return problems
        options, begun = self._begun.options, self._begun
        loaded = Loaded(options, begun.workspace, begun.given, self.config, self.schemas, ())
        hit = validate_loaded(loaded)
        tests = problems_of_tests(loaded, "") if self._has_tests() else []
        if self.missing or self._absent:
            hit = [d for d in hit if not is_loose(d)]
        return [*hit, *tests, *self._notes()]

    def _has_tests(self) -> bool:
        return any(path.endswith("test.hcl") for path in self.workspace.module(self.directory).files)

    def _notes(self) -> Iterator[Diagnostic]:
        """A warning for each provider whose schema is unknown."""
        for address, why in sorted(self.missing.items()):
            where = next(
                (r.span for r in self.root.required_providers.values() if r.source == address and r.span is not None),
                next((d.type_span or d.span for d in self.root.resources.values()
                      if self.root.provider_source(d.provider_name) == address), None),
            )  # fmt: skip
            if where is not None:
                detail = f"{why.detail or why.summary} Its blocks are not checked against a schema."
                yield warning("provider.schema_not_cached", "Provider schema is not known", detail, where)

    def _values(self) -> Iterator[Diagnostic]:
        """The diagnostics about supplied values that do not match the declarations of their variables, except values
        from the environment."""
        given = {name: raw for name, raw in self._begun.given.items() if raw.origin != "environment"}
        return _placed(self.root.variables, given)


def values_problems(model: Model, path: str) -> list[Diagnostic]:
    """The diagnostics about a variables file. The file need not be one that is loaded automatically."""
    given, problems = collect_variables(model.directory, (("var-file", path),), {})
    if not model.config.files:
        return problems  # a variables file for a module in another directory
    given = {name: raw for name, raw in given.items() if raw.span is not None and raw.span.filename == path}
    return [*problems, *_placed(model.root.variables, given)]


def _placed(declared: Mapping[str, VariableDecl], given: RawVariables) -> Iterator[Diagnostic]:
    """The diagnostics about supplied values, with the places of the values."""
    for name, raw in given.items():
        of = {name: declared[name]} if name in declared else declared
        for problem in root_variables(of, {name: raw})[1]:
            if problem.code == "config.missing_variable":
                continue
            span = problem.subject
            is_here = raw.span is None or (span is not None and span.filename == raw.span.filename)
            yield problem if is_here else evolve(problem, subject=raw.span)
