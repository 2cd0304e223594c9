"""The model of a configuration: a tree of modules, each with its declarations and their syntax.

Only values that must be known early are evaluated: sources and versions of modules and providers, for_each of
providers, type constraints and defaults. Every declaration keeps its source location (span)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from planner.foundation.values.value import Value
from planner.foundation.vocabulary.address import ResourceAddress
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.release import COMPATIBLE_VERSION, NEXT, TERRAFORM
from planner.foundation.vocabulary.span import Source, Span
from planner.foundation.vocabulary.version_constraints import parse_constraints
from planner.language.config.sources import without_secrets
from planner.language.expressions.constraints import TypeConstraint
from planner.language.syntax.body import Attribute, Block, Body, BodySchema
from planner.language.syntax.nodes import Expression, Traversal, Variable

if TYPE_CHECKING:
    from planner.language.config.encryption_model import EncryptionDecl
    from planner.language.config.mocking import Mocking, Override

ModulePath: TypeAlias = tuple[str, ...]
Mode: TypeAlias = Literal["managed", "data", "ephemeral", "action", "list"]


@frozen(eq=False)
class Expr:
    """An expression and the source that contains it."""

    node: Expression
    source: Source

    @property
    def span(self) -> Span:
        return Span(self.source, self.node.start, self.node.end)


@frozen(eq=False)
class Reference:
    """A traversal where only an address is allowed (depends_on, ignore_changes, providers)."""

    node: Traversal | Variable
    source: Source

    @property
    def span(self) -> Span:
        return Span(self.source, self.node.start, self.node.end)


@frozen(eq=False)
class CheckRule:
    """A validation, precondition, postcondition or assertion."""

    condition: Expr
    error_message: Expr | None
    span: Span


@frozen(eq=False)
class VariableDecl:
    """The declaration in a `variable "name"` block. `default` is None if the variable is required; a null default is
    NULL."""

    name: str
    constraint: TypeConstraint
    default: Value | None
    description: str
    sensitive: bool
    ephemeral: bool
    nullable: bool
    validations: tuple[CheckRule, ...]
    deprecated: str | None
    span: Span
    default_span: Span | None = None
    const: bool | None = None  # whether static evaluation may use the variable; None if it is not set
    verbatim: bool = True
    """whether a value on the command line or in the environment is a literal string and not an expression"""


@frozen(eq=False)
class LocalDecl:
    name: str
    expr: Expr
    span: Span


@frozen(eq=False)
class OutputDecl:
    name: str
    value: Expr
    description: str
    sensitive: bool
    ephemeral: bool
    deprecated: str | None
    depends_on: tuple[Reference, ...]
    preconditions: tuple[CheckRule, ...]
    span: Span
    type: TypeConstraint | None = None  # the type to which the output's value is converted
    made_up: tuple[bool, Span] | None = None
    """if a test overrides the module: (whether the test sets this output, position of the override); an output that the
    test does not set is null"""


@frozen(eq=False)
class Provisioner:
    """A `provisioner` block. `when` is "create" or "destroy", `on_failure` "fail" or "continue"."""

    type: str
    when: str
    on_failure: str
    connection: Body | None
    body: Body
    span: Span
    connection_span: Span | None = None
    type_span: Span | None = None


@frozen(eq=False)
class ActionReference:
    """A reference to `action.TYPE.NAME`, possibly with the key of an instance."""

    type: str
    name: str
    key: Expr | None
    span: Span

    @property
    def action(self) -> str:
        """The key of the action in ModuleConfig.resources."""
        return f"action.{self.type}.{self.name}"


@frozen(eq=False)
class ActionTrigger:
    """An `action_trigger` block. `events` are in source order; `on_failure` is halt, continue or taint."""

    events: tuple[str, ...]
    condition: Expr | None
    actions: tuple[ActionReference, ...]
    on_failure: str
    span: Span


@frozen(eq=False)
class Lifecycle:
    """A `lifecycle` block. `ignore_changes` is "all" or attribute paths. `destroy` and `prevent_destroy` may be
    expressions."""

    create_before_destroy: bool | None = None
    prevent_destroy: Expr | None = None
    destroy: Expr | None = None
    ignore_changes: Literal["all"] | tuple[Reference, ...] = ()
    replace_triggered_by: tuple[Expr, ...] = ()
    preconditions: tuple[CheckRule, ...] = ()
    postconditions: tuple[CheckRule, ...] = ()
    span: Span | None = None
    create_before_destroy_span: Span | None = None
    action_triggers: tuple[ActionTrigger, ...] = ()


@frozen(eq=False)
class ProviderRef:
    """A reference to a provider configuration: `provider = aws.west`, or the local name that the resource type implies.
    `key` is the index expression in `aws.by_region[each.key]`. `span` covers the local name."""

    name: str
    alias: str | None = None
    key: Expr | None = None
    span: Span | None = None

    def __str__(self) -> str:
        return f"{self.name}.{self.alias}" if self.alias else self.name


@frozen(eq=False)
class ResourceDecl:
    """The declaration in a `resource`, `data`, `ephemeral`, `action` or (in query files) `list` block. `body` excludes
    meta-arguments; the provider's schema decodes it."""

    mode: Mode
    type: str
    name: str
    provider: ProviderRef | None
    count: Expr | None
    for_each: Expr | None
    enabled: Expr | None
    depends_on: tuple[Reference, ...]
    lifecycle: Lifecycle
    provisioners: tuple[Provisioner, ...]
    connection: Body | None
    body: Body
    span: Span  # the span of the header: `resource "type" "name"`
    block: Block
    check: str | None = None  # the check block that contains this data source
    connection_span: Span | None = None
    type_span: Span | None = None  # the span of the type label
    made_up: Override | None = None  # the mock that replaces the objects of this resource in a test

    @cached_property
    def key(self) -> str:
        """`type.name`, or `MODE.type.name` for modes other than managed. The key is unique in the module."""
        prefix = "" if self.mode == "managed" else f"{self.mode}."
        return f"{prefix}{self.type}.{self.name}"

    @cached_property
    def provider_name(self) -> str:
        """The provider's local name: from the argument `provider`, otherwise implied by the type (`aws_vpc` ->
        `aws`)."""
        return self.provider.name if self.provider else self.type.split("_", 1)[0]

    @property
    def provider_alias(self) -> str:
        """The alias of the provider configuration; "" for the configuration without an alias."""
        return (self.provider.alias if self.provider else None) or ""


@frozen(eq=False)
class ModuleCall:
    """The call in a `module "name"` block. `inputs` are the arguments for the called module. `providers` are pairs of a
    name in the called module and a configuration of the caller."""

    name: str
    source: str
    version: str | None
    count: Expr | None
    for_each: Expr | None
    enabled: Expr | None
    depends_on: tuple[Reference, ...]
    providers: tuple[tuple[ProviderRef, ProviderRef], ...]
    inputs: dict[str, Attribute]
    span: Span
    block: Block
    source_span: Span | None = None
    body: Body | None = None  # the block without meta-arguments; `inputs` are its attributes
    source_kind: str = "local"  # local, registry or remote
    source_is_constant: bool = True  # whether the source is a literal rather than a computed value
    written_source: str = ""  # the source before normalization

    @property
    def shown_span(self) -> Span:
        """The span for diagnostics about the source: the source argument, unless it contains a password or key."""
        return self.source_span if self.source_span and without_secrets(self.source) == self.source else self.span


@frozen(eq=False)
class UnresolvedCall:
    """A module block before its source and version are evaluated."""

    call: ModuleCall
    body: Body
    source: Attribute | None
    version: Attribute | None = field(default=None)

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def span(self) -> Span:
        return self.call.span


@frozen(eq=False)
class ProviderDecl:
    """A `provider "name"` block. A block with `for_each`, which requires an alias, has several instances."""

    name: str
    alias: str | None
    for_each: Expr | None
    body: Body
    span: Span
    name_span: Span | None = None
    version: str | None = None  # a version constraint (deprecated in provider blocks)
    instances: dict[str, Value] | None = None  # each.value by key, if the block has for_each
    mocking: Mocking | None = None  # the mocks that replace the provider in a test

    @property
    def key(self) -> str:
        return f"{self.name}.{self.alias}" if self.alias else self.name

    @property
    def is_empty(self) -> bool:
        """Whether the block has no settings of the provider. In a called module, an empty block is the deprecated way
        to declare that the caller must pass this configuration."""
        return self.version is None and not has_errors(self.body.content(BodySchema()).diagnostics)


@frozen(eq=False)
class RequiredProvider:
    """An entry of required_providers. `source` is the full address `host/namespace/type`."""

    name: str
    source: str
    version: str | None
    configuration_aliases: tuple[ProviderRef, ...]
    span: Span | None
    computed: dict[str, Expr] = field(factory=dict)
    """unevaluated expressions of `source` and `version`, if these refer to variables or local values"""


@frozen(eq=False)
class MovedDecl:
    """A `moved` block. `from_` and `to` are addresses relative to the module, as written in the block."""

    from_: str
    to: str
    span: Span
    from_span: Span
    to_span: Span


@frozen(eq=False)
class RemovedDecl:
    """A `removed` block. `destroy` comes from its lifecycle block; without one it is False, and objects are only
    forgotten. The provisioners run when an object is destroyed."""

    from_: str
    destroy: bool
    provisioners: tuple[Provisioner, ...]
    span: Span
    from_span: Span
    has_lifecycle: bool = True  # whether lifecycle.destroy is set explicitly


@frozen(eq=False)
class ImportDecl:
    """An `import` block. `to` is a traversal, which may contain index expressions. The object has either an `id` or an
    `identity`."""

    to: Expr
    id: Expr | None
    identity: Expr | None
    for_each: Expr | None
    provider: ProviderRef | None
    span: Span
    target: ResourceAddress | None = None  # the resource in `to`, without keys
    instance: ResourceAddress | None = None  # the instance in `to`, if all its keys are constants


@frozen(eq=False)
class CheckDecl:
    name: str
    data: ResourceDecl | None
    assertions: tuple[CheckRule, ...]
    span: Span


@frozen(eq=False)
class BackendDecl:
    """A `backend "type"` block (or a `cloud` block, with the type "cloud")."""

    type: str
    body: Body
    span: Span


@frozen(eq=False)
class LanguageStatement:
    """A statement about the program for which a module is written. `language` is opentofu or terraform; `constraint` is
    a version constraint on that program, or ""."""

    language: str
    constraint: str
    where: Span | str  # the span of the constraint, or the name of the file

    @property
    def requested(self) -> str:
        """The language that the statement requires: TERRAFORM, or NEXT (OpenTofu's next version). "" if there is no
        constraint, or if the constraint allows version 1.12."""
        if not self.constraint or parse_constraints(self.constraint).allows(COMPATIBLE_VERSION):
            return ""
        return TERRAFORM if self.language == TERRAFORM else NEXT


@frozen(eq=False)
class ModuleConfig:
    """One module: the declarations of its files, with overrides applied, and the modules that it calls."""

    path: ModulePath
    directory: str
    call: ModuleCall | None  # the call of this module; None for the root
    variables: dict[str, VariableDecl] = field(factory=dict)
    locals: dict[str, LocalDecl] = field(factory=dict)
    outputs: dict[str, OutputDecl] = field(factory=dict)
    resources: dict[str, ResourceDecl] = field(factory=dict)
    """resources of all modes by ResourceDecl.key, including data sources in check blocks"""
    calls: dict[str, ModuleCall] = field(factory=dict)
    providers: dict[str, ProviderDecl] = field(factory=dict)
    required_providers: dict[str, RequiredProvider] = field(factory=dict)
    moved: tuple[MovedDecl, ...] = ()
    removed: tuple[RemovedDecl, ...] = ()
    imports: tuple[ImportDecl, ...] = ()
    checks: dict[str, CheckDecl] = field(factory=dict)
    backend: BackendDecl | None = None
    provider_metas: dict[str, Body] = field(factory=dict)  # provider_meta blocks by local provider name
    encryption: EncryptionDecl | None = None  # used only in the root module
    children: dict[str, ModuleConfig] = field(factory=dict)
    languages: tuple[LanguageStatement, ...] = ()
    is_remote: bool = False  # whether this module, or a module above it, has a source that is not local

    def provider_source(self, local_name: str) -> str:
        """The full address of the provider with this local name: from required_providers, otherwise the address that
        the name implies."""
        required = self.required_providers.get(local_name)
        if required is not None:
            return required.source
        if local_name == "terraform":
            return "terraform.io/builtin/terraform"
        return f"registry.opentofu.org/hashicorp/{local_name}"

    def provider_block(self, source: str, alias: str) -> ProviderDecl | None:
        """The provider block of this module for a full address and an alias ("": the default configuration); None if
        there is none."""
        for block in self.providers.values():
            if (block.alias or "") == alias and self.provider_source(block.name) == source:
                return block
        return None

    def walk(self) -> Iterator[ModuleConfig]:
        """This module and all modules below it, parents first, siblings by name."""
        yield self
        for name in sorted(self.children):
            yield from self.children[name].walk()

    def descendant(self, path: ModulePath) -> ModuleConfig | None:
        here: ModuleConfig | None = self
        for name in path:
            here = here.children.get(name) if here else None
        return here


@frozen(eq=False)
class Config:
    """The module tree. `files`: SHA-256 of each file that was read, by path, for caches and batch selection."""

    root: ModuleConfig
    files: dict[str, str] = field(factory=dict)
    root_warnings: tuple[Diagnostic, ...] = ()
    """warnings about the root module's own files; a plan reports them twice, because it also reads these files to
    determine the backend"""
