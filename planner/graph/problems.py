"""What makes a graph impossible to walk: cycles, and provider configurations that are not there."""

from __future__ import annotations

from collections.abc import Iterator

from planner.graph.model import Graph
from planner.vocabulary.diagnostic import Diagnostic, error
from planner.vocabulary.span import Span


def graph_problems(graph: Graph) -> list[Diagnostic]:
    """All of them, sorted."""
    if not graph.database["in_cycle"]:
        return missing_providers(graph)
    from planner.graph.cycles import cycle_problems

    return [*cycle_problems(graph), *missing_providers(graph)]


# ---------------------------------------------------------------- providers


def missing_providers(graph: Graph) -> list[Diagnostic]:
    """Objects whose provider configuration is gone."""
    found = []
    for node, configuration in sorted(graph.database["provider_missing"]):
        detail = (
            f"{node} is managed through {configuration}, which the configuration no longer has. Put the provider block "
            "back, apply, and remove it afterwards; or forget the object with a removed block."
        )
        found.append(error("graph.provider_missing", "Provider configuration not present", detail, address=node))
    for (object,) in sorted(graph.database["provider_unresolved"]):
        source = next((s for row, s in _requirements(graph, object)), None)
        detail = f"{object} asks for a provider configuration that neither its module nor any calling module has."
        found.append(error("graph.provider_unresolved", "Provider configuration not present", detail, source))
    return found


def _requirements(graph: Graph, object: str) -> Iterator[tuple[tuple[str, ...], Span]]:
    facts = graph.database.facts
    for row in facts.sorted("requires_provider"):
        source = facts.source("requires_provider", row)
        if row[0] == object and isinstance(source, Span):
            yield row, source
