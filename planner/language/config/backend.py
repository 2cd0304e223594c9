"""Evaluates the settings of a backend block. They are evaluated statically (before planning), because they are needed
to read the state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.json_codec import plain
from planner.foundation.values.schema import AttributeSchema, BlockSchema
from planner.foundation.values.types import Primitive
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, Unknown, Value, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import field, frozen
from planner.language.config.model import Config, Expr
from planner.language.config.reading import Problems, expr_of
from planner.language.config.static import StaticScope
from planner.language.config.variables import RawVariables, given_values, parsed_value
from planner.language.syntax.body import Body, BodySchema
from planner.language.syntax.body import ExpectedBlock as BlockHeader
from planner.language.syntax.files import load_file


@frozen
class Overrides:
    """The values of `-backend-config` options: (name, string) pairs, and bodies of files. If several items set the same
    argument, the last one is used."""

    items: tuple[tuple[str, str] | Body, ...] = field(default=())


def backend_settings(
    config: Config,
    given: RawVariables,
    schema: BlockSchema,
    workspace: str = "default",
    overrides: Overrides | None = None,
) -> tuple[dict[str, Any], list[Diagnostic]]:
    """The settings of the root module's backend or cloud block as plain values. Arguments that are not set are None.
    The result is empty if there is no such block. `overrides` take precedence. Sensitive and ephemeral values are
    reported as errors, because the settings are stored unencrypted."""
    problems = Problems()
    backend = config.root.backend
    settings: dict[str, Any] = {}
    if backend is None:
        return settings, problems
    root = config.root
    scope = StaticScope(root.variables, root.locals, given_values(given), root.directory, workspace=workspace)
    decoder = _Decoder(scope, f"backend.{backend.type}", problems)
    settings = decoder.body(backend.body, schema)
    for item in overrides.items if overrides is not None else ():
        if isinstance(item, tuple):
            name, text = item
            settings[name] = decoder.option(text, schema.attributes[name], name)
        else:
            decoded = decoder.body(item, schema)
            settings.update({name: value for name, value in decoded.items() if value not in (None, [])})
    return settings, problems


class _Decoder:
    """Decodes the backend block, and the arguments in `-backend-config`, with the schema of the backend. Expressions
    are evaluated statically."""

    def __init__(self, scope: StaticScope, name: str, problems: Problems) -> None:
        self.scope, self.name, self.problems = scope, name, problems

    def body(self, body: Body, schema: BlockSchema) -> dict[str, Any]:
        headers = tuple(BlockHeader(name, ()) for name in schema.blocks)
        content = body.content(BodySchema(dict.fromkeys(schema.attributes, False), headers))
        self.problems.extend(content.diagnostics)
        result: dict[str, Any] = {}
        for name, attribute in schema.attributes.items():
            written = content.attributes.get(name)
            result[name] = (
                None if written is None else self._attribute(expr_of(written, self.problems), attribute, name)
            )
        for name, nested in schema.blocks.items():
            blocks = [block for block in content.blocks if block.type == name]
            items = [self.body(block.body, nested.block) for block in blocks]
            single = nested.nesting in ("single", "group")
            if (single and len(items) > 1) or 0 < nested.max_items < len(items):
                most = nested.max_items or 1
                detail = f'Use at most {most} block{"s" if most > 1 else ""} "{name}" here.'
                self.problems.error("too_many_blocks", f"Too many {name} blocks", detail, blocks[most].span)
            result[name] = (items[0] if items else None) if single else items
        return result

    def _attribute(self, expr: Expr, schema: AttributeSchema, name: str) -> Any:
        value = self.scope.evaluate(expr, self.name, expr.span, self.problems)
        if value is None:
            return None
        bare, marks = unmark_deep(value)
        for secret, word in ((SENSITIVE, "sensitive"), (EPHEMERAL, "ephemeral")):
            if secret in marks:
                title = f"Backend config contains {word} values"
                detail = (
                    "The backend configuration is stored in .terraform/terraform.tfstate as well as plan files. "
                    f"It is recommended to instead supply {word} credentials via backend specific environment "
                    "variables"
                )
                self.problems.error("secret_in_backend", title, detail, expr.span)
        if bare.__class__ is Unknown:
            detail = f'The value of "{name}" must be known, because it determines where the state is stored.'
            self.problems.error("unknown_in_backend", "Unknown values within backend definition", detail, expr.span)
            return None
        return self.typed(bare, schema, name, expr)

    def option(self, text: str, schema: AttributeSchema, name: str) -> Any:
        """The value of a `-backend-config` option. `text` is a literal string for settings of primitive type, otherwise
        an expression. None if it is invalid (reported)."""
        if isinstance(schema.decode_type, Primitive):
            return self.typed(text, schema, name, None)
        value, problems = parsed_value(text, f"-backend-config={name}")
        self.problems.extend(problems)
        return None if value is None else self.typed(value, schema, name, None)

    def typed(self, value: Value, schema: AttributeSchema, name: str, expr: Expr | None) -> Any:
        """The value as a Python value of the setting's type; None if it cannot be converted (reported)."""
        try:
            return plain(convert(value, schema.decode_type))
        except ConversionError as bad:
            detail = f'Inappropriate value for attribute "{name}": {bad}.'
            where = expr.span if expr is not None else None
            self.problems.error("attribute_type", "Incorrect attribute value type", detail, where)
            return None


def read_overrides(items: Iterable[str], schema: BlockSchema) -> tuple[Overrides, list[Diagnostic]]:
    """Parse the values of -backend-config: `NAME=VALUE`, or a file with arguments. A single empty value
    (`-backend-config=`) means no overrides."""
    problems = Problems()
    overrides: list[tuple[str, str] | Body] = []
    given = tuple(items)
    for item in given if given != ("",) else ():
        name, equals, text = item.partition("=")
        if not item:
            detail = "-backend-config= without a value removes all overrides, so no other value may be given."
            problems.error("backend_argument", "Invalid backend configuration argument", detail)
            continue
        if not equals:
            body, _, diagnostics = load_file(item, item, given=True, keep=False)
            problems.extend(diagnostics)
            overrides += [] if body is None else [body]
        elif name in schema.attributes:
            overrides.append((name, text))
        else:
            names: Mapping[str, Any] = {**schema.attributes, **schema.blocks}
            what = "is a block: write it in a file" if name in schema.blocks else "is not a setting of this backend"
            detail = f'"{name}" {what}.{did_you_mean(name, names)}'
            problems.error("backend_argument", "Invalid backend configuration argument", detail)
    return Overrides(tuple(overrides)), problems
