"""Finds declarations and references across modules, and renames objects: LSP's definition, references, symbols and
rename."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import frozen
from planner.workflows.editor.symbols import DeclaredName, NameUse
from planner.workflows.editor.texts import Json, location, workspace_edit
from planner.workflows.editor.workspace import CONFIGURATION, Workspace

KINDS = {
    "resource": 5, "data": 8, "ephemeral": 8, "action": 12, "list": 8, "module": 2, "variable": 13, "local": 14,
    "output": 10, "provider": 3, "check": 24, "run": 12, "mock_provider": 3, "component": 2, "deployment": 3, "unit": 2,
}  # fmt: skip
"""{block type: LSP's kind of symbol} (class, field, method, module, variable, constant, enum, namespace, event)"""
_MOST = 1000
"""maximum number of symbols in a response"""
_COMMENT = re.compile(r"[ \t]*(?:#|//)[^\r\n]*")
_WORD = re.compile(r"[\w-]*")
_STEPS = re.compile(r"(?:\.[\w*-]+|\[[^\[\]\n]*\])+")
_LONGEST_STEPS = 300
"""maximum length in characters of the attributes and indexes after an object's name that are examined"""
Edits: TypeAlias = dict[str, list[tuple[int, int, str]]]
"""{path: [(start, end, new text)]}, with offsets in code points"""


@frozen
class DeclaredObject:
    """A declared object: the directory of its module, and its key in that module."""

    directory: str
    key: str


def target_at(workspace: Workspace, path: str, offset: int) -> tuple[DeclaredObject, int, int] | None:
    """The object whose name is at an offset, and the range of the name; None if no object is named there."""
    hit = workspace.symbols(path).at(offset)
    if hit is None:
        return None
    directory = workspace.directory_of(path)
    if isinstance(hit, DeclaredName):
        return DeclaredObject(directory, hit.key), hit.name_start, hit.name_end
    target = resolved(workspace, directory, hit.key)
    return (target, hit.start, hit.end) if target is not None else None


def resolved(workspace: Workspace, directory: str, key: str) -> DeclaredObject | None:
    """The object to which a key in a module refers. An output or an argument of a module call is an object of the
    called module. None if that module is not known."""
    kind, _, rest = key.partition(".")
    call, _, name = rest.partition(".")
    if kind == "instances" and call not in workspace.module(directory).repeated:
        return None
    if kind in ("argument", "instances") or (kind == "module" and name):
        below = workspace.module_directory(directory, call)
        return (
            DeclaredObject(below, f"{'var' if kind == 'argument' else 'output'}.{name}") if below is not None else None
        )
    return DeclaredObject(directory, key)


def declarations(workspace: Workspace, target: DeclaredObject) -> list[tuple[str, DeclaredName]]:
    """The declarations of an object, as (path, declaration). There are several if override files also declare the
    object."""
    return workspace.module(target.directory).symbols.get(target.key, [])


def mentions(workspace: Workspace, target: DeclaredObject) -> Iterator[tuple[str, NameUse]]:
    """The references to an object in its module and in modules that call it."""
    yield from workspace.module(target.directory).mentions.get(target.key, ())
    kind, _, name = target.key.partition(".")
    if kind in ("var", "output"):
        for directory, call in workspace.callers(target.directory):
            module = workspace.module(directory)
            if kind == "var":
                yield from module.mentions.get(f"argument.{call}.{name}", ())
                continue
            yield from module.mentions.get(f"module.{call}.{name}", ())
            if call in module.repeated:
                yield from module.mentions.get(f"instances.{call}.{name}", ())


def _locations(workspace: Workspace, ranges: Iterable[tuple[str, int, int]]) -> list[Json]:
    opened = workspace.opened
    return [location(opened.uri(path), opened.document(path), start, end) for path, start, end in ranges]


def definition(workspace: Workspace, path: str, offset: int) -> list[Json]:
    """The declarations of the object or attribute at an offset, as LSP locations. For the `source` of a module call,
    this is the called module's main.tf or, without this file, its first file."""
    hit = target_at(workspace, path, offset)
    if hit is not None:
        return _locations(workspace, [(p, s.name_start, s.name_end) for p, s in declarations(workspace, hit[0])])
    if inner := list(_inner(workspace, path, offset)):
        return _locations(workspace, inner)
    for symbol in workspace.symbols(path).symbols:
        if symbol.block == "module" and symbol.start <= offset <= symbol.end:
            below = workspace.module_directory(os.path.dirname(path), symbol.name)
            text = workspace.document(path).text
            line = text[text.rfind("\n", 0, offset) + 1 : offset].lstrip()
            if below is not None and line.startswith(("source", '"source"')):
                names = [name for name in workspace.module(below).files if name.endswith(CONFIGURATION)]
                names.sort(key=lambda name: not os.path.basename(name).startswith("main."))
                return _locations(workspace, [(name, 0, 0) for name in names[:1]])
    return []


def _inner(workspace: Workspace, path: str, offset: int) -> Iterator[tuple[str, int, int]]:
    """The place of the attribute at an offset in the declaration of its object: for `b` in `var.a.b`, the attribute `b`
    in the type of the variable. If it is not found there, the place of the object's name or of the last attribute that
    is found."""
    text = workspace.document(path).text
    end = offset + len(_WORD.match(text, offset)[0])  # type: ignore[index]
    near = (use for use in workspace.symbols(path).mentions if use.end < offset <= use.end + _LONGEST_STEPS)
    use = max(near, key=lambda one: one.end, default=None)
    if use is None or not _STEPS.fullmatch(text, use.end, end):
        return
    target = resolved(workspace, workspace.directory_of(path), use.key)
    names = re.findall(r"\.([A-Za-z_][\w-]*)", text[use.end : end])
    for place, symbol in declarations(workspace, target) if target is not None else ():
        whole = workspace.document(place).text
        start, stop = symbol.name_start, symbol.name_end
        for name in names:
            match = re.compile(rf"(?<![\w.-]){re.escape(name)}(?=\s*[=:])").search(whole, stop, symbol.end)
            if match is None:
                break
            start, stop = match.span()
        yield place, start, stop


def references(workspace: Workspace, path: str, offset: int, with_declaration: bool) -> list[Json]:
    workspace.look_again()
    hit = target_at(workspace, path, offset)
    if hit is None:
        return []
    own = [(p, s.name_start, s.name_end) for p, s in declarations(workspace, hit[0])] if with_declaration else []
    return _locations(workspace, sorted({*own, *((p, m.start, m.end) for p, m in mentions(workspace, hit[0]))}))


def highlights(workspace: Workspace, path: str, offset: int) -> list[Json]:
    """The declarations of the object at an offset in this file, and the references to it."""
    document = workspace.document(path)
    hit = target_at(workspace, path, offset)
    if hit is None:
        return []
    own = [(s.name_start, s.name_end, 3) for p, s in declarations(workspace, hit[0]) if p == path]
    used = [(m.start, m.end, 2) for p, m in mentions(workspace, hit[0]) if p == path]
    return [{"range": document.range(start, end), "kind": kind} for start, end, kind in sorted({*own, *used})]


def outline(workspace: Workspace, path: str) -> list[Json]:
    document = workspace.document(path)
    return [
        {
            "name": symbol.key,
            "kind": KINDS.get(symbol.block, 3),
            "range": document.range(symbol.start, symbol.end),
            "selectionRange": document.range(symbol.name_start, symbol.name_end),
        }
        for symbol in workspace.symbols(path).symbols
    ]


def workspace_symbols(workspace: Workspace, query: str) -> list[Json]:
    """The declarations in open files and in all folders whose keys contain the characters of the query in this order,
    but at most _MOST."""
    workspace.look_again()
    wanted = query.lower()
    result = []
    for path in dict.fromkeys((*workspace.opened.documents, *workspace.files())):
        for symbol in workspace.symbols(path).symbols:
            if symbol.key != symbol.block and _fits(wanted, symbol.key.lower()):
                where = location(
                    workspace.opened.uri(path), workspace.document(path), symbol.name_start, symbol.name_end
                )
                folder = next((f for f in workspace.folders if path.startswith(f)), "")
                inside = os.path.relpath(os.path.dirname(path), folder) if folder else ""
                result.append(
                    {"name": symbol.key, "kind": KINDS.get(symbol.block, 3), "location": where, "containerName": inside}
                )
                if len(result) == _MOST:
                    return result
    return result


def _fits(query: str, name: str) -> bool:
    rest = iter(name)
    return query in name or all(letter in rest for letter in query)


# ---------------------------------------------------------------- rename


def renamable(workspace: Workspace, path: str, offset: int) -> tuple[DeclaredObject, int, int]:
    """The object whose name is at an offset, and the range of the name. Raises Failure if there is no object, or if it
    cannot be renamed."""
    hit = target_at(workspace, path, offset)
    if hit is None or not declarations(workspace, hit[0]):
        raise _refusal("There is no name here that is declared in this workspace.")
    check_renamable(workspace, hit[0])
    return hit


def check_renamable(workspace: Workspace, target: DeclaredObject) -> None:
    """Raises Failure if objects of this kind cannot be renamed, or if the object is declared in an installed module or
    outside the workspace."""
    for place, symbol in declarations(workspace, target):
        if symbol.block in ("provider", "mock_provider", symbol.key):
            raise _refusal(f"A block of type {symbol.block} cannot be renamed.")
        if not workspace.is_inside(place) or "/.terraform/" in place:
            detail = f"{target.key} is declared in {place}, which is in an installed module or outside the workspace."
            raise _refusal(detail)


def rename(workspace: Workspace, path: str, offset: int, name: str) -> Json:
    """The edits, as an LSP WorkspaceEdit, that rename the object at an offset in all files. Raises Failure."""
    workspace.look_again()
    target, _, _ = renamable(workspace, path, offset)
    return workspace_edit(workspace.opened, rename_edits(workspace, target, name))


def rename_edits(workspace: Workspace, target: DeclaredObject, name: str) -> Edits:
    """The edits that rename an object in all files, and add a `moved` block for a resource or module call. {} if the
    object already has this name. Raises Failure."""
    if not valid_identifier(name):
        raise _refusal(f'"{name}" is not a valid name: letters, digits, _ and -, beginning with a letter or _.')
    new_key = f"{target.key.rpartition('.')[0]}.{name}"
    module = workspace.module(target.directory)
    if new_key == target.key:
        return {}
    if new_key in module.symbols:
        raise _refusal(f"{new_key} is already declared.")
    edits: Edits = {}
    places = declarations(workspace, target)
    for place, symbol in places:
        edits.setdefault(place, []).append((symbol.name_start, symbol.name_end, name))
    for place, mention in mentions(workspace, target):
        if not mention.is_history:
            edits.setdefault(place, []).append((mention.start, mention.end, name))
    place, symbol = places[0]
    if symbol.block in ("resource", "module"):
        if any(mention.is_history for _, mention in module.mentions.get(new_key, ())):
            raise _refusal(f"A moved or removed block names {new_key}: delete that block first.")
        if place.endswith(".json"):
            raise _refusal("Objects that are declared in JSON files cannot be renamed here.")
        edits[place].append(after_block(workspace.document(place).text, symbol.end, moved_text(target.key, new_key)))
    return edits


def after_block(text: str, end: int, more: str) -> tuple[int, int, str]:
    """The edit, as (start, end, text), that inserts `more` after a block. If a comment follows on the block's last
    line, the text is inserted after the comment."""
    comment = _COMMENT.match(text, end)
    at = comment.end() if comment is not None else end
    return at, at, more


def moved_text(old: str, new: str) -> str:
    return f"\n\nmoved {{\n  from = {old}\n  to   = {new}\n}}"


def _refusal(detail: str) -> Failure:
    return Failure(error("lsp.rename", "Cannot rename", detail))
