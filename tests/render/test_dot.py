"""Graphs in the DOT language and as JSON."""

from __future__ import annotations

from planner.cli.commands.graph import graph_json
from planner.logic.model.graph import Graph, Node
from planner.render.dot import dot

PROVIDER = 'provider["x.io/y/z"]'
NODES = [
    Node("terraform_data.a (expand)", "resource", "", "terraform_data.a"),
    Node("module.m.terraform_data.x (expand)", "resource", "module.m", "terraform_data.x"),
    Node(
        'module.m["k"].terraform_data.x[0] (destroy)',
        "instance_destroy",
        'module.m["k"]',
        'module.m["k"].terraform_data.x[0]',
    ),
    Node(PROVIDER, "provider", "", PROVIDER),
    Node(f"{PROVIDER} (close)", "provider_close", "", PROVIDER),
    Node("var.x", "root_variable", "", "x"),
    Node("local.l (expand)", "local", "", "l"),
]


def rows(edges):
    return {(a, b) for a, found in edges.items() for b in found}


EDGES = {
    "terraform_data.a (expand)": (PROVIDER, "local.l (expand)"),
    f"{PROVIDER} (close)": (PROVIDER, "terraform_data.a (expand)"),
}
REDUCED = {**EDGES, f"{PROVIDER} (close)": ("terraform_data.a (expand)",)}
GRAPH = Graph({node.name: node for node in NODES}, rows(EDGES), REDUCED)

EXPECTED = r"""digraph {
	compound = "true"
	newrank = "true"
	subgraph "root" {
		"[root] module.m.terraform_data.x (expand)" [label = "module.m.terraform_data.x", shape = "box"]
		"[root] module.m[\"k\"].terraform_data.x[0] (destroy)" [label = "module.m.terraform_data.x", shape = "box"]
		"[root] provider[\"x.io/y/z\"]" [label = "provider[\"x.io/y/z\"]", shape = "diamond"]
		"[root] terraform_data.a (expand)" [label = "terraform_data.a", shape = "box"]
		"[root] var.x" [label = "var.x", shape = "note"]
		"[root] provider[\"x.io/y/z\"] (close)" -> "[root] terraform_data.a (expand)"
		"[root] terraform_data.a (expand)" -> "[root] local.l (expand)"
		"[root] terraform_data.a (expand)" -> "[root] provider[\"x.io/y/z\"]"
	}
}
"""


def test_dot():
    assert dot(GRAPH) == EXPECTED


def test_vertices_stand_in_the_order_of_their_lines():
    keys = ['["a"]', "[0]"]
    nodes = {name: Node(name, "instance_apply", "", name) for name in (f"terraform_data.a{key}" for key in keys)}
    written = dot(Graph(nodes, set(), {}))
    assert written.index("terraform_data.a[0]") < written.index(r"terraform_data.a[\"a\"]")


def test_cycles_are_red():
    nodes = {name: Node(name, "local", "", name) for name in "abc"}
    edges = {"a": ("b",), "b": ("a", "c")}
    graph = Graph(nodes, rows(edges), edges, database={"in_cycle": {("a", "a"), ("b", "a")}})
    red = [line for line in dot(graph, draw_cycles=True).split("\n") if "red" in line]
    assert len(red) == 2
    assert not any('"[root] c"' in line for line in red)


def test_json():
    found = graph_json(GRAPH)
    assert found["nodes"] == sorted(GRAPH.nodes)
    assert [f"{PROVIDER} (close)", PROVIDER] in found["edges"]
    assert [f"{PROVIDER} (close)", PROVIDER] not in found["reduced_edges"]
    assert found["details"]["var.x"]["kind"] == "root_variable"
