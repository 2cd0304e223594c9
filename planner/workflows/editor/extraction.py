"""`extract-module` moves blocks into a new child module. The module gets a variable for each value that the moved
blocks need, and an output for each value that remaining blocks use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from planner.foundation.values.types import DYNAMIC, constraint_text
from planner.foundation.vocabulary.address import quote, valid_identifier
from planner.language.config.directory import is_module
from planner.language.config.named_values import MODULE_ARGUMENTS, MODULE_BLOCKS
from planner.language.syntax.body import Attribute, Block
from planner.language.syntax.format import format_text
from planner.language.syntax.nodes import Call
from planner.operations.options import OperationOptions
from planner.workflows.editor.key_edits import refusal
from planner.workflows.editor.model import Model
from planner.workflows.editor.navigation import DeclaredObject, Edits, mentions, moved_text
from planner.workflows.editor.pieces import (
    Changes,
    Piece,
    Use,
    cut_text,
    free_name,
    holder_of,
    module_uses,
    piece_of,
    plain_name,
    relative_source,
    removal,
    source_edits,
    source_text,
    uses_in,
    whole_lines,
)
from planner.workflows.editor.refactoring import (
    FormerAddresses,
    Refactoring,
    check,
    renamed_calls,
    target_of,
    workspace_of,
)
from planner.workflows.editor.symbols import attributes_of, nodes
from planner.workflows.editor.workspace import Workspace
from planner.world.state.workspace import data_directory

_MOVABLE = ("resource", "data", "module", "locals")
_COPIED = ("type", "description", "sensitive", "ephemeral")
"""arguments of a variable that are copied if the new module needs the variable's value"""


def extract_module(options: OperationOptions, addresses: Sequence[str], to: str, name: str = "") -> Refactoring:
    """Move the blocks of objects into a new child module in the directory `to`. Raises Failure."""
    workspace = workspace_of(options)
    targets = [target_of(workspace, options, address) for address in addresses]
    directory, module = targets[0][0].directory, targets[0][1]
    if any(prefix != module for _, prefix in targets):
        raise refusal("The addresses belong to different modules: name objects of a single module.")
    made = _Extraction(workspace, directory, [target.key for target, _ in targets], os.path.abspath(to), name)
    calls = [(old[7:], new.replace("module.", "")) for old, new in made.moves() if old.startswith("module.")]
    back = FormerAddresses(module, made.moves())
    keys = renamed_calls(options, directory, calls)
    return check(workspace, options, made.edits(), back, more=made.files(), calls=keys)


def extraction_edits(workspace: Workspace, directory: str, keys: Sequence[str], to: str) -> Edits:
    """The edits of `extract-module` for a code action. Unlike extract_module, this does not make a plan to check them.
    Raises Failure."""
    made = _Extraction(workspace, directory, keys, to, "")
    return {**made.edits(), **{path: [(0, 0, text)] for path, text in made.files().items()}}


def check_directory(workspace: Workspace, path: str) -> None:
    """Raises Failure if the path is not a directory of the repository and cannot be created as one."""
    above, folders = path, [*map(os.path.realpath, workspace.folders)]
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        raise refusal(f"{os.path.relpath(above)} is not a directory.")
    is_linked_here = any(os.path.commonpath([one, os.path.realpath(above)]) == one for one in folders)
    if not is_linked_here or not workspace.is_inside(os.path.join(path, "main.tf")):
        where = f"{os.path.relpath(path)} is outside of"
        if len(folders) == 1 and not os.path.exists(os.path.join(folders[0], ".git")):
            raise refusal(
                f"{where} {folders[0]}: without a Git repository, only files below that directory are edited."
            )
        raise refusal(f"{where} the repository.")


class _Extraction:
    def __init__(self, workspace: Workspace, directory: str, keys: Sequence[str], to: str, name: str) -> None:
        self.workspace, self.directory, self.to = workspace, directory, to
        self.symbols = workspace.module(directory).symbols
        self.name = self._call_name(name)
        self.pieces = {key: piece_of(workspace, DeclaredObject(directory, key)) for key in dict.fromkeys(keys)}
        for piece in self.pieces.values():
            self._check_movable(piece)
        if all(key.startswith("local.") for key in self.pieces):
            raise refusal("Name at least one resource, data source or module call, not only local values.")
        self.first = next(piece for key, piece in self.pieces.items() if not key.startswith("local."))
        self._add_locals()
        self.model = Model(workspace, directory)
        self.variables: dict[str, tuple[str, str]] = {}
        """{name of a variable of the new module: (source of the argument in the call, source of the variable block)}"""
        self.outputs: dict[str, str] = {}
        """{name of an output of the new module: source of its block}"""
        self.inner: dict[str, Changes] = {}
        """{file: edits inside the moved blocks}"""
        self.providers: dict[str, set[str]] = {}
        """{local name of a provider: aliases of its configurations that moved blocks use}; the alias "" means the
        configuration without an alias"""
        self._names: dict[tuple[str, ...], str] = {}
        for piece in self.in_order():
            self._bring(piece)
        self.outer = self._outside()

    def _call_name(self, name: str) -> str:
        """The name of the module call. Raises Failure if the directory or the name is already used or not allowed."""
        where = os.path.relpath(self.to)
        if is_module(self.to):
            raise refusal(f"{where} has configuration files already: name a new directory.")
        check_directory(self.workspace, self.to)
        if f"/{data_directory(os.environ)}/" in f"{self.to}/":
            raise refusal(f"{where} is in the data directory of planner, whose content init replaces.")
        name = name or os.path.basename(self.to)
        if not valid_identifier(name):
            raise refusal(f'"{name}" is not a valid name of a module: choose one with -name=NAME.')
        if f"module.{name}" in self.symbols or self.workspace.module(self.directory).mentions.get(f"module.{name}"):
            raise refusal(f"module.{name} is already declared or mentioned: choose another name with -name=NAME.")
        return name

    def _check_movable(self, piece: Piece) -> None:
        if piece.holder.type not in _MOVABLE:
            raise refusal(f"{piece.key} cannot be in the new module: name resources, data sources, modules and locals.")
        text = self.workspace.document(piece.path).text
        if piece.holder.type == "module":
            source = attributes_of(piece.holder.body).get("source")
            if (
                source is not None
                and source_text(text, source.expr)[1:2] == "."
                and "${" in source_text(text, source.expr)
            ):
                raise refusal(f"The source of {piece.key} is computed, so it cannot be rewritten for the new module.")

    def _add_locals(self) -> None:
        """Also move the local values that only moved blocks use. Raises Failure."""
        waiting = list(self.pieces.values())
        while waiting:
            for key in sorted({use.key for use in uses_in(waiting.pop()) if use.ref.kind == "local"}):
                target = DeclaredObject(self.directory, key)
                everywhere = mentions(self.workspace, target)
                is_declared = key not in self.pieces and len(self.symbols.get(key, ())) == 1
                if is_declared and all(
                    holder_of(self.pieces.values(), path, use.start) is not None for path, use in everywhere
                ):
                    self.pieces[key] = piece_of(self.workspace, target)
                    waiting = list(self.pieces.values())

    def in_order(self) -> list[Piece]:
        """The moved blocks and local values, sorted by file and position."""
        return sorted(self.pieces.values(), key=lambda piece: (piece.path, piece.start))

    def moves(self) -> list[tuple[str, str]]:
        """(former address, new address) of each moved block; addresses are relative to the calling module."""
        return [(key, f"module.{self.name}.{key}") for key in self.pieces if not key.startswith("local.")]

    # ---------------------------------------------------------------- inputs of the new module

    def _bring(self, piece: Piece) -> None:
        """Add the edits inside a moved block, and the variables and providers that the block needs, to this object.
        Raises Failure."""
        changes = self.inner.setdefault(piece.path, [])
        wholes = {use.key for use in uses_in(piece) if not use.attribute and use.role == "value"}
        for use in uses_in(piece):
            if use.ref.kind == "path" and use.ref.name == "module":
                if not self.workspace.callers(self.directory):
                    changes.append((use.node.start, use.end(1), "path.root"))
                else:
                    name = self._variable(("path.module", ""), "module_path", "path.module", "string")
                    changes.append((use.node.start, use.end(1), f"var.{name}"))
            if use.key in self.pieces or use.key not in self.symbols:
                continue
            if use.role in ("replace_triggered_by", "actions"):
                detail = f"{piece.key} names {use.key} in {use.role}, which allows only objects of its own module."
                raise refusal(f"{detail} Name {use.key}, too.")
            steps = use.base + (1 if use.attribute and use.role == "value" and use.key not in wholes else 0)
            source = self.workspace.document(piece.path).text[use.node.start : use.end(steps)]
            name = self._variable_for(use, source, steps == use.base)
            changes.append((use.node.start, use.end(steps), f"var.{name}"))
        text = self.workspace.document(piece.path).text
        changes += source_edits(self.workspace, self.directory, piece.holder, text, self.to)
        self._bring_providers(piece)

    def _variable_for(self, use: Use, source: str, is_whole: bool) -> str:
        """The name of the new module's variable for a value of the calling module. If there is no such variable yet, it
        is added."""
        text = self._type(use, is_whole)
        wanted = plain_name(use, is_whole)
        copied = ""
        if use.ref.kind == "var":
            copied = "".join(self._arguments_of(use.key))
        if not copied:
            copied = f"  type = {text}\n" + ("  ephemeral = true\n" if use.ref.mode == "ephemeral" else "")
        return self._variable((use.key, "" if is_whole else use.attribute), wanted, source, text, copied)

    def _variable(self, of: tuple[str, str], wanted: str, source: str, type: str, content: str = "") -> str:
        if of not in self._names:
            taken = (*self.variables, *MODULE_ARGUMENTS, *MODULE_BLOCKS)
            name = free_name(wanted, taken, f"{of[0].rpartition('.')[2]}_{wanted}")
            block = f"variable {quote(name)} {{\n{content or f'  type = {type}' + chr(10)}}}\n"
            self._names[of] = name
            self.variables[name] = source, block
        return self._names[of]

    def _arguments_of(self, key: str) -> Iterator[str]:
        """The source of the arguments that are copied from a variable's declaration."""
        for path, symbol in self.symbols[key]:
            if path.endswith(".json"):
                continue
            text = self.workspace.document(path).text
            for node in nodes(self.workspace.body(path)[0]):
                if isinstance(node, Block) and node.start == symbol.start:
                    inner = attributes_of(node.body)
                    yield from (
                        f"  {text[inner[one].start : inner[one].end].rstrip()}\n" for one in _COPIED if one in inner
                    )

    def _type(self, use: Use, is_whole: bool) -> str:
        """The source of the type of a value, as far as the configuration determines it; otherwise "any"."""
        ref = use.ref
        if ref.kind == "local":
            local = self.model.root.locals.get(ref.name)
            value = self.model.value(local.expr, use.key) if local is not None else None
            names = {"str": "string", "bool": "bool", "int": "number", "float": "number", "Decimal": "number"}
            return names.get(value.__class__.__name__, "any")
        if ref.kind == "resource" and not is_whole:
            decl = self.model.root.resources.get(use.key)
            schema = self.model.schema(ref.mode, ref.type, decl.provider_name if decl is not None else "")
            attribute = schema.attributes.get(use.attribute) if schema is not None else None
            if attribute is not None and attribute.nested is None and attribute.type != DYNAMIC:
                return constraint_text(attribute.type)
        return "any"

    def _bring_providers(self, piece: Piece) -> None:
        block = piece.holder
        if piece.key.startswith("local."):
            pass
        elif block.type == "module":
            passed = self.model.root.calls.get(piece.key.partition(".")[2])
            for _, outer in passed.providers if passed is not None else ():
                self.providers.setdefault(outer.name, set()).add(outer.alias or "")
            if passed is not None and not passed.providers:
                for name in self.model.root.required_providers:
                    self.providers.setdefault(name, set()).add("")
        else:
            decl = self.model.root.resources.get(piece.key)
            if decl is not None:
                self.providers.setdefault(decl.provider_name, set()).add(decl.provider_alias)
                if decl.provider is not None and decl.provider.key is not None:
                    detail = f"{piece.key} selects a provider configuration with a key."
                    raise refusal(f"{detail} Such a configuration cannot be passed to a module.")
        for node in nodes(piece.node):
            if isinstance(node, Call) and node.name.startswith("provider::"):
                self.providers.setdefault(node.name.split("::")[1], set())

    # ---------------------------------------------------------------- outputs of the new module

    def _outside(self) -> Edits:
        """The edits of references to moved objects in the blocks that remain. Adds the outputs that these references
        need. Raises Failure."""
        edits: Edits = {}
        staying = [
            (path, use)
            for path, use in module_uses(self.workspace, self.directory, self.pieces)
            if use.key in self.pieces and holder_of(self.pieces.values(), path, use.node.start) is None
        ]
        wholes = {use.key for _, use in staying if not use.attribute and use.role == "value"}
        for path, use in staying:
            if use.role == "history":
                continue
            if use.role == "address":
                at = use.node.start
                edits.setdefault(path, []).append((at, at, f"module.{self.name}."))
                continue
            if use.role in ("replace_triggered_by", "actions"):
                detail = (
                    f"{use.key} is named in {use.role} of a remaining block, which allows only objects of its module."
                )
                raise refusal(f"{detail} Name that block, too.")
            steps = use.base + (1 if use.attribute and use.role == "value" and use.key not in wholes else 0)
            source = self.workspace.document(path).text[use.node.start : use.end(steps)]
            of = (use.key, "" if steps == use.base else use.attribute)
            if ("out", *of) not in self._names:
                longer = f"{use.ref.label or use.ref.name}_{use.attribute}"
                name = free_name(plain_name(use, steps == use.base), self.outputs, longer)
                self._names["out", *of] = name
                ephemeral = "  ephemeral = true\n" if use.ref.mode == "ephemeral" else ""
                self.outputs[name] = f"output {quote(name)} {{\n  value = {source}\n{ephemeral}}}\n"
            output = self._names["out", *of]
            edits.setdefault(path, []).append((use.node.start, use.end(steps), f"module.{self.name}.{output}"))
        return edits

    # ---------------------------------------------------------------- the texts

    def edits(self) -> Edits:
        """The edits of the calling module's files: references, the removal of moved blocks, and the module call."""
        edits = {path: list(changes) for path, changes in self.outer.items()}
        for piece in self.in_order():
            text = self.workspace.document(piece.path).text
            start, end = self._range(piece)
            if piece is self.first:
                gap = "\n" if text[end:].strip() and not re.match(r"[ \t]*\r?\n", text[end:]) else ""
                edits.setdefault(piece.path, []).append((start, end, self._call() + gap))
            else:
                edits.setdefault(piece.path, []).append(removal(text, start, end))
        return edits

    def _range(self, piece: Piece) -> tuple[int, int]:
        """The range to remove for a moved block or local value. If all values of a `locals` block move, the range is
        the whole block."""
        if piece.key.startswith("local.") and piece.holder is not piece.node:
            inside = attributes_of(piece.holder.body)
            if all(f"local.{name}" in self.pieces for name in inside):
                return whole_lines(self.workspace.document(piece.path).text, piece.holder.start, piece.holder.end)
        return piece.start, piece.end

    def _call(self) -> str:
        lines = [f"module {quote(self.name)} {{\n  source = {quote(relative_source(self.directory, self.to))}\n"]
        if any(alias for aliases in self.providers.values() for alias in aliases):
            lines.append("\n  providers = {\n")
            for name, aliases in sorted(self.providers.items()):
                lines += (f"    {one} = {one}\n" for one in sorted(f"{name}.{a}" if a else name for a in aliases)
                          if one != "terraform")  # fmt: skip
            lines.append("  }\n")
        if self.variables:
            lines.append("\n")
        lines += (f"  {name} = {source}\n" for name, (source, _) in self.variables.items())
        moved = [moved_text(old, new) for old, new in self.moves() if not old.startswith("data.")]
        return format_text("".join([*lines, "}"])) + "".join(moved) + "\n"

    def files(self) -> dict[str, str]:
        """The files of the new module, as {path: content}."""
        texts = {piece.path: self.workspace.document(piece.path).text for piece in self.pieces.values()}
        locals_, blocks = [], []
        for piece in self.in_order():
            changes = self.inner.get(piece.path, [])
            if isinstance(piece.node, Attribute):
                text = cut_text(texts[piece.path], *self._attribute_lines(piece), changes)
                locals_.append(text if text.endswith("\n") else text + "\n")
            else:
                text = cut_text(texts[piece.path], piece.start, piece.end, changes)
                blocks.append(text if text.endswith("\n") else text + "\n")
        newline = "\r\n" if all("\r\n" in text for text in texts.values()) else "\n"
        if locals_:
            blocks.insert(0, "".join([f"locals {{{newline}", *locals_, f"}}{newline}"]))
        parts = {
            "main.tf": newline.join(blocks),
            "variables.tf": self._file_text((block for _, block in self.variables.values()), newline),
            "outputs.tf": self._file_text(self.outputs.values(), newline),
            "versions.tf": self._file_text(self._requirements(), newline),
        }
        return {os.path.join(self.to, name): text for name, text in parts.items() if text}

    def _attribute_lines(self, piece: Piece) -> tuple[int, int]:
        """The range to copy for a local value: whole lines or, if it is on the line of the block's header, only its own
        source."""
        text = self.workspace.document(piece.path).text
        start, end = whole_lines(text, piece.node.start, piece.node.end)
        if start <= piece.holder.start:
            return piece.node.start, piece.node.end
        return start, end

    @staticmethod
    def _file_text(blocks: Iterable[str], newline: str) -> str:
        return "\n".join(map(format_text, blocks)).replace("\r\n", "\n").replace("\n", newline)

    def _requirements(self) -> Iterator[str]:
        """The `terraform` block with the new module's required_providers; no block if there are none."""
        entries = []
        for name, aliases in sorted(self.providers.items()):
            required = self.model.root.required_providers.get(name)
            named = sorted(alias for alias in aliases if alias)
            if name == "terraform" or (required is None and not named):
                continue
            source = required.source if required is not None else self.model.root.provider_source(name)
            entry = [f"      source = {quote(source.removeprefix('registry.opentofu.org/'))}\n"]
            if required is not None and required.version:
                entry.append(f"      version = {quote(required.version)}\n")
            if named:
                entry.append(f"      configuration_aliases = [{', '.join(f'{name}.{alias}' for alias in named)}]\n")
            entries.append(f"    {name} = {{\n{''.join(entry)}    }}\n")
        if entries:
            yield f"terraform {{\n  required_providers {{\n{''.join(entries)}  }}\n}}\n"
