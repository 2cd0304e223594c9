"""What a command works on: its options, and what they name, loaded once: configuration, variables, state, schemas."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from planner.vocabulary.diagnostic import Diagnostic, has_errors

if TYPE_CHECKING:
    from planner.config.model import Config, ModuleConfig
    from planner.config.variables import RawVariables, RootVariable
    from planner.evaluation.schemas import Schemas
    from planner.provider.interface import AttributeDiagnostic
    from planner.provider.locate import Located
    from planner.state.backends.local import LocalBackend, StateStore
    from planner.state.model import State
    from planner.values.schema import BlockSchema
    from planner.values.value import Value


@frozen(eq=False)
class Options:
    """The flags that commands share. `var_args` are ("var", text) and ("var-file", path) in order."""

    directory: str = "."
    var_args: tuple[tuple[str, str], ...] = ()
    targets: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    replace: tuple[str, ...] = ()
    mode: str = "normal"
    refresh: bool = True
    parallelism: int = 10
    provider_parallelism: tuple[tuple[str, int], ...] = ()
    """bounds for single providers, by name"""
    lock: bool = True
    lock_timeout: float = 0.0
    state_path: str | None = None
    state_out: str | None = None
    backup: str | None = None
    generate_config_out: str | None = None
    compact_warnings: bool = False
    suppress_forget_errors: bool = False
    input: bool = True
    rules: tuple[str, ...] = ()
    """folders with rules of the user's own"""
    policies: tuple[str, ...] = ()
    """folders and files of policies, or builtin:NAME"""
    standing_policies: tuple[str, ...] = ()
    """the same of the organisation: nobody else adds to what they declare"""
    policy_overrides: tuple[str, ...] = ()
    """codes of denials that may pass"""
    policy_reason: str = ""
    """why they may"""
    needs_configuration: bool = False
    """a directory without configuration is refused, unless everything is to be destroyed"""
    ask_variable: Callable[[str, str, bool], str | None] | None = None
    """asks for the value of a variable (name, description, whether it is sensitive); None: nobody is there, or gave
    none"""
    inputs: Mapping[str, Any] = field(factory=dict)
    """values of root variables that come from elsewhere, and may be unknown; they win over all others"""
    pending_states: Mapping[str, str] = field(factory=dict)
    """states that are about to change (`planner.state.identity`), with what changes them: who reads one has to wait"""
    offline: bool = False
    """providers are not asked"""

    @property
    def judges(self) -> bool:
        """Whether plans are judged by policies."""
        return bool(self.policies or self.standing_policies)


@frozen(eq=False)
class Session:
    """What the options name, as far as it could be loaded: with errors among the diagnostics, parts may be None."""

    options: Options
    config: Config | None = None
    given: RawVariables = field(factory=dict)
    variables: dict[str, RootVariable] = field(factory=dict)
    workspace: str = "default"
    backend: LocalBackend | None = None
    store: StateStore | None = None
    state: State | None = None
    schemas: Any = None
    rules: tuple[tuple[str, str], ...] = ()
    """(path, text) of the user's own rule files"""
    diagnostics: tuple[Diagnostic, ...] = ()
    memory: dict[Any, Any] = field(factory=dict, repr=False)
    """what was derived from the configuration alone, for the next graph"""

    @property
    def failed(self) -> bool:
        return has_errors(self.diagnostics)


class SchemaTable:
    """The schemas of a session, in the form in which each stage asks for them. An unknown provider or type has none:
    validation is what reports it."""

    def __init__(self, schemas: Schemas) -> None:
        self.schemas = schemas

    def resource_schema(self, provider: str, mode: str, type: str) -> BlockSchema | None:
        from planner.vocabulary.diagnostic import Failure

        try:
            found = self.schemas.resource(provider, mode, type)
        except Failure:
            return None
        return found.block if found else None

    def provider_schema(self, provider: str) -> BlockSchema | None:
        from planner.vocabulary.diagnostic import Failure

        try:
            return self.schemas.schema(provider).provider
        except Failure:
            return None

    def provider_functions(self, provider: str) -> Collection[str] | None:
        from planner.vocabulary.diagnostic import Failure

        try:
            return self.schemas.schema(provider).functions
        except Failure:
            return None

    def provisioner_schema(self, type: str) -> BlockSchema | None:
        from planner.apply.provisioners import provisioner_schema

        return provisioner_schema(type)

    def provisioner_problems(self, type: str, config: Value | None) -> list[AttributeDiagnostic]:
        from planner.apply.provisioners import validate_provisioner

        return validate_provisioner(type, config)


def load_variables(options: Options) -> tuple[RawVariables, list[Diagnostic]]:
    """All values given for root variables."""
    from planner.config.variables import RawValue, collect_variables

    found, problems = collect_variables(options.directory, options.var_args)
    found.update((name, RawValue(name, "input", given=value)) for name, value in options.inputs.items())
    return found, problems


def load_configuration(options: Options) -> Session:
    """Configuration and given variables; neither state nor values."""
    from planner.config.load import load_config
    from planner.state.workspace import current_workspace, data_directory

    workspace, _, problems = current_workspace(options.directory, os.environ)
    given, more = load_variables(options)
    config, found = load_config(
        options.directory, variables=given, workspace=workspace, data_dir=data_directory(os.environ)
    )
    rules, wrong = load_rules(options)
    return Session(
        options,
        config,
        given,
        {},
        workspace,
        schemas=new_schemas(options.directory, config, options.offline),
        rules=rules,
        diagnostics=(*problems, *more, *found, *wrong),
    )


def load_rules(options: Options) -> tuple[tuple[tuple[str, str], ...], list[Diagnostic]]:
    """The user's own rule files, and what is wrong with them."""
    if not options.rules:
        return (), []
    from planner.graph.build import graph_program, user_files
    from planner.vocabulary.diagnostic import Failure

    try:
        found = user_files(options.rules)
        graph_program(found)
    except Failure as failure:
        return (), failure.diagnostics
    return found, []


def load_values(session: Session) -> tuple[dict[str, RootVariable], list[Diagnostic]]:
    """The values of the root variables. Those without any are asked for, where questions are welcome."""
    from planner.config.variables import RawValue, root_variables

    if session.config is None:
        return {}, []
    given, declared = dict(session.given), session.config.root.variables
    ask = session.options.ask_variable
    for name in sorted(declared) if ask is not None else ():
        if name not in given and declared[name].default is None:
            variable = declared[name]
            answer = ask(name, variable.description or "", variable.sensitive) if ask is not None else None
            if answer is not None:
                given[name] = RawValue(name, "input", answer)
    return root_variables(declared, given)


def new_schemas(directory: str = ".", config: Config | None = None, offline: bool = False) -> Schemas:
    """Schemas by provider; plugins are looked for from a directory, in versions that the configuration allows.
    `offline`: nothing but their schemas is used of them."""
    from planner.evaluation.schemas import Schemas
    from planner.provider.interface import Provider
    from planner.provider.registry import start_provider

    located: list[Any] = []

    def start(address: str) -> Provider:
        found = start_provider(address, locate)
        if offline and not found.is_inline:
            from planner.provider.offline import OfflineProvider

            return OfflineProvider(found)
        return found

    def locate(address: str) -> Located:
        if not located:
            from planner.provider.locate import Locator
            from planner.state.workspace import data_directory

            wanted = provider_constraints(config) if config is not None else {}
            located.append(Locator(directory, os.environ, wanted, data_directory(os.environ)))
        found: Located = located[0].locate(address)
        return found

    return Schemas(start)


def override_warnings(session: Session) -> list[Diagnostic]:
    """A warning when the user's settings replace providers by ones in development, which may do anything."""
    from planner.vocabulary.diagnostic import warning
    from planner.vocabulary.provider_address import BUILTIN

    if session.config is None or provider_addresses(session.config) <= {BUILTIN}:
        return []
    from planner.provider.cli_config import load_cli_config
    from planner.vocabulary.diagnostic import Failure

    try:
        overrides = load_cli_config(os.environ).overrides
    except Failure:
        return []  # reported where the provider is looked for
    if not overrides:
        return []
    lines = "".join(f"\n  - {address} in {overrides[address]}" for address in sorted(overrides))
    detail = (
        f"The settings of the command line tool name providers in development:{lines}\n\nThey may behave differently "
        "from any release, and a state that they wrote may not fit a released version."
    )
    return [warning("provider.overrides", "Provider development overrides are in effect", detail)]


def selection_problems(session: Session) -> list[Diagnostic]:
    """What is wrong with the dependency lock file: it must select every provider of the configuration."""
    from planner.vocabulary.diagnostic import Failure
    from planner.vocabulary.provider_address import BUILTIN

    if session.config is None or (addresses := provider_addresses(session.config)) <= {BUILTIN}:
        return []
    from planner.provider.cli_config import load_cli_config
    from planner.provider.lock_file import read_locks
    from planner.provider.selections import unmanaged, unselected

    try:
        overridden = {*load_cli_config(os.environ).overrides, *unmanaged(os.environ)}
        locks, problems = read_locks(session.options.directory)
    except Failure as failure:
        return failure.diagnostics
    return [*problems, *unselected(addresses, provider_constraints(session.config), locks, overridden)]


def provider_addresses(config: Config, required: bool = True) -> set[str]:
    """The providers that a configuration uses; those too that it only requires."""
    found = set()
    for module in config.root.walk():
        names = {r.provider_name for r in module.resources.values()} | set(
            module.required_providers if required else ()
        )
        names |= set(_imported_through(module))
        found |= {module.provider_source(name) for name in names | {p.name for p in module.providers.values()}}
    return found


def _imported_through(module: ModuleConfig) -> Iterator[str]:
    """The local names of providers for which configuration is to be generated: those of import blocks whose resource is
    not declared (yet)."""
    for block in module.imports:
        if block.target is not None and block.target.module.is_root and str(block.target) not in module.resources:
            yield block.provider.name if block.provider is not None else block.target.type.split("_", 1)[0]


def missing_providers(session: Session) -> list[Diagnostic]:
    """Why providers that the configuration uses cannot be had."""
    from planner.provider.registry import versions_of_builtin
    from planner.vocabulary.diagnostic import Failure
    from planner.vocabulary.provider_address import is_builtin

    assert session.config is not None
    found = versions_of_builtin(provider_constraints(session.config))
    used = provider_addresses(session.config, required=False)
    used |= {source for source in provider_addresses(session.config) if is_builtin(source)}
    for source in sorted(used):
        try:
            session.schemas.provider(source)
        except Failure as failure:
            found += failure.diagnostics
    return found


def provider_constraints(config: Config) -> dict[str, tuple[str, ...]]:
    """The version constraints of all modules by provider address."""
    found: dict[str, set[str]] = {}
    for module in config.root.walk():
        for required in module.required_providers.values():
            if required.version:
                found.setdefault(required.source, set()).add(required.version)
        for block in module.providers.values():
            if block.version:
                found.setdefault(module.provider_source(block.name), set()).add(block.version)
    return {address: tuple(sorted(texts)) for address, texts in found.items()}


def open_store(
    options: Options, config: Config | None, workspace: str, given: RawVariables
) -> tuple[LocalBackend | None, StateStore | None, list[Diagnostic]]:
    """The backend that holds the state, and the store of the workspace in it."""
    from planner.operations.backends import current_backend

    backend, problems = current_backend(options, config, workspace, given)
    if backend is None:
        return None, None, problems
    return backend, store_of(options, backend, workspace), problems


def store_of(options: Options, backend: LocalBackend, workspace: str) -> StateStore:
    """The store of a workspace, or the files that -state, -state-out and -backup name."""
    return backend.store(workspace, options.state_path or "", options.state_out or "", options.backup or "")
