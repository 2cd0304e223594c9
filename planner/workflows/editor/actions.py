"""Code actions of the language server: correct a name, add missing declarations, arguments and provider requirements,
replace count with for_each, and extract expressions and modules."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from planner.foundation.values.types import DYNAMIC, constraint_text
from planner.foundation.values.value import NULL
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.span import Source
from planner.language.config.model import Expr
from planner.language.config.named_values import MODULE_ARGUMENTS, MODULE_BLOCKS
from planner.language.syntax.body import Attribute, Block, variables
from planner.language.syntax.nodes import Element, Literal, ObjectItem, SyntaxNode, Template, Wrap
from planner.workflows.editor.completion import MODES, schema_of
from planner.workflows.editor.cursor import BlockHeader
from planner.workflows.editor.hover import ModelOf
from planner.workflows.editor.key_edits import for_each_edits, strings
from planner.workflows.editor.model import Model
from planner.workflows.editor.navigation import DeclaredObject, declarations, resolved
from planner.workflows.editor.symbols import NameUse, attributes_of, nodes
from planner.workflows.editor.texts import Json, workspace_edit
from planner.workflows.editor.workspace import Workspace, kind_of

_HINT = re.compile(r'Did you mean "([^"\n]+)"\?')
_LAST_NAME = re.compile(r'[\w-]+(?="?\Z)')
_FIXED = ("depends_on", "provider", "providers")
_FIXED_IN = {"module": ("source", "version"), "output": ("sensitive", "ephemeral", "deprecated")}
"""{block type: arguments that cannot use references}"""
_MOVABLE = ("resource", "data", "module", "local")
"""kinds of declarations that can be extracted to a new module"""
_MOST_MOVED = 100
"""maximum number of instances for which a code action adds `moved` blocks"""
Edits = dict[str, list[tuple[int, int, str]]]


def code_actions(
    workspace: Workspace, model_of: ModelOf, path: str, start: int, end: int, problems: Iterable[Any]
) -> list[Json]:
    """The code actions for the range from `start` to `end` of a file. `problems`: the diagnostics in this range."""
    maker = _Actions(workspace, model_of, path)
    result = [*maker.corrections(problems)]
    body = workspace.body(path)[0]
    around = [node for node in nodes(body) if node.start <= start and end <= node.end]
    blocks = [node for node in around if isinstance(node, Block)]
    for mention in workspace.symbols(path).mentions:
        if mention.start <= end and start <= mention.end:
            result += maker.declare(mention, around)
    if blocks:
        result += maker.completed(blocks)
        result += maker.keyed(blocks, around, start)
    if end > start:
        result += maker.extracted(around, start, end)
        result += maker.extracted_module(start, end)
    return result


class _Actions:
    def __init__(self, workspace: Workspace, model_of: ModelOf, path: str) -> None:
        self.workspace, self.model_of, self.path = workspace, model_of, path
        self.document = workspace.document(path)
        self.directory = workspace.directory_of(path)

    def _action(self, title: str, edits: Edits, kind: str = "quickfix", diagnostic: Any = None) -> Json:
        result: Json = {"title": title, "kind": kind, "edit": workspace_edit(self.workspace.opened, edits)}
        if diagnostic is not None:
            result["diagnostics"] = [diagnostic]
        return result

    # ---------------------------------------------------------------- names

    def corrections(self, problems: Iterable[Any]) -> Iterator[Json]:
        """For each diagnostic that suggests a name: an action that replaces the misspelled name."""
        for problem in problems:
            match = _HINT.search(problem.message)
            start, end = self.document.at(problem.range.start), self.document.at(problem.range.end)
            name = _LAST_NAME.search(self.document.text[start:end])
            if match is not None and name is not None:
                edits = {self.path: [(start + name.start(), start + name.end(), match[1])]}
                yield self._action(f'Change to "{match[1]}"', edits)

    def declare(self, mention: NameUse, around: list[Any]) -> Iterator[Json]:
        """Add a declaration for an undeclared variable, local value or output of a module."""
        target = resolved(self.workspace, self.directory, mention.key)
        if target is None or declarations(self.workspace, target):
            return
        kind, _, name = target.key.partition(".")
        if target.directory != self.directory and "/.terraform/" in target.directory:
            return
        if kind == "var" and (name in MODULE_ARGUMENTS or name in MODULE_BLOCKS):
            return
        if kind == "var":
            type = self._type(around) if target.directory == self.directory else "any"
            where = f" in {os.path.basename(target.directory)}" if target.directory != self.directory else ""
            block = f'variable "{name}" {{\n  type = {type}\n}}\n'
            yield self._action(f'Declare variable "{name}"{where}', self._append(target, "variables", block))
        elif kind == "output":
            block = f'output "{name}" {{\n  value = null\n}}\n'
            where = os.path.basename(target.directory)
            yield self._action(f'Declare output "{name}" in {where}', self._append(target, "outputs", block))
        elif kind == "local":
            yield self._action(f'Declare local value "{name}"', self._local(name, "null"))

    def _type(self, around: list[Any]) -> str:
        """The type of a new variable. In a variables file, it is the type of the value. Elsewhere it is the type of the
        argument whose value is the variable. If the type is unknown, it is "any" in a variables file and "string"
        elsewhere."""
        if kind_of(self.path) == "values":
            return _type_of(around[-1].expr) if around and isinstance(around[-1], Attribute) else "any"
        blocks = [BlockHeader(n.type, tuple(label.value for label in n.labels)) for n in around if isinstance(n, Block)]
        attributes = [node for node in around if isinstance(node, Attribute)]
        if blocks and attributes and around[-1] is attributes[-1].expr:
            model, name = self.model_of(self.path), attributes[-1].name
            child = model.child(blocks[0].labels[0]) if blocks[0].type == "module" and blocks[0].labels else None
            if child is not None:
                decl = child.variables.get(name)
                return constraint_text(decl.constraint.type) if decl is not None else "string"
            schema = schema_of(model, blocks)
            attribute = schema.attributes.get(name) if schema is not None else None
            if attribute is not None:
                return "any" if attribute.type == DYNAMIC else constraint_text(attribute.type)
        return "string"

    def _append(self, target: DeclaredObject, name: str, block: str) -> Edits:
        """Edits that append a block to the module's file `name` (such as variables.tf); if there is none, to the
        current file, if it is a file of the module, or to the module's first file. If the module has no file, they
        create the file `name`."""
        files = [path for path in self.workspace.module(target.directory).files if path.endswith((".tf", ".tofu"))]
        usual = [path for path in files if os.path.basename(path).split(".")[0] == name]
        own = [self.path] if self.path in files else []
        path = [*usual, *own, *files, os.path.join(target.directory, f"{name}.tf")][0]
        text = self._text(path)
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        return {path: [(len(text), len(text), gap + block)]}

    def _text(self, path: str) -> str:
        try:
            return self.workspace.document(path).text
        except (OSError, ValueError):
            return ""

    def _local(self, name: str, value: str) -> Edits:
        """Edits that add a local value to the first `locals` block of the current file or, without such a block, in a
        new block."""
        body = self.workspace.body(self.path)[0]
        for block in getattr(body, "blocks", ()):
            if block.type == "locals" and self.document.text[block.end - 1 : block.end] == "}":
                start = self.document.text.rfind("\n", 0, block.end - 1) + 1
                if not self.document.text[start : block.end - 1].strip():
                    return {self.path: [(start, start, f"  {name} = {value}\n")]}
        return self._append(DeclaredObject(self.directory, ""), "locals", f"locals {{\n  {name} = {value}\n}}\n")

    # ---------------------------------------------------------------- missing parts of a block

    def completed(self, blocks: list[Block]) -> Iterator[Json]:
        """Actions that add the required arguments that a block lacks, and the missing entry for its provider in
        required_providers."""
        outer, block = blocks[0], blocks[-1]
        if self.path.endswith(".json"):
            return
        model = self.model_of(self.path)
        given = getattr(block.body, "attributes", {})
        required: dict[str, str] = {}
        if outer.type == "module" and len(blocks) == 1 and outer.labels:
            child = model.child(outer.labels[0].value)
            variables_of = child.variables if child is not None else {}
            required = {n: constraint_text(v.constraint.type) for n, v in variables_of.items() if v.default is None}
        else:
            around = [BlockHeader(one.type, tuple(label.value for label in one.labels)) for one in blocks]
            schema = schema_of(model, around)
            attributes = schema.attributes if schema is not None else {}
            required = {n: constraint_text(a.type) for n, a in attributes.items() if a.required}
        lacking = sorted(name for name in required if name not in given)
        line = self.document.text.rfind("\n", 0, block.end - 1) + 1
        if lacking and not self.document.text[line : block.end - 1].strip():
            indent = self.document.text[line : block.end - 1] + "  "
            width = max(map(len, lacking))
            text = "".join(f"{indent}{name.ljust(width)} = {_empty(required[name])}\n" for name in lacking)
            yield self._action(f"Add required arguments: {', '.join(lacking)}", {self.path: [(line, line, text)]})
        if outer.type in MODES and outer.labels:
            yield from self._requirement(model, outer)

    def _requirement(self, model: Model, block: Block) -> Iterator[Json]:
        prefix = "" if block.type == "resource" else f"{block.type}."
        decl = model.root.resources.get(prefix + ".".join(label.value for label in block.labels))
        name = decl.provider_name if decl is not None else block.labels[0].value.split("_", 1)[0]
        if name == "terraform" or name in model.root.required_providers:
            return
        entry = f'{name} = {{\n      source = "hashicorp/{name}"\n    }}\n'
        for path, file in self.workspace.module(self.directory).files.items():
            if not any(symbol.key == "terraform" for symbol in file.symbols) or path.endswith(".json"):
                continue
            body, text = self.workspace.body(path)
            for terraform in (one for one in getattr(body, "blocks", ()) if one.type == "terraform"):
                inner = [one for one in terraform.body.blocks if one.type == "required_providers"]
                place = inner[0] if inner else terraform
                at = text.rfind("\n", 0, place.end - 1) + 1
                if text[at : place.end - 1].strip():
                    continue
                new = f"    {entry}" if inner else f"  required_providers {{\n    {entry}  }}\n"
                yield self._action(f'Require provider "{name}"', {path: [(at, at, new)]})
                return
        whole = f"terraform {{\n  required_providers {{\n    {entry}  }}\n}}\n"
        yield self._action(
            f'Require provider "{name}"', self._append(DeclaredObject(self.directory, ""), "versions", whole)
        )

    # ---------------------------------------------------------------- count

    def keyed(self, blocks: list[Block], around: list[Any], start: int) -> Iterator[Json]:
        """If the value of count is constant, an action that replaces count with for_each and adds `moved` blocks."""
        block = blocks[0]
        count = attributes_of(block.body).get("count")
        is_there = start <= block.header_end or count in around
        if count is None or not is_there or block.type not in ("resource", "module") or self.path.endswith(".json"):
            return
        if variables(count) and self.workspace.callers(self.directory):
            return  # calling modules determine the number
        model, source = self.model_of(self.path), Source(os.path.basename(self.path), self.document.text)
        number = model.value(Expr(count.expr, source), "count")
        labels = ".".join(label.value for label in block.labels)
        target = DeclaredObject(self.directory, f"module.{labels}" if block.type == "module" else labels)
        if not isinstance(number, int) or isinstance(number, bool) or number > _MOST_MOVED:
            return
        try:
            edits, _ = for_each_edits(self.workspace, target, number, lambda _, node: strings(model, node, source))
        except Failure:
            return
        yield self._action("Turn count into for_each, with moved blocks", edits, "refactor.rewrite")

    # ---------------------------------------------------------------- extraction

    def extracted(self, around: list[Any], start: int, end: int) -> Iterator[Json]:
        """Actions that extract the selected expression to a local value or, if it has no references, to a variable."""
        text = self.document.text[start:end]
        start, end = start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())
        chosen = [n for n in around if (n.start, n.end) == (start, end) and not isinstance(n, Attribute | Block)]
        attributes = [node for node in around if isinstance(node, Attribute)]
        blocks = [node for node in around if isinstance(node, Block)]
        if not chosen or not attributes or not blocks or self.path.endswith((".json", ".hcl")):
            return
        node = chosen[-1]
        roots = {getattr(one, "root", None) or getattr(one, "name", "") for one in variables(node)}
        if roots & {"each", "count", "self"} or any(isinstance(one, Element) for one in nodes(node)):
            return
        if not _is_free(node, attributes[-1]) or not _takes_references(blocks, attributes[-1].name):
            return
        if any(one.bare and one.key is node for one in around if isinstance(one, ObjectItem)):
            return
        source = self.document.text[start:end]
        name = self._free_name(attributes[-1].name)
        edits = self._local(name, source)
        edits.setdefault(self.path, []).append((start, end, f"local.{name}"))
        yield self._action(f"Extract to local.{name}", edits, "refactor.extract")
        if not roots:
            block = f'variable "{name}" {{\n  type    = {_type_of(node)}\n  default = {source}\n}}\n'
            edits = self._append(DeclaredObject(self.directory, ""), "variables", block)
            edits.setdefault(self.path, []).append((start, end, f"var.{name}"))
            yield self._action(f"Extract to var.{name}", edits, "refactor.extract")

    def extracted_module(self, start: int, end: int) -> Iterator[Json]:
        """An action that extracts the selected blocks to a new module in a subdirectory."""
        inside = [one for one in self.workspace.symbols(self.path).symbols if start <= one.start and one.end <= end]
        keys = [one.key for one in inside if one.block in _MOVABLE]
        name = next((one.name for one in inside if one.key in keys and one.block != "local"), "")
        if not name or self.path.endswith(".json"):
            return
        from planner.workflows.editor.extraction import extraction_edits

        base = os.path.join(self.directory, "modules", name)
        places = (base + more for more in ("", *(f"_{number}" for number in range(2, 10))))
        to = next((place for place in places if not os.path.exists(place)), base)
        try:
            edits = extraction_edits(self.workspace, self.directory, keys, to)
        except Failure:
            return  # no action for blocks that cannot be moved
        title = f"Extract to module {os.path.relpath(to, self.directory)}"
        yield self._action(title, edits, "refactor.extract")

    def _free_name(self, wanted: str) -> str:
        known = self.workspace.module(self.directory).symbols
        name, number = wanted, 2
        while f"local.{name}" in known or f"var.{name}" in known:
            name, number = f"{wanted}_{number}", number + 1
        return name


def _type_of(node: Any) -> str:
    """The type of a variable that replaces an expression."""
    if not isinstance(node, Literal):
        return "string" if isinstance(node, Template | Wrap) else "any"
    if isinstance(node.value, str):
        return "string"
    return "bool" if isinstance(node.value, bool) else "any" if node.value is NULL else "number"


def _takes_references(blocks: list[Block], name: str) -> bool:
    """Whether references to local values and variables are allowed in an argument. `blocks`: the enclosing blocks."""
    outer, inner = blocks[0].type, blocks[-1].type
    if outer in ("variable", "terraform", "moved", "removed", "import") or inner == "lifecycle":
        return inner == "validation"
    return name not in _FIXED and name not in _FIXED_IN.get(outer, ())


def _is_free(node: SyntaxNode, attribute: Attribute) -> bool:
    """Whether an expression uses none of the names that the surrounding `for` expressions define."""
    inside = {getattr(one, "root", None) or getattr(one, "name", "") for one in variables(node)}  # type: ignore[arg-type]
    bound = set()
    for outer in nodes(attribute):
        if outer.__class__.__name__ in ("For", "TemplateFor") and outer.start <= node.start and node.end <= outer.end:
            bound |= {outer.key, outer.value}
    return not inside & bound


def _empty(type: str) -> str:
    """The source of an empty value of a type, for a new argument."""
    if type.startswith(("list", "set", "tuple")):
        return "[]"
    if type.startswith(("map", "object")):
        return "{}"
    return {"string": '""', "number": "0", "bool": "false"}.get(type, "null")
