"""Queries about a plan of a deployment: its graph, and relations over all its components."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.answers.policy.facts.units import contents_needed, fact_value, facts_of
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.logic.datalog.ask.limit import run_limited
from planner.logic.datalog.ask.question import ask, parse_query
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.datalog.engine.native import reduction
from planner.logic.datalog.language.values import decode
from planner.logic.graph.query_answers import Answers, picture_of_rows, search
from planner.logic.model.graph import Graph, Node, adjacency
from planner.logic.programs.rule_programs import product_program
from planner.operations.query import node_set
from planner.workflows.stacks.approval import count_changes
from planner.workflows.stacks.decisions import stack_of
from planner.workflows.stacks.steps import DeploymentPlan

DRAWN = ("flow_node", "edge")


def facts_about(plan: DeploymentPlan, contents: Iterable[str] = ()) -> FactBase:
    """All facts about a planned deployment; `contents`: the wanted relations of batch/contents.dl. Raises Failure when
    there is no plan."""
    if plan.decided is None:
        raise Failure(plan.diagnostics)
    wanted = tuple(contents)
    facts = FactBuilder(plan.decided.database.facts)
    facts.add("deployment", plan.deployment)
    for step in plan.steps:
        name = str(step.name)
        facts.add("has_step", name, stack_of(step.name))
        for action, number in count_changes(step).items():
            facts.add("component_changes", name, action, number)
        made = step.planned.complete if step.planned is not None else None
        if wanted:
            facts.add("status", name, step.what)
        if wanted and made is not None:
            for predicate, rows in facts_of(wanted, made.plan, made.loaded.config).items():
                for row in rows:
                    if None not in row:
                        facts.add(predicate, name, *map(fact_value, row))
    return facts.build()


def graph_of(plan: DeploymentPlan) -> Graph:
    """The graph of a planned deployment: instances of components, inputs of child stacks, configurations of providers.
    Raises Failure."""
    database = evaluate(product_program("deployments"), facts_about(plan), DRAWN)
    nodes = {
        str(name): Node(str(name), str(kind), str(stack), str(name))
        for name, kind, stack in database.sorted("flow_node")
    }
    edges = {(str(a), str(b)) for a, b in database["edge"]}
    return Graph(nodes, frozenset(edges), adjacency(nodes, reduction(edges, {})), database=database)


def query(
    plan: DeploymentPlan, words: tuple[str, ...], seconds: float, limit: int, draw: bool = False
) -> tuple[Answers, list[Diagnostic]]:
    """The answer to a question in Datalog about a planned deployment, to a verb or to a set of what is in its graph;
    with a picture of it where that is wanted. Raises Failure for a question that makes no sense or takes too long."""
    program = product_program("deployments")
    expression = node_set(words, program)
    if expression is not None:
        graph = graph_of(plan)
        diagnostics: tuple[Answers, list[Diagnostic]] = run_limited(
            lambda: search(_vertices(plan, graph), expression, {}, limit, draw), seconds
        )
        return diagnostics
    parsed, problems = parse_query(program, words[0])
    if parsed is None:
        raise Failure(problems)
    facts = facts_about(plan, contents_needed(program, parsed.predicates))

    def answer() -> Answers:
        diagnostics = ask(program, evaluate(program, facts, parsed.predicates), parsed)
        rows = [tuple(decode(value) for value in row) for row in diagnostics.rows]
        picture = picture_of_rows(_vertices(plan, graph_of(plan)), diagnostics.columns, rows) if draw else None
        return Answers(diagnostics.columns, rows, picture)

    return run_limited(answer, seconds), problems


def _vertices(plan: DeploymentPlan, graph: Graph) -> Any:
    """The graph as verbs read it: each vertex is called by its name, and has what is done about it."""
    done = {str(step.name): step.what for step in plan.steps}
    return {
        "vertex": [(name, node.kind, node.module, name) for name, node in graph.nodes.items()],
        "edge": graph.edge_rows,
        "local_name": [(name, name) for name in graph.nodes],
        "instance": [(name, name, "", graph.nodes[name].module) for name in done],
        "address_means": [(name, name) for name in graph.nodes],
        "may_mean_vertex": [(name, "", name) for name in graph.nodes],
        "operation": done.items(),
        "instance_node": [(name, name) for name in done],
        "deposed_node": (),
    }
