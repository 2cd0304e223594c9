"""Chains of edges, with source lines, that explain decisions. They explain why create_before_destroy applies to a
vertex, why a data source waits, why a vertex is selected, and why it is deferred to a later plan."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from planner.foundation.vocabulary.records import field, frozen
from planner.logic.datalog.explain.render import reason_text
from planner.logic.datalog.explain.search import Proof, Prover
from planner.logic.graph.cycles import REFERENCES, own_rule
from planner.logic.graph.verbs import Waiting, shortest_path
from planner.logic.model.graph import Graph, source_json

FORCED = "forced_create_before_destroy"
SAFE = "replaces_safely"
_SUPPORTS = "supports_safe_replacement"
_ASKED = ("create_before_destroy", "state_create_before_destroy", "action")
_WAITS = ("delays", "module_delays", "data_waits", "may_wait", "leads_on")


@frozen
class ChainStep:
    """One step of a chain. `sources`: positions in the proof format."""

    text: str
    sources: tuple[dict[str, Any], ...] = field(factory=tuple)

    @property
    def json(self) -> dict[str, Any]:
        return {"text": self.text, "sources": list(self.sources)}


def replacement_chain(graph: Graph, node: str) -> list[ChainStep]:
    """The reason why the replacement of an object is created before the object is destroyed: the steps from the object
    that requires this order. Empty if the object is destroyed first."""
    prover = Prover(graph.program, graph.database)
    own = prover.why(SAFE, (node,))
    if own is not None:
        return [_requiring_step(graph, own)]
    forced = prover.why(FORCED, (node,))
    below = _below(forced, _SUPPORTS) if forced is not None else None
    steps: list[ChainStep] = []
    while below is not None:
        link = _below(below, "link_base")
        if link is not None:
            dependent, dependency = link.row
            steps.append(ChainStep(f"{dependent} depends on {dependency}", tuple(_source_lines(graph, link))))
        asks = _below(below, SAFE)
        if asks is not None:
            steps.append(_requiring_step(graph, asks))
        below = _below(below, _SUPPORTS)
    return steps[::-1]


def waiting_chain(graph: Graph, object: str, waited: str) -> list[ChainStep]:
    """The reason why a data source must be read after an object is changed: the steps between them that come from the
    configuration. Empty if the data source need not wait for the object."""
    prover = Prover(graph.program, graph.database)
    proof = prover.why("data_waits", (object, waited))
    if proof is None:
        return []
    steps: list[ChainStep] = []
    waiting, seen = [proof], set[int]()
    while waiting:
        at = waiting.pop()
        if at.predicate == "delaying_resource":
            waiting += reversed(_links_to(graph, prover, *at.row))
        if id(at) in seen or at.rule is None:
            continue
        seen.add(id(at))
        if at.predicate in _WAITS:
            own = [x for x in at.body if isinstance(x, Proof) and x.rule is None and x.predicate in REFERENCES]
            sources = tuple(source for leaf in own for source in _source_lines(graph, leaf))
            named = [leaf.row for leaf in own if leaf.row[2] == "depends_on"]
            if sources:
                text = f"{named[0][0]} names {named[0][1]} in depends_on" if named else None
                steps.append(ChainStep(text or reason_text(at.rule, at.assignment), sources))
            waiting += [x for x in reversed(at.body) if isinstance(x, Proof)]
        elif at.predicate == "link_base":
            sources = tuple(_source_lines(graph, at))
            dependent, dependency = at.row
            steps += [ChainStep(f"{dependent} depends on {dependency}", sources)] if sources else []
    return steps


def _links_to(graph: Graph, prover: Prover, node: str, resource: str) -> list[Proof]:
    """The proofs of the edges (`link_base`) on a shortest path from the vertex `node` to any vertex of a resource."""
    links = Waiting((), graph.database["link_base"])
    path = shortest_path(links, [node], [row[0] for row in graph.database["resource_of"] if row[1] == resource])
    return [link for pair in pairwise(path) if (link := prover.why("link_base", pair)) is not None]


def target_chain(graph: Graph, node: str, destroys: bool) -> list[ChainStep]:
    """The reason why a vertex is selected although it is not a target: the steps from a target to the vertex. Empty for
    all other vertices. `destroys`: whether the plan destroys everything, so that dependents are destroyed first."""
    proof = Prover(graph.program, graph.database).why("needed", (node,))
    steps: list[ChainStep] = []
    while proof is not None:
        link = _below(proof, "link")
        if link is not None:
            dependent, dependency = (name.partition(" (")[0] for name in link.row)
            text = f"{dependency} depends on {dependent}" if destroys else f"{dependent} needs {dependency}"
            steps.append(ChainStep(text, tuple(_source_lines(graph, link))))
        proof = _below(proof, "needed")
    return steps[::-1]


def deferral_chain(graph: Graph, predicate: str, row: tuple[str, ...]) -> list[ChainStep]:
    """The reason why a plan defers a vertex (`predicate` is deferred_vertex) or a block (deferred_block): the steps to
    the deferred block, and the value or the provider's response that causes the deferral. Empty if the vertex or block
    is not deferred."""
    proof = Prover(graph.program, graph.database).why(predicate, row)
    postponed = _below(proof, "postponed") if proof is not None else None
    steps: list[ChainStep] = []
    if postponed is not None and (needs := _below(postponed, "output_needs")) is not None:
        sources = tuple(_source_lines(graph, needs))
        steps.append(ChainStep(" needs ".join(name.partition(" (")[0] for name in needs.row), sources))
        postponed = _below(postponed, "postponed")
    below = _below(postponed, "depends_on_resource") if postponed is not None else None
    while below is not None:
        link = _below(below, "link")
        sources = tuple(_source_lines(graph, link)) if link is not None else ()
        if link is not None and sources:
            dependent, dependency = (name.partition(" (")[0] for name in link.row)
            steps.append(ChainStep(f"{dependent} depends on {dependency}", sources))
        below = _below(below, "depends_on_resource")
    aside = _below(postponed, "put_aside") if postponed is not None else None
    block = _below(aside, "deferred_block") if aside is not None else proof
    if block is not None and block.rule is not None:
        needs = _below(block, "deferral_needs")
        leaves = [leaf for leaf in block.leaves() if leaf.predicate == "deferral"]
        places = [graph.database.facts.source(leaf.predicate, leaf.row) for leaf in leaves]
        sources = (
            tuple(_source_lines(graph, needs))
            if needs is not None
            else tuple(source_json(place) for place in places[:1])
        )
        steps.append(ChainStep(reason_text(block.rule, block.assignment), sources))
    return steps


def invocation_failure(ground: Graph, instance: str, event: str, invoked: str) -> list[ChainStep]:
    """The effects of a failed invocation of an action, each with the trigger that causes the effect."""
    prover = Prover(ground.program, ground.database)
    steps = []
    for row in sorted(row for row in ground.database["after_failure"] if row[:3] == (instance, event, invoked)):
        proof = prover.why("after_failure", row)
        if proof is not None and proof.rule is not None:
            leaf = _below(proof, "trigger_failure")
            place = ground.database.facts.source("trigger_failure", leaf.row) if leaf is not None else None
            sources = (source_json(place),) if place is not None else ()
            steps.append(ChainStep(reason_text(proof.rule, proof.assignment), sources))
    return steps


def _requiring_step(graph: Graph, proof: Proof) -> ChainStep:
    assert proof.rule is not None
    sources = [
        source_json(source)
        for leaf in proof.leaves()
        if leaf.predicate in _ASKED
        for source in [graph.database.facts.source(leaf.predicate, leaf.row)]
        if source is not None
    ]
    return ChainStep(reason_text(proof.rule, proof.assignment), tuple(sources))


def _below(proof: Proof, predicate: str) -> Proof | None:
    return next((x for x in proof.body if isinstance(x, Proof) and x.predicate == predicate), None)


def _source_lines(graph: Graph, proof: Proof) -> Iterator[dict[str, Any]]:
    """The positions that cause an edge, in the proof format: mentions, entries of the state, and users' rules."""
    seen: set[str] = set()
    for leaf in proof.leaves():
        source = graph.database.facts.source(leaf.predicate, leaf.row)
        if source is not None and leaf.predicate in (*REFERENCES, "state_depends_on"):
            written = source_json(source)
            if str(written) not in seen:
                seen.add(str(written))
                yield written
    waiting = [proof]
    while waiting:
        at = waiting.pop()
        own = own_rule(at) if at.predicate == "ordered" else None
        if own is not None and own.rule is not None:
            yield {"file": own.rule.file, "line": own.rule.line}
        waiting += [x for x in at.body if isinstance(x, Proof)]
