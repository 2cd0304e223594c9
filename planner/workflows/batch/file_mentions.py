"""Which units expressions of a fleet's file name: `unit.NAME`, `unit["NAME"]`, of a repeated one `unit.NAME[KEY]`."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from planner.foundation.values.value import unmark
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr
from planner.language.config.reading import Problems
from planner.language.expressions.evaluate import try_evaluate
from planner.language.syntax.nodes import Index, Relative, Step, SyntaxNode, Traversal
from planner.language.syntax.references import variables
from planner.workflows.batch.file_scope import FleetScope


@frozen
class Mention:
    """A unit that is named: `name` as written, `key` of a repeated one (None: all of them), the output, if any."""

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
    """Report what a group names and no unit is called: an error, unless it is a pattern, which may come to nothing."""
    for pattern in patterns:
        if any(fnmatchcase(name, pattern) for name in names):
            continue
        if any(sign in pattern for sign in "*?["):
            detail = f"No unit is called like {pattern}, which the group {group} names."
            problems.warning("no_units", "Pattern without units", detail, span)
            continue
        hint = f" Those that it repeats are {pattern}/*." if pattern in repeated else did_you_mean(pattern, names)
        problems.error("unknown_unit", "Unknown unit", f"The group {group} names no unit with {pattern}.{hint}", span)


def _word(step: Step) -> str:
    return str(getattr(step, "name", getattr(step, "key", "")))


def mentions(expr: Expr, scope: FleetScope, repeated: Mapping[str, Any]) -> tuple[list[Mention], list[Span]]:
    """The units that an expression names, and what names no unit though it begins with `unit`."""
    found: list[Mention] = []
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
            found.append(Mention(_word(collection.steps[0]), known, _word(steps[0]) if steps else "", span))
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
        found.append(Mention(name, key, rest[0] if rest else "", span))
    return found, wrong


def _indexes(root: SyntaxNode) -> Iterator[tuple[Index, tuple[Step, ...]]]:
    """Every computed index in an expression, with the steps behind it."""
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
