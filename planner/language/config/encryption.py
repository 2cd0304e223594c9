"""Reads `terraform { encryption { ... } }` and the environment variable TF_ENCRYPTION: key providers, methods, and the
methods of each target. Expressions are not evaluated here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.encryption_model import EncryptionDecl, NamedBlock, RemoteTarget, TargetDecl
from planner.language.config.merge import OverriddenBody
from planner.language.config.reading import Problems, constant_bool, constant_string, read, read_some
from planner.language.syntax.body import Block, Body, BodySchema, ExpectedBlock
from planner.language.syntax.json_body import parse_json
from planner.language.syntax.parse import parse_config

VARIABLE = "TF_ENCRYPTION"
_LABELS = ("type", "name")
_BODY = BodySchema(
    {},
    (
        ExpectedBlock("key_provider", _LABELS),
        ExpectedBlock("method", _LABELS),
        ExpectedBlock("state"),
        ExpectedBlock("plan"),
        ExpectedBlock("remote_state_data_sources"),
    ),
)
_ALIAS = BodySchema({"encrypted_metadata_alias": False})
_TARGET = BodySchema({"method": False}, (ExpectedBlock("fallback"),))
_ENFORCEABLE = BodySchema({"method": False, "enforced": False}, (ExpectedBlock("fallback"),))
_REMOTE = BodySchema({}, (ExpectedBlock("default"), ExpectedBlock("remote_state_data_source", ("name",))))
_NAME = re.compile(r"[a-zA-Z_0-9-]+")
_NAME_SHOWN = "^([a-zA-Z_0-9-]+)$"
T = TypeVar("T", "NamedBlock", "RemoteTarget")


# ---------------------------------------------------------------- reading


def encryption_block(body: Body, span: Span, problems: Problems) -> EncryptionDecl | None:
    """The declarations in an encryption block; None if it has errors (reported)."""
    mine = Problems()
    decl = _read(body, span, mine)
    problems.extend(mine)
    return None if mine.has_errors else decl


def from_text(text: str) -> tuple[EncryptionDecl | None, list[Diagnostic]]:
    """The declarations in the value of TF_ENCRYPTION (None if it has errors), and the problems. Because the value may
    contain keys, the problems never show it. The value is JSON if it begins with a brace, otherwise native syntax."""
    source = Source(VARIABLE, text, is_secret=True)
    is_json = text.lstrip()[:1] == "{"
    body, item = parse_json(source) if is_json else parse_config(source)
    problems = Problems(item)
    if body is None or problems.has_errors:
        return None, problems
    return encryption_block(body, Span(source, 0, 0), problems), problems


def _read(body: Body, span: Span, problems: Problems) -> EncryptionDecl:
    content = read(body, _BODY, problems)
    single: dict[str, Block] = {}
    providers: list[NamedBlock] = []
    methods: list[NamedBlock] = []
    for block in content.blocks:
        if block.type == "key_provider":
            providers.append(_key_provider(block, problems))
        elif block.type == "method":
            methods.append(_named_block(block))
        else:
            _once(single, block, problems)
    state, plan = (
        _target(single[name].body, _ENFORCEABLE, problems) if name in single else None for name in ("state", "plan")
    )
    default: TargetDecl | None = None
    remotes: tuple[RemoteTarget, ...] = ()
    if "remote_state_data_sources" in single:
        default, remotes = _remote(single["remote_state_data_sources"].body, problems)
    if not problems.has_errors:
        _check_names(providers, "key_provider", "key provider", span, problems)
        _check_names(methods, "method", "encryption method", span, problems)
        for remote in _repeated_names(remotes, lambda r: r.name):
            detail = f"Found multiple instances of remote_data_source.{remote.name}"
            problems.error("duplicate_remote_data_source", "Duplicate remote_data_source", detail, span)
    return EncryptionDecl(tuple(providers), tuple(methods), state, plan, default, remotes, span)


def _once(single: dict[str, Block], block: Block, problems: Problems) -> None:
    if block.type not in single:
        single[block.type] = block
        return
    detail = f"Only one {block.type} block is allowed. Another was defined at {_place(single[block.type])}."
    problems.error("duplicate_block", f"Duplicate {block.type} block", detail, block.header_span)


def _place(block: Block) -> str:
    span = block.header_span
    start, end = span.start_position, span.end_position
    return f"{span.filename}:{start.line},{start.column}-{end.column}"


def _named_block(block: Block) -> NamedBlock:
    return NamedBlock(block.labels[0].value, block.labels[1].value, block.body)


def _key_provider(block: Block, problems: Problems) -> NamedBlock:
    content, rest = read_some(block.body, _ALIAS, problems)
    attribute = content.attributes.get("encrypted_metadata_alias")
    alias = constant_string(attribute, problems) if attribute is not None else None
    return evolve(_named_block(block), body=rest, alias=alias or "")


def _target(body: Body, schema: BodySchema, problems: Problems) -> TargetDecl:
    content = read(body, schema, problems)
    enforced = False
    if "enforced" in content.attributes:
        enforced = constant_bool(content.attributes["enforced"], problems) or False
    fallback: dict[str, Block] = {}
    for block in content.blocks:
        _once(fallback, block, problems)
    below = _target(fallback["fallback"].body, _TARGET, problems) if fallback else None
    method = content.attributes.get("method")
    return TargetDecl(method, method.expr_span if method is not None else body.missing_span, below, enforced)


def _remote(body: Body, problems: Problems) -> tuple[TargetDecl | None, tuple[RemoteTarget, ...]]:
    single: dict[str, Block] = {}
    named = []
    for block in read(body, _REMOTE, problems).blocks:
        if block.type == "default":
            _once(single, block, problems)
        else:
            named.append(RemoteTarget(block.labels[0].value, _target(block.body, _TARGET, problems)))
    default = _target(single["default"].body, _TARGET, problems) if single else None
    return default, tuple(named)


def _repeated_names(items: tuple[T, ...] | list[T], name: Callable[[T], str]) -> list[T]:
    names = [name(item) for item in items]
    return [item for item in items if names.count(name(item)) > 1]


def _check_names(blocks: list[NamedBlock], kind: str, words: str, span: Span, problems: Problems) -> None:
    twice = _repeated_names(blocks, lambda b: b.address)
    for block in blocks:
        if block in twice:
            detail = f"Found multiple instances of {kind}.{block.address}"
            problems.error(f"duplicate_{kind}", f"Duplicate {kind}", detail, span)
        for label, text in (("type", block.type), ("name", block.name)):
            if _NAME.fullmatch(text) is None:
                title = f"The provided {words} {label} is invalid"
                detail = f"The supplied {words} {label} ({text}) does not match the required form of {_NAME_SHOWN}."
                problems.error("encryption_name", title, detail)


# ---------------------------------------------------------------- combination of two blocks


def override_encryption(base: EncryptionDecl | None, over: EncryptionDecl) -> EncryptionDecl:
    """Combine an encryption block with one from an override file or the environment; the settings in `over` take
    precedence."""
    if base is None:
        return over
    return EncryptionDecl(
        _blocks(base.key_providers, over.key_providers),
        _blocks(base.methods, over.methods),
        _targets(base.state, over.state),
        _targets(base.plan, over.plan),
        _targets(base.remote_default, over.remote_default),
        _remotes(base.remotes, over.remotes),
        base.span,
    )


def _blocks(base: tuple[NamedBlock, ...], over: tuple[NamedBlock, ...]) -> tuple[NamedBlock, ...]:
    table = {block.address: block for block in base}
    for block in over:
        known = table.get(block.address)
        table[block.address] = block if known is None else evolve(known, body=OverriddenBody(known.body, block.body))
    return tuple(table.values())


def _targets(base: TargetDecl | None, over: TargetDecl | None) -> TargetDecl | None:
    if base is None or over is None:
        return over if base is None else base
    kept = over if over.method is not None else base
    return TargetDecl(kept.method, kept.span, over.fallback or base.fallback, base.enforced or over.enforced)


def _remotes(base: tuple[RemoteTarget, ...], over: tuple[RemoteTarget, ...]) -> tuple[RemoteTarget, ...]:
    item: Mapping[str, TargetDecl] = {remote.name: remote.target for remote in base}
    both = dict(item)
    for remote in over:
        target = _targets(both.get(remote.name), remote.target)
        assert target is not None
        both[remote.name] = target
    return tuple(RemoteTarget(name, target) for name, target in both.items())
