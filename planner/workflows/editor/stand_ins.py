"""Substitutes for what is not installed, so that the rest of a configuration can be checked: providers whose schemas
come from the cache or are guessed from their use, and modules with the arguments and outputs that their calls use.
Nothing here starts a plugin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedBlock
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import NULL, UNKNOWN
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Source
from planner.language.config.model import Config, Expr, ModuleCall, ModuleConfig, OutputDecl, VariableDecl
from planner.language.expressions.constraints import TypeConstraint
from planner.language.syntax.body import Body, NativeBody
from planner.language.syntax.nodes import Literal
from planner.world.provider.interface import ProviderSchema, ResourceSchema
from planner.world.provider.locate import Located
from planner.world.provider.plugin import schema_cache
from planner.world.provider.plugin.provider import PluginProvider
from planner.world.provider.registry import OfflineProvider

_NAME = r"[A-Za-z_][\w-]*"
_LOOSE = re.compile(rf"\b(?:each\.value|self)\.({_NAME})")
_ANY = AttributeSchema(DYNAMIC, optional=True, computed=True)
NOT_CACHED = "provider.schema_not_cached"


class _QuietPlugin(PluginProvider):
    """A plugin that is never started."""

    def _start(self) -> NoReturn:
        raise Failure(error(NOT_CACHED, "Provider schema is not known", f"{self.address} has no schema in the cache."))


def cached_provider(address: str, located: Located) -> OfflineProvider:
    """A provider with the schema that its plugin sent in an earlier run. Raises Failure when there is none."""
    if schema_cache.load(located.binary) is None:
        detail = f"{address} is installed, but its schema is not in the cache: planner validate reads it."
        raise Failure(error(NOT_CACHED, "Provider schema is not known", detail))
    provider = OfflineProvider(_QuietPlugin(address, [located.binary], located.binary))
    provider.schema()
    return provider


class _Guessed:
    """A provider with a guessed schema."""

    def __init__(self, schema: ProviderSchema) -> None:
        self._schema = schema

    def schema(self) -> ProviderSchema:
        return self._schema

    def close(self) -> None:
        """There is nothing to close."""


def guessed_provider(config: Config, address: str, texts: Iterable[str]) -> OfflineProvider:
    """A provider of which only the use in a configuration is known: each attribute and block that is written or
    referred to exists, and nothing is required. `texts`: the files."""
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
    loose = set(_LOOSE.findall(text))
    for (mode, type), items in bodies.items():
        used = re.findall(rf"\b{re.escape(type)}\.{_NAME}(?:\[[^\]\n]*\])?\.({_NAME})", text)
        block = _guessed_block(items)
        attributes = {**dict.fromkeys((*used, *loose, "id"), _ANY), **block.attributes}
        tables[mode][type] = ResourceSchema(BlockSchema(attributes, block.blocks))
    schema = ProviderSchema(
        evolve(_guessed_block(blocks), ephemeral=True), tables["managed"], tables["data"], tables["ephemeral"],
        actions=tables["action"], list_resources=tables["list"],
    )  # fmt: skip
    return OfflineProvider(_Guessed(schema))  # type: ignore[arg-type]


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


# Modules that are not installed.


def with_stand_ins(module: ModuleConfig, missing: Mapping[tuple[str, ...], ModuleCall], text: str) -> ModuleConfig:
    """A module tree with substitutes for missing modules, by the paths of their calls. `text`: of all files."""
    children = {name: with_stand_ins(child, missing, text) for name, child in module.children.items()}
    for name, call in module.calls.items():
        path = (*module.path, name)
        if path in missing:
            children[name] = _stand_in(path, call, text)
    return evolve(module, children=children)


def _stand_in(path: tuple[str, ...], call: ModuleCall, text: str) -> ModuleConfig:
    anything = TypeConstraint(DYNAMIC)
    variables = {
        name: VariableDecl(name, anything, NULL, "", False, False, True, (), None, call.span) for name in call.inputs
    }
    used = re.findall(rf"\bmodule\.{re.escape(call.name)}(?:\[[^\]\n]*\])?\.({_NAME})", text)
    value = Expr(Literal(UNKNOWN, 0, 0), Source("", ""))
    outputs = {name: OutputDecl(name, value, "", False, False, None, (), (), call.span) for name in used}
    return ModuleConfig(path, call.source, call, variables, {}, outputs, is_remote=True)


def is_loose(problem: Any) -> bool:
    """Whether a diagnostic may be due to a substitute: about an attribute that it does not have."""
    return bool(problem.summary == "Unsupported attribute")
