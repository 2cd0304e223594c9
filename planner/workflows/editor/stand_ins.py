"""Substitutes for missing providers and modules, so that the other parts of a configuration can be checked. The schema
of a provider comes from the cache or is guessed from the use of the provider. A missing module has the arguments and
outputs that its calls and references use. Plugins are never started."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NoReturn

from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedBlock
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import NULL, UNKNOWN
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Source
from planner.language.config.model import (
    CheckRule,
    Config,
    Expr,
    ModuleCall,
    ModuleConfig,
    ModulePath,
    OutputDecl,
    VariableDecl,
)
from planner.language.expressions.constraints import TypeConstraint
from planner.language.expressions.traverse import UNSUPPORTED_ATTRIBUTE
from planner.language.syntax.body import Body, NativeBody, variables
from planner.language.syntax.nodes import Literal
from planner.world.provider.interface import ProviderSchema, ResourceSchema
from planner.world.provider.locate import Located
from planner.world.provider.plugin.provider import PluginProvider
from planner.world.provider.plugin.schema_parts import load_parts
from planner.world.provider.registry import OfflineProvider

_NAME = r"[A-Za-z_][\w-]*"
_USE = re.compile(rf"\b(?=({_NAME})\.{_NAME}(?:\[[^\]\n]*\])?\.({_NAME}))")
_SELF = re.compile(rf"\bself\.({_NAME})")
_ANY = AttributeSchema(DYNAMIC, optional=True, computed=True)
_UNKNOWN = Expr(Literal(UNKNOWN, 0, 0), Source("", ""))
NOT_CACHED = "provider.schema_not_cached"


class _QuietPlugin(PluginProvider):
    def _start(self) -> NoReturn:
        raise Failure(error(NOT_CACHED, "Provider schema is not known", f"{self.address} has no schema in the cache."))


def cached_provider(address: str, located: Located) -> OfflineProvider:
    """A provider with the schema that its plugin returned in an earlier run. Raises Failure if none is cached."""
    if load_parts(located.binary) is None:
        detail = f"{address} is installed, but its schema is not in the cache. To read it, run planner validate."
        raise Failure(error(NOT_CACHED, "Provider schema is not known", detail))
    provider = OfflineProvider(_QuietPlugin(address, [located.binary], located.binary))
    provider.schema()
    return provider


class _Guessed:
    def __init__(self, schema: ProviderSchema) -> None:
        self._schema = schema

    def schema(self) -> ProviderSchema:
        return self._schema

    def close(self) -> None:
        """Do nothing."""


def guessed_provider(config: Config, address: str, texts: Iterable[str]) -> OfflineProvider:
    """A provider whose schema has all attributes and blocks that the configuration sets or refers to; all of them are
    optional. `texts`: the content of the configuration's files."""
    text = "\n".join(texts)
    bodies: dict[tuple[str, str], list[Body]] = {}
    blocks: list[Body] = []
    for module in config.root.walk():
        for decl in module.resources.values():
            if module.provider_source(decl.provider_name) == address:
                bodies.setdefault((decl.mode, decl.type), []).append(decl.body)
        blocks += [one.body for one in module.providers.values() if module.provider_source(one.name) == address]
    tables: dict[str, dict[str, ResourceSchema]] = {
        mode: {} for mode in ("managed", "data", "ephemeral", "action", "list")
    }
    used, own = _uses(text)
    for (mode, type), items in bodies.items():
        block = _guessed_block(items)
        names = [name for name in (*used.get(type, ()), *own, "id") if name not in block.blocks]
        attributes = {**dict.fromkeys(names, _ANY), **block.attributes}
        tables[mode][type] = ResourceSchema(BlockSchema(attributes, block.blocks))
    schema = ProviderSchema(
        evolve(_guessed_block(blocks), ephemeral=True), tables["managed"], tables["data"], tables["ephemeral"],
        actions=tables["action"], list_resources=tables["list"],
    )  # fmt: skip
    return OfflineProvider(_Guessed(schema))  # type: ignore[arg-type]


@lru_cache(4)
def _uses(text: str) -> tuple[dict[str, dict[str, None]], frozenset[str]]:
    """The attributes to which the source of a configuration refers: {resource type: attributes}, and the attributes of
    `self`."""
    used: dict[str, dict[str, None]] = {}
    for type, attribute in _USE.findall(text):
        used.setdefault(type, {})[attribute] = None
    return used, frozenset(_SELF.findall(text))


def _guessed_block(bodies: Iterable[Body]) -> BlockSchema:
    attributes: dict[str, AttributeSchema] = {}
    inner: dict[str, list[Body]] = {}
    for body in bodies:
        if isinstance(body, NativeBody):
            attributes |= {name: _ANY for name in body.attributes if name not in body.taken}
            for block in body.blocks:
                if block.type == "dynamic" and block.labels:
                    content = [one.body for one in getattr(block.body, "blocks", ()) if one.type == "content"]
                    inner.setdefault(block.labels[0].value, []).extend(content)
                elif block.type not in body.taken_types:
                    inner.setdefault(block.type, []).append(block.body)
        else:
            attributes |= dict.fromkeys(body.just_attributes()[0], _ANY)
    nested = {type: NestedBlock(_guessed_block(items)) for type, items in inner.items() if type not in attributes}
    return BlockSchema(attributes, nested)


# Called modules without their contents


def signature(module: ModuleConfig) -> ModuleConfig:
    """The interface of a module, without its other content: its variables, with those validations that refer only to
    variables, and its outputs, with unknown values."""
    variables = {
        name: evolve(decl, validations=tuple(rule for rule in decl.validations if _is_alone(rule)))
        for name, decl in module.variables.items()
    }
    outputs = {
        name: evolve(one, value=_UNKNOWN, depends_on=(), preconditions=()) for name, one in module.outputs.items()
    }
    return ModuleConfig(module.path, module.directory, None, variables, {}, outputs)


def _is_alone(rule: CheckRule) -> bool:
    expressions = [one for one in (rule.condition, rule.error_message) if one is not None]
    return all(getattr(node, "root", "") == "var" for one in expressions for node in variables(one.node))


def missing_module(path: ModulePath, call: ModuleCall, text: str) -> ModuleConfig:
    """A substitute for a module that is not installed. The module has the arguments of its call, and the outputs to
    which the calling module (`text`) refers."""
    anything = TypeConstraint(DYNAMIC)
    variables = {
        name: VariableDecl(name, anything, NULL, "", False, False, True, (), None, call.span) for name in call.inputs
    }
    used = re.findall(rf"\bmodule\.{re.escape(call.name)}(?:\[[^\]\n]*\])?\.({_NAME})", text)
    outputs = {name: OutputDecl(name, _UNKNOWN, "", False, False, None, (), (), call.span) for name in used}
    return ModuleConfig(path, call.source, call, variables, {}, outputs, is_remote=True)


def with_modules(module: ModuleConfig, of: Callable[[ModulePath, ModuleCall], ModuleConfig | None]) -> ModuleConfig:
    """The module tree in which called modules that were not loaded are added. `of`: a function that returns such a
    module; None if it is not known."""
    children = {name: with_modules(child, of) for name, child in module.children.items()}
    for name, call in module.calls.items():
        child = of((*module.path, name), call) if name not in children else None
        if child is not None:
            children[name] = child
    return evolve(module, children=children)


def is_loose(problem: Diagnostic) -> bool:
    """Whether this diagnostic may be caused only by an attribute that a substitute lacks."""
    return problem.summary == UNSUPPORTED_ATTRIBUTE
