"""Scope of a fleet's file: local values, and `each` in a block with for_each."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.expression_text import expression_text
from planner.foundation.values.types import STRING
from planner.foundation.values.value import (
    List,
    Map,
    Set,
    Unknown,
    Value,
    is_null,
    is_wholly_known,
    unmark,
    unmark_deep,
)
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.for_each import for_each_items
from planner.language.config.model import Expr
from planner.language.config.reading import Problems
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import Scope
from planner.language.functions import CallContext
from planner.language.syntax.body import Attribute, variables
from planner.language.syntax.nodes import Index, Relative, Step, SyntaxNode, Traversal, Variable


class FleetScope(Scope):
    """The names that expressions in a fleet's file can use: `local` and, in a block with for_each, `each`. Local values
    are evaluated on first use. `each` has the key and the value of one item of for_each."""

    def __init__(self, locals_: dict[str, Expr], folder: str) -> None:
        self.locals, self.each = locals_, dict[str, Value]()
        self._known: dict[str, Value] = {}
        self._working: list[str] = []
        self._context = CallContext(folder)

    def repeated(self, key: str, value: Value) -> FleetScope:
        scope = FleetScope(self.locals, "")
        scope._known, scope._context = self._known, self._context
        scope.each = {"key": key, "value": value}
        return scope

    def resolve(self, node: Traversal | Variable, source: Source | None) -> tuple[Value, int]:
        if isinstance(node, Variable):
            name, word, end = node.name, None, node.end
        else:
            step = node.steps[0]
            name, word, end = node.root, str(getattr(step, "name", getattr(step, "key", ""))), step.end
        span = Span(source or Source("", ""), node.start, end)
        if name == "each" and self.each:
            if word is None:
                return self.each, 0
            if word in self.each:
                return self.each[word], 1
        elif name == "local":
            if word is None:
                return {key: self.local(key, span) for key in sorted(self.locals)}, 0
            return self.local(word, span), 1
        raise Failure(error("config.unknown_name", "Unknown name", self._unknown(name, word), span))

    def _unknown(self, name: str, word: str | None) -> str:
        if name == "each":
            shown = "each" if word is None else f"each.{word}"
            return f"{shown} is not valid here: a block with for_each has each.key and each.value."
        if name == "unit":
            return "Outputs of units can be used only in inputs: unit.NAME.OUTPUT."
        return f"{name} is not valid here.{did_you_mean(name, ('local', 'each', 'unit'))} Use local or each."

    def local(self, name: str, span: Span) -> Value:
        """The value of a local. Raises Failure if it is not declared, is invalid or depends on itself."""
        if name in self._known:
            return self._known[name]
        if name not in self.locals:
            detail = f"No local value is named {name}.{did_you_mean(name, self.locals)}"
            raise Failure(error("config.undeclared_local", "Undefined local", detail, span))
        if name in self._working:
            raise Failure(error("config.circle", "Circular reference", f"local.{name} depends on itself.", span))
        self._working.append(name)
        try:
            expr = self.locals[name]
            value, problems = try_evaluate(expr.node, self, expr.source)
        finally:
            self._working.pop()
        if problems:
            raise Failure(problems)
        self._known[name] = value
        return value

    # ------------------------------------------------------------ arguments

    def value(self, expr: Expr, problems: Problems) -> Value | None:
        """The value of an expression. Reports a problem and returns None if the value is invalid or unknown."""
        try:
            value, wrong = try_evaluate(expr.node, self, expr.source)
        except Failure as failure:
            wrong, value = failure.diagnostics, None
        problems.extend(d for d in wrong if d not in problems)
        if any(d.is_error for d in wrong):
            return None
        value = unmark_deep(value)[0]
        if not is_wholly_known(value):
            detail = "This value must be known before anything is planned."
            problems.error("unknown", "Value is not known", detail, expr.span)
            return None
        return value

    def text(self, expr: Expr, problems: Problems) -> str | None:
        value = self.value(expr, problems)
        if value is None:
            return None
        return self._text(value, expr, problems)

    def _text(self, value: Value, expr: Expr, problems: Problems) -> str | None:
        try:
            result = convert(value, STRING)
        except ConversionError as problem:
            problems.error("text_required", "Invalid expression", f"Expected a string: {problem}.", expr.span)
            return None
        if result.__class__ is not str:
            problems.error("text_required", "Invalid expression", "Expected a string, not null.", expr.span)
            return None
        return str(result)

    def texts(self, expr: Expr, problems: Problems) -> tuple[str, ...]:
        value = self.value(expr, problems)
        if value is None:
            return ()
        items = value.items if value.__class__ in (List, Set) else value
        if items.__class__ is not tuple:
            problems.error("list_required", "Invalid expression", "Expected a list in brackets.", expr.span)
            return ()
        texts = [self._text(item, expr, problems) for item in items]
        return tuple(item for item in texts if item is not None)

    def named_texts(self, expr: Expr, problems: Problems) -> dict[str, str]:
        value = self.value(expr, problems)
        if value is None:
            return {}
        entries = value.items if value.__class__ is Map else value
        if entries.__class__ is not dict:
            detail = "An object is required here: { name = value }."
            problems.error("object_required", "Invalid expression", detail, expr.span)
            return {}
        table = {name: self._text(item, expr, problems) for name, item in sorted(entries.items())}
        return {name: text for name, text in table.items() if text is not None}

    def items(self, attribute: Attribute, problems: Problems) -> dict[str, Value]:
        """The items of a for_each argument, as {key: value}. Empty if the argument is null or invalid; an invalid
        argument is reported."""
        expr = Expr(attribute.expr, attribute.source)
        value = self.value(expr, problems)
        if value is None or is_null(value):
            return {}
        return for_each_items(value, expr, problems) or {}

    def filled(self, expr: Expr) -> str:
        """The source of an expression for evaluation elsewhere, with `local` and `each` replaced by their values.
        Raises Failure, and ValueError for a value that has no source form."""
        text, at = "", expr.span.start
        for node in variables(expr.node):
            root = node.root if isinstance(node, Traversal) else node.name
            if root not in ("local", "each"):
                continue
            value, steps = self.resolve(node, expr.source)
            end = node.end if isinstance(node, Variable) else node.steps[steps - 1].end if steps else node.root_end
            text += expr.source.text[at : node.start] + f"({expression_text(unmark_deep(value)[0])})"
            at = end
        return text + expr.source.text[at : expr.span.end]

    def names_in(self, exprs: Iterable[Expr]) -> tuple[tuple[str, str], ...]:
        """The values of `local` and `each` that expressions use, as (name, source of an object): (("each", '{ key =
        "eu" }'), ...). With these values, the expressions can be evaluated in another process. Raises Failure."""
        used: dict[str, dict[str, Value]] = {}
        for expr in exprs:
            for node in variables(expr.node):
                root = node.root if isinstance(node, Traversal) else node.name
                if root not in ("local", "each"):
                    continue
                span = Span(expr.source, node.start, node.end)
                value, steps = self.resolve(node, expr.source)
                if steps == 0:
                    used.setdefault(root, {}).update(value)
                    continue
                step: Any = node.steps[0]  # type: ignore[union-attr]
                used.setdefault(root, {})[str(getattr(step, "name", getattr(step, "key", "")))] = value
                if not is_wholly_known(value) or value.__class__ is Unknown:
                    detail = "This value must be known before anything is planned."
                    raise Failure(error("config.unknown", "Value is not known", detail, span))
        return tuple((root, expression_text(unmark_deep(values)[0])) for root, values in sorted(used.items()))


# References to units in a fleet's file: `unit.NAME`, `unit["NAME"]`, or `unit.NAME[KEY]` for a block with for_each.


@frozen
class Mention:
    """A reference to a unit or to one of its outputs. `key`: selects a unit of a block with for_each; None means all
    units of the block. `output`: the name of the output; "" if the reference names none."""

    name: str
    key: str | None
    output: str
    span: Span


def check_patterns(
    patterns: Iterable[str],
    group: str,
    span: Span,
    names: Collection[str],
    repeated: Container[str],
    problems: Problems,
) -> None:
    """Report entries of a group that match no unit: a pattern as a warning, a name as an error."""
    for pattern in patterns:
        if any(fnmatchcase(name, pattern) for name in names):
            continue
        if any(sign in pattern for sign in "*?["):
            detail = f"{pattern} in the group {group} matches no unit."
            problems.warning("no_units", "Pattern without units", detail, span)
            continue
        hint = (
            f" Its units with for_each are named {pattern}/*." if pattern in repeated else did_you_mean(pattern, names)
        )
        problems.error("unknown_unit", "Unknown unit", f"{pattern} in the group {group} matches no unit.{hint}", span)


def _word(step: Step) -> str:
    return str(getattr(step, "name", getattr(step, "key", "")))


def mentions(expr: Expr, scope: FleetScope, repeated: Mapping[str, Any]) -> tuple[list[Mention], list[Span]]:
    """The references to units in an expression, and the locations of invalid references. Invalid are `unit` without the
    name of a unit, and names other than `unit`, `local` and `each`."""
    items: list[Mention] = []
    wrong: list[Span] = []
    indexed: set[int] = set()
    for index, steps in _indexes(expr.node):
        collection = index.collection
        if isinstance(collection, Traversal) and collection.root == "unit" and len(collection.steps) == 1:
            indexed.add(id(collection))
            key, problems = try_evaluate(index.key, scope, expr.source)
            key = unmark(key)[0]
            known = str(key) if not problems and key.__class__ is str else None
            span = Span(expr.source, collection.start, index.end)
            items.append(Mention(_word(collection.steps[0]), known, _word(steps[0]) if steps else "", span))
    for node in variables(expr.node):
        root = node.root if isinstance(node, Traversal) else node.name
        if root in ("local", "each") or id(node) in indexed:
            continue
        span = Span(expr.source, node.start, node.end)
        if root != "unit":
            wrong.append(span)
            continue
        words = [_word(step) for step in node.steps] if isinstance(node, Traversal) else []
        if not words:
            wrong.append(span)
            continue
        name, *rest = words
        is_repeated = name in repeated
        key = rest.pop(0) if is_repeated and rest else None
        items.append(Mention(name, key, rest[0] if rest else "", span))
    return items, wrong


def _indexes(root: SyntaxNode) -> Iterator[tuple[Index, tuple[Step, ...]]]:
    """Every computed index in an expression, with the steps that follow it."""
    stack: list[Any] = [root]
    behind: dict[int, tuple[Step, ...]] = {}
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(node)
            continue
        if not isinstance(node, SyntaxNode):
            continue
        if isinstance(node, Relative):
            behind[id(node.source)] = node.steps
        if isinstance(node, Index):
            yield node, behind.get(id(node), ())
        stack.extend(getattr(node, name) for name in node.fields() if name not in ("start", "end"))
