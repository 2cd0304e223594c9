"""Evaluates an encryption block: sets up the methods of targets with their keys.

Settings are evaluated when a method is set up, because the settings of a key provider may use the keys of another key
provider. The first method of each target is set up at once, its fallbacks only when encrypted data is to be read with
them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner.foundation.encryption.envelope import members
from planner.foundation.encryption.keys import (
    EncryptionArguments,
    Key,
    Keys,
    Metadata,
    MetadataError,
    ProviderError,
    Setting,
    decode_metadata,
    method_module,
    provider_module,
)
from planner.foundation.encryption.target import InvalidMethodError, Ready, Target
from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.types import NUMBER, ListType, Type, friendly_name
from planner.foundation.values.value import (
    UNKNOWN,
    List,
    Map,
    Null,
    Set,
    Unknown,
    Value,
    is_null,
    is_wholly_known,
    type_of,
    unmark_deep,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.encryption_model import EncryptionDecl, NamedBlock, TargetDecl
from planner.language.config.model import Expr
from planner.language.config.reading import Problems, expr_of, piece, read, traversal_from_text, traversal_node
from planner.language.config.static import StaticScope
from planner.language.syntax import nodes
from planner.language.syntax.body import Attribute, Body, BodySchema, ExpectedBlock, variables
from planner.language.syntax.nodes import GetAttr, Literal, Traversal, Variable, Wrap

UNENCRYPTED = "unencrypted"
_ONLY_REFERENCES = (
    "A single static variable reference is required: only attribute access and indexing with constant keys. No "
    "calculations, function calls, template expressions, etc are allowed here."
)
Name = tuple[str, str]  # (type, name) of a key provider


def method_warnings(decl: EncryptionDecl) -> list[Diagnostic]:
    detail = (
        "Method unencrypted is present in configuration. This is a security risk and should only be enabled during "
        "migrations."
    )
    title = "Unencrypted method configured"
    items = [method for method in decl.methods if method.type == UNENCRYPTED]
    return [warning("config.unencrypted_method", title, detail, decl.span) for _ in items]


def set_up_target(
    decl: EncryptionDecl, target: TargetDecl, name: str, scope: StaticScope, is_clear: Callable[[bytes], str]
) -> Target:
    """The target with its first method set up. Raises Failure."""
    problems = Problems()
    methods = _methods(decl, target, problems)
    if target.enforced and any(method.type == UNENCRYPTED for method in methods):
        detail = "Unable to use unencrypted method since the enforced flag is set."
        problems.error("unencrypted_forbidden", "Unencrypted method is forbidden", detail, decl.span)
    if problems.has_errors:
        raise Failure(problems)
    return Target(name, [ConfiguredMethod(decl, method, scope) for method in methods], is_clear)


def _methods(decl: EncryptionDecl, target: TargetDecl | None, problems: Problems) -> list[NamedBlock]:
    """The method of a target, then those of its fallbacks, in the order in which decryption tries them. Invalid
    references are reported."""
    methods: list[NamedBlock] = []
    while target is not None:
        node = traversal_node(piece(target.method)) if target.method is not None else None
        if node is None:
            problems.error("reference_required", "Invalid expression", _ONLY_REFERENCES, target.span)
        else:
            words = _words(node)
            if words is None or words[0] != "method":
                detail = "Expected method of form method.<type>.<name>"
                problems.error("method_identifier", "Invalid encryption method identifier", detail, target.span)
                break
            items = [m for m in decl.methods if (m.type, m.name) == words[1:]]
            if not items:
                title = "Reference to undeclared encryption method"
                detail = f'There is no method "{words[1]}" "{words[2]}" block declared in the encryption block.'
                problems.error("undeclared_method", title, detail, target.span)
            methods += items
        target = target.fallback
    return methods


def _words(node: Traversal | Variable) -> tuple[str, str, str] | None:
    """The names in `a.b.c`; None for other expressions."""
    if not isinstance(node, Traversal) or len(node.steps) != 2:
        return None
    first, second = node.steps
    if not isinstance(first, GetAttr) or not isinstance(second, GetAttr):
        return None
    return node.root, first.name, second.name


@frozen(eq=False)
class ConfiguredMethod:
    """A method block that can be set up. Implements Candidate (planner.foundation.encryption.target)."""

    decl: EncryptionDecl
    block: NamedBlock
    scope: StaticScope

    @property
    def is_unencrypted(self) -> bool:
        return self.block.type == UNENCRYPTED

    def set_up(self, metadata: Mapping[str, bytes]) -> Ready:
        """Set up the method with its keys. `metadata`: the metadata of key providers in the encrypted file. Raises
        Failure."""
        return _SetUp(self.decl, self.scope, metadata).method(self.block)


@frozen(eq=False)
class _SetUp:
    """Sets up one method and the key providers that it uses. `given`: the metadata of key providers that were read from
    the encrypted file. `kept`: the metadata to store with newly encrypted data."""

    decl: EncryptionDecl
    scope: StaticScope
    given: Mapping[str, bytes]
    keys: dict[Name, Keys | None] = field(factory=dict)
    """the keys by key provider; None while the key provider is being set up"""
    kept: dict[str, bytes] = field(factory=dict)

    def method(self, block: NamedBlock) -> Ready:
        module = method_module(block.type)
        if module is None:
            title = f'Error fetching encryption method "{block.type}"'
            detail = f"encryption method with ID {block.type} not found"
            raise Failure(error("config.unknown_method", title, detail))
        settings = self._settings(block.body, module.SETTINGS, f"encryption.method.{block.address}")
        try:
            return Ready(module.build(settings), self.kept)
        except InvalidMethodError as bad:
            title = "Invalid method configuration"
            raise Failure(error("config.invalid_method", title, f"invalid method configuration: {bad}")) from None

    # ------------------------------------------------------------ key providers

    def _provider(self, name: Name, where: Span) -> Keys | None:
        """The keys of a key provider; None if it is already being set up, which means that key providers refer to each
        other in a cycle. Raises Failure."""
        if name in self.keys:
            return self.keys[name]
        block = next((b for b in self.decl.key_providers if (b.type, b.name) == name), None)
        if block is None:
            title = "Reference to undeclared key provider"
            detail = f'There is no key_provider "{name[0]}" "{name[1]}" block declared in the encryption block.'
            raise Failure(error("config.undeclared_key_provider", title, detail, where))
        self.keys[name] = None
        module = provider_module(block.type)
        if module is None:
            title = f'Error fetching key_provider "{block.type}"'
            raise Failure(error("config.unknown_key_provider", title, f"key provider with ID {block.type} not found"))
        settings = self._settings(block.body, module.SETTINGS, f"encryption.key_provider.{block.address}")
        self.keys[name] = keys = self._provide_keys(module, block, settings)
        return keys

    def _provide_keys(self, module: Any, block: NamedBlock, settings: Mapping[str, Any]) -> Keys:
        address = f"key_provider.{block.address}"
        label = block.alias or address
        try:
            provider = module.build(settings)
        except ProviderError as bad:
            raise Failure(_failure("Unable to build encryption key data", label, bad)) from None
        undecodable = "Unable to decode encrypted metadata (did you change your encryption config?)"
        try:
            metadata = decode_metadata(self.given.get(label))
            provided: tuple[Keys, Metadata] = provider.provide(metadata)
        except MetadataError as bad:
            detail = f"metadata decoder for {label} failed with error: {bad}"
            raise Failure(error("config.key_metadata", undecodable, detail)) from None
        except ProviderError as bad:
            raise Failure(_failure("Unable to fetch encryption key data", label, bad)) from None
        keys, kept = provided
        if label in self.kept:
            detail = (
                f"The metadata key {label} is duplicated across multiple key providers for the same method; use the "
                "encrypted_metadata_alias option to specify unique metadata keys for each key provider in an "
                "encryption method"
            )
            raise Failure(error("config.duplicate_metadata", "Duplicate metadata key", detail))
        self.kept[label] = members(kept)
        if keys.decryption is None and metadata is None:
            return Keys(keys.encryption, None, f"the encrypted data has no metadata of {label}" if self.given else "")
        if keys.decryption is None:
            return Keys(keys.encryption, None, f"{label}: {keys.without_decryption}" if keys.without_decryption else "")
        return keys

    # ------------------------------------------------------------ settings

    def _settings(self, body: Body, settings: EncryptionArguments, subject: str) -> dict[str, Any]:
        """The arguments of a block by name, as Python values. Raises Failure with all errors."""
        problems = Problems()
        schema = BodySchema(
            {name: setting.required for name, setting in settings.arguments.items()},
            tuple(ExpectedBlock(name) for name in settings.blocks),
        )
        content = read(body, schema, problems)
        if problems.has_errors:
            raise Failure(problems)
        given = self._arguments(content.attributes, settings.arguments, subject, problems)
        for block in content.blocks:
            if block.type in given:
                detail = f"Only one {block.type} block is allowed."
                problems.error("duplicate_block", f"Duplicate {block.type} block", detail, block.header_span)
                continue
            arguments = settings.blocks[block.type]
            inner = read(block.body, BodySchema({name: s.required for name, s in arguments.items()}), problems)
            given[block.type] = self._arguments(inner.attributes, arguments, subject, problems)
        if problems.has_errors:
            raise Failure(problems)
        return given

    def _arguments(
        self, attributes: Mapping[str, Attribute], settings: Mapping[str, Setting], subject: str, problems: Problems
    ) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for name, setting in settings.items():
            attribute = attributes.get(name)
            if attribute is None:
                continue
            try:
                value = self._keys(attribute, subject) if setting.keys else self._plain(attribute, setting, subject)
            except Failure as failure:
                problems.extend(failure.diagnostics)
                continue
            if value is not None:
                given[name] = value
        return given

    def _plain(self, attribute: Attribute, setting: Setting, subject: str) -> Any:
        """An argument as a Python value; None for null. Raises Failure."""
        value = self._value(attribute, subject)
        try:
            value = convert_value(value, setting.type)
            if is_null(value) and not setting.nullable:
                raise ConversionError("null value is not allowed")
            return plain_value(value)
        except ConversionError as bad:
            raise Failure(_unsuitable(attribute, str(bad))) from None

    def _keys(self, attribute: Attribute, subject: str) -> Keys:
        """The keys in an argument, which either refers to a key provider or contains the keys as values. Raises
        Failure."""
        where = attribute.expr_span
        name = _provider_name(attribute)
        if name is not None:
            keys = self._provider(name, where)
            if keys is None:
                raise Failure(_no_keys("dynamic", where))
            return keys
        value = self._value(attribute, subject)
        if value.__class__ is str and value.startswith("key_provider."):
            node = traversal_from_text(value, 0, Literal(value, 0, len(value)))
            words = _words(node) if node is not None else None
            if words is not None:
                keys = self._provider(words[1:], where)
                if keys is not None:
                    return keys
        try:
            result = keys_in(value)
        except ConversionError as bad:
            raise Failure(_unsuitable(attribute, str(bad))) from None
        if result is None:
            raise Failure(_no_keys(type_name(value), where))
        if result == ():
            title = "Missing encryption_key value"
            detail = "An encryption_key value is required in the key_provider compatible object at this location"
            raise Failure(error("config.missing_encryption_key", title, detail, where))
        assert isinstance(result, Keys)
        return result

    def _value(self, attribute: Attribute, subject: str) -> Value:
        """The value of an expression, which may refer to key providers. Raises Failure."""
        problems = Problems()
        expr = expr_of(attribute, problems)
        value = None
        if not problems.has_errors:
            known = self._key_provider_values(expr, attribute)
            # a block from another source, such as the environment, has no position in a file
            place = self.decl.span or attribute.span
            value = self.scope.evaluate(expr, subject, place, problems, known)
        if value is None or problems.has_errors:
            raise Failure(evolve(problem, values=()) for problem in problems)  # the values of operands are secret here
        return unmark_deep(value)[0]

    def _key_provider_values(self, expr: Expr, attribute: Attribute) -> Mapping[str, Value]:
        """The values of the key providers to which an expression refers: `{"key_provider": {type: {name: keys}}}`. The
        result is empty if the expression has no such references. It is also empty if a reference has a different form;
        the evaluation then reports it. Raises Failure."""
        mentioned = [node for node in variables(expr.node) if _is_provider(node)]
        names = [_words(node) for node in mentioned]
        for node, words in zip(mentioned, names, strict=True):
            if words is None and isinstance(node, Traversal) and len(node.steps) == 2:
                title = "Invalid Key Provider expression format"
                detail = (
                    "The key_provider symbol must be followed by two more attribute names specifying the type and "
                    "name of the selected key provider."
                )
                where = Span(expr.source, node.start, node.end)
                raise Failure(error("config.key_provider_format", title, detail, where))
        if not names or None in names:  # the evaluation reports references of another form
            return {}
        table: dict[str, dict[str, Value]] = {}
        for node, words in zip(mentioned, names, strict=True):
            assert words is not None
            where = Span(expr.source, node.start, node.end)
            keys = self._provider(words[1:], where)
            table.setdefault(words[1], {})[words[2]] = keys_value(keys)
        return {"key_provider": table}


def _is_provider(node: Traversal | Variable) -> bool:
    return (node.name if isinstance(node, Variable) else node.root) == "key_provider"


def _provider_name(attribute: Attribute) -> Name | None:
    """The type and name of the key provider, if the expression consists of a single reference to one; otherwise
    None."""
    try:
        node: nodes.Expression = attribute.expr
    except Failure:
        return None
    if isinstance(node, Wrap):
        node = node.expr
    if attribute.is_json and isinstance(node, Literal) and node.value.__class__ is str:
        result = traversal_node(piece(attribute)) if node.value.startswith("key_provider.") else None
    else:
        result = node if isinstance(node, Traversal) else None
    words = _words(result) if result is not None else None
    return words[1:] if words is not None and words[0] == "key_provider" else None


def _failure(title: str, label: str, why: Exception) -> Diagnostic:
    return error("config.key_provider", title, f"{label} failed with error: {why}")


def _no_keys(found: str, where: Span) -> Diagnostic:
    detail = f"Expected a key_provider compatible value, found {found} instead"
    return error("config.expected_keys", "Expected key_provider value", detail, where)


def _unsuitable(attribute: Attribute, why: str) -> Diagnostic:
    where = attribute.expr_span
    return error("config.unsuitable_value", "Unsuitable value type", f"Unsuitable value: {why}", where)


# Conversion of values of the language to settings of key providers and methods, and of keys to values.


_BYTES = ListType(NUMBER)


def plain_value(value: Value) -> Any:
    """A value as a Python value; None for null. Members that are null are left out of maps and objects. Numbers must be
    whole and fit into 64 bits. Raises ConversionError."""
    if not is_wholly_known(value):
        raise ConversionError("value must be known")
    if is_null(value):
        return None
    if isinstance(value, List | Set):
        return tuple(plain_value(item) for item in value.items)
    if isinstance(value, tuple):
        return tuple(plain_value(item) for item in value)
    if isinstance(value, Map | dict):
        items = value.items if isinstance(value, Map) else value
        table = {name: plain_value(item) for name, item in items.items()}
        return {name: item for name, item in table.items() if item is not None}
    if isinstance(value, str | bool):
        return value
    if value.__class__ is not int or not -(1 << 63) <= value < 1 << 63:
        raise ConversionError("value must be a whole number")
    return value


def convert_value(value: Value, wanted: Type) -> Value:
    """Convert a value to a type. If the type is a list of bytes, the numbers must be between 0 and 255. Raises
    ConversionError."""
    if isinstance(wanted, ListType) and not isinstance(value, List | Set | tuple | Null | Unknown):
        raise ConversionError(f"{friendly_name(wanted)} required, but have {type_name(value)}")
    value = convert(value, wanted)
    if (
        wanted == _BYTES
        and isinstance(value, List)
        and any(n.__class__ is not int or not 0 <= n <= 255 for n in value.items)
    ):
        raise ConversionError("value must be a whole number, between 0 and 255 inclusive")
    return value


def keys_value(keys: Keys | None) -> Value:
    """Keys as an object for use in expressions: each key is a list of bytes, or null if it is missing. UNKNOWN if
    `keys` is None."""
    if keys is None:
        return UNKNOWN
    return {"encryption_key": _list(keys.encryption), "decryption_key": _list(keys.decryption)}


def _list(key: Key | None) -> Value:
    return Null(_BYTES) if key is None else List(NUMBER, tuple(key.bytes()))


def keys_in(value: Value) -> Keys | tuple[()] | None:
    """The keys in an object that has the form of a key provider's output. None if the value is not an object; () if it
    has no attribute `encryption_key`. Raises ConversionError."""
    if not isinstance(value, Map | dict):
        return None
    items = value.items if isinstance(value, Map) else value
    if "encryption_key" not in items:
        return ()
    encryption, decryption = (_key(items.get(name)) for name in ("encryption_key", "decryption_key"))
    return Keys(encryption, decryption)


def _key(value: Value | None) -> Key | None:
    if value is None or is_null(value):
        return None
    return Key.of(bytes(plain_value(convert_value(value, _BYTES))))


def type_name(value: Value) -> str:
    return friendly_name(value.type if isinstance(value, Null | Unknown) else type_of(value))
