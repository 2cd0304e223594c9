"""Computes edits that change the keys of instances of resources and module calls. `rename_key_edits` renames a for_each
key, and `for_each_edits` replaces count with for_each."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from planner.foundation.values.paths import parts
from planner.foundation.values.value import unmark_deep
from planner.foundation.vocabulary.address import format_key, quote, valid_identifier
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.span import Source
from planner.language.config.model import Expr
from planner.language.syntax.body import Attribute, Block, NativeBody, variables
from planner.language.syntax.nodes import (
    Call,
    Conditional,
    Expression,
    For,
    GetAttr,
    Literal,
    Object,
    Parens,
    Traversal,
    Tuple,
    Variable,
    Wrap,
)
from planner.workflows.editor.model import Model
from planner.workflows.editor.navigation import DeclaredObject, Edits, after_block, declarations, mentions, moved_text
from planner.workflows.editor.symbols import FILE, DeclaredName, attributes_of
from planner.workflows.editor.workspace import Workspace, kind_of

IMPOSSIBLE = "refactor.impossible"
"""code of errors about refactorings that are refused, except refactorings that would change the plan"""
_COLLECTIONS = frozenset((
    "toset", "tomap", "tolist", "merge", "concat", "setunion", "distinct", "flatten", "keys", "sort", "compact",
    "reverse", "setintersection", "setsubtract", "try", "coalesce", "nonsensitive",
))  # fmt: skip
"""functions that return the keys or elements of their arguments unchanged"""
_SUFFIX = re.compile(r"(?:\.[A-Za-z_][\w-]*|\[\d+\]|\[\"[^\"\\$%]*\"\])*")


def refusal(detail: str) -> Failure:
    return Failure(error(IMPOSSIBLE, "Cannot refactor", detail))


def found_attribute(workspace: Workspace, target: DeclaredObject, name: str) -> tuple[str, Block, Attribute | None]:
    """The file and the block that declare an object, and the block's argument `name` (None if it is not set). Raises
    Failure if the object is declared in several places or in JSON syntax."""
    places = declarations(workspace, target)
    if len(places) != 1:
        raise refusal(f"{target.key} is declared in {len(places)} places, such as override files.")
    if places[0][0].endswith(".json"):
        raise refusal(f"{target.key} is declared in {os.path.relpath(places[0][0])}, in JSON syntax.")
    path, symbol = places[0]
    body, _ = workspace.body(path)
    blocks = body.partial_content(FILE)[0].blocks if body is not None else ()
    block = next(one for one in blocks if one.start == symbol.start)
    return path, block, attributes_of(block.body).get(name)


# ---------------------------------------------------------------- a key of for_each


def rename_key_edits(
    workspace: Workspace, target: DeclaredObject, old: str, new: str
) -> tuple[Edits, list[DeclaredObject]]:
    """Rename a for_each key where it is written and in references to the instance, and add a `moved` block. If the
    for_each of other objects takes the key from the same place, it is renamed for these objects, too. Returns the
    edits, and all objects for which the key is renamed. Raises Failure."""
    path, _, repeated = found_attribute(workspace, target, "for_each")
    if repeated is None:
        raise refusal(f"{target.key} has no for_each.")
    edits: Edits = {}
    keys = _KeyTexts(workspace, old)
    keys.look(target.directory, path, repeated.expr)
    if not keys.places:
        known = f"{target.key} has no key {format_key(old)}"
        raise refusal(f"{known}, or the key is computed rather than written as a string.")
    for place, node, is_bare in keys.places:
        text = new if is_bare and valid_identifier(new) else quote(new)
        edits.setdefault(place, []).append((node.start, node.end, text))
    renamed = _with_same_key(workspace, target, keys)
    for holder in dict.fromkeys((*renamed, *keys.holders)):
        for place, mention in mentions(workspace, holder):
            text = workspace.document(place).text
            if not mention.is_history and (step := _step(text, mention.end, old)) is not None:
                is_attribute = text[step[0]] == "."
                changed = f".{new}" if is_attribute and valid_identifier(new) else f"[{quote(new)}]"
                edits.setdefault(place, []).append((*step, changed))
    for one in renamed:
        path, block, _ = found_attribute(workspace, one, "for_each")
        moved = moved_text(one.key + format_key(old), one.key + format_key(new))
        if block.type in ("resource", "module"):
            edits.setdefault(path, []).append(after_block(workspace.document(path).text, block.end, moved))
    return edits, renamed


def _with_same_key(workspace: Workspace, target: DeclaredObject, keys: _KeyTexts) -> list[DeclaredObject]:
    """The object, and all other objects whose for_each takes the key from the same place in the source. Raises
    Failure."""
    own, seen = keys.offsets, dict.fromkeys((target, *keys.holders))
    waiting, users = list(seen), {target: None}
    while waiting:
        for path, mention in mentions(workspace, waiting.pop()):
            directory, inside = workspace.directory_of(path), workspace.symbols(path).symbols
            symbol = next((one for one in inside if one.start <= mention.start < one.end), None)
            if symbol is None or path.endswith(".json") or kind_of(path) != "configuration":
                continue
            user = DeclaredObject(directory, symbol.key)
            if symbol.block != "local":
                _, block, repeated = found_attribute(workspace, user, "for_each")
                other = _KeyTexts(workspace, keys.key)
                if repeated is not None and repeated.start <= mention.start < repeated.end:
                    other.look(directory, path, repeated.expr)
                if other.offsets & own:
                    users[user] = None
                elif symbol.block == "module":
                    below = workspace.module_directory(directory, symbol.name)
                    arguments = attributes_of(block.body).values()
                    name = next((a.name for a in arguments if a.start <= mention.start < a.end), "")
                    user = DeclaredObject(below, f"var.{name}") if below is not None and name else user
            if user not in seen:
                seen[user] = None
                waiting.append(user)
    return list(users)


def _step(text: str, at: int, key: str) -> tuple[int, int] | None:
    """The range of `["key"]` or `.key` at an offset; None if neither is there."""
    match = re.compile(rf"\s*\[\s*{re.escape(quote(key))}\s*\]|\.{re.escape(key)}(?![\w-])").match(text, at)
    return match.span() if match is not None else None


class _KeyTexts:
    """Finds the places where a key is written. `places`: (file, node, whether the key is written without quotes).
    `holders`: the local values, variables and other objects that were searched."""

    def __init__(self, workspace: Workspace, key: str) -> None:
        self.workspace, self.key = workspace, key
        self.places: list[tuple[str, Expression, bool]] = []
        self.holders: list[DeclaredObject] = []

    @property
    def offsets(self) -> set[tuple[str, int]]:
        """The places as (file, offset)."""
        return {(path, node.start) for path, node, _ in self.places}

    def look(self, directory: str, path: str, node: Expression) -> None:
        """Search for the key in an expression, and in the local values and variables that the expression uses."""
        if isinstance(node, (Parens, Wrap)):
            self.look(directory, path, node.expr)
        elif isinstance(node, Conditional):
            self.look(directory, path, node.then)
            self.look(directory, path, node.otherwise)
        elif isinstance(node, Call) and node.name.removeprefix("core::") in _COLLECTIONS:
            for argument in node.arguments:
                self.look(directory, path, argument)
        elif isinstance(node, For):
            key = node.key_expr or node.value_expr
            if isinstance(key, Variable) and key.name in (node.key, node.value):
                self.look(directory, path, node.collection)
        elif isinstance(node, Object):
            hits = (i for i in node.items if isinstance(i.key, Literal) and i.key.value == self.key)
            self.places += [(path, item.key, item.bare) for item in hits]
        elif isinstance(node, Tuple):
            for item in node.items:
                if isinstance(item, Literal) and item.value == self.key:
                    self.places.append((path, item, False))
                elif isinstance(item, (Tuple, Call)):
                    self.look(directory, path, item)
        elif isinstance(node, Traversal) and len(node.steps) < 3 and all(isinstance(s, GetAttr) for s in node.steps):
            self._look_up(directory, ".".join((node.root, *(s.name for s in node.steps if isinstance(s, GetAttr)))))

    def _look_up(self, directory: str, key: str) -> None:
        holder = DeclaredObject(directory, key)
        if holder in self.holders:
            return
        self.holders.append(holder)
        kind, _, name = key.partition(".")
        for place, symbol in declarations(self.workspace, holder):
            if place.endswith(".json"):
                continue
            body, _ = self.workspace.body(place)
            blocks = body.partial_content(FILE)[0].blocks if body is not None else ()
            for block in blocks:
                inner = attributes_of(block.body) if block.start <= symbol.start < block.end else {}
                attribute = inner.get({"local": name, "var": "default"}.get(kind, "for_each"))
                if attribute is not None:
                    self.look(directory, place, attribute.expr)
        if kind == "var":
            self._values(directory, name)
            for above, call in self.workspace.callers(directory):
                places = declarations(self.workspace, DeclaredObject(above, f"module.{call}"))
                if self._is_json(places):
                    continue
                path, _, attribute = found_attribute(self.workspace, DeclaredObject(above, f"module.{call}"), name)
                if attribute is not None:
                    self.look(above, path, attribute.expr)

    def _is_json(self, places: Iterable[tuple[str, DeclaredName]]) -> bool:
        """Whether one of the declarations of a module call is in a JSON file. Raises Failure if this file mentions the
        key, because JSON files are not edited."""
        for path, _ in places:
            if path.endswith(".json") and quote(self.key) in self.workspace.document(path).text:
                raise refusal(
                    f"{os.path.relpath(path)} is written in JSON and mentions the key {quote(self.key)}, too."
                )
        return any(path.endswith(".json") for path, _ in places)

    def _values(self, directory: str, name: str) -> None:
        for path in self.workspace.module(directory).files:
            kind = kind_of(path)
            if kind not in ("values", "test") or path.endswith(".json"):
                continue
            body, _ = self.workspace.body(path)
            bodies = [body] if body is not None and kind == "values" else []
            if isinstance(body, NativeBody) and kind == "test":
                runs = [one.body for one in body.blocks if one.type == "run" and isinstance(one.body, NativeBody)]
                bodies += (block.body for one in (body, *runs) for block in one.blocks if block.type == "variables")
            for one in bodies:
                attribute = attributes_of(one).get(name)
                if attribute is not None:
                    self.look(directory, path, attribute.expr)


# ---------------------------------------------------------------- count to for_each


Elements: TypeAlias = Callable[[str, Expression], list[str] | None]
"""a function from (file, expression) to the elements of a list of distinct known strings; None for other expressions"""


def for_each_edits(
    workspace: Workspace, target: DeclaredObject, instances: int, elements_of: Elements
) -> tuple[Edits, list[str]]:
    """Replace an object's count with for_each. `instances`: the number of instances. Returns the edits, and the new
    keys of the instances. With `count = length(LIST)`, the keys are the elements of the list, if these are distinct
    known strings; otherwise they are the former indexes as strings. Raises Failure."""
    path, block, count = found_attribute(workspace, target, "count")
    if count is None:
        raise refusal(f"{target.key} has no count.")
    document = workspace.document(path).text
    node, listed = count.expr, length_of(count.expr)
    elements = elements_of(path, listed) if listed is not None else None
    edits: Edits = {path: []}
    whole = document[node.start : node.end]
    if listed is not None and elements is not None:
        text = document[listed.start : listed.end]
        edits[path].append((count.start, count.end, f"for_each = toset({text})"))
        changes = _CountIndexes(document, text, f"index({text}, each.key)")
        each = _Mentions(lambda number: elements[number] if number < len(elements) else None, text, f"{text}[%s]")
    else:
        text = f"range({whole})"
        edits[path].append((count.start, count.end, f"for_each = toset([for i in {text} : tostring(i)])"))
        changes = _CountIndexes(document, "", "tonumber(each.key)")
        each = _Mentions(str, f"[for i in {text} : tostring(i)]", "tostring(%s)")
    edits[path] += changes.inside(block, count)
    for place, mention in mentions(workspace, target):
        if not mention.is_history:
            change = each.change(workspace.document(place).text, mention.start, mention.end, target.key)
            if change is not None:
                edits.setdefault(place, []).append(change)
    names = elements if elements is not None else [str(number) for number in range(instances)]
    if block.type in ("resource", "module"):
        edits[path].append(after_block(document, block.end, "".join(_moved_blocks(target.key, names))))
    return edits, names


def strings(model: Model, node: Expression, source: Source) -> list[str] | None:
    """The elements of a non-empty list of distinct known strings; None for other expressions."""
    value = model.value(Expr(node, source), "count")
    items = [item for _, item in parts(unmark_deep(value)[0])] if value is not None else []
    is_list = items and all(isinstance(item, str) for item in items) and len(set(items)) == len(items)
    return items if is_list else None


def length_of(node: Expression) -> Expression | None:
    """The argument in `length(LIST)`; None for another expression."""
    if isinstance(node, Call) and node.name.removeprefix("core::") == "length" and len(node.arguments) == 1:
        return node.arguments[0]
    return None


def _moved_blocks(key: str, names: list[str]) -> Iterator[str]:
    for number, name in enumerate(names):
        yield moved_text(f"{key}[{number}]", key + format_key(name))


class _CountIndexes:
    """Edits of a block: `LIST[count.index]` becomes each.value, and any other count.index becomes the expression
    `other`."""

    def __init__(self, document: str, listed: str, other: str) -> None:
        self.document, self.listed, self.other = document, listed, other

    def inside(self, block: Block, count: Attribute) -> Iterator[tuple[int, int, str]]:
        start, end = block.start, block.end
        taken: list[tuple[int, int]] = [(count.start, count.end)]
        if self.listed:
            for match in re.finditer(re.escape(self.listed) + r"\[\s*count\.index\s*\]", self.document[start:end]):
                taken.append((start + match.start(), start + match.end()))
                yield *taken[-1], "each.value"
        for node in variables(block.body):
            is_index = isinstance(node, Traversal) and node.root == "count"
            if is_index and not any(one <= node.start < other for one, other in taken):
                yield node.start, node.end, self.other


class _Mentions:
    """Edits of the references to an object with count: an index that is a number or count.index, or a splat, is
    replaced."""

    def __init__(self, name_of: Callable[[int], str | None], keys: str, key_of: str) -> None:
        self.name_of, self.keys, self.key_of = name_of, keys, key_of

    def change(self, text: str, start: int, at: int, key: str) -> tuple[int, int, str] | None:
        if (match := re.compile(r"\[\s*(\d+)\s*\]").match(text, at)) is not None:
            name = self.name_of(int(match[1]))
            return (at, match.end(), format_key(name)) if name is not None else None
        if (match := re.compile(r"\[\s*(count\.index)\s*\]").match(text, at)) is not None:
            return match.start(1), match.end(1), self.key_of % match[1]
        if (match := re.compile(r"\[\*\]|\.\*").match(text, at)) is not None:
            rest = _SUFFIX.match(text, match.end())
            assert rest is not None
            first = text.rfind(key.partition(".")[0], 0, start)
            whole = f"[for key in {self.keys} : {text[first:at]}[key]{rest.group()}]"
            return first, rest.end(), whole
        return None
