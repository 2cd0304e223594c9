"""Declarations of encryption blocks, with unevaluated expressions."""

from __future__ import annotations

from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.syntax.body import Attribute, Body


@frozen(eq=False)
class NamedBlock:
    """A key_provider or method block. `alias`: the name of the key provider's metadata in encrypted files; "" for the
    default name, `key_provider.TYPE.NAME`."""

    type: str
    name: str
    body: Body
    alias: str = ""

    @property
    def address(self) -> str:
        return f"{self.type}.{self.name}"


@frozen(eq=False)
class TargetDecl:
    """A target block. `method` encrypts and decrypts; None if the argument is missing. `fallback`: another target,
    which is tried if decryption fails. `enforced`: whether the method `unencrypted` is forbidden."""

    method: Attribute | None
    span: Span
    fallback: TargetDecl | None = None
    enforced: bool = False


@frozen(eq=False)
class RemoteTarget:
    """The `remote_data_source` target for one data source of type `terraform_remote_state`. `name` is the address of
    the data source without `data.terraform_remote_state.` and without a leading `module.`."""

    name: str
    target: TargetDecl


@frozen(eq=False)
class EncryptionDecl:
    """The declarations of an encryption block, or of several blocks combined. `span`: the header of the block, if there
    is one."""

    key_providers: tuple[NamedBlock, ...] = ()
    methods: tuple[NamedBlock, ...] = ()
    state: TargetDecl | None = None
    plan: TargetDecl | None = None
    remote_default: TargetDecl | None = None
    remotes: tuple[RemoteTarget, ...] = ()
    span: Span | None = None
