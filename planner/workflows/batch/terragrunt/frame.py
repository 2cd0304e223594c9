"""Evaluates a Terragrunt file for one unit, with the names and functions that its expressions can use.

An included file is evaluated as part of the unit that includes it, in that unit's directory. A file that
`read_terragrunt_config` reads is evaluated as if it were a unit. Names are evaluated on first use, so the order of
blocks does not matter, and an unused name may be invalid."""

from __future__ import annotations

import os
import re
from typing import Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.types import BOOL, DYNAMIC, STRING
from planner.foundation.values.value import Null, Unknown, Value, unmark_deep
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Expr
from planner.language.expressions.evaluate import evaluate
from planner.language.expressions.scope import Scope
from planner.language.functions import CallContext, Function
from planner.language.syntax.nodes import Traversal, Variable
from planner.workflows.batch.terragrunt import AUTOINCLUDE, NAMES, VALUES
from planner.workflows.batch.terragrunt.as_value import WHOLE, complete_part
from planner.workflows.batch.terragrunt.document import SCALARS, UNIT, DocumentBlock, Form
from planner.workflows.batch.terragrunt.functions import Functions
from planner.workflows.batch.terragrunt.merge import merge_part, open_marks
from planner.workflows.batch.terragrunt.session import DependencyBlock, UnitSession

_ROOTS = ("local", "include", "dependency", "feature", "values")
STRATEGIES = ("shallow", "deep", "no_merge")


class Include:
    """An include of a file, with the frame of the included file."""

    def __init__(self, label: str, frame: Frame, strategy: str, is_exposed: bool, span: Span) -> None:
        self.label, self.frame, self.strategy, self.is_exposed, self.span = label, frame, strategy, is_exposed, span

    @property
    def place(self) -> str:
        return self.frame.path


class Frame(Scope):
    """The scope of one file: the names and functions that its expressions can use. `child`: the frame of the file that
    includes this file; None if no file includes it."""

    def __init__(
        self, session: UnitSession, path: str, child: Frame | None = None, depth: int = 0, form: Form = UNIT
    ) -> None:
        self.session, self.path, self.child, self.depth = session, path, child, depth
        self.origin: str = child.origin if child is not None else path
        self.document = session.read(path, form)
        self._context = CallContext(os.path.dirname(path))
        self._functions = Functions(self)
        self._locals: dict[str, Value] = {}
        self._failed: dict[str, Failure] = {}
        self._working: list[str] = []
        self._includes: dict[str, Include] | None = None
        self._dependencies: dict[str, DependencyBlock] | None = None
        self._values: Value | None = None
        self._failure: Failure | None = None
        beside = os.path.join(os.path.dirname(path), AUTOINCLUDE)
        is_unit = child is None and os.path.basename(path) in NAMES and session.is_file(beside)
        self.before: Frame | None = Frame(session, beside, self) if is_unit else None
        """the frame of the file that a stack has generated next to the unit's file (`terragrunt.autoinclude.hcl`) and
        that takes precedence over the unit's file; None if there is none"""

    @property
    def components(self) -> dict[str, dict[str, str]]:
        """For a stack's file, the directories of its units and stacks, as {"unit" or "stack": {name: directory}}; empty
        for other files."""
        return {}

    @property
    def folder(self) -> str:
        """The directory in which the file is evaluated: the directory of the including unit or, if no file includes
        this file, the directory of the file."""
        return os.path.dirname(self.origin)

    @property
    def is_included(self) -> bool:
        return self.child is not None

    @property
    def root(self) -> DocumentBlock:
        return self.document.root

    # ------------------------------------------------------------ the scope of expressions

    def function(self, name: str) -> Function | None:
        return self._functions.find(name) or super().function(name)

    def resolve(self, node: Traversal | Variable, source: Source | None) -> tuple[Value, int]:
        is_plain = node.__class__ is Variable
        name: str = node.name if is_plain else node.root  # type: ignore[union-attr]
        steps = () if is_plain else node.steps  # type: ignore[union-attr]
        span = Span(source or Source("", ""), node.start, node.end if is_plain else node.root_end)  # type: ignore[union-attr]
        words = [str(getattr(step, "name", getattr(step, "key", ""))) for step in steps[:2]]
        if name in self.components and len(words) == 2 and words[0] in self.components[name] and words[1] == "path":
            return self.components[name][words[0]], 2
        if name not in _ROOTS:
            detail = f'There is no variable named "{name}" here.{did_you_mean(name, _ROOTS)}'
            raise Failure(error("language.unknown_variable", "Unknown variable", detail, span))
        if name == "values":
            return self.values(), 0
        if not words:
            return self._all(name, span), 0
        whole = Span(span.source, node.start, steps[0].end)
        if name == "local":
            return self.local(words[0], whole), 1
        if name == "feature":
            return self._feature(words[0], whole), 1
        if name == "dependency":
            return self._dependency(words[0], whole), 1
        return self._included(words, whole)

    def _all(self, name: str, span: Span) -> Value:
        if name == "local":
            return {key: self.local(key, span) for key in sorted(self.document.locals)}
        if name == "feature":
            return {part.label: self._feature(part.label, span) for part in self.root.blocks.get("feature", ())}
        if name == "dependency":
            return {key: _outputs(self.session, item) for key, item in sorted(self.dependencies().items())}
        return {key: item.frame.config() for key, item in sorted(self.includes().items()) if item.is_exposed}

    def evaluate(self, expr: Expr) -> Value:
        """The value of an expression. Raises Failure."""
        return evaluate(expr.node, self, expr.source)

    # ------------------------------------------------------------ values of names

    def local(self, name: str, span: Span) -> Value:
        """The value of a local. Raises Failure if it is undeclared, invalid or depends on itself."""
        if name in self._locals:
            return self._locals[name]
        if name in self._failed:
            raise self._failed[name]
        expr = self.document.locals.get(name)
        if expr is None:
            detail = f"No local value is named {name} in {span.filename}.{did_you_mean(name, self.document.locals)}"
            raise Failure(error("terragrunt.undeclared_local", "Undefined local", detail, span))
        try:
            value = self._working_on(f"local.{name}", span, lambda: self.evaluate(expr))
        except Failure as failure:
            self._failed[name] = failure
            raise
        self._locals[name] = value
        return value

    def _working_on(self, name: str, span: Span, work: Any) -> Value:
        if name in self._working:
            raise Failure(error("terragrunt.circle", "Circular reference", f"{name} depends on itself.", span))
        self._working.append(name)
        try:
            return work()
        finally:
            self._working.pop()

    def values(self) -> Value:
        """The values that a stack sets for the unit, from `terragrunt.values.hcl`; {} if there is no such file."""
        if self._values is None:
            path = os.path.join(self.folder, VALUES)
            self._values = {}
            if self.session.is_file(path):
                document = self.session.read(path, None)
                self._values = {
                    name: evaluate(expr.node, Scope(), expr.source)
                    for name, expr in sorted(document.root.attributes.items())
                }
        return self._values

    def _feature(self, name: str, span: Span) -> Value:
        part = next((part for part in self._features() if part.label == name), None)
        if part is None:
            detail = f"No feature is named {name} here."
            raise Failure(error("terragrunt.unknown_feature", "Unknown feature", detail, span))
        default = self._working_on(f"feature.{name}", span, lambda: self.evaluate(part.attributes["default"]))
        for item in (self.session.variable("TG_FEATURE") or "").split(","):
            key, _, text = item.strip().partition("=")
            if key == name:
                return {"value": _like(default, text)}
        return {"value": default}

    def _features(self) -> list[DocumentBlock]:
        result = list(self.root.blocks.get("feature", ()))
        for include in self.includes().values():
            result += include.frame.root.blocks.get("feature", ())
        if self.child is not None:
            result += self.child.root.blocks.get("feature", ())
        return result

    def _dependency(self, name: str, span: Span) -> Value:
        known = self.dependencies()
        if name not in known:
            detail = f"No dependency is named {name} here.{did_you_mean(name, known)}"
            raise Failure(error("terragrunt.unknown_dependency", "Unknown dependency", detail, span))
        return _outputs(self.session, known[name])

    def _included(self, words: list[str], span: Span) -> tuple[Value, int]:
        known = {name: item for name, item in self.includes().items() if item.is_exposed}
        used = 1
        if words[0] in known:
            item, words = known[words[0]], words[1:]
        elif "" in known:
            item, used = known[""], 0
        else:
            detail = f"No include with expose = true is named {words[0]} here.{did_you_mean(words[0], known)}"
            raise Failure(error("terragrunt.unknown_include", "Unknown include", detail, span))
        if not words:
            return item.frame.config(), used
        return complete_part(words[0], item.frame.part(words[0], span)), used + 1

    # ------------------------------------------------------------ included files

    def includes(self) -> dict[str, Include]:
        """{label: include} for the `include` blocks of this file. Raises Failure."""
        if self._failure is not None:
            raise self._failure
        if self._includes is None:
            self._includes = {}
            try:
                for part in self.root.blocks.get("include", ()):
                    self._includes[part.label] = self._include(part)
            except Failure as failure:
                self._failure = failure
                raise
        return self._includes

    def _include(self, part: DocumentBlock) -> Include:
        expr = part.attributes["path"]
        if self.child is not None:
            detail = f"{self.path} is itself an included file, and Terragrunt supports only one level of includes."
            raise Failure(error("terragrunt.nested_include", "Nested include", detail, part.header))
        path = self.text(expr)
        path = os.path.normpath(os.path.join(self.folder, path))
        if not self.session.is_file(path):
            detail = f"There is no file {path} to include."
            raise Failure(error("terragrunt.no_include", "No such file", detail, expr.span))
        strategy = self.text(part.attributes["merge_strategy"]) if "merge_strategy" in part.attributes else "shallow"
        if strategy not in STRATEGIES:
            detail = f"merge_strategy must be one of {', '.join(STRATEGIES)}.{did_you_mean(strategy, STRATEGIES)}"
            raise Failure(
                error("terragrunt.strategy", "Unknown strategy", detail, part.attributes["merge_strategy"].span)
            )
        exposed = self.truth(part.attributes.get("expose"))
        frame = Frame(self.session, path, self)
        frame.includes()  # raises an error if the includes are nested
        return Include(part.label, frame, strategy, exposed, part.header)

    # ------------------------------------------------------------ dependencies

    def dependencies(self) -> dict[str, DependencyBlock]:
        """{label: dependency} for the dependencies of this file and of the files that are merged with it. Raises
        Failure."""
        if self._dependencies is None:
            self._dependencies = {}  # an expression in a dependency cannot refer to dependencies
            table: dict[str, DependencyBlock] = {}
            if not self.is_broken:
                for include in self.includes().values():
                    if include.strategy != "no_merge":
                        table.update(include.frame.own_dependencies(self.labels()))
            ahead = self.child or self.before
            table.update(self.own_dependencies(ahead.labels() if ahead is not None else frozenset()))
            if self.before is not None:
                table.update(self.before.own_dependencies(frozenset()))
            self._dependencies = table
            if self.child is not None:
                self._dependencies = {**table, **self.child.dependencies()}
        return self._dependencies

    @property
    def is_broken(self) -> bool:
        """Whether an include is invalid or an included file cannot be read."""
        try:
            self.includes()
        except Failure:
            return True
        return False

    def labels(self) -> frozenset[str]:
        return frozenset(part.label for part in self.root.blocks.get("dependency", ()))

    def own_dependencies(self, without: frozenset[str]) -> dict[str, DependencyBlock]:
        """{label: dependency} for the dependencies in this file itself. Labels in `without` are omitted, because a
        file that takes precedence defines these dependencies again."""
        result = {}
        for part in self.root.blocks.get("dependency", ()):
            if part.label not in without:
                result[part.label] = self._own_dependency(part)
                self.session.depends(result[part.label])
        return result

    def _own_dependency(self, part: DocumentBlock) -> DependencyBlock:
        at = part.attributes["config_path"]
        enabled = "enabled" not in part.attributes or self.truth(part.attributes["enabled"])
        path = self.text(at)
        if enabled and not path:
            detail = f"dependency.{part.label} names no directory."
            raise Failure(error("terragrunt.no_dependency", "Dependency without a unit", detail, at.span))
        target = os.path.normpath(os.path.join(self.folder, path))
        if target.endswith((".hcl", ".hcl.json")):
            target = os.path.dirname(target)
        target = self.session.library.place(target)
        constant: Value | None = None
        if self.truth(part.attributes.get("skip_outputs")) or not enabled:
            mocks = part.attributes.get("mock_outputs")
            constant = self.evaluate(mocks) if mocks is not None else {}
        return DependencyBlock(part.label, target, enabled, constant, part.header)

    # ------------------------------------------------------------ parts as values

    def text(self, expr: Expr) -> str:
        """The value of an expression as a string. Raises Failure if the value is unknown, null or of another type."""
        return str(self._known_value(expr, str))

    def truth(self, expr: Expr | None) -> bool:
        return expr is not None and bool(self._known_value(expr, bool))

    def _known_value(self, expr: Expr, kind: type) -> Any:
        value = unmark_deep(self.evaluate(expr))[0]
        if value.__class__ is Unknown:
            detail = "This value must be known before planning, but depends on values that are not known yet."
            raise Failure(error("terragrunt.unknown", "Value is not known", detail, expr.span))
        try:
            value = convert(value, STRING if kind is str else BOOL)
        except ConversionError as problem:
            raise Failure(error("terragrunt.type", "Unsuitable value", f"{problem}.", expr.span)) from None
        if value.__class__ is Null:
            raise Failure(error("terragrunt.type", "Unsuitable value", "This value must not be null.", expr.span))
        return value

    def block(self, part: DocumentBlock) -> dict[str, Value]:
        """The value of a block, as an object with its arguments and inner blocks. Inner blocks with labels become
        {label: object}; an inner block without labels becomes an object. Raises Failure."""
        result: dict[str, Value] = {name: self.evaluate(expr) for name, expr in sorted(part.attributes.items())}
        for kind, parts in part.blocks.items():
            if any(inner.label for inner in parts):
                result[kind] = {inner.label: self.block(inner) for inner in parts}
            elif parts:
                result[kind] = self.block(parts[0])
        return result

    def part(self, name: str, span: Span) -> Value:
        """The value of an argument, or of all blocks of one type, as other files see it. If the file has no such
        argument or block, {} for inputs and generate, otherwise null. Raises Failure for an unknown name."""
        if name == "locals":
            return self._all("local", span)
        if name == "dependency" and self.child is not None:
            return self._own_blocks()
        if name in ("dependency", "feature"):
            return self._all(name, span)
        if name in self.root.attributes:
            return self.evaluate(self.root.attributes[name])
        parts = self.root.blocks.get(name)
        if parts:
            if parts[0].label:
                return {part.label: self.block(part) for part in parts}
            return self.block(parts[0])
        if name in SCALARS or name in UNIT.blocks:
            return {} if name in ("inputs", "generate") else Null(DYNAMIC)
        hint = did_you_mean(name, (*SCALARS, *UNIT.blocks, "locals"))
        detail = f"A Terragrunt file has no argument or block {name}.{hint}"
        raise Failure(error("terragrunt.unknown_part", "Unknown argument or block", detail, span))

    def _own_blocks(self) -> Value:
        """{label: arguments and outputs} for the dependencies that this included file declares itself. The dependencies
        of the including file are left out, because their expressions may use the dependencies of the included file."""
        result: dict[str, Value] = {}
        for part in self.root.blocks.get("dependency", ()):
            result[part.label] = {**self.block(part), **_outputs(self.session, self._own_dependency(part))}
        return result

    def merged(self, name: str) -> Value:
        """The value of an argument or block type, merged with the values in included files. If no file has it, {} or
        null, as for `part`. Raises Failure."""
        value = self.part(name, self.root.span)
        for include in reversed(list(self.includes().values())):
            other = include.frame
            if include.strategy != "no_merge" and (name in other.root.attributes or name in other.root.blocks):
                parent = other.part(name, include.span)
                value = merge_part(name, open_marks(parent), open_marks(value), include.strategy == "deep")
        value = open_marks(value)
        if self.before is not None and (name in self.before.root.attributes or name in self.before.root.blocks):
            value = merge_part(name, value, open_marks(self.before.part(name, self.before.root.span)), False)
        return value

    def config_of(self, path: str) -> dict[str, Value]:
        """The value of another file for `read_terragrunt_config`. It does not depend on the file that reads it, so it
        is computed only once for a unit. Raises Failure."""
        known = self.session.configs
        if path not in known:
            self.session.reading.append(path)
            try:
                known[path] = Frame(self.session, path, depth=self.depth + 1).config()
            finally:
                self.session.reading.pop()
        return known[path]

    def config(self) -> dict[str, Value]:
        """The whole file as an object, merged with the files that it includes. Raises Failure."""
        span = self.root.span
        result: dict[str, Value] = dict(WHOLE)
        if self.document.root.one("locals") is not None:
            result["locals"] = self._all("local", span)
        names = {*self.root.attributes, *self.root.blocks}
        names -= {"locals", "include", "catalog"}
        for include in self.includes().values():
            names |= {*include.frame.root.attributes, *include.frame.root.blocks} - {"locals", "include", "catalog"}
        for name in sorted(names):
            result[name] = complete_part(name, self.merged(name))
        return result


def _outputs(session: UnitSession, dependency: DependencyBlock) -> Value:
    result = dependency.constant if dependency.constant is not None else session.outputs(dependency.target)
    return {"outputs": result, "config_path": dependency.target, "name": dependency.label}


def _like(default: Value, text: str) -> Value:
    """The value of a feature that is set to a string. If its default is a bool or a whole number, the string is
    converted to that type. For other defaults, or if a conversion to a number is impossible, the result is the string
    itself."""
    if default is True or default is False:
        return text.lower() in ("true", "1")
    if default.__class__ is int:
        return int(text) if re.fullmatch("-?[0-9]{1,1000}", text) else text
    return text
