"""Declarations of encryption blocks, with unevaluated expressions."""

from __future__ import annotations

from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.syntax.body import Attribute, Body


@frozen(eq=False)
class NamedBlock:
    """A key_provider or method block. `alias`: the name of its metadata in envelopes ("": `key_provider.` and its
    address)."""

    type: str
    name: str
    body: Body
    alias: str = ""

    @property
    def address(self) -> str:
        return f"{self.type}.{self.name}"


@frozen(eq=False)
class TargetDecl:
    """The method that encrypts, and the next one for decryption in `fallback`. `method` is None if it is missing.
    `enforced`: whether the method `unencrypted` is an error."""

    method: Attribute | None
    span: Span
    fallback: TargetDecl | None = None
    enforced: bool = False


@frozen(eq=False)
class RemoteTarget:
    """The target of a data source that reads a state. `name` is the address of the data source without
    `data.terraform_remote_state.` and without a leading `module.`."""

    name: str
    target: TargetDecl


@frozen(eq=False)
class EncryptionDecl:
    """An encryption block, or several combined. `span`: the header of the block, if there is one."""

    key_providers: tuple[NamedBlock, ...] = ()
    methods: tuple[NamedBlock, ...] = ()
    state: TargetDecl | None = None
    plan: TargetDecl | None = None
    remote_default: TargetDecl | None = None
    remotes: tuple[RemoteTarget, ...] = ()
    span: Span | None = None
