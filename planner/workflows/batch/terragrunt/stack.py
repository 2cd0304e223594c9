"""Generates the units of Terragrunt stacks. A terragrunt.stack.hcl names units and stacks; their files are copied to
the directories in which they run. These are the directories that Terragrunt uses (below `.terragrunt-stack` next to the
file, unless a block has no_dot_terragrunt_stack). Backend settings often contain the path of the unit, so a unit in a
different directory would have a different state. Files are written only to new or empty directories, and to directories
that planner or Terragrunt has made."""

from __future__ import annotations

import os
import shutil
from typing import Any

from planner.foundation.values.expression_text import attributes_text, expression_text
from planner.foundation.values.value import Value, unmark_deep
from planner.foundation.vocabulary.address import quote
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.language.config.model import Expr
from planner.language.syntax.body import function_calls, variables
from planner.language.syntax.nodes import Call, Traversal, Variable
from planner.workflows.batch.terragrunt import AUTOINCLUDE, NAMES, STACK, VALUES
from planner.workflows.batch.terragrunt.document import STACK as FORM
from planner.workflows.batch.terragrunt.document import DocumentBlock
from planner.workflows.batch.terragrunt.frame import Frame
from planner.workflows.batch.terragrunt.functions import NAMES as FUNCTIONS
from planner.workflows.batch.terragrunt.generated import has_mark, signed
from planner.workflows.batch.terragrunt.session import Library, UnitSession
from planner.workflows.batch.terragrunt.sources import locate

MARK = ".planner-stack"
_THEIRS = (".terragrunt-stack-manifest", ".terragrunt-stack-origin")
_DEPTH = 20


class StackFrame(Frame):
    def __init__(self, session: UnitSession, path: str) -> None:
        super().__init__(session, path, form=FORM)
        self._components: dict[str, dict[str, str]] = {}

    @property
    def components(self) -> dict[str, dict[str, str]]:
        if not self._components:
            for kind in ("unit", "stack"):
                parts = self.root.blocks.get(kind, ())
                self._components[kind] = {part.label: _target(self, part, self.folder) for part in parts}
        return self._components


def generate_stacks(library: Library, folders: list[str], problems: list[Diagnostic]) -> list[str]:
    """Generate the units of the stacks in these directories. Returns the directories of the units. Errors are added to
    `problems`."""
    made: list[str] = []
    for folder in folders:
        try:
            made += _stack(library, folder, 0)
        except Failure as failure:
            problems += failure.diagnostics
        except OSError as problem:
            detail = f"{problem.filename or folder}: {problem.strerror or problem}."
            problems.append(error("terragrunt.stack", "The stack cannot be created", detail))
    return made


def _stack(library: Library, folder: str, depth: int) -> list[str]:
    path = os.path.join(folder, STACK)
    frame = StackFrame(UnitSession(library, path), path)
    if depth > _DEPTH:
        detail = f"{path} is nested in more than {_DEPTH} stacks."
        raise Failure(error("terragrunt.stack_depth", "Endless nesting of stacks", detail))
    made: list[str] = []
    taken: dict[str, str] = {}
    for kind in ("unit", "stack"):
        for part in frame.root.blocks.get(kind, ()):
            target = _component(library, frame, kind, part, folder)
            if target is None:
                continue
            if target in taken:
                detail = f"{kind}.{part.label} and {taken[target]} have the same path."
                raise Failure(error("terragrunt.stack_path", "Duplicate path", detail, part.header))
            taken[target] = f"{kind}.{part.label}"
            made += [target] if kind == "unit" else _stack(library, target, depth + 1)
            if kind == "unit":
                library.stacks.setdefault(folder, {})[part.label] = target
    return made


def _component(library: Library, frame: Frame, kind: str, part: DocumentBlock, folder: str) -> str | None:
    """Copy the files of a unit or stack to its target directory. Returns this directory; None if the block is disabled.
    Raises Failure and OSError."""
    if "enabled" in part.attributes and not frame.truth(part.attributes["enabled"]):
        return None
    source = frame.text(part.attributes["source"])
    package = locate(source, folder, "", library, part.attributes["source"].span)
    origin = os.path.join(package.folder, package.sub)
    target = _target(frame, part, folder)
    wanted = NAMES if kind == "unit" else (STACK,)
    if not any(os.path.isfile(os.path.join(origin, name)) for name in wanted):
        detail = f"{source} has no {wanted[0]}."
        raise Failure(error("terragrunt.stack_source", "Not a source", detail, part.attributes["source"].span))
    values: Any = None
    if "values" in part.attributes:
        values = unmark_deep(frame.evaluate(part.attributes["values"]))[0]
    _copy(origin, target, _values(values, part), part)
    include = part.one("autoinclude")
    beside = os.path.join(target, AUTOINCLUDE)
    if include is not None:
        _write(beside, autoinclude_text(frame, include, target))
    elif has_mark(beside):
        os.unlink(beside)
    return target


def _target(frame: Frame, part: DocumentBlock, folder: str) -> str:
    """The target directory of a unit or stack. Raises Failure if its path leads out of the base directory."""
    base = (
        folder
        if frame.truth(part.attributes.get("no_dot_terragrunt_stack"))
        else os.path.join(folder, ".terragrunt-stack")
    )
    path = frame.text(part.attributes["path"])
    target = os.path.normpath(os.path.join(base, path))
    if not f"{target}/".startswith(f"{os.path.normpath(base)}/") or target == base:
        detail = f"The path {path} is outside {base}."
        raise Failure(error("terragrunt.stack_path", "Path leaves its directory", detail, part.attributes["path"].span))
    return target


def _values(values: Value, part: DocumentBlock) -> str | None:
    if values is None:
        return None
    given = values if values.__class__ is dict else getattr(values, "items", None)
    if not isinstance(given, dict):
        detail = "values must be an object: { name = value }."
        raise Failure(error("terragrunt.values", "Invalid values", detail, part.attributes["values"].span))
    try:
        return signed(attributes_text(given))
    except ValueError as problem:
        raise Failure(error("terragrunt.values", "Invalid values", f"{problem}.", part.header)) from None


def _copy(origin: str, target: str, values: str | None, part: DocumentBlock) -> None:
    if os.path.isdir(target) and os.listdir(target) and not _is_made(target):
        detail = f"{target} exists already, and neither planner nor Terragrunt made it."
        raise Failure(error("terragrunt.exists", "A directory would be overwritten", detail, part.header))
    os.makedirs(target, exist_ok=True)
    wanted = {
        name for name in os.listdir(origin) if name not in (".git", ".terragrunt-cache", ".terraform", ".planner")
    }
    for name in sorted(wanted):
        source, place = os.path.join(origin, name), os.path.join(target, name)
        if os.path.isdir(source):
            shutil.copytree(
                source, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".terragrunt-stack", ".git")
            )
        elif name != VALUES or values is None:
            _put(place, source)
    if values is not None:
        _write(os.path.join(target, VALUES), values)
    _write(
        os.path.join(target, MARK), signed("# This directory is generated from a stack. Its content is overwritten.\n")
    )


def _is_made(target: str) -> bool:
    """Whether planner or Terragrunt made this directory or one of its parent directories."""
    if os.path.exists(os.path.join(target, MARK)) or f"{os.sep}.terragrunt-stack{os.sep}" in target:
        return True
    at = target
    for _ in range(_DEPTH):
        if any(os.path.exists(os.path.join(at, name)) for name in _THEIRS):
            return True
        at = os.path.dirname(at)
    return False


def _put(place: str, source: str) -> None:
    with open(source, "rb") as file:
        data = file.read()
    try:
        with open(place, "rb") as file:
            if file.read() == data:
                return
    except OSError:
        pass
    beside = f"{place}.{os.getpid()}.tmp"
    with open(beside, "wb") as file:
        file.write(data)
    os.replace(beside, place)


def _write(place: str, text: str) -> None:
    try:
        with open(place, encoding="utf-8") as file:
            if file.read() == text:
                return
    except OSError:
        pass
    with open(place, "w", encoding="utf-8") as file:
        file.write(text)


_KNOWN = ("local", "values", "unit", "stack", "feature")


def autoinclude_text(frame: Frame, part: DocumentBlock, target: str) -> str:
    """The content of the file that an `autoinclude` block defines for the unit in `target`. References to values of the
    stack's file are replaced with these values. Raises Failure."""
    if part.blocks.get("locals") or part.blocks.get("include"):
        kind = "locals" if part.blocks.get("locals") else "include"
        where = part.blocks[kind][0].header
        detail = f"{kind} is not allowed in autoinclude: write it into the stack's file."
        raise Failure(error("terragrunt.autoinclude", "Block not allowed here", detail, where))
    return signed("\n".join(_lines(frame, part, target, "", "")) + "\n")


def _lines(frame: Frame, part: DocumentBlock, target: str, kind: str, indent: str) -> list[str]:
    lines = []
    for name, expr in part.attributes.items():
        text = _path(frame, expr, target) if (kind, name) == ("dependency", "config_path") else _text(frame, expr)
        lines.append(f"{indent}{name} = {text}")
    for inner, parts in part.blocks.items():
        for one in parts:
            label = f" {quote(one.label)}" if one.label else ""
            lines += [f"{indent}{inner}{label} {{", *_lines(frame, one, target, inner, f"{indent}  "), f"{indent}}}"]
    return lines


def _path(frame: Frame, expr: Expr, target: str) -> str:
    path = frame.text(expr)
    return quote(os.path.relpath(path, target) if os.path.isabs(path) else path)


def _text(frame: Frame, expr: Expr) -> str:
    """The source of an expression, with references to values of the stack's file replaced with these values. References
    to outputs of dependencies remain."""
    result = variables(expr.node)
    if not any(_root(node) == "dependency" for node in result):
        return _value(frame, expr)
    places: list[tuple[int, int, Traversal | Variable | Call]] = []
    places += [(node.start, node.end, node) for node in result if _root(node) in _KNOWN]
    for call in function_calls(expr.node):
        if call.name in FUNCTIONS and not any(_root(node) == "dependency" for node in variables(call)):
            places.append((call.start, call.end, call))
    text, at = "", expr.span.start
    for start, end, node in sorted(places, key=lambda place: (place[0], -place[1])):
        if start >= at:
            text += expr.source.text[at:start] + _value(frame, Expr(node, expr.source))
            at = end
    return text + expr.source.text[at : expr.span.end]


def _value(frame: Frame, expr: Expr) -> str:
    value: Value = unmark_deep(frame.evaluate(expr))[0]
    try:
        return expression_text(value)
    except ValueError as problem:
        raise Failure(error("terragrunt.autoinclude", "Value is not known", f"{problem}.", expr.span)) from None


def _root(node: Traversal | Variable | Call) -> str:
    return node.name if isinstance(node, Variable | Call) else node.root
