"""What deployments answer: their graph, questions, policies over all components, and why."""

from __future__ import annotations

import json
import shutil

import pytest
from stacks.test_deployments import LATER, TWO, Stack, stack

__all__ = ["stack"]
DEPLOY = 'deployment "a" { inputs = { name = "a", regions = ["eu", "us"] } }\n'
BOTH = DEPLOY + 'deployment "b" { inputs = { name = "b", regions = ["eu"] } }\n'
WITH_PROVIDER = """
variable "name" { type = string }
required_providers {
  terraform = { source = "terraform.io/builtin/terraform" }
}
provider "terraform" "x" {
  config {}
}
component "first" {
  source    = "./m"
  inputs    = { name = var.name }
  providers = { terraform = provider.terraform.x }
}
locals { between = component.first.name }
stack "inner" {
  source = "./s"
  inputs = { name = local.between }
}
"""


@pytest.fixture
def two(stack: Stack) -> Stack:
    stack.write(TWO, DEPLOY)
    stack.run("init")
    return stack


# ---------------------------------------------------------------- the graph


def test_the_graph_has_components_providers_and_child_stacks(stack: Stack) -> None:
    stack.write(WITH_PROVIDER, 'deployment "a" { inputs = { name = "a" } }\n')
    stack.run("init")
    (graph,) = json.loads(stack.run("graph", "-json"))["deployments"]
    assert graph["deployment"] == "a"
    assert {name: (node["kind"], node["module"]) for name, node in graph["details"].items()} == {
        "component.first": ("component", ""),
        "provider.terraform.x": ("provider", ""),
        "stack.inner": ("stack", ""),
        "stack.inner.component.c": ("component", "stack.inner"),
    }
    assert graph["reduced_edges"] == [
        ["component.first", "provider.terraform.x"],
        ["stack.inner", "component.first"],
        ["stack.inner.component.c", "stack.inner"],
    ]
    text = stack.run("graph")
    assert '"[root] provider.terraform.x" [label = "provider.terraform.x", shape = "diamond"]' in text
    assert '"[root] stack.inner" -> "[root] component.first"' in text


def test_the_graph_of_several_deployments_tells_them_apart(stack: Stack) -> None:
    stack.write(TWO, BOTH)
    stack.run("init")
    text = stack.run("graph")
    assert '"[root] a: component.net"' in text
    assert '"[root] b: component.web[\\"eu\\"]" -> "[root] b: component.net"' in text
    assert "b:" not in stack.run("graph", "-deployment=a")


def test_the_graph_of_a_destruction_is_that_of_the_states(two: Stack) -> None:
    two.run("apply", "-auto-approve")
    (graph,) = json.loads(two.run("graph", "-json", "-destroy"))["deployments"]
    assert ['component.web["eu"]', "component.net"] in graph["edges"]


# ---------------------------------------------------------------- questions


def rows(stack: Stack, *words: str) -> list[list[object]]:
    return json.loads(stack.run("query", "-json", *words))["rows"]  # type: ignore[no-any-return]


def test_questions_about_the_flow_and_the_plans(two: Stack) -> None:
    web = 'component.web["eu"]'
    assert rows(two, f"made_from('{web}', X)".replace("'", '"').replace('["eu"]', '[\\"eu\\"]')) == [["component.net"]]
    assert [web, 1] in rows(two, 'component_changes(C, "add", N)')
    assert [web, 0] in rows(two, 'component_changes(C, "remove", N)')
    assert rows(two, 'unit_planned(C, A, "input", "a")') == [["component.net", "terraform_data.x"]]
    assert rows(two, "component(C), not unit_change(C, _, _)") == []
    assert rows(two, "deployment(D)") == [["a"]]
    assert "No." in two.run("query", "component_deferred(_, _)")


def test_verbs_about_the_graph(two: Stack) -> None:
    everything = [["component.net"], ['component.web["eu"]'], ['component.web["us"]']]
    assert rows(two, "rdeps", "component.net") == everything
    assert rows(two, 'deps(component.web["eu"]) - component.net') == [['component.web["eu"]']]
    assert rows(two, "somepath", 'component.web["us"]', "component.net") == [
        [0, 'component.web["us"]'],
        [1, "component.net"],
    ]
    assert [1, 'component.web["us"]', 'component.web["us"]', "plan"] in rows(two, "blast", "component.net")
    assert "digraph" in two.run("query", "-dot", "edge(A, B)")
    assert 'The graph has no vertex "component.no"' in two.run("query", "deps", "component.no", code=1)
    assert "Did you mean" in two.run("query", "made_form(A, B)", code=1)


def test_a_question_is_about_one_deployment(stack: Stack) -> None:
    stack.write(TWO, BOTH)
    stack.run("init")
    assert "Name one of a, b with -deployment" in " ".join(stack.run("query", "component(C)", code=1).split())
    assert "Missing query" in stack.run("query", code=1)


def test_what_waits_can_be_asked_for(stack: Stack) -> None:
    stack.write(LATER, 'deployment "a" { inputs = { name = "a" } }\n')
    stack.run("init")
    assert ["component.many[*]", "for_each"] in rows(stack, "component_deferred(C, W)")
    assert ["component.last", "component.first"] in rows(stack, "waits_until(C, O)")


def test_secrets_are_not_answered(stack: Stack) -> None:
    (stack.folder / "m" / "main.tf").write_text(
        'variable "name" { type = string }\n'
        'resource "terraform_data" "x" { input = sensitive(var.name) }\n'
        'output "name" {\n  value     = terraform_data.x.output\n  sensitive = true\n}\n'
    )
    component = 'component "c" {\n  source = "./m"\n  inputs = { name = "hush-hush" }\n}\n'
    stack.write(component, 'deployment "a" { inputs = {} }\n')
    stack.run("init")
    assert "hush" not in stack.run("query", "unit_planned(C, A, P, V)")
    assert rows(stack, 'unit_planned(C, A, "input", V)') == [["component.c", "terraform_data.x", "(sensitive)"]]


@pytest.mark.parametrize("words", [("create",), ("deployment-run", "list"), ("configuration", "upload"), ("list",)])
def test_commands_of_the_hosted_service_say_so(stack: Stack, words: tuple[str, ...]) -> None:
    assert f"stacks {words[0]} is a command for the hosted service" in stack.run(*words, code=1)


# ---------------------------------------------------------------- policies over all components

POLICY = """
@name("p.deletions") @reason("{C} destroys {N}")
deny("deletions", C, "destroys " ++ N) :- deployment("a"), component_changes(C, "remove", N), N > 0.
@name("p.same") @reason("{C} and {D} have the same name")
deny("same", C, "has the name of " ++ D) :-
  unit_planned(C, _, "input", N), unit_planned(D, _, "input", N), C < D.
@name("p.deferred")
warn("late", C, "waits because of " ++ W) :- component_deferred(C, W).
"""


def judged(stack: Stack, *words: str, code: int = 0) -> dict[str, list[tuple[str, str, str]]]:
    ran = stack.planner("stacks", "policy", "-json", *words)
    assert ran.code == code, ran.out + ran.err
    return {
        d["deployment"]: [(f["kind"], f["code"], f["component"]) for f in d["findings"]]
        for d in json.loads(ran.out)["deployments"]
    }


def test_policies_see_several_components_at_once(stack: Stack) -> None:
    (stack.folder / "p.dl").write_text(POLICY)
    two = 'component "c" {\n  source = "./m"\n  inputs = { name = var.name }\n}\n'
    text = 'variable "name" { type = string }\n' + two + two.replace('"c"', '"d"').replace("var.name", '"x"')
    stack.write(text, 'deployment "a" { inputs = { name = "x" } }\ndeployment "b" { inputs = { name = "y" } }\n')
    stack.run("init")
    denied = [("deny", "same", "component.c")]
    assert judged(stack, "-policy=p.dl", code=1) == {"a": denied, "b": []}
    assert judged(stack, "-policy=p.dl", "-deployment=b") == {"b": []}
    text = stack.run("policy", "-policy=p.dl", "-proofs", code=1)
    assert "has the name of component.d" in text and "component.c and component.d have the same name [p.same]" in text
    assert 'unit_planned("component.c", "terraform_data.x", "input", "x")' in text


def test_policies_of_the_stack_keep_a_deployment_from_being_applied(two: Stack) -> None:
    folder = two.folder / ".planner" / "stack-policies"
    folder.mkdir(parents=True)
    (folder / "p.dl").write_text(POLICY)
    two.run("apply", "-auto-approve")
    text = " ".join(two.run("plan", "-destroy", code=1).split())
    assert "Denied by policy deletions" in text
    assert "In the deployment a: component.net destroys 1 [p.deletions]" in text
    two.run("destroy", "-auto-approve", code=1)
    assert set(two.states()) == {"a", "a.net", "a.web~eu", "a.web~us"}
    (folder / "p.dl").write_text("deny(1")
    two.run("plan", code=1)


def test_policies_of_the_organisation_are_not_left_out(two: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    (two.folder / "org.dl").write_text('deny("none", C, "is not wanted") :- component(C).\n')
    monkeypatch.setenv("PLANNER_STACK_POLICIES", str(two.folder / "org.dl"))
    assert "component.net is not wanted" in " ".join(two.run("plan", code=1).split())
    assert len(judged(two, code=1)["a"]) == 3


def test_what_policies_cannot_decide_is_not_approved_by_checks(stack: Stack) -> None:
    folder = stack.folder / ".planner" / "stack-policies"
    folder.mkdir(parents=True)
    (folder / "p.dl").write_text('deny("id", C, "has this id") :- unit_planned(C, _, "id", "x").\n')
    deploy = DEPLOY.replace("} }", "}\n  deployment_group = deployment_group.g\n}").replace("{ inputs", "{\n  inputs")
    checks = 'deployment_auto_approve "r" {\n  check { condition = context.success }\n}\n'
    stack.write(TWO, f'{deploy}deployment_group "g" {{ auto_approve_checks = [deployment_auto_approve.r] }}\n{checks}')
    stack.run("init")
    assert judged(stack)["a"][0] == ("undecided", "id", "component.net")
    text = stack.run("apply", "-input=false", code=1)
    assert "Undecided policy id" in text and stack.states() == {}
    assert "policies are undecided about the plan of a" in stack.run("why", "approved")
    shutil.rmtree(folder)
    assert "all checks of r hold" in stack.run("why", "approved")
    stack.run("apply", "-input=false")


def test_what_policies_cannot_decide_about_a_component_is_not_approved_by_checks(stack: Stack) -> None:
    (stack.folder / "p.dl").write_text('deny("id", A, "has this id") :- planned(A, "id", "x").\n')
    deploy = DEPLOY.replace("} }", "}\n  deployment_group = deployment_group.g\n}").replace("{ inputs", "{\n  inputs")
    checks = 'deployment_auto_approve "r" {\n  check { condition = context.success }\n}\n'
    stack.write(TWO, f'{deploy}deployment_group "g" {{ auto_approve_checks = [deployment_auto_approve.r] }}\n{checks}')
    stack.run("init")
    text = stack.run("apply", "-input=false", "-policy=p.dl", code=1)
    assert "Undecided policy id" in text and stack.states() == {}
    stack.run("apply", "-input=false")


def test_policies_that_are_not_there(two: Stack) -> None:
    assert "No policies" in two.run("policy", code=1)
    assert "no.dl" in two.run("policy", "-policy=no.dl", code=1)
    assert "packs check the plans of single components" in " ".join(
        two.run("policy", "-policy=builtin:required_tags", code=1).split()
    )


def test_what_waits_is_told_to_policies(stack: Stack) -> None:
    (stack.folder / "p.dl").write_text(POLICY)
    stack.write(LATER, 'deployment "a" { inputs = { name = "a" } }\n')
    stack.run("init")
    assert ("warn", "late", "component.many[*]") in judged(stack, "-policy=p.dl")["a"]


# ---------------------------------------------------------------- some components alone


def test_a_component_is_planned_with_what_it_is_made_from(two: Stack) -> None:
    assert two.plan('-component=component.web["eu"]') == {"a": {"component.net": "plan", 'component.web["eu"]': "plan"}}
    assert len(two.plan("-component=component.web")["a"]) == 3
    assert two.plan("-component=component.net") == {"a": {"component.net": "plan"}}
    text = two.run("plan", "-component=component.net")
    assert 'Not planned, because only other components were named: component.web["eu"], component.web["us"].' in text
    assert 'Did you mean "component.net"' in " ".join(two.run("plan", "-component=component.ne", code=1).split())
    assert "Conflicting options" in two.run("plan", "-component=component.net", "-destroy", code=1)


def test_what_is_left_out_is_neither_removed_nor_missed(two: Stack) -> None:
    two.run("apply", "-auto-approve")
    two.write(TWO, DEPLOY.replace('"eu", ', ""))
    two.run("plan", code=1)
    assert two.plan("-component=component.net") == {"a": {"component.net": "plan"}}
    assert 'component.web["eu"] has a state' in " ".join(two.run("plan", "-component=component.web", code=1).split())


def test_a_child_stack_is_planned_and_what_stands_for_all(stack: Stack) -> None:
    stack.write(LATER, 'deployment "a" { inputs = { name = "a" } }\n')
    stack.run("init")
    deferred = {"component.first": "plan", "component.many[*]": "defer"}
    assert stack.plan('-component=component.many["x"]') == {"a": deferred}
    inner = {"component.first": "plan", "stack.inner[*].component.c": "defer"}
    assert stack.plan("-component=stack.inner") == {"a": inner}


# ---------------------------------------------------------------- why


def test_why_something_in_a_component_is_planned(two: Stack) -> None:
    address = 'component.web["eu"].terraform_data.x'
    assert "is declared and does not exist yet" in two.run("why", address)
    two.run("apply", "-auto-approve")
    two.write(TWO, DEPLOY.replace('"a",', '"A",'))
    text = two.run("why", "update", "component.net.terraform_data.x")
    assert 'var.name changed from "a" to "A" (input)' in text and "m/main.tf:3" in text
    text = two.run("why", "unknown", "component.net.terraform_data.x.output")
    assert "the provider decides terraform_data.x.output" in text
    assert "terraform_data.x is updated in place" in two.run("why", "-not", "delete", "component.net.terraform_data.x")
    assert "the plan destroys everything" in two.run("why", "-destroy", "delete", address)
    proof, made_from = json.loads(two.run("why", "-json", address))["proofs"]
    assert proof["goal"] == ["explained", "terraform_data.x", "update"]
    assert made_from["goal"] == ["made_from", 'component.web["eu"]', "component.net"]
    assert "x.tfcomponent.hcl:11" in two.run("why", address)
    for words, said in (
        (("component.no.terraform_data.x",), "No such component"),
        (("component.net",), "component.net.TYPE.NAME"),
        (("component.net.terraform_data.y",), "terraform_data.y"),
        (("delete", "component.net.terraform_data.x"), "update"),
        (("a", "b", "c"), "Expected one or two arguments"),
    ):
        assert said in " ".join(two.run("why", *words, code=1).split())


def test_why_nothing_is_planned_in_what_is_deferred(stack: Stack) -> None:
    stack.write(LATER, 'deployment "a" { inputs = { name = "a" } }\n')
    stack.run("init")
    text = " ".join(stack.run("why", "component.last.terraform_data.x", code=1).split())
    assert "planner stacks why deferred component.last" in text


def test_why_not(stack: Stack) -> None:
    stack.write(LATER, 'deployment "a" { inputs = { name = "a" } }\n')
    stack.run("init")
    text = stack.run("why", "-not", "deferred", "component.first")
    assert 'does("component.first", "defer") does not hold.' in text
    assert "[stacks/instances.defers] would need put_off(component.first, W, _)" in text
    assert "The fact holds" in stack.run("why", "-not", "deferred", "component.last", code=1)
    text = stack.run("why", "-not", "component.first", "component.last")
    assert 'made_from("component.first", "component.last") does not hold.' in text
    assert "The fact holds" in stack.run("why", "-not", "component.last", "stack.inner[*].component.c", code=1)


def test_why_not_approved(stack: Stack) -> None:
    deploy = DEPLOY.replace("} }", "}\n  deployment_group = deployment_group.g\n}").replace("{ inputs", "{\n  inputs")
    group = 'deployment_group "g" { auto_approve_checks = [deployment_auto_approve.r] }\n'
    check = 'deployment_auto_approve "r" {\n  check { condition = context.plan.changes.add == %s }\n}\n'
    stack.write(TWO, deploy + group + check % 0)
    stack.run("init")
    text = stack.run("why", "-not", "approved")
    assert 'approved("a", "r") does not hold.' in text
    assert "[stacks/approval.checked] would need not objection(a, _, _, _)" in text
    stack.write(TWO, deploy + group + check % 3)
    assert "The fact holds" in stack.run("why", "-not", "approved", code=1)
    assert "all checks of r hold" in stack.run("why", "approved")
    stack.write(TWO, DEPLOY)
    assert 'approved("a", "empty_plan") does not hold.' in stack.run("why", "-not", "approved")


def test_why_policies_say_so(two: Stack) -> None:
    folder = two.folder / ".planner" / "stack-policies"
    folder.mkdir(parents=True)
    (folder / "p.dl").write_text(
        '@name("p.many") @reason("{C} makes {N}")\n'
        'deny("many", C, "makes " ++ N) :- component_changes(C, "add", N), N > 0.\n'
    )
    assert "component.net makes 1 [p.many]" in two.run("why", "deny", "many", "component.net", "-full")
    assert len(json.loads(two.run("why", "-json", "deny", "many"))["proofs"]) == 3
    text = " ".join(two.run("why", "deny", "few", code=1).split())
    assert "Verdicts: many component.net" in text
    assert "Verdicts: none." in " ".join(two.run("why", "warn", "many", code=1).split())
