"""The stages in their order, as a table. Nothing here decides: rules do, and the walks do what graphs say.

    text -> Config, State -> facts -> rules -> Graph -> walk -> Plan -> facts -> rules -> Graph -> walk -> State

Each stage eats only what the ones before it gave. `planner.operations` has one module for each verb of the command
line, which joins the stages that it needs.
"""

from __future__ import annotations

from typing import NamedTuple


class Stage(NamedTuple):
    """`takes` and `gives` are the border types in the signature of the function; `module` is where it stands."""

    name: str
    takes: tuple[str, ...]
    gives: str
    module: str
    function: str
    about: str


STAGES = (
    Stage("load", ("Options",), "Loaded", "planner.operations.loading", "load", "files to the module tree"),
    Stage("open", ("Loaded",), "Opened", "planner.operations.storing", "open_backend", "where the state is kept"),
    Stage(
        "read", ("Opened",), "Stored", "planner.operations.storing", "read_state", "what was last known of the world"
    ),
    Stage("tell", ("Loaded", "State"), "FactBase", "planner.operations.graphs", "graph_facts", "all that as facts"),
    Stage("derive", ("FactBase",), "Graph", "planner.graph.build", "build_graph", "rules/graph: vertices and edges"),
    Stage("validate", ("Graph", "Config"), "Diagnostic", "planner.validate.walk", "validate_walk", "right by itself?"),
    Stage(
        "plan", ("Config", "State"), "Plan", "planner.plan.planning", "make_plan", "a walk; rules/plan decide actions"
    ),
    Stage(
        "judge", ("Made",), "Verdict", "planner.operations.policies", "judged", "rules/policy and the user's policies"
    ),
    Stage(
        "order", ("Plan", "Loaded"), "Graph", "planner.operations.graphs", "apply_graph", "rules/apply: who goes first"
    ),
    Stage("apply", ("Graph", "Plan"), "Outcome", "planner.apply.walk", "apply_walk", "a walk; providers do the work"),
)
