"""What depends on what in a plan's JSON: references are followed, and what a local value hides leaves verdicts open."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from planner.answers.policy.facts.relations import PolicyInputs
from planner.answers.policy.from_json import excerpt as reading
from planner.answers.policy.from_json.document import parse
from planner.answers.policy.from_json.facts import shown_facts
from planner.answers.policy.judge import judge
from planner.answers.policy.program import Policies, load_policies
from planner.answers.policy.sources import policy_files
from planner.foundation.vocabulary.diagnostic import Failure

PROVIDER = "registry.opentofu.org/hashicorp/aws"
CODE = "public_access_block"
ALL_FOUR = dict.fromkeys(
    ("block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets"), True
)
Module = dict[str, Any]


def refers(*names: str) -> dict[str, Any]:
    return {"references": list(names)}


def resource(type_: str, name: str, **expressions: Any) -> dict[str, Any]:
    address = f"{type_}.{name}"
    return {"address": address, "mode": "managed", "type": type_, "name": name, "expressions": expressions}


def bucket(name: str, **expressions: Any) -> dict[str, Any]:
    return resource("aws_s3_bucket", name, **expressions)


def block(name: str, **expressions: Any) -> dict[str, Any]:
    return resource("aws_s3_bucket_public_access_block", name, **expressions)


def of(name: str) -> dict[str, Any]:
    return refers(f"aws_s3_bucket.{name}.id", f"aws_s3_bucket.{name}")


def document(root: Module, action: str = "create", prior: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A plan that does the same with all resources of a configuration."""
    changes = []
    waiting = [("", root)]
    while waiting:
        path, module = waiting.pop()
        for one in module.get("resources", ()):
            after = ALL_FOUR if one["type"].endswith("_block") else {}
            change = {"actions": [action], "before": None, "after": after, "after_unknown": {"id": True}}
            if action == "delete":
                change |= {"before": after, "after": None, "after_unknown": False}
            address = f"{path}.{one['address']}" if path else one["address"]
            where = {"module_address": path} if path else {}
            head = {name: one[name] for name in ("mode", "type", "name")}
            changes.append({**head, "address": address, **where, "provider_name": PROVIDER, "change": change})
        for name, call in module.get("module_calls", {}).items():
            waiting.append((f"{path}.module.{name}" if path else f"module.{name}", call["module"]))
    return {
        "format_version": "1.2",
        "resource_changes": changes,
        "prior_state": {"values": {"root_module": {"resources": prior or []}}},
        "configuration": {"provider_config": {}, "root_module": root},
    }


def depends(plan: dict[str, Any]) -> tuple[set[Any], set[Any]]:
    """What certainly depends on what, and what may besides."""
    reads = PolicyInputs(frozenset(("depends", "maybe_through", "maybe_reached")))
    facts = shown_facts(parse(json.dumps(plan).encode(), "plan.json"), reads)
    assert not facts.untold
    through, reached = facts.relation("maybe_through"), facts.relation("maybe_reached")
    certain = set(facts.relation("depends"))
    possible = {(a, b) for a, _, group in through for module, b in reached if module == group}
    return certain, possible - certain


@cache
def policies(*given: str) -> Policies:
    files = policy_files([f"builtin:{CODE}"]) if not given else (("own.dl", given[0]),)
    rules, problems = load_policies(tuple(files))
    assert rules is not None, problems
    return rules


def verdicts(plan: dict[str, Any], *rules: str) -> set[tuple[str, str, str]]:
    asked = policies(*rules)
    facts = shown_facts(parse(json.dumps(plan).encode(), "plan.json"), asked.reads)
    return {(f.kind, f.address, f.message) for f in judge(asked, facts).findings}


B, C = "aws_s3_bucket.b", "aws_s3_bucket.c"
P = "aws_s3_bucket_public_access_block.p"
LACKS = "has no public access block with all four settings"
LOCAL = {"resources": [bucket("b"), bucket("c"), block("p", bucket=refers("local.names"))]}


@pytest.mark.parametrize(
    ("root", "certain", "possible"),
    [
        ({"resources": [bucket("b"), bucket("c"), block("p", bucket=of("b"))]}, {(P, B)}, set()),
        ({"resources": [bucket("b"), block("p", rule=[{"deep": {"x": of("b")}}])]}, {(P, B)}, set()),
        ({"resources": [bucket("b"), {**block("p"), "depends_on": [B]}]}, {(P, B)}, set()),
        ({"resources": [bucket("b"), {**block("p"), "count_expression": of("b")}]}, {(P, B)}, set()),
        ({"resources": [bucket("b"), {**block("p"), "for_each_expression": of("b")}]}, {(P, B)}, set()),
        (
            {
                "resources": [
                    bucket("b"),
                    {**block("p"), "provisioners": [{"type": "x", "expressions": {"c": of("b")}}]},
                ]
            },
            {(P, B)},
            set(),
        ),
        ({"resources": [bucket("b"), block("p", references=of("b"))]}, {(P, B)}, set()),
        ({"resources": [bucket("b"), block("p", constant_value={"constant_value": "x"})]}, set(), set()),
        ({"resources": [bucket("b"), block("p", bucket=refers("each.key", "var.x", "path.module"))]}, set(), set()),
        (LOCAL, set(), {(P, B), (P, C), (P, P)}),
        (
            {"resources": [bucket("b"), block("p", bucket=refers("provider::x::f"))]},
            set(),
            {(P, B), (P, P)},
        ),
    ],
)
def test_references_of_resources(root: Module, certain: set[Any], possible: set[Any]) -> None:
    assert depends(document(root)) == (certain, possible)


def called(output: dict[str, Any], given: dict[str, Any], **call: Any) -> Module:
    """A root module with a bucket, that calls one with a bucket and a block, and has a block of its own."""
    inner = {
        "resources": [bucket("i"), block("q", bucket=refers("var.name"))],
        "outputs": {"o": {"expression": output}},
    }
    outer = block("p", bucket=refers("module.m.o", "module.m"))
    calls = {"m": {"source": "./m", "expressions": {"name": given}, "module": inner, **call}}
    return {"resources": [bucket("b"), bucket("c"), outer], "module_calls": calls}


def test_references_through_modules() -> None:
    inner, q = "module.m.aws_s3_bucket.i", "module.m.aws_s3_bucket_public_access_block.q"
    assert depends(document(called(of("i"), of("b")))) == ({(P, inner), (q, B)}, set())
    certain, possible = depends(document(called(refers("local.x"), of("b"))))
    assert certain == {(q, B)}
    assert possible == {(P, inner), (P, q), (P, B)}, "a local value of the module, whose input is b"
    certain, possible = depends(document(called(of("i"), refers("local.x"))))
    assert certain == {(P, inner)}
    assert {other for one, other in possible if one == q} == {B, C, P, inner, q}
    for how in ({"count_expression": of("c")}, {"for_each_expression": of("c")}, {"depends_on": [C]}):
        assert {(q, C), (inner, C), (P, C)} <= depends(document(called(of("i"), of("b"), **how)))[0]


def test_a_module_as_a_whole_is_all_that_is_in_it() -> None:
    root = called(refers("var.name"), of("c"))
    root["resources"][2]["expressions"]["bucket"] = refers("module.m.o", "module.m", "module.m")
    found = {other for one, other in depends(document(root))[0] if one == P}
    assert found == {"module.m.aws_s3_bucket.i", "module.m.aws_s3_bucket_public_access_block.q", C}
    root["resources"][2]["expressions"]["bucket"] = refers("module.m[0].o", "module.m[0]")
    assert {other for one, other in depends(document(root))[0] if one == P} == {C}


def test_configurations_of_providers_lead_on() -> None:
    plan = document({"resources": [bucket("b"), {**block("p"), "provider_config_key": "aws"}]})
    plan["configuration"]["provider_config"] = {
        "aws": {"name": "aws", "full_name": PROVIDER, "expressions": {"region": of("b")}}
    }
    assert depends(plan) == ({(P, B)}, set())


def test_the_state_tells_what_objects_depended_on_that_are_no_more_declared() -> None:
    head = {"mode": "managed", "provider_name": PROVIDER, "values": {}}
    prior = [
        {**head, "address": B, "type": "aws_s3_bucket", "name": "b"},
        {**head, "address": P, "type": "aws_s3_bucket_public_access_block", "name": "p", "depends_on": [B]},
    ]
    plan = document({"resources": [bucket("b"), block("p")]}, "delete", prior)
    assert depends(plan) == ({(P, B)}, set())
    plan["configuration"]["root_module"] = {"resources": [bucket("b")]}
    plan["resource_changes"][1]["action_reason"] = "delete_because_no_resource_config"
    assert depends(plan) == ({(P, B)}, set())


def test_circles_end() -> None:
    modules = {
        "m": {
            "expressions": {"v": refers("module.m.o", "module.m")},
            "module": {
                "outputs": {"o": {"expression": refers("var.v")}},
                "resources": [block("q", bucket=refers("var.v"))],
            },
        }
    }
    assert depends(document({"resources": [bucket("b")], "module_calls": modules}))[0] == set()


@pytest.mark.parametrize("wrong", [{"references": "aws_s3_bucket.b"}, {"references": [1]}])
def test_references_that_are_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(Failure):
        depends(document({"resources": [bucket("b"), block("p", bucket=wrong)]}))


# ---------------------------------------------------------------- verdicts


def test_a_known_reference_passes_and_none_denies() -> None:
    root = {"resources": [bucket("b"), bucket("c"), block("p", bucket=of("b"))]}
    assert verdicts(document(root)) == {("deny", C, LACKS)}


def test_what_a_local_value_hides_is_undecided_and_named() -> None:
    said = "depends on the references of local.names, which this document lacks"
    assert verdicts(document(LOCAL)) == {("undecided", B, said), ("undecided", C, said)}


def test_what_no_local_value_can_reach_is_denied_all_the_same() -> None:
    inner = {"resources": [block("p", bucket=refers("local.names")), bucket("i")]}
    root = {"resources": [bucket("b")], "module_calls": {"m": {"source": "./m", "module": inner}}}
    assert {(kind, address) for kind, address, _ in verdicts(document(root))} == {
        ("deny", B),
        ("undecided", "module.m.aws_s3_bucket.i"),
    }


OWN = """
deny("beside", A, "alone") :- change(A, "aws_s3_bucket", _, _, _, _), not depends(_, A).
deny("either", A, "is used or is not") :- change(A, "aws_s3_bucket", _, _, _, _), depends(_, A).
deny("either", A, "is used or is not") :- change(A, "aws_s3_bucket", _, _, _, _), not depends(_, A).
deny("many", A, "is used " ++ N ++ " times") :-
    change(A, "aws_s3_bucket", _, _, _, _), N = count : { depends(_, A) }, N > 0.
"""


def test_negations_cases_and_counts() -> None:
    found = {(kind, address, message.partition(" ")[0]) for kind, address, message in verdicts(document(LOCAL), OWN)}
    assert found == {
        *(("undecided", address, "depends") for address in (B, C)),
        *(("deny", address, "is") for address in (B, C)),
    }
    known = document({"resources": [bucket("b"), bucket("c"), block("p", bucket=of("b"))]})
    assert ("deny", B, "is used 1 times") in verdicts(known, OWN)
    assert ("deny", C, "alone") in verdicts(known, OWN)


# ---------------------------------------------------------------- what no document tells

UNTOLD = """
deny("state", "", "in a file") :- not backend(_), plan_mode(_).
deny("kept", A, "can be destroyed") :- change(A, "aws_s3_bucket", _, _, _, _), not kept(A).
deny("kept", A, "is a bucket") :- change(A, "aws_s3_bucket", "c", _, _, _).
warn("few", "", "has few") :- plan_mode(_), N = count : { lifecycle(_, _, _) }, N < 1.

/// kept(addr): a lifecycle block keeps it. Example: kept("aws_s3_bucket.b")
.decl kept(addr: instance)
kept(A) :- instance_of(A, O), lifecycle(O, "prevent_destroy", "true").
"""


def test_what_is_not_told_is_not_taken_for_absent() -> None:
    found = verdicts(document({"resources": [bucket("b"), bucket("c")]}), UNTOLD)
    told = {one for one in found if "document does not have" not in one[2]}
    assert told == {("deny", C, "is a bucket")}
    assert {one[0] for one in found - told} == {"broken", "undecided"}


# ---------------------------------------------------------------- large plans


def test_large_plans_are_read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LEAST", 0)
    plan = document(LOCAL)
    order = {"format_version": "1.2", "terraform_version": "1.12.6", "planned_values": {"root_module": {}}}
    rest = {**plan, "configuration": {"provider_config": {"aws": {"name": "aws"}}, **plan["configuration"]}}
    rest["configuration"] = {
        "provider_config": {"aws": {"name": "aws", "full_name": PROVIDER}},
        "root_module": plan["configuration"]["root_module"],
    }
    rest.pop("format_version")
    plan = {**order, **rest, "timestamp": "2026-03-02T09:30:00Z", "errored": False}
    data = json.dumps(plan, separators=(",", ":")).encode()
    read = parse(data, "plan.json")
    assert read.excerpt is not None
    reads = PolicyInputs(frozenset(("depends", "maybe_through", "maybe_reached")))
    small, large = (shown_facts(one, reads) for one in (read.whole, read))
    for relation in sorted(reads.predicates):
        assert set(small.relation(relation)) == set(large.relation(relation)), relation
    assert large.relation("maybe_through")


DISKS = """
deny("disk", A, "is not encrypted") :-
    part(A, "disk", _, I), P = I ++ ".encrypted", planned(A, P, false).
"""


def test_what_lies_below_an_unknown_list_waits_for_nothing_else() -> None:
    plan = document({"resources": [bucket("b")]})
    plan["resource_changes"][0]["change"]["after_unknown"] = {"id": True, "disk": True, "other": True}
    assert verdicts(plan, DISKS) == {("undecided", B, f"is decided when {B}.disk is known")}
