"""The model of stack files: components, child stacks, providers and removed components, deployments, and the blocks for
their approval. Expressions are stored unevaluated, except those that must be known when the files are loaded, such as
sources, types and defaults.

Source: HashiCorp's public documentation of Terraform Stacks (block reference)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import (
    Config,
    Expr,
    LocalDecl,
    ModuleCall,
    OutputDecl,
    ProviderRef,
    Reference,
    RequiredProvider,
    VariableDecl,
)
from planner.language.syntax.body import Body

StackPath = tuple[str, ...]  # names of `stack` blocks, outermost first
Kind = Literal["component", "stack"]


@frozen(eq=False)
class ProviderSource:
    """A reference to a provider configuration of the stack: `provider.TYPE.ALIAS`, possibly with a key."""

    type: str
    alias: str
    key: Expr | None
    span: Span

    @property
    def name(self) -> str:
        return f"provider.{self.type}.{self.alias}"


@frozen(eq=False)
class StackCall:
    """The common parts of `component`, `stack` and `removed` blocks. `call` represents the source of the component or
    child stack as a module call, because this source is installed like the source of a module."""

    kind: Kind
    name: str
    call: ModuleCall
    inputs: Expr | None
    providers: tuple[tuple[ProviderRef, ProviderSource], ...]
    """(name in the module, configuration of the stack); empty for child stacks"""
    for_each: Expr | None
    span: Span
    config: Config | None  # the module and the modules that it calls, once loaded


@frozen(eq=False)
class ComponentDecl(StackCall):
    """A `component "NAME"` or `stack "NAME"` block."""

    depends_on: tuple[Reference, ...]

    @property
    def key(self) -> str:
        """`component.NAME` or `stack.NAME`, unique in the stack."""
        return f"{self.kind}.{self.name}"


@frozen(eq=False)
class StackProvider:
    """The provider configuration in a `provider "TYPE" "ALIAS"` block. The provider's schema decodes `config`."""

    type: str
    alias: str
    for_each: Expr | None
    config: Body | None
    span: Span

    @property
    def key(self) -> str:
        return f"provider.{self.type}.{self.alias}"


@frozen(eq=False)
class RemovedComponent(StackCall):
    """A `removed` block: what happens to the objects of a component or child stack that is no longer declared. `key`:
    the key of the only instance that is removed; None for all instances. `destroy`: False if the objects are only
    forgotten."""

    key: Expr | None
    destroy: bool
    from_span: Span


@frozen(eq=False)
class StackModule:
    """One stack: the declarations of its component files, and its child stacks."""

    path: StackPath
    directory: str
    variables: Mapping[str, VariableDecl] = field(factory=dict)
    locals: Mapping[str, LocalDecl] = field(factory=dict)
    outputs: Mapping[str, OutputDecl] = field(factory=dict)
    required_providers: Mapping[str, RequiredProvider] = field(factory=dict)
    providers: Mapping[str, StackProvider] = field(factory=dict)  # by `provider.TYPE.ALIAS`
    components: Mapping[str, ComponentDecl] = field(factory=dict)
    """components and child stacks, by `component.NAME` or `stack.NAME`"""
    removed: tuple[RemovedComponent, ...] = ()
    children: Mapping[str, StackModule] = field(factory=dict)  # child stacks by the names of their `stack` blocks

    @property
    def calls(self) -> tuple[StackCall, ...]:
        return (*self.components.values(), *self.removed)

    def walk(self) -> Iterator[StackModule]:
        """This stack and all stacks below it, parents first, siblings by name."""
        yield self
        for name in sorted(self.children):
            yield from self.children[name].walk()


# ---------------------------------------------------------------- deployments


@frozen(eq=False)
class Deployment:
    """The declaration in a `deployment "NAME"` block. `group`: the name of the deployment group; None if the deployment
    is the only one in its group, which is called `NAME_default`."""

    name: str
    inputs: Expr | None
    group: str | None
    group_span: Span | None
    destroy: Expr | None
    imported: Expr | None
    span: Span


@frozen(eq=False)
class DeploymentGroup:
    """A group of deployments. `checks`: the names of its `deployment_auto_approve` blocks with their spans."""

    name: str
    checks: tuple[tuple[str, Span], ...]
    span: Span


@frozen(eq=False)
class ApprovalCheck:
    """A `check` block of an approval rule. `reason`: the message if the condition is false."""

    condition: Expr
    reason: Expr | None
    span: Span


@frozen(eq=False)
class ApprovalRule:
    """A `deployment_auto_approve "NAME"` block, or a block of the older form `orchestrate "KIND" "NAME"`, which applies
    to all deployments."""

    name: str
    checks: tuple[ApprovalCheck, ...]
    span: Span
    orchestrates: Literal["", "auto_approve", "replan"] = ""


@frozen(eq=False)
class IdentityToken:
    name: str
    audience: Expr | None
    span: Span


@frozen(eq=False)
class ValueStore:
    """A `store "TYPE" "NAME"` block. `settings` are its arguments."""

    type: str
    name: str
    settings: Mapping[str, Expr]
    span: Span


@frozen(eq=False)
class PublishedOutput:
    name: str
    value: Expr
    description: str
    span: Span


@frozen(eq=False)
class UpstreamInput:
    """An `upstream_input "NAME"` block: it provides the outputs that the stack at `source` published last."""

    name: str
    source: str
    span: Span
    source_span: Span


@frozen(eq=False)
class Deployments:
    """The content of all deployment files of a stack."""

    deployments: Mapping[str, Deployment] = field(factory=dict)
    groups: Mapping[str, DeploymentGroup] = field(factory=dict)
    rules: Mapping[str, ApprovalRule] = field(factory=dict)
    orchestrations: tuple[ApprovalRule, ...] = ()
    tokens: Mapping[str, IdentityToken] = field(factory=dict)
    stores: Mapping[str, ValueStore] = field(factory=dict)  # stores by `TYPE.NAME`
    published: Mapping[str, PublishedOutput] = field(factory=dict)
    upstream: Mapping[str, UpstreamInput] = field(factory=dict)
    locals: Mapping[str, LocalDecl] = field(factory=dict)


@frozen(eq=False)
class StackConfig:
    """A stack with its deployments. `files`: SHA-256 of each file that was read, by path."""

    root: StackModule
    deployments: Deployments
    files: dict[str, str] = field(factory=dict)
