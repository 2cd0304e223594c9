"""Loads the files of a stack into a StackConfig: components with their modules, child stacks, and deployments."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TypeVar

from planner.foundation.support.disk import list_directory, read_whole, real_path
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.directory import DATA_DIRECTORY, Manifest, folder_at, is_folder, is_module, read_manifest
from planner.language.config.load import InstalledModules, Locate, load_tree
from planner.language.config.model import (
    Config,
    LocalDecl,
    ModuleCall,
    ModulePath,
    OutputDecl,
    RequiredProvider,
    VariableDecl,
)
from planner.language.config.named_values import locals_block
from planner.language.config.provider_blocks import required_providers_block
from planner.language.config.reading import Problems, read
from planner.language.config.stack_files.components import (
    component_block,
    removed_component,
    stack_output,
    stack_provider,
    stack_variable,
)
from planner.language.config.stack_files.deployments import DeploymentFiles
from planner.language.config.stack_files.model import (
    ComponentDecl,
    Deployments,
    RemovedComponent,
    StackConfig,
    StackModule,
    StackProvider,
)
from planner.language.syntax.body import Body, BodySchema, ExpectedBlock
from planner.language.syntax.files import load_text

T = TypeVar("T")

_FILE = BodySchema(
    {},
    (
        *(ExpectedBlock(kind, ("name",)) for kind in ("component", "stack", "variable", "output")),
        ExpectedBlock("provider", ("type", "name")),
        ExpectedBlock("required_providers"),
        ExpectedBlock("locals"),
        ExpectedBlock("removed"),
    ),
)
DEEPEST = 32  # the maximum nesting depth of stacks


_INIT = "planner stacks init"


@frozen(eq=False)
class StackSources:
    """Locates the installed sources of a stack. `locate` locates the module of a component, or the directory of a child
    stack. `below` returns a function that locates the modules called by a component's module."""

    locate: Locate
    below: Callable[[ModulePath], Locate]
    shares: bool = True
    """whether a local module that several components use is loaded only once; False if each use must be recorded"""
    alike: Callable[[ModulePath, ModuleCall], ModulePath | None] = lambda path, call: path
    """the path under which the source of a `removed` block is installed: its own, or that of a component or another
    `removed` block with the same source; None if it is not installed"""


def installed(root_dir: str, manifest: Manifest) -> StackSources:
    """The sources that `init` recorded."""
    result = InstalledModules(manifest, root_dir, init=_INIT)

    def alike(path: ModulePath, call: ModuleCall) -> ModulePath | None:
        if result.has(path, call):
            return path
        stack = path[:-3]
        places = [tuple(key.split(".")) for key in sorted(manifest)]
        kinds = ((*stack, path[-2]), (*stack, *path[-3:-1]))
        return next((place for place in places if place[:-1] in kinds and result.has(place, call)), None)

    def below(path: ModulePath) -> Locate:
        return InstalledModules(manifest, root_dir, below=path, init=_INIT).locate

    return StackSources(result.locate, below, alike=alike)


def load_stack(
    root_dir: str = ".", *, places: StackSources | None = None, data_dir: str = DATA_DIRECTORY
) -> tuple[StackConfig, list[Diagnostic]]:
    """The stack in a directory, as far as it can be loaded, and the problems of its files. `places` replaces the
    sources recorded by `init`. References in the blocks of the stack are not checked."""
    problems = Problems()
    if places is None:
        manifest, item = read_manifest(root_dir, data_dir)
        problems.extend(item)
        places = installed(root_dir, manifest)
    loader = _StackLoader(root_dir, places)
    root = loader.stack((), ".", (real_path(root_dir),), problems)
    deployments = loader.deployments(problems)
    return StackConfig(root, deployments, loader.files), problems


class _Content:
    """The declarations in the component files of one directory."""

    def __init__(self) -> None:
        self.variables: dict[str, VariableDecl] = {}
        self.locals: dict[str, LocalDecl] = {}
        self.outputs: dict[str, OutputDecl] = {}
        self.required: dict[str, RequiredProvider] = {}
        self.providers: dict[str, StackProvider] = {}
        self.components: dict[str, ComponentDecl] = {}
        self.removed: list[RemovedComponent] = []
        self.requirements: Span | None = None

    def add(self, body: Body, problems: Problems) -> None:
        for block in read(body, _FILE, problems).blocks:
            kind, name = block.type, block.labels[-1].value if block.labels else ""
            if kind in ("component", "stack"):
                _put(self.components, f"{kind}.{name}", component_block(block, problems), problems)
            elif kind == "variable":
                _put(self.variables, name, stack_variable(block, problems), problems)
            elif kind == "output":
                _put(self.outputs, name, stack_output(block, problems), problems)
            elif kind == "provider":
                _put(
                    self.providers,
                    f"provider.{block.labels[0].value}.{name}",
                    stack_provider(block, problems),
                    problems,
                )
            elif kind == "locals":
                for local in locals_block(block, problems):
                    _put(self.locals, local.name, local, problems)
            elif kind == "removed":
                removed = removed_component(block, problems)
                self.removed += [] if removed is None else [removed]
            elif self.requirements is not None:
                detail = f"There is already a required_providers block at {self.requirements.place}."
                problems.error("duplicate", "Duplicate required_providers", detail, block.header_span)
            else:
                self.requirements = block.header_span
                self.required = required_providers_block(block, problems)


def _put(into: dict[str, T], name: str, made: T | None, problems: Problems) -> None:
    if made is None:
        return
    first = into.setdefault(name, made)
    if first is not made:
        kind = _KINDS.get(type(made), "component")
        kind = getattr(made, "kind", kind)
        short = name.removeprefix(f"{kind}.")
        detail = f'There is already a {kind} "{short}" at {first.span.place}.'  # type: ignore[attr-defined]
        problems.error("duplicate", f"Duplicate {kind}", detail, made.span)  # type: ignore[attr-defined]


_KINDS: Mapping[type, str] = {
    VariableDecl: "variable",
    OutputDecl: "output",
    LocalDecl: "local value",
    StackProvider: "provider configuration",
}


class _StackLoader:
    def __init__(self, root_dir: str, places: StackSources) -> None:
        self.root_dir, self.places = root_dir, places
        self.files: dict[str, str] = {}
        self.known: dict[tuple[str, str], Config] = {}

    # ------------------------------------------------------------ files

    def _bodies(self, directory: str, names: tuple[str, ...], problems: Problems) -> list[Body]:
        bodies = []
        for name in names:
            shown = posixpath.normpath(posixpath.join(directory, name))
            try:
                data = read_whole(os.path.join(folder_at(self.root_dir, directory), name))
            except OSError as bad:
                problems.error("unreadable_file", "Failed to read file", f"{shown}: {bad.strerror or bad}.")
                continue
            self.files[shown] = sha256(data).hexdigest()
            body, source, diagnostics = load_text(data, shown, False)
            problems.extend(diagnostics)
            if name.endswith(OLD):
                ending = name[name.rindex(".tfstack") :]
                detail = f"Files with component configuration end in {ending.replace('stack', 'component')} now."
                problems.warning("old_ending", "Deprecated file name", detail, Span(source, 0, 0))
            bodies += [] if body is None else [body]
        return bodies

    def deployments(self, problems: Problems) -> Deployments:
        result = DeploymentFiles()
        try:
            names = stack_files(self.root_dir).deployments
        except OSError:
            return result.result()  # reported when the components are read
        for body in self._bodies(".", names, problems):
            result.add(body, problems)
        return result.result()

    # ------------------------------------------------------------ stacks

    def stack(self, path: ModulePath, directory: str, above: tuple[str, ...], problems: Problems) -> StackModule:
        content = _Content()
        try:
            names = stack_files(folder_at(self.root_dir, directory)).components
        except OSError as bad:
            problems.error(
                "unreadable_directory", "Failed to read stack directory", f"{directory}: {bad.strerror or bad}."
            )
            names = ()
        for body in self._bodies(directory, names, problems):
            content.add(body, problems)
        components: dict[str, ComponentDecl] = {}
        children: dict[str, StackModule] = {}
        for key, component in sorted(content.components.items()):
            where = self._source_directory(path, component.kind, component.name, component.call, directory, problems)
            components[key] = component
            if where is None:
                continue
            if component.kind == "component":
                components[key] = evolve(component, config=self._module(path, component.call, where, problems))
            else:
                child = self._child(path, component, where, above, problems)
                children |= {} if child is None else {component.name: child}
        removed = [self._load_removed(path, number, r, directory, problems) for number, r in enumerate(content.removed)]
        return StackModule(
            path[1::2],
            directory,
            content.variables,
            content.locals,
            content.outputs,
            content.required,
            content.providers,
            components,
            tuple(removed),
            children,
        )

    def _source_directory(
        self, path: ModulePath, kind: str, name: str, call: ModuleCall, parent: str, problems: Problems
    ) -> str | None:
        where = self.places.locate((*path, kind, name), call, parent, problems)
        if where is None:
            return None
        full = folder_at(self.root_dir, where)
        if kind == "component" and not is_module(full):
            detail = f"There is no configuration (*.tf, *.tofu) in {where}."
            problems.error("empty_module", "No module", detail, call.shown_span)
            return None
        if kind == "stack" and not is_stack(full):
            detail = f"There is no stack (*.tfcomponent.hcl) in {where}."
            problems.error("empty_stack", "No stack", detail, call.shown_span)
            return None
        return where

    def _module(self, path: ModulePath, call: ModuleCall, where: str, problems: Problems) -> Config:
        below = (*path, "component", call.name)
        # a local module that is loaded only once has the path of its first caller
        key = (where, "" if self.places.shares and call.source_kind == "local" else ".".join(below))
        if key not in self.known:
            locate = self.places.below(below)
            config, item = load_tree(self.root_dir, variables=None, workspace="default", locate=locate, directory=where)
            problems.extend(item)
            self.known[key] = config
            self.files |= config.files
        return self.known[key]

    def _child(
        self, path: ModulePath, component: ComponentDecl, where: str, above: tuple[str, ...], problems: Problems
    ) -> StackModule | None:
        real = real_path(folder_at(self.root_dir, where))
        if len(above) > DEEPEST and real not in above:
            detail = f"The stack in {where} is nested more than {DEEPEST} levels deep."
            problems.error("cyclic_stack", "Stacks are nested too deeply", detail, component.span)
            return None
        if real in above:
            detail = f"The directory {where} is already being loaded: the stack would contain itself."
            problems.error("cyclic_stack", "Stack calls itself", detail, component.span)
            return None
        return self.stack((*path, "stack", component.name), where, (*above, real), problems)

    def _load_removed(
        self, path: ModulePath, number: int, removed: RemovedComponent, parent: str, problems: Problems
    ) -> RemovedComponent:
        """Load the module of a removed component, because the module's declarations determine how objects are
        destroyed. A child stack, or a module that is not installed, is not loaded: `removed` is returned unchanged."""
        place: ModulePath = (*path, "removed", removed.kind, f"{removed.name}-{number}")
        *base, _, name = self.places.alike(place, removed.call) or place
        where = self._source_directory(tuple(base), removed.kind, name, removed.call, parent, problems)
        if where is None or removed.kind == "stack":
            return removed
        return evolve(removed, config=self._module(tuple(base), evolve(removed.call, name=name), where, problems))


COMPONENTS = (".tfcomponent.hcl", ".tfcomponent.json", ".tfstack.hcl", ".tfstack.json")
DEPLOYMENTS = (".tfdeploy.hcl", ".tfdeploy.json")
OLD = (".tfstack.hcl", ".tfstack.json")  # suffixes of earlier versions of the language


@frozen
class StackFiles:
    """The sorted names of component files and of deployment files."""

    components: tuple[str, ...]
    deployments: tuple[str, ...]


def stack_files(directory: str) -> StackFiles:
    """The stack files of a directory, without hidden files and backups of editors. Raises OSError."""
    entries = list_directory(directory)
    names = sorted(entry.name for entry in entries if is_stack_file(entry.name) and not is_folder(entry))
    return StackFiles(
        tuple(name for name in names if name.endswith(COMPONENTS)),
        tuple(name for name in names if name.endswith(DEPLOYMENTS)),
    )


def is_stack_file(name: str) -> bool:
    if name.startswith(".") or name.endswith("~") or (name.startswith("#") and name.endswith("#")):
        return False
    return name.endswith((*COMPONENTS, *DEPLOYMENTS))


def is_stack(directory: str) -> bool:
    try:
        result = stack_files(directory)
    except OSError:
        return False
    return bool(result.components or result.deployments)
