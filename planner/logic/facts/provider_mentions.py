"""What names providers: the predicates of rules/graph/needed_providers.dl. Each module says each thing once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from planner.foundation.vocabulary.address import AddressError
from planner.foundation.vocabulary.provider_address import is_builtin, parse_provider_configuration
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config, ModuleConfig
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.model.sources import StateEntry
from planner.world.state.model import State


def provider_mentions(facts: FactBuilder, config: Config, state: State | None = None) -> None:
    """Add what a configuration and a state name."""
    sources: set[str] = set()
    for module in config.root.walk():
        path = ".".join(f"module.{name}" for name in module.path)
        said: dict[tuple[str, str], Span | None] = {}
        for name, kind, span in _mentions(module):
            said.setdefault((name, kind), span)
        for (name, kind), span in said.items():
            source = module.provider_source(name)
            sources.add(source)
            facts.add("provider_mentioned", source, path, kind, source=span)
    for resource in state.resources.values() if state is not None else ():
        with suppress(AddressError):  # an odd one is reported by whoever reads the object
            source = parse_provider_configuration(resource.provider).source
            sources.add(source)
            facts.add("provider_mentioned", source, "", "state", source=StateEntry(resource.address))
    for source in sorted(sources):
        if is_builtin(source):
            facts.add("builtin_provider", source)


def _mentions(module: ModuleConfig) -> Iterator[tuple[str, str, Span | None]]:
    """Local name, what names it, and where."""
    for resource in module.resources.values():
        kind = "resource" if resource.mode == "managed" else resource.mode
        yield resource.provider_name, kind, resource.span
    for name, required in module.required_providers.items():
        yield name, "required", required.span
    for block in module.providers.values():
        yield block.name, "provider_block", block.span
    for imported in module.imports:
        target = imported.target
        # configuration is to be generated for those whose resource is not declared (yet)
        if target is not None and target.module.is_root and str(target) not in module.resources:
            named = imported.provider.name if imported.provider is not None else target.type.split("_", 1)[0]
            yield named, "import", imported.span
