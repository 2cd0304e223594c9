"""Finds files whose contents may be secret. A file may be secret if an expression depends on it whose value is
sensitive or is not shown in plans. The search does not evaluate conditions: an expression depends on everything that it
mentions, directly or through other names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from planner.answers.explain.origins import reads_files
from planner.engine.evaluation.context import EvaluationContext
from planner.engine.evaluation.repetition import Repeatable
from planner.foundation.support.disk import Tree, view
from planner.foundation.values.schema import AttributeSchema, BlockSchema, has
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, unmark
from planner.foundation.vocabulary.diagnostic import Failure
from planner.language.config.model import ModuleConfig, ModulePath, ResourceDecl
from planner.language.config.references import Ref, parse_reference
from planner.language.expressions.evaluate import try_evaluate
from planner.language.functions.file_names import locate
from planner.language.syntax.body import Body, Mentioning, function_calls, variables
from planner.language.syntax.nodes import Call

Name = tuple[ModulePath, str, str]
"""(module, kind, name): `local`, `var`, `output`, `resource`, or `each` for the repetition of a block"""


class _Place(NamedTuple):
    """An expression, with the module and the block whose names it can mention."""

    module: ModulePath
    block: str
    node: Mentioning


class SecretFiles:
    """The files that may contain secrets, in several configurations. `worlds`: (configuration, its files) for each;
    None means the files on disk."""

    def __init__(self, worlds: Sequence[tuple[EvaluationContext, Tree | None]]) -> None:
        self._worlds = worlds
        self._files: set[str] | None = None
        self._are_unknown = False
        """whether the names of some of these files are unknown; then every file may contain secrets"""

    def has(self, path: str) -> bool:
        """Whether a file may contain secrets."""
        if self._files is None:
            self._files = set()
            for context, tree in self._worlds:
                with view(tree):
                    try:
                        self._files.update(self._files_behind(context))
                    except (Failure, KeyError, RecursionError):
                        self._are_unknown = True
        return self._are_unknown or os.path.realpath(path) in self._files

    def _files_behind(self, context: EvaluationContext) -> Iterator[str]:
        modules = {module.path: module for module in context.config.root.walk()}
        definitions: dict[Name, list[_Place]] = {}
        waiting: list[_Place] = []
        for module in modules.values():
            for name, place, is_secret in _expressions(module, context):
                definitions.setdefault(name, []).append(place)
                calls = function_calls(place.node)
                if is_secret or any(call.name.removeprefix("core::") == "sensitive" for call in calls):
                    waiting.append(place)
                yield from self._files_of(context, place.module, calls, only_by_secrets=True)
        seen: set[Name] = set()
        for place in waiting:
            for mention in variables(place.node):
                ref = parse_reference(mention)
                for name in _names(ref, place, modules) if isinstance(ref, Ref) else ():
                    if name not in seen:
                        seen.add(name)
                        waiting += definitions.get(name, ())
            yield from self._files_of(context, place.module, function_calls(place.node))

    def _files_of(
        self, context: EvaluationContext, path: ModulePath, calls: Iterable[Call], only_by_secrets: bool = False
    ) -> Iterator[str]:
        """The files that function calls read in the instances of the module at `path`. `only_by_secrets`: whether only
        files with sensitive names are returned."""
        readers = [call.arguments[0] for call in calls if reads_files((call.name,)) and call.arguments]
        for module in context.instances(path) if readers else ():
            for node in readers:
                name, marks = unmark(try_evaluate(node, module.scope, None)[0])
                if only_by_secrets and not marks & {SENSITIVE, EPHEMERAL}:
                    continue
                if name.__class__ is str:
                    yield os.path.realpath(locate(name, ""))
                else:
                    self._are_unknown = True


def _names(ref: Ref, place: _Place, modules: dict[ModulePath, ModuleConfig]) -> Iterator[Name]:
    """The names to which a reference refers."""
    if ref.kind in ("var", "local", "resource"):
        yield place.module, ref.kind, ref.name
    elif ref.kind in ("each", "count", "self"):
        yield place.module, "each", place.block
    elif ref.kind in ("output", "module"):
        path = (*place.module, ref.name)
        child = modules.get(path)
        names = [ref.output] if ref.kind == "output" else child.outputs if child is not None else ()
        yield from ((path, "output", name) for name in names)
        yield place.module, "each", f"module.{ref.name}"


def _expressions(module: ModuleConfig, context: EvaluationContext) -> Iterator[tuple[Name, _Place, bool]]:
    """(name, expression, whether the value is secret) for each expression of a module that provides the value of a
    name."""
    path = module.path
    for local in module.locals.values():
        yield (path, "local", local.name), _Place(path, "", local.expr.node), False
    for output in module.outputs.values():
        is_secret = output.sensitive or output.ephemeral
        yield (path, "output", output.name), _Place(path, "", output.value.node), is_secret
    for decl in module.resources.values():
        name = (path, "resource", decl.key)
        yield from (
            (name, _Place(path, decl.key, node), is_secret) for node, is_secret in _parts_of(module, decl, context)
        )
    blocks: dict[str, Repeatable] = dict(module.resources)
    blocks.update((f"module.{name}", call) for name, call in module.calls.items())
    for key, block in blocks.items():
        for expr in (block.count, block.for_each, block.enabled):
            if expr is not None:
                yield (path, "each", key), _Place(path, "", expr.node), False
    for called, call in module.calls.items():
        child = module.children.get(called)
        for argument, attribute in call.inputs.items():
            variable = child.variables.get(argument) if child is not None else None
            is_secret = variable is not None and (variable.sensitive or variable.ephemeral)
            yield ((*path, called), "var", argument), _Place(path, f"module.{called}", attribute), is_secret
    for provider in module.providers.values():
        schema = context.schemas.schema(module.provider_source(provider.name)).provider
        for node, is_secret in _parts(provider.body, schema):
            yield (path, "provider", provider.name), _Place(path, "", node), is_secret


def _parts_of(
    module: ModuleConfig, decl: ResourceDecl, context: EvaluationContext
) -> Iterator[tuple[Mentioning, bool]]:
    """(argument or block, whether it is secret) for each argument and block of a resource. The configurations of
    provisioners, connections, actions and ephemeral resources are secret, because plans do not show them."""
    is_hidden = decl.mode in ("ephemeral", "action")
    for node, is_secret in _parts(decl.body, context.schemas.of(module, decl).block):
        yield node, is_hidden or is_secret
    bodies = [*(one.body for one in decl.provisioners), *(one.connection for one in decl.provisioners), decl.connection]
    yield from ((body, True) for body in bodies if body is not None)


def _parts(body: Body, schema: BlockSchema | None) -> Iterator[tuple[Mentioning, bool]]:
    """(argument or block, whether it is secret) for each argument and block in a body. Without a schema, all are
    secret."""
    blocks = schema.blocks if schema is not None else {}
    for name, attribute in body.just_attributes()[0].items():
        declared = schema.attributes.get(name) if schema is not None else None
        nested = blocks.get(name)  # in JSON
        is_secret = _is_secret(declared) if declared is not None else nested is None or _has_secrets(nested.block)
        yield attribute, is_secret
    for block in getattr(body, "blocks", ()):
        nested = blocks.get(block.labels[-1].value if block.type == "dynamic" and block.labels else block.type)
        yield block, nested is None or _has_secrets(nested.block)


def _is_secret(attribute: AttributeSchema) -> bool:
    return has(attribute, "sensitive") or has(attribute, "write_only")


def _has_secrets(block: BlockSchema) -> bool:
    return any(map(_is_secret, block.attributes.values())) or any(
        _has_secrets(one.block) for one in block.blocks.values()
    )
