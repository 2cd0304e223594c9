"""`inline-module`: replaces the call of a local module with the blocks of the module."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from planner.foundation.values.types import BOOL, NUMBER, STRING, ListType, MapType, SetType
from planner.foundation.vocabulary.address import quote
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import evolve
from planner.language.config.directory import module_files
from planner.language.config.model import ProviderRef, VariableDecl
from planner.language.syntax.body import Attribute, Block, NativeBody
from planner.language.syntax.format import format_text
from planner.language.syntax.nodes import Expression, Literal, Template, Traversal
from planner.operations.options import OperationOptions
from planner.workflows.editor.key_edits import refusal
from planner.workflows.editor.model import Model
from planner.workflows.editor.navigation import DeclaredObject, Edits, moved_text
from planner.workflows.editor.pieces import (
    REFERENCE,
    Changes,
    Use,
    comment_edit,
    comments_of,
    completed,
    completions,
    cut_text,
    free_name,
    module_uses,
    native_body,
    piece_of,
    removal,
    source_edits,
    source_text,
    uses,
    whole_lines,
    with_edits,
)
from planner.workflows.editor.refactoring import (
    CHANGES,
    FormerAddresses,
    Refactoring,
    check,
    renamed_calls,
    target_of,
    workspace_of,
)
from planner.workflows.editor.symbols import RESOURCES, attributes_of, nodes
from planner.workflows.editor.workspace import Workspace, kind_of

_REMOVED = ("variable", "output", "terraform")
"""types of the module's blocks that are not copied to the calling module"""


def inline_module(options: OperationOptions, address: str) -> Refactoring:
    """Replace the call of a local module with the blocks of the module. Raises Failure."""
    try:
        return _inlined(options, address, False)
    except Failure as failure:
        if not any(one.code == CHANGES for one in failure.diagnostics):
            raise
        with suppress(Failure):  # without conversions to the variables' types the plan may differ
            return _inlined(options, address, True)
        raise


def _inlined(options: OperationOptions, address: str, is_exact: bool) -> Refactoring:
    workspace = workspace_of(options)
    target, module = target_of(workspace, options, address)
    if not target.key.startswith("module."):
        raise refusal(f"{address} is not a call of a module.")
    made = _Inlining(workspace, target.directory, target.key.partition(".")[2], is_exact)
    edits = made.edits()
    calls = [(old[7:].replace("module.", ""), new[7:]) for old, new in made.moves if new.startswith("module.")]
    gone = re.compile(rf".*checks of {re.escape(module)}module\.{made.name}\.(var|output)\.")
    keys = renamed_calls(options, target.directory, calls)
    back = FormerAddresses(module, made.moves)
    result = check(workspace, options, edits, back, more=made.removed_files(), calls=keys, gone=gone)
    return evolve(result, notes=tuple(made.notes))


class _Inlining:
    def __init__(self, workspace: Workspace, directory: str, name: str, is_exact: bool) -> None:
        """`is_exact`: also convert maps and lists to the types of the variables. This is safer, but harder to read.
        Raises Failure if the module cannot be inlined."""
        self.workspace, self.directory, self.name, self.is_exact = workspace, directory, name, is_exact
        self.call = piece_of(workspace, DeclaredObject(directory, f"module.{name}"))
        self.text = workspace.document(self.call.path).text
        self.below = self._module_directory()
        self.outer, self.inner = Model(workspace, directory), Model(workspace, self.below)
        if self.inner.root.providers:
            raise refusal(f"module.{name} has provider blocks: move these into the root module first.")
        self.paths = self._files()
        self.bodies = {path: native_body(workspace, path) for path in self.paths}
        self.names = self._new_names()
        self.locals: dict[str, str] = {}
        """{name of a new local value: its source lines, with comments}"""
        self.variables: dict[str, str] = {}
        """{name of a new variable: source of its block}"""
        self.required: list[str] = []
        """entries that the calling module's required_providers lacks"""
        self._taken = {*workspace.module(directory).symbols, *self.names.values()}
        self.changes: dict[str, Changes] = {path: [] for path in self.paths}
        self.configurations = self._configurations()
        self.comments = self._comments()
        """{key of a removed declaration: its comment lines that are not yet placed elsewhere}"""
        self.values = {name: self._argument(decl) for name, decl in self.inner.root.variables.items()}
        for path, body in self.bodies.items():
            self._rewrite(path, body)
        self.outputs: dict[str, str] = {}
        self.notes: list[str] = []

    def _module_directory(self) -> str:
        """The directory of the called module. Raises Failure if the call has arguments or blocks that prevent inlining,
        or if the module is not local."""
        arguments = attributes_of(self.call.holder.body)
        for one in ("count", "for_each", "depends_on"):
            if one in arguments:
                raise refusal(f"module.{self.name} has {one}, which cannot be added to its blocks.")
        if isinstance(self.call.holder.body, NativeBody) and self.call.holder.body.blocks:
            raise refusal(f"module.{self.name} has a block {self.call.holder.body.blocks[0].type}.")
        source = self.workspace.module(self.directory).sources.get(self.name, "")
        if not source.startswith(("./", "../")):
            raise refusal(f"module.{self.name} is not a local module: its source does not begin with ./ or ../.")
        return os.path.normpath(os.path.join(self.directory, source))

    def _files(self) -> list[str]:
        """The files of the module, main.tf first. Raises Failure if there is an override file, or if the directory
        cannot be read."""
        try:
            files = module_files(self.below)
        except OSError as problem:
            raise refusal(f"{os.path.relpath(self.below)}: {problem.strerror or problem}.") from None
        if files.override:
            raise refusal(f"module.{self.name} has an override file, {files.override[0]}.")
        self.hidden = [os.path.join(self.below, name) for name in files.hidden]
        names = sorted(files.normal, key=lambda name: (not name.startswith("main."), name))
        return [os.path.join(self.below, name) for name in names]

    def _new_names(self) -> dict[str, str]:
        """{key of an object in the module: its key in the calling module}. Objects whose names are already used there
        are renamed."""
        taken = {*self.workspace.module(self.directory).symbols} - {f"module.{self.name}"}
        result: dict[str, str] = {}
        for key, places in self.workspace.module(self.below).symbols.items():
            if places[0][1].block in (*RESOURCES, "module", "local", "check") and places[0][0] in self.paths:
                head, _, label = key.rpartition(".")
                new = key
                if key in taken:
                    known = (one.rpartition(".")[2] for one in taken if one.rpartition(".")[0] == head)
                    new = f"{head}.{free_name(f'{self.name}_{label}', known)}"
                result[key] = new
                taken.add(new)
        return result

    @property
    def moves(self) -> list[tuple[str, str]]:
        """(former address, new address) of each object of the module; addresses are relative to the calling module."""
        return [(f"module.{self.name}.{o}", n) for o, n in self.names.items() if not o.startswith("local.")]

    # ---------------------------------------------------------------- inputs of the module

    def _comments(self) -> dict[str, list[str]]:
        """{key: comment lines} for the removed variables and outputs, including comments on their arguments. The key ""
        has the remaining comments of the call."""
        own = comments_of(self.call.holder)
        result: dict[str, list[str]] = {}
        for block in (one for body in self.bodies.values() for one in body.blocks):
            if block.type in ("variable", "output"):
                name = block.labels[0].value
                is_given = block.type == "variable" and name in attributes_of(self.call.holder.body)
                lost = ("validation", "precondition", *(("default",) if is_given else ()))
                lines = [one for of, some in comments_of(block).items() if of not in lost for one in some]
                key = f"{'var' if block.type == 'variable' else 'output'}.{name}"
                result[key] = [*lines, *(own.pop(name, []) if is_given else [])]
        return {**result, "": [line for some in own.values() for line in some]}

    def _local(self, wanted: str, source: str, comments: Iterable[str] = ()) -> str:
        """Add a local value to the calling module, and return a reference to it."""
        names = (key[6:] for key in self._taken if key.startswith("local."))
        name = free_name(wanted, names, f"{self.name}_{wanted}")
        self._taken.add(f"local.{name}")
        self.locals[name] = "".join(f"  {line}\n" for line in (*comments, f"{name} = {source}"))
        return f"local.{name}"

    def _argument(self, decl: VariableDecl) -> str:
        """The source that replaces references to a variable: the argument of the call (or the default), or a reference
        to a new local value or variable. Raises Failure."""
        given = attributes_of(self.call.holder.body).get(decl.name)
        node, text = (given.expr, self.text) if given is not None else self._default(decl)
        source = source_text(text, node)
        is_plain = isinstance(node, Literal) and "\n" not in source and not source.startswith("<<")
        new = self._conversion(decl, node, self._completed(decl, node, text))
        hits = [use for body in self.bodies.values() for use in uses(body) if use.key == f"var.{decl.name}"]
        hits = [use for use in hits if use.block.type != "validation"]
        in_template = self._template_parts()
        is_part = any(len(use.node.steps) > 1 or id(use.node) in in_template for use in hits)
        if new == "null" and (is_part or (hits and self.is_exact)):
            return self._variable(decl)
        if not hits or REFERENCE.match(new):
            return new
        if is_plain and new == source and len(hits) == 1 and not any(id(use.node) in in_template for use in hits):
            return new
        return self._local(decl.name, new, self.comments.pop(f"var.{decl.name}", ()))

    def _variable(self, decl: VariableDecl) -> str:
        """Add a variable with the default null to the calling module, and return a reference to it. It is used instead
        of a literal `null`, because `null.a` is always an error, but `var.x.a` is an error only if it is evaluated."""
        content, _ = self._block("variable", decl.name)
        type = content.get("type")
        text = type.source.text[type.start : type.end].rstrip() if type is not None else "type = any"
        known = {key[4:] for key in self.workspace.module(self.directory).symbols if key.startswith("var.")}
        name = free_name(decl.name, (*known, *self.variables), f"{self.name}_{decl.name}")
        comments = "".join(f"{line}\n" for line in self.comments.pop(f"var.{decl.name}", ()))
        self.variables[name] = f"{comments}variable {quote(name)} {{\n  {text}\n  default = null\n}}"
        return f"var.{name}"

    def _completed(self, decl: VariableDecl, node: Expression, text: str) -> str:
        """The source of an argument, with the optional attributes that the type of the variable adds to objects. Raises
        Failure."""
        source = source_text(text, node)
        parent = self.outer.root.variables.get(source[4:]) if source.startswith("var.") else None
        if parent is not None and parent.constraint == decl.constraint:
            return source
        wanted, defaults = decl.constraint.written, decl.constraint.defaults
        try:
            changes = list(completions(text, node, wanted, defaults))
        except ValueError:
            with suppress(ValueError):
                return completed(source, wanted, defaults)
            detail = f"The argument {decl.name} of module.{self.name} is computed, and its type adds attributes"
            raise refusal(f"{detail}: write it as an object with all optional attributes.") from None
        return cut_text(text, node.start, node.end, changes)

    def _default(self, decl: VariableDecl) -> tuple[Expression, str]:
        """The default of a variable, and the text of the file that declares it. Raises Failure if it has no default."""
        content, text = self._block("variable", decl.name)
        if "default" not in content:
            raise refusal(f"module.{self.name} lacks the argument {decl.name}.")
        return content["default"].expr, text

    def _conversion(self, decl: VariableDecl, node: Expression, source: str) -> str:
        """The source of an argument, with the conversions that passing it to the variable would make: to the type of
        the variable, and to a sensitive value."""
        wanted = decl.constraint.type
        classes: dict[object, tuple[type, str]] = {
            STRING: (str, "tostring"),
            BOOL: (bool, "tobool"),
            NUMBER: (int, "tonumber"),
        }
        parent = self.outer.root.variables.get(source[4:]) if source.startswith("var.") else None
        collections: dict[type, str] = {
            SetType: "toset",
            **({MapType: "tomap", ListType: "tolist"} if self.is_exact else {}),
        }
        function = collections.get(wanted.__class__, "")
        if function and source != "null" and (parent is None or parent.constraint.type != wanted):
            source = f"{function}({source})"
        elif isinstance(node, Literal) and wanted in classes and source != "null":
            cls, function = classes[wanted]
            is_number = not isinstance(node.value, (str, bool))
            if not isinstance(node.value, cls) and not (wanted == NUMBER and is_number):
                source = f"{function}({source})"
        if decl.sensitive and (parent is None or not parent.sensitive):
            source = f"sensitive({source})"
        return source

    def _template_parts(self) -> set[int]:
        """The ids (`id()`) of the syntax nodes that are references inside strings."""
        return {
            id(part)
            for body in self.bodies.values()
            for node in nodes(body)
            if isinstance(node, Template)
            for part in nodes(node)
            if isinstance(part, Traversal)
        }

    def _rewrite(self, path: str, body: NativeBody) -> None:
        """Add the edits for a file of the module to `self.changes`."""
        text, changes = self.workspace.document(path).text, self.changes[path]
        for symbol in self.workspace.symbols(path).symbols:
            new = self.names.get(symbol.key, symbol.key)
            if new != symbol.key:
                changes.append((symbol.name_start, symbol.name_end, new.rpartition(".")[2]))
        for block in body.blocks:
            if block.type in RESOURCES:
                self._choose_provider(block, changes)
            elif block.type == "module":
                self._relocate(text, block, changes)
        removed = [block for block in body.blocks if block.type in _REMOVED]
        for use in uses(body):
            if use.role == "history":
                changes.append((use.node.start, use.node.start, f"module.{self.name}."))
            elif use.ref.kind == "var" and use.ref.name in self.values:
                changes.append((use.node.start, use.end(1), self.values[use.ref.name]))
                if not any(one.start <= use.node.start < one.end for one in removed):
                    self._keep_comments(changes, path, use, f"var.{use.ref.name}")
            elif use.ref.kind == "path" and use.ref.name == "module":
                changes.append(self._path(text, use))
            elif (new := self.names.get(use.key, use.key)) != use.key:
                step = use.node.steps[use.base - 1]
                changes.append((step.start + 1, step.end, new.rpartition(".")[2]))

    def _keep_comments(self, changes: Changes, path: str, use: Use, key: str) -> None:
        """If this is the first use of a removed variable or output, move the comments of its declaration above this
        use. Raises Failure."""
        if comments := self.comments.pop(key, []):
            text, body = self.workspace.document(path).text, native_body(self.workspace, path)
            start, end, lines = comment_edit(text, body, use.node.start, comments)
            before = [one for one in changes if one[:2] == (start, start)]
            changes[:] = [one for one in changes if one not in before]
            changes.append((start, end, "".join(one[2] for one in before) + lines))

    def _path(self, text: str, use: Use) -> tuple[int, int, str]:
        """The edit that replaces path.module with the directory of the module, as (start, end, text)."""
        start, end = use.node.start, use.end(1)
        inside = os.path.relpath(self.below, self.directory)
        if not self.workspace.callers(self.directory):
            is_part = text[:start].rstrip().endswith("${") and text[end:].lstrip().startswith("}")
            if is_part and id(use.node) in self._template_parts():
                return text.rindex("${", 0, start), text.index("}", end) + 1, inside
            return start, end, quote(inside)
        return start, end, f'"${{path.module}}/{inside}"'

    def _relocate(self, text: str, block: Block, changes: Changes) -> None:
        """Make the source of a nested module call relative to the calling directory, and adapt the `providers` of the
        call. Raises Failure."""
        passed = attributes_of(block.body).get("providers")
        changes += source_edits(self.workspace, self.below, block, text, self.directory)
        decl = self.inner.root.calls.get(block.labels[0].value)
        if passed is None:
            if any(new != name and not alias for (name, alias), new in self.configurations.items()):
                detail = f"module.{self.name} passes its default providers to module.{block.labels[0].value}."
                raise refusal(f"{detail} These are not the default providers of the calling module.")
        elif decl is not None:
            pairs = [f"{inner} = {self._configuration(outer)}" for inner, outer in decl.providers]
            changes.append((passed.expr.start, passed.expr.end, "{ " + ", ".join(pairs) + " }"))

    # ---------------------------------------------------------------- providers

    def _configurations(self) -> dict[tuple[str, str], str]:
        """{(local name, alias) in the module: the provider configuration in the calling module}. Raises Failure if the
        call passes a configuration with a key, or if a local name means different providers in the two modules."""
        call = self.outer.root.calls[self.name]
        passed = {(inner.name, inner.alias or ""): str(outer) for inner, outer in call.providers}
        for inner, outer in call.providers:
            if outer.key is not None or inner.key is not None:
                raise refusal(f"A key selects the provider configuration of module.{self.name}.")
        used: set[tuple[str, str]] = {(name, "") for name in self.inner.root.required_providers}
        used |= {(decl.provider_name, decl.provider_alias) for decl in self.inner.root.resources.values()}
        result = {}
        for name, alias in sorted(used):
            result[name, alias] = passed.get((name, alias)) or self._namesake(name)
        return result

    def _configuration(self, ref: ProviderRef) -> str:
        return self.configurations.get((ref.name, ref.alias or ""), str(ref))

    def _namesake(self, name: str) -> str:
        """The local name in the calling module of the provider that the module calls `name`. If the calling module has
        none, an entry for required_providers is added to `required`. Raises Failure."""
        source = self.inner.root.provider_source(name)
        root = self.outer.root
        if root.provider_source(name) == source:
            return name
        for one, required in root.required_providers.items():
            if required.source == source:
                return one
        used = {decl.provider_name for decl in root.resources.values()} | {*root.required_providers}
        if name in used:
            raise refusal(
                f"The provider {name} is {source} in module.{self.name} and a different provider in the calling module."
            )
        required = self.inner.root.required_providers[name]
        version = f"      version = {quote(required.version)}\n" if required.version else ""
        self.required.append(f"    {name} = {{\n      source = {quote(source)}\n{version}    }}\n")
        return name

    def _choose_provider(self, block: Block, changes: Changes) -> None:
        """Add an edit of a resource's `provider` argument if the provider configuration has a different name in the
        calling module."""
        given = attributes_of(block.body).get("provider")
        own = block.labels[0].value.partition("_")[0]
        decl = self.inner.root.resources.get(self._key(block))
        ref = decl.provider if decl is not None and decl.provider is not None else ProviderRef(own)
        new = self._configuration(ref)
        if given is not None and new != str(ref):
            changes.append((given.expr.start, given.expr.end, new))
        elif given is None and new != own and isinstance(block.body, NativeBody):
            start = block.source.text.index("{", block.labels[-1].end) + 1
            inside = block.source.text[start : block.end - 1]
            line = f"\n  provider = {new}"
            if "\n" in inside:
                changes.append((start, start, line))
            elif inside.strip():
                changes += [(start, start, f"{line}\n "), (block.end - 1, block.end - 1, "\n")]
            else:
                changes.append((start, block.end - 1, f"{line}\n"))

    @staticmethod
    def _key(block: Block) -> str:
        prefix = "" if block.type == "resource" else f"{block.type}."
        return prefix + ".".join(label.value for label in block.labels)

    # ---------------------------------------------------------------- the calling module

    def edits(self) -> Edits:
        """The edits of the calling module's files. Raises Failure."""
        edits: Edits = {}
        for path, use in module_uses(self.workspace, self.directory, [f"module.{self.name}"]):
            if use.key != f"module.{self.name}":
                continue
            if use.role == "history":
                self._drop_contrary(path, use, edits)
            else:
                edits.setdefault(path, []).append(self._replacement(use))
                if use.attribute and use.role in ("value", "depends_on"):
                    self._keep_comments(edits[path], path, use, f"output.{use.attribute}")
        self._redirect(edits)
        self._require(edits)
        edits.setdefault(self.call.path, []).append((self.call.start, self.call.end, self._block_texts()))
        return edits

    def _replacement(self, use: Use) -> tuple[int, int, str]:
        """The edit that replaces a reference to the module, as (start, end, text). Raises Failure."""
        steps, start = use.node.steps, use.node.start
        if use.role == "address":
            length = 4 if len(steps) > 1 and getattr(steps[1], "name", "") in ("data", "module", "ephemeral") else 3
            key = ".".join(getattr(step, "name", "") for step in steps[1 : length if length < 4 else 4])
            if key.startswith("module."):
                length, key = 3, ".".join(key.split(".")[:2])
            if key not in self.names:
                raise refusal(f"A block such as override_module names {use.node.root}.{use.ref.name} by its address.")
            return start, use.end(length), self.names[key]
        if use.role == "depends_on":
            if use.attribute and self._output(use.attribute) in self.names.values():
                return start, use.node.end, self._output(use.attribute)
            keys = [new for old, new in self.names.items() if not old.startswith(("local.", "check."))]
            return start, use.node.end, ", ".join(keys)
        if use.attribute:
            return start, use.end(2), self._output(use.attribute)
        if use.ref.kind == "module" and len(steps) == 1:
            lines = []
            for one in self.inner.root.outputs:
                source = self._output(one)
                lines += [*self.comments.pop(f"output.{one}", ()), f"{one} = {source}"]
            pairs = "".join(f"    {line}\n" for line in lines)
            return start, use.end(1), self._local(self.name, f"{{\n{pairs}  }}")
        raise refusal(f"A reference to module.{self.name} cannot be rewritten.")

    def _output(self, name: str) -> str:
        """The source that replaces references to an output: the expression of its value if this is a reference, or a
        reference to a new local value."""
        if name not in self.outputs:
            arguments, text = self._block("output", name)
            value = arguments["value"]
            path = next(path for path in self.paths if self.workspace.document(path).text is text)
            if "depends_on" in arguments:
                self.notes.append(f"output.{name} had depends_on; objects that used the output no longer wait for it.")
            source = cut_text(text, value.expr.start, value.expr.end, self.changes[path])
            decl = self.inner.root.outputs[name]
            if decl.sensitive:
                source = f"sensitive({source})"
            own = self.comments.setdefault(f"output.{name}", [])
            for use in uses(self.bodies[path]):
                if value.start <= use.node.start < value.end and use.ref.kind == "var":
                    own += self.comments.pop(f"var.{use.ref.name}", ())
            if not REFERENCE.match(source):
                source = self._local(name, source, self.comments.pop(f"output.{name}"))
            self.outputs[name] = source
        return self.outputs[name]

    def _block(self, kind: str, name: str) -> tuple[dict[str, Attribute], str]:
        """The arguments of a block of the module, and the text of its file. Raises Failure if there is no such
        block."""
        for path, body in self.bodies.items():
            for block in body.blocks:
                if block.type == kind and block.labels[0].value == name:
                    return attributes_of(block.body), self.workspace.document(path).text
        raise refusal(f"module.{self.name} has no {kind} {name}.")

    def _drop_contrary(self, path: str, use: Use, edits: Edits) -> None:
        """Remove the block of the reference if it is a `moved` block in the opposite direction: from an object's new
        address to its former address."""
        text = self.workspace.document(path).text
        arguments = attributes_of(use.block.body)
        pair = tuple(source_text(text, arguments[one].expr) for one in ("to", "from") if one in arguments)
        if pair in self.moves and "to" in arguments and arguments["to"].expr is use.node:
            edits.setdefault(path, []).append(removal(text, *whole_lines(text, use.block.start, use.block.end)))

    def _redirect(self, edits: Edits) -> None:
        """Edit existing `moved` blocks whose `to` is an object's new address. Their `to` becomes the former address,
        from which a new `moved` block leads to the new address. Raises Failure."""
        former = {new: old for old, new in self.moves}
        for path, use in module_uses(self.workspace, self.directory, former):
            to = attributes_of(use.block.body).get("to")
            if use.role == "history" and use.key in former and to is not None and to.expr is use.node:
                edits.setdefault(path, []).append((use.node.start, use.end(use.base), former[use.key]))

    def _require(self, edits: Edits) -> None:
        """Add the entries in `required` to the existing required_providers block. If there is no such block, they
        remain in `required`. Raises Failure."""
        for path in self.workspace.module(self.directory).files if self.required else ():
            if kind_of(path) != "configuration" or path.endswith(".json"):
                continue
            text = self.workspace.document(path).text
            for terraform in (one for one in native_body(self.workspace, path).blocks if one.type == "terraform"):
                for inner in getattr(terraform.body, "blocks", ()):
                    at = text.rfind("\n", 0, inner.end - 1) + 1
                    if inner.type == "required_providers" and not text[at : inner.end - 1].strip():
                        edits.setdefault(path, []).append((at, at, "".join(self.required)))
                        self.required = []
                        return

    def _block_texts(self) -> str:
        """The source that replaces the module call: the blocks of the module, new declarations, and `moved` blocks."""
        parts = []
        for path, body in self.bodies.items():
            text = self.workspace.document(path).text
            ranges: list[tuple[int, int]] = []
            for block in (one for one in body.blocks if one.type in _REMOVED):
                start, end = whole_lines(text, block.start, block.end)
                is_next = ranges and not text[ranges[-1][1] : start].strip()
                ranges.append((ranges.pop()[0] if is_next else start, end))
            cuts = [removal(text, *one) for one in ranges]
            inside = [one for one in self.changes[path] if not any(start <= one[0] < end for start, end, _ in cuts)]
            parts.append(with_edits(text, [*inside, *cuts]).replace("\r\n", "\n").strip("\n"))
        if self.locals:
            parts.insert(0, format_text(f"locals {{\n{''.join(self.locals.values())}}}"))
        parts[:0] = map(format_text, self.variables.values())
        if self.required:
            parts.append(format_text(f"terraform {{\n  required_providers {{\n{''.join(self.required)}  }}\n}}"))
        parts.insert(0, "\n".join(self.comments[""]))
        moved = [moved_text(old, new).strip() for old, new in self._history()]
        return "\n\n".join([*(part for part in parts if part.strip()), *moved]) + "\n"

    def _history(self) -> Iterator[tuple[str, str]]:
        return (move for move in self.moves if not move[1].startswith(("data.", "ephemeral.", "action.", "check.")))

    def removed_files(self) -> dict[str, None]:
        """{path: None} for each file of the module, which means that the file is removed; {} if another call or tests
        need the module."""
        module = os.path.relpath(self.below)
        others = [call for call in self.workspace.callers(self.below) if call != (self.directory, self.name)]
        if others:
            where, other = others[0]
            place = os.path.relpath(where)
            inside = f" in {place}" if place != "." else ""
            self.notes.append(f"The files of {module} are kept, because module.{other}{inside} calls it, too.")
            return {}
        if any(kind_of(path) == "test" for path in self.workspace.module(self.below).files):
            self.notes.append(f"The files of {module} are kept, because it has tests.")
            return {}
        return dict.fromkeys([*self.paths, *self.hidden])
