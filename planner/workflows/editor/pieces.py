"""Helpers for refactorings: declarations with their comments, references in them, and edits of source text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from planner.foundation.values.convert import convert
from planner.foundation.values.expression_text import expression_text
from planner.foundation.values.types import ListType, MapType, ObjectType, SetType, Type, without_optional
from planner.foundation.values.value import Null
from planner.foundation.vocabulary.address import quote, valid_identifier
from planner.foundation.vocabulary.records import frozen
from planner.language.config.references import BadReference, Ref, parse_reference
from planner.language.expressions.constraints import Defaults
from planner.language.syntax.body import Attribute, Block, NativeBody, variables
from planner.language.syntax.format import format_file
from planner.language.syntax.nodes import Expression, GetAttr, Literal, Object, Parens, Traversal, Tuple
from planner.workflows.editor.key_edits import refusal
from planner.workflows.editor.navigation import DeclaredObject, declarations
from planner.workflows.editor.symbols import FILE, RESOURCES, attributes_of
from planner.workflows.editor.workspace import Workspace, kind_of

Changes = list[tuple[int, int, str]]
"""(start, end, new text), with offsets in code points"""
_NOTE = re.compile("#|//")
_COMMENT = re.compile(r"(?:#|//)[^\r\n]*|/\*(?s:.*?)\*/")
_COMMON = frozenset(("this", "main", "default", "example", "it"))
"""names of resources that are too common to name a variable after them"""


@frozen(eq=False)
class Piece:
    """A declaration that a refactoring moves. `start`, `end`: the range of its lines, with the comments directly
    above."""

    key: str
    path: str
    node: Block | Attribute
    holder: Block
    """the declared block; for a local value, its `locals` block"""
    start: int
    end: int


def native_body(workspace: Workspace, path: str) -> NativeBody:
    """The body of a file. Raises Failure if the file cannot be edited."""
    try:
        body, text = workspace.body(path)
        is_plain = text == workspace.document(path).text
    except (OSError, ValueError):
        body, is_plain = None, False
    if path.endswith(".json"):
        raise refusal(f"{os.path.relpath(path)} is in JSON syntax: only names can be edited there.")
    if not isinstance(body, NativeBody) or not is_plain:
        raise refusal(
            f"{os.path.relpath(path)} cannot be edited: it cannot be read, has syntax errors, or is not plain UTF-8."
        )
    return body


def piece_of(workspace: Workspace, target: DeclaredObject) -> Piece:
    """The declaration of an object. Raises Failure if the object has no declaration or several, or if the file cannot
    be edited."""
    places = declarations(workspace, target)
    if len(places) != 1:
        how = "in several places" if places else "nowhere"
        raise refusal(f"{target.key} is declared {how} in {os.path.relpath(target.directory)}.")
    path, symbol = places[0]
    if "/.terraform/" in path or not workspace.is_inside(path):
        raise refusal(f"{target.key} is declared in {path}, which is in an installed module or outside the repository.")
    text = workspace.document(path).text
    for block in native_body(workspace, path).partial_content(FILE)[0].blocks:
        if block.start == symbol.start:
            return Piece(target.key, path, block, block, *whole_lines(text, block.start, block.end))
        if block.start < symbol.start < block.end and isinstance(block.body, NativeBody):
            attribute = block.body.attributes[symbol.name]
            if len(block.body.attributes) == 1:  # without its last local value the block is removed, too
                return Piece(target.key, path, attribute, block, *whole_lines(text, block.start, block.end))
            return Piece(target.key, path, attribute, block, *whole_lines(text, attribute.start, attribute.end))
    raise refusal(f"The declaration of {target.key} cannot be read.")


def holder_of(pieces: Iterable[Piece], path: str, offset: int) -> Piece | None:
    """The piece that contains an offset; None if there is none."""
    return next((p for p in pieces if p.path == path and p.node.start <= offset < p.node.end), None)


def whole_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """The range of the whole lines that contain a range, with the comment lines directly above."""
    begin = text.rfind("\n", 0, start) + 1
    while begin:
        above = text.rfind("\n", 0, begin - 1) + 1
        line = text[above:begin].strip()
        if line.endswith("*/") and not line.startswith(("#", "//")):
            opened = text.rfind("/*", 0, begin)
            above = text.rfind("\n", 0, opened) + 1
            if opened < 0 or text[above:opened].strip():
                break
        elif not line.startswith(("#", "//")):
            break
        begin = above
    stop = text.find("\n", max(start, end - 1) if text[end - 1 : end] == "\n" else end)
    opened = text.rfind("/*", end, stop)
    if stop >= 0 and opened >= 0 and text.find("*/", opened, stop) < 0 and not _NOTE.search(text, end, opened):
        stop = text.find("\n", text.find("*/", opened))  # the comment ends on a later line
    return begin, len(text) if stop < 0 else stop + 1


def comments_of(block: Block) -> dict[str, list[str]]:
    """{argument or nested block: its comments}, with the key "" for the comments of the block itself. A comment belongs
    to what follows it or, if it is on the same line, to what precedes it. Comments inside expressions and nested blocks
    are left out."""
    text, result = block.source.text, dict[str, list[str]]()
    start, end = whole_lines(text, block.start, block.end)
    if not isinstance(block.body, NativeBody):
        return result
    inner: list[Attribute | Block] = [*block.body.attributes.values(), *block.body.blocks]
    ranges = [(one.start, one.end, one.type if isinstance(one, Block) else one.name) for one in inner]
    before, at = "", start
    for begin, stop, name in [(block.body.start, block.body.start, ""), *sorted(ranges), (end, end, "")]:
        for match in _COMMENT.finditer(text, at, begin):
            is_beside = at > start and "\n" not in text[at : match.start()]
            result.setdefault(before if is_beside else name, []).append(match[0])
        before, at = name, stop - 1 if text[stop - 1] == "\n" else stop  # a heredoc includes its line break
    return result


def comment_edit(text: str, body: NativeBody, offset: int, comments: Iterable[str]) -> tuple[int, int, str]:
    """The edit, as (start, end, text), that inserts comments above the argument at an offset. If the argument does not
    begin a line, they are inserted above the innermost enclosing block that does."""
    at = text.rfind("\n", 0, offset) + 1
    inner: Attribute | Block | None = None
    while True:
        parts: list[Attribute | Block] = [*body.attributes.values(), *body.blocks]
        inner = next((one for one in parts if one.start <= offset < one.end), None)
        begin = text.rfind("\n", 0, inner.start) + 1 if inner is not None else at
        if inner is None or text[begin : inner.start].strip():
            break
        at = begin
        if not isinstance(inner, Block) or not isinstance(inner.body, NativeBody):
            break
        body = inner.body
    indent = text[at : len(text) - len(text[at:].lstrip(" \t"))]
    return at, at, "".join(f"{indent}{comment}\n" for comment in comments)


def removal(text: str, start: int, end: int) -> tuple[int, int, str]:
    """The edit that removes a range of whole lines. The blank lines after the range are removed, too, if a blank line,
    an opening brace or the beginning of the file precedes it."""
    before = text[:start]
    if before.strip() and not text[end:].strip():
        return len(before.rstrip()), len(text), "\n"
    if not before.strip() or before.replace("\r", "").endswith(("\n\n", "{\n")):
        blank = re.compile(r"(?:[ \t]*\r?\n)+").match(text, end)
        end = blank.end() if blank is not None else end
    return start, end, ""


def with_edits(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """The text after the edits. Inserted text gets the line endings of the text."""
    newline = "\r\n" if "\r\n" in text else "\n"
    for start, end, new in sorted(set(edits), reverse=True):
        text = text[:start] + new.replace("\r\n", "\n").replace("\n", newline) + text[end:]
    return text


def file_edit(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """The text of a file after the edits. If the file was formatted as by `fmt` before, the result is formatted,
    too."""
    new = with_edits(text, edits)
    is_standard = format_file(text.encode(), "")[0] == text  # always false for JSON and for files with errors
    return (format_file(new.encode(), "")[0] or new) if is_standard else new


def cut_text(text: str, start: int, end: int, edits: Changes) -> str:
    """The part of a text from `start` to `end`, after the edits that lie in this range."""
    inside = [(one - start, other - start, new) for one, other, new in edits if start <= one and other <= end]
    return with_edits(text[start:end], inside)


# ---------------------------------------------------------------- references


@frozen(eq=False)
class Use:
    """A reference in a file. `role`: where it is used: value (an expression), depends_on, replace_triggered_by,
    actions, address (such as `to` of an import block or `target` of an override block), or history (a moved or removed
    block)."""

    node: Traversal
    ref: Ref
    role: str
    block: Block

    @property
    def key(self) -> str:
        if self.ref.kind == "resource":
            return self.ref.name
        return f"{'module' if self.ref.kind == 'output' else self.ref.kind}.{self.ref.name}"

    def end(self, steps: int) -> int:
        """The offset after the first `steps` steps of the reference (at least 1)."""
        return self.node.steps[steps - 1].end

    @property
    def base(self) -> int:
        """The number of steps of the reference that name the object; further steps name its attributes."""
        is_long = self.ref.kind == "resource" and (self.ref.mode != "managed" or self.node.root == "resource")
        return 2 if is_long else 1

    @property
    def attribute(self) -> str:
        """The attribute or output that the reference names after the object; "" if it names none."""
        steps = self.node.steps[self.base : self.base + 1]
        is_whole = self.ref.kind not in ("resource", "output")
        return steps[0].name if steps and not is_whole and isinstance(steps[0], GetAttr) else ""


_ROLES = {"depends_on": "depends_on", "replace_triggered_by": "replace_triggered_by", "ignore_changes": ""}
_ADDRESSES = {"import": ("to",), "plan_options": ("target", "replace", "exclude")}
_PROVIDERS = ("provider", "providers")


def uses(body: NativeBody, outer: Block | None = None, role: str = "value") -> Iterator[Use]:
    """The references in a body, such as `var.a` and `path.module`. Left out are references in the arguments `provider`
    and `providers`, and references in runs that test another module."""
    for attribute in body.attributes.values():
        own = _ROLES.get(attribute.name, role)
        block = outer.type if outer is not None else ""
        if attribute.name in _ADDRESSES.get(block, ()) or (
            block.startswith("override_") and attribute.name == "target"
        ):
            own = "address"
        elif block == "action_trigger" and attribute.name == "actions":
            own = "actions"
        elif attribute.name in _PROVIDERS and block in (*RESOURCES, "module", "run", "import"):
            own = ""
        if own:
            for node in variables(attribute.expr):
                ref = parse_reference(node)
                if isinstance(node, Traversal) and not isinstance(ref, BadReference) and outer is not None:
                    yield Use(node, ref, own, outer)
    for block_ in body.blocks:
        if isinstance(block_.body, NativeBody) and not (block_.type == "run" and _is_elsewhere(block_.body)):
            yield from uses(block_.body, block_, "history" if block_.type in ("moved", "removed") else role)


def uses_in(piece: Piece) -> Iterator[Use]:
    if isinstance(piece.node, Block):
        if isinstance(piece.node.body, NativeBody):
            yield from uses(piece.node.body, piece.node)
    else:
        for node in variables(piece.node.expr):
            ref = parse_reference(node)
            if isinstance(node, Traversal) and not isinstance(ref, BadReference):
                yield Use(node, ref, "value", piece.holder)


def _is_elsewhere(body: NativeBody) -> bool:
    return any(block.type == "module" for block in body.blocks)


def module_uses(workspace: Workspace, directory: str, keys: Iterable[str]) -> Iterator[tuple[str, Use]]:
    """The references in the files and tests of a module, as (file, reference). If `keys` is not empty, only files that
    mention one of these objects are read, and Failure is raised if one of them is in JSON syntax. If `keys` is empty,
    all files are read, except those in JSON syntax."""
    wanted = frozenset(keys)
    for path, file in workspace.module(directory).files.items():
        if path.endswith(".json"):
            if wanted & {mention.key for mention in file.mentions}:
                raise refusal(f"{os.path.relpath(path)} is written in JSON and refers to an object that would move.")
        elif kind_of(path) != "values" and (not wanted or wanted & {mention.key for mention in file.mentions}):
            for use in uses(native_body(workspace, path)):
                yield path, use


def plain_name(use: Use, is_whole: bool) -> str:
    """A name for a new variable or output whose value is this reference. `is_whole`: the value is the whole object,
    without an attribute."""
    ref = use.ref
    if ref.kind == "output" and not is_whole:
        return use.attribute
    label = ref.label or ref.name
    if ref.kind == "resource" and label in _COMMON:
        label = ref.type.partition("_")[2] or ref.type
    return label if is_whole or not use.attribute else f"{label}_{use.attribute}"


def free_name(wanted: str, taken: Iterable[str], longer: str = "") -> str:
    """The first name that is valid and not taken: `wanted`, `longer`, or one of these with a number."""
    known = frozenset(taken)
    if wanted in known and valid_identifier(longer):
        wanted = longer
    base = wanted if valid_identifier(wanted) else "_" + re.sub(r"[^\w-]", "_", wanted)
    name, number = base, 2
    while name in known:
        name, number = f"{base}_{number}", number + 1
    return name


def source_text(text: str, node: Expression) -> str:
    return text[node.start : node.end]


# ---------------------------------------------------------------- attributes that a type requires


REFERENCE = re.compile(r'[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*|\[(?:\d+|"[^"\\$%]*")\])*\Z')


def relative_source(directory: str, to: str) -> str:
    """The `source` argument for a module call in `directory` that calls the local module in the directory `to`."""
    path = os.path.relpath(to, directory)
    return path if path.startswith("../") or path == ".." else f"./{path}"


def source_edits(workspace: Workspace, directory: str, block: Block, text: str, to: str) -> Changes:
    """The edits for moving a call of a local module from `directory` to the directory `to`: its source becomes relative
    to `to`. [] for other blocks."""
    source = attributes_of(block.body).get("source") if block.type == "module" else None
    if source is None or not source_text(text, source.expr).startswith(('"./', '"../')):
        return []
    below = workspace.module_directory(directory, block.labels[0].value)
    return [(source.expr.start, source.expr.end, quote(relative_source(to, below)))] if below is not None else []


def completions(text: str, node: Expression, wanted: Type, defaults: Defaults | None) -> Iterator[tuple[int, int, str]]:
    """The edits that add the missing optional attributes of the type `wanted`, with their defaults, to the objects in
    an expression. Raises ValueError if the expression does not show which attributes an object has."""
    children = defaults.children if defaults is not None else {}
    if isinstance(node, Parens):
        yield from completions(text, node.expr, wanted, defaults)
    elif isinstance(wanted, ObjectType) and isinstance(node, Object):
        names = [item.key.value for item in node.items if isinstance(item.key, Literal)]
        if len(names) != len(node.items):
            raise ValueError("a computed name")
        values = defaults.values if defaults is not None else {}
        for name, item in zip(names, node.items, strict=True):
            if isinstance(item.value, Literal) and item.value.value.__class__ is Null and name in values:
                yield item.value.start, item.value.end, _default_text(wanted, name, defaults)
            elif name in wanted.attributes:
                yield from completions(text, item.value, wanted.attributes[name], children.get(name))
        lacking = [name for name in wanted.attributes if name not in names]
        if lacking:
            added = [f"{name} = {_default_text(wanted, name, defaults)}" for name in lacking]
            at = node.items[-1].end if node.items else node.start + 1
            comma = re.compile(r"[ \t]*,").match(text, at)
            end = comma.end() if comma is not None else at
            if "\n" in text[node.start : node.end] or any("\n" in one for one in added):
                yield at, end, "\n" + "\n".join(added) + "\n"
            else:
                yield at, end, f"{', ' if node.items else ' '}{', '.join(added)}{'' if node.items else ' '}"
    elif isinstance(wanted, MapType) and isinstance(node, Object):
        for item in node.items:
            yield from completions(text, item.value, wanted.element, children.get(""))
    elif isinstance(wanted, (ListType, SetType)) and isinstance(node, Tuple):
        for one in node.items:
            yield from completions(text, one, wanted.element, children.get(""))
    elif not (isinstance(node, Literal) and node.value.__class__ is Null) and without_optional(wanted) != wanted:
        raise ValueError("an expression that is not written as an object")


def completed(source: str, wanted: Type, defaults: Defaults | None) -> str:
    """The source of an expression that adds the missing optional attributes of the type `wanted` to the value of a
    reference. Attributes that are set to null do not get the default. Raises ValueError if `source` is not a reference,
    or if this cannot be expressed for the type."""
    if without_optional(wanted) == wanted:
        return source
    if not REFERENCE.match(source):
        raise ValueError("an expression that is not a reference")
    children = defaults.children if defaults is not None else {}
    if isinstance(wanted, MapType):
        return f"{{ for key, value in {source} : key => {completed('value', wanted.element, children.get(''))} }}"
    if isinstance(wanted, (ListType, SetType)):
        return f"[for value in {source} : {completed('value', wanted.element, children.get(''))}]"
    if not isinstance(wanted, ObjectType):
        raise ValueError("another type")
    texts = {name: _default_text(wanted, name, defaults) for name in sorted(wanted.optional)}
    parts = ["{ " + ", ".join(f"{name} = {text}" for name, text in texts.items()) + " }"] if texts else []
    inner = []
    for name, one in wanted.attributes.items():
        if without_optional(one) == one:
            continue
        if name in texts:
            given = f"try({source}.{name}, {texts[name]})"
            text = completed("value", one, children.get(name))
            inner.append(f"{name} = one([for value in [{given}] : value == null ? null : {text}])")
        else:
            inner.append(f"{name} = {completed(f'{source}.{name}', one, children.get(name))}")
    return f"merge({', '.join([*parts, source, *(['{ ' + ', '.join(inner) + ' }'] if inner else [])])})"


def _default_text(wanted: ObjectType, name: str, defaults: Defaults | None) -> str:
    """The source of the value that a missing optional attribute gets: its default, or null."""
    if defaults is None or name not in defaults.values:
        return "null"
    value, child = defaults.values[name], defaults.children.get(name)
    return expression_text(convert(child.apply(value) if child is not None else value, wanted.attributes[name]))
