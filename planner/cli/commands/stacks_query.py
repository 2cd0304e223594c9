"""`stacks query`, `graph`, `policy`, `show` and `output`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.answers.policy.combined_plans import combined_json
from planner.answers.policy.model import Verdict
from planner.api.making import Making
from planner.cli.commands.query import ANSWER, check_formats, tell
from planner.cli.finish import finish, json_text, show_verdicts
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import DESTROY, JSON, SHOW_SENSITIVE, plan_calls
from planner.cli.stack_options import AROUND, ASKED, DEPLOYMENTS, check_words, surroundings
from planner.engine.walk.hooks import Hooks
from planner.foundation.support.exact_json import dumps
from planner.foundation.values.json_codec import simple_json
from planner.foundation.values.value import SENSITIVE, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostics, Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve, frozen
from planner.language.config.stack_files.model import Deployment
from planner.logic.model.graph import Graph
from planner.render.diff_block import SchemaLookup
from planner.render.terminal import Terminal
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.opened_stack import OpenedStack, deployment_outputs, opened
from planner.workflows.stacks.policy import deployment_policies
from planner.workflows.stacks.questions import graph_of, query
from planner.workflows.stacks.steps import DeploymentPlan

if TYPE_CHECKING:
    from planner.render.state import StateText
    from planner.workflows.stacks.deployment_state import Deployed


# plans for queries, which do not print, lock or change anything


@frozen(eq=False)
class PendingDeployment:
    """A deployment that a command queries, and its plan."""

    session: OpenedStack
    deployment: Deployment
    plan: DeploymentPlan


def plans_of(
    arguments: Arguments,
    diagnostics: Diagnostics,
    keeps_values: bool = False,
    judges: bool = True,
    is_single: bool = False,
) -> list[PendingDeployment]:
    """The plans of the selected deployments. `keeps_values`: whether to keep values, which the causes of changes
    require. `judges`: whether to check the plan of each component against policies. `is_single`: whether several
    deployments are an error. Raises Failure."""
    names = arguments["deployment"]
    options = evolve(plan_calls(Making, arguments).options, lock=False, keeps_values=keeps_values)
    if not judges:
        options = evolve(options, policies=(), standing_policies=())
    session, problems = opened(surroundings(arguments))
    diagnostics += problems
    pending = []
    for deployment in [session.only(names)] if is_single else session.chosen(names):
        runner = session.runner(deployment, options, Hooks())
        try:
            plan = runner.plan()
        finally:
            diagnostics += runner.release()
        diagnostics += [d for d in plan.diagnostics if d not in diagnostics]
        pending.append(PendingDeployment(session, deployment, plan))
    return pending


@command(
    "[options] 'QUESTION' | VERB NODES",
    """Plans a deployment and queries it, in the language of `planner query`:

  planner stacks query 'made_from(A, "component.network")'
  planner stacks query 'component_changes(C, "remove", N), N > 0'
  planner stacks query 'unit_planned(C, A, "input.port", P)'
  planner stacks query rdeps component.network

The verbs are those of `planner query` (deps, rdeps, somepath, allpaths, blast), over the graph of `planner stacks
graph`. The most useful relations:

  component(C), recorded(C, Declaration)
                                 declared instances; those with a state
  does(C, What)                  plan, destroy, forget or defer
  made_from(A, B)                instance A is made from instance B
  reads_value(Value, Other)      data flow of all values
  edge(A, B), flow_node(N, Kind, Stack)
                                 the graph
  component_deferred(C, Why), waits_until(C, Other)
                                 deferred instances, and their conditions
  component_changes(C, Action, N)
                                 how many objects: add, change, remove, ...
  unit_change(C, Address, Action), unit_planned(C, Address, Path, Value),
  unit_prior, unit_unknown_after, unit_output, kind_of
                                 the content of each instance's plan

All relations: planner rules doc.""",
    (*ANSWER, DESTROY, *ASKED),
)
def stacks_query(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0 even if the query has no answers."""

    if not arguments.words:
        raise UsageError("Missing query", "Write the query in single quotes, or name a verb and its nodes.")
    check_formats(arguments)
    diagnostics = Diagnostics()
    (pending,) = plans_of(arguments, diagnostics, is_single=True)
    answers, problems = query(
        pending.plan, tuple(arguments.words), arguments["timeout"], arguments["limit"], arguments["dot"]
    )
    return tell(answers, [*diagnostics, *problems], arguments, terminal)


@command(
    "[options]",
    """Prints the data-flow graph of deployments, as derived while planning, in the DOT language: the instances of
components, the provider configurations and the inputs of child stacks, and their dependencies, without the values in
between.

  planner stacks graph -deployment=prod | dot -Tsvg > graph.svg

With -json, prints each deployment with its graph before and after transitive reduction.""",
    (DESTROY, *ASKED, JSON),
)
def stacks_graph(arguments: Arguments, terminal: Terminal) -> int:
    from planner.cli.commands.graph import graph_json
    from planner.render.dot import subgraph_dot

    check_words(arguments)
    diagnostics = Diagnostics()
    graphs: list[tuple[str, Graph]] = []
    with diagnostics.until_an_error():
        pending = plans_of(arguments, diagnostics)
        graphs = [(one.plan.deployment, graph_of(one.plan)) for one in pending if one.plan.decided is not None]
    if has_errors(diagnostics):
        return finish(diagnostics, terminal)
    if arguments["json"]:
        documents = [{"deployment": name, **graph_json(graph)} for name, graph in graphs]
        terminal.data(json_text({"format_version": "1.0", "deployments": documents}))
        return 0
    nodes, edges = _together(graphs)
    terminal.data(subgraph_dot(nodes, edges).removesuffix("\n"))
    return 0


def _together(graphs: list[tuple[str, Graph]]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Combine the graphs of deployments, after transitive reduction, into one: {name: vertex}, and the edges
    (dependent, dependency). If there are several deployments, each name begins with its deployment."""
    nodes: dict[str, Any] = {}
    edges: list[tuple[str, str]] = []
    for deployment, graph in graphs:
        before = f"{deployment}: " if len(graphs) > 1 else ""
        nodes |= {f"{before}{name}": node for name, node in graph.nodes.items()}
        edges += [(f"{before}{a}", f"{before}{b}") for a, others in graph.reduced.items() for b in others]
    return nodes, edges


@command(
    "[options]",
    """Plans deployments, and checks each as a whole against rules that derive deny(code, component, message) or
warn(code, component, message) from the relations of planner stacks query:

  deny("deletions", C, M) :-
    deployment("prod"), component_changes(C, "remove", N), N > 3,
    M = "destroys " ++ N ++ " objects".

The policies in .planner/stack-policies also apply to planner stacks plan and apply: a denied deployment is not applied.
(The option -policy of these commands names policies about the plan of a single component.)

A verdict that depends on values that are not known yet is undecided. If the computation of a policy fails, the policy
is broken, which counts as a denial.

The exit code is 0, or 1 if a deployment is denied or on errors.""",
    (
        Flag(
            "policy",
            "list",
            "A file or directory of policies (default: .planner/stack-policies). May be repeated.",
            value="PATH",
        ),
        Flag("proofs", "bool", "Show the proof below each verdict."),
        JSON,
        DESTROY,
        *ASKED,
    ),
)
def stacks_policy(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if a policy denies an object or a component."""
    from planner.render.diagnostics_json import diagnostic_json
    from planner.render.verdicts import count_verdicts

    check_words(arguments)
    diagnostics = Diagnostics()
    verdicts: list[tuple[str, Verdict]] = []
    with diagnostics.until_an_error():
        policies = deployment_policies(".", tuple(arguments["policy"]))
        if policies is None:
            detail = "Name files or directories with -policy, or write rules in .planner/stack-policies."
            raise Failure(error("stack.no_policies", "No policies", detail))
        diagnostics += policies.problems
        for asked in plans_of(arguments, diagnostics, judges=False):
            if not has_errors(asked.plan.diagnostics):
                verdicts.append((asked.plan.deployment, policies.verdict(asked.plan)))
    is_denied = any(verdict.is_denied for _, verdict in verdicts)
    if arguments["json"]:
        documents = [{"deployment": name, **combined_json(verdict, "component")} for name, verdict in verdicts]
        problems = [diagnostic_json(problem) for problem in diagnostics]
        terminal.data(json_text({"format_version": "1.0", "deployments": documents, "diagnostics": problems}))
        return int(is_denied or has_errors(diagnostics))
    show_verdicts(verdicts, "COMPONENT", arguments["proofs"], terminal)
    code = finish(diagnostics, terminal)
    if not code:
        for name, verdict in verdicts:
            terminal.out(f"{name}: {count_verdicts(verdict)}")
    return max(code, int(is_denied))


COMPONENT = Flag(
    "component",
    "list",
    "Show only this component (an instance, all instances, a child stack). May be repeated.",
    value="ADDRESS",
)


@command(
    "[options]",
    """Shows deployments of the stack as of the last apply: the instances of components with the objects in their
states, and the outputs.""",
    (DEPLOYMENTS, COMPONENT, SHOW_SENSITIVE, JSON),
)
def stacks_show(arguments: Arguments, terminal: Terminal) -> int:
    from planner.render.state import StateText
    from planner.workflows.stacks.deployment_state import deployed, schemas_of
    from planner.workflows.stacks.report import deployed_json

    check_words(arguments)
    session, diagnostics = opened(ServiceStandIns())
    result = deployed(session, arguments["deployment"], arguments["component"])
    schemas = schemas_of(session)
    try:
        if arguments["json"]:
            terminal.data(json_text(deployed_json(result, schemas)))
            return 0
        lookup = SchemaLookup(schemas)
        text = StateText(lookup.resource_schema, lookup.decode, terminal, arguments["show-sensitive"])
        for one in result:
            _show(one, text, terminal, not arguments["component"])
    finally:
        schemas.close()
    return finish(diagnostics, terminal)


def _show(deployment: Deployed, text: StateText, terminal: Terminal, with_outputs: bool) -> None:
    terminal.out(f"\n{terminal.paint(f'Deployment {deployment.deployment}', 'bold')}")
    if deployment.outputs is None and not deployment.components:
        terminal.out("\nNothing has been applied yet.")
        return
    for name, state in deployment.components.items():
        terminal.out(f"\n{terminal.paint(str(name), 'bold')}:\n")
        text.show(state)
    if with_outputs and deployment.outputs:
        terminal.out(f"\nOutputs of {deployment.deployment}:\n")
        for output in sorted(deployment.outputs):
            terminal.out(f"{output} = {text.output(deployment.outputs[output])}")


@command(
    "[options]",
    "Shows the outputs of deployments, as of the last apply.",
    (
        Flag(
            "deployment", "list", "Select only these deployments; patterns are allowed. May be repeated.", value="NAME"
        ),
        *AROUND,
        SHOW_SENSITIVE,
        JSON,
    ),
)
def stacks_output(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0 even if a deployment has no outputs."""
    from planner.workflows.stacks.report import outputs_text

    check_words(arguments)
    session, _ = opened(surroundings(arguments))
    table = {d.name: deployment_outputs(session.backend, d.name) or {} for d in session.chosen(arguments["deployment"])}
    if arguments["json"]:
        whole = {
            name: {
                key: {"sensitive": SENSITIVE in unmark_deep(value)[1], "value": simple_json(unmark_deep(value)[0])}
                for key, value in sorted(outputs.items())
            }
            for name, outputs in table.items()
        }
        terminal.data(dumps(whole, indent=True).decode())
        return 0
    for name, outputs in table.items():
        terminal.out(f"{name}:\n{outputs_text(outputs, arguments['show-sensitive'])}" if outputs else f"{name}: none")
    return 0
