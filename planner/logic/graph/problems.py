"""What makes a graph impossible to walk: cycles, and provider configurations that are not there."""

from __future__ import annotations

from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.span import Span
from planner.logic.model.graph import Graph


def graph_problems(graph: Graph) -> list[Diagnostic]:
    """All of them, sorted."""
    others = [*missing_providers(graph), *missing_functions(graph), *unknown_orders(graph)]
    return [*_cycles(graph), *others] if graph.database["in_cycle"] else others


def _cycles(graph: Graph) -> list[Diagnostic]:
    from planner.logic.graph.cycles import cycle_problems

    return cycle_problems(graph)


# ---------------------------------------------------------------- providers


def missing_providers(graph: Graph) -> list[Diagnostic]:
    """Objects whose provider configuration is gone."""
    problems = []
    for node, configuration in sorted(graph.database["provider_missing"]):
        detail = (
            f"{node} is managed through {configuration}, which the configuration no longer has. Put the provider block "
            "back, apply, and remove it afterwards; or forget the object with a removed block."
        )
        problems.append(error("graph.provider_missing", "Provider configuration not present", detail, address=node))
    for (object,) in sorted(graph.database["provider_unresolved"]):
        detail = f"{object} asks for a provider configuration that neither its module nor any calling module has."
        problems.append(
            error("graph.provider_unresolved", "Provider configuration not present", detail, address=object)
        )
    return problems


_LACKS = {
    "form": (
        "Unable to parse provider function",
        "{name} is not a function of a provider: those are called as provider::NAME::FUNCTION, or with an alias as "
        "provider::NAME::ALIAS::FUNCTION.",
    ),
    "provider": (
        "Unknown function provider",
        "{name} cannot be called: the module has no provider of that name in required_providers.",
    ),
    "self": (
        "Self reference",
        "{object} calls {name}, a function of the provider that it configures. The arguments must be known before.",
    ),
    "function": ("Function not found in provider", "The provider {provider} has no function {function}.{hint}"),
}


def missing_functions(graph: Graph) -> list[Diagnostic]:
    """Calls of providers' functions that stand for nothing."""
    lacks = graph.database["calls_nothing"]
    return [problem for object, name, lack in sorted(lacks) for problem in _missing(graph, object, name, lack)]


def missing_function(graph: Graph, object: str, name: str) -> list[Diagnostic]:
    """The calls, by this name, of a function that the provider does not have although it is configured."""
    return _missing(graph, object, name, "function")


def _missing(graph: Graph, object: str, name: str, lack: str) -> list[Diagnostic]:
    assert graph.database is not None
    facts = graph.database.facts
    problems = []
    for row in facts.sorted("calls_named"):
        if row[:2] != (object, name):
            continue
        provider, function = row[2], row[4]
        known = sorted(of for by, of in facts.relation("provider_function") if by == provider)
        hint = did_you_mean(function, known) if lack == "function" else ""
        title, detail = _LACKS[lack]
        detail = detail.format(object=object, name=name, provider=provider, function=function, hint=hint)
        where = facts.source("calls_named", row)
        span = where if isinstance(where, Span) else None
        problems.append(error(f"graph.no_{lack}_called", title, detail, span, address=object))
    return problems


def unknown_orders(graph: Graph) -> list[Diagnostic]:
    """Addresses in users' `order_before` that nothing in the configuration has."""
    rows = sorted(graph.database["order_unknown"])
    return _unknown_orders(graph, [address for (address,) in rows]) if rows else []


def _unknown_orders(graph: Graph, addresses: list[str]) -> list[Diagnostic]:
    from planner.logic.datalog.explain.search import Prover

    prover = Prover(graph.program, graph.database)
    problems = []
    for address in addresses:
        known = sorted({row[0] for row in graph.database.facts.relation("resource")})
        hint = did_you_mean(address, known)
        detail = (
            f"order_before takes whole resources and module calls of the configuration. {address} is neither.{hint}"
        )
        ordered = (row for row in sorted(graph.database["order_before"]) if address in row)
        proof = prover.why("order_before", next(ordered))
        span = proof.rule.span if proof is not None and proof.rule is not None else None
        problems.append(
            error("graph.order_unknown", "A rule orders what does not exist", detail, span, address=address)
        )
    return problems
