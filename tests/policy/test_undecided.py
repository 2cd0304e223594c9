"""Undecided only when it is: over many policies and plans with unknown values, what is undecided is denied in one way
in which these can turn out and not in another; what is denied is denied in all of them, and what passes in none.

The ways are made from the constants that the policies compare with, and are evaluated by the rules as written.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from thinned import thinned

from planner.answers.policy.case_analysis import Cases
from planner.answers.policy.facts.contents import maybe_rows
from planner.answers.policy.planned_values import ValueRows
from planner.answers.policy.program import Policies, load_policies
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, MapType, ObjectType
from planner.foundation.values.value import NOT_NULL, List, Map, Null, Refinement, Unknown
from planner.language.functions.encoding import json_text
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase

TEXT = (Path(__file__).parent / "undecided" / "policies.dl").read_text(encoding="utf-8")
POLICIES: dict[str, str] = dict(re.findall(r"^// == (.*)\n((?:(?!// ==).*\n)*)", TEXT, re.M))

ANY_TEXT, SOME_TEXT = Unknown(STRING), Unknown(STRING, NOT_NULL)
ARN = Unknown(STRING, Refinement(True, "arn:aws:"))
RULE = ObjectType({"cidr": STRING, "port": NUMBER})
EVERYBODY = '{"Statement": [{"Effect": "Allow", "Principal": "*"}]}'
NOBODY = '{"Statement": [{"Effect": "Deny", "Principal": "me"}]}'

OTHERS = '{"Statement": [{"Effect": "Deny", "Resource": "theirs"}, {}]}'


def bucket(**values: Any) -> dict[str, Any]:
    whole = {
        "name": "acme-a",
        "region": "eu-west-1",
        "size": "small",
        "stage": "dev",
        "days": 90,
        "encrypted": True,
        "kms_key": "key",
        "public": False,
        "policy": NOBODY,
        "tags": Map(STRING, {"Owner": "me", "CostCenter": "1234", "Stage": "dev"}),
        "zones": List(STRING, ("a", "b")),
        "ingress": List(RULE, ({"cidr": "10.1.0.0/16", "port": 443},)),
    }
    return {**whole, **values}


def begins(text: str) -> Unknown:
    return Unknown(STRING, Refinement(True, text))


def statement(**values: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Principal": "*", **values}


def document(*statements: Any) -> Unknown:
    return Unknown(STRING, Refinement(True, "{"), {"Statement": statements})


def block(**values: Any) -> dict[str, Any]:
    return {"bucket": "acme-a", "all": True, **values}


PLANS: dict[str, dict[str, dict[str, Any]]] = {
    "only an id": {"bucket.a": bucket(id=SOME_TEXT), "block.a": block()},
    "a name that the provider makes": {"bucket.a": bucket(name=SOME_TEXT), "block.a": block(bucket=SOME_TEXT)},
    "a name with a beginning": {
        "bucket.a": bucket(name=Unknown(STRING, Refinement(True, "acme-"))),
        "bucket.b": bucket(name=Unknown(STRING, Refinement(True, "other-name-"))),
    },
    "a network in the world, with an unknown port": {
        "bucket.a": bucket(ingress=List(RULE, ({"cidr": "0.0.0.0/0", "port": Unknown(NUMBER, NOT_NULL)},))),
        "bucket.b": bucket(ingress=List(RULE, ({"cidr": ANY_TEXT, "port": 22},))),
        "bucket.c": bucket(ingress=Unknown(ListType(RULE))),
    },
    "a key and a document of another resource": {
        "bucket.a": bucket(kms_key=ARN, policy=SOME_TEXT),
        "bucket.b": bucket(kms_key=ANY_TEXT, encrypted=Unknown(BOOL), policy=ANY_TEXT),
        "bucket.c": bucket(kms_key=ARN, encrypted=False),
    },
    "tags that are known in part": {
        "bucket.a": bucket(tags=Map(STRING, {"Owner": SOME_TEXT, "Stage": ANY_TEXT})),
        "bucket.b": bucket(tags=Unknown(MapType(STRING))),
        "bucket.c": bucket(tags=Map(STRING, {"owner": ARN, "CostCenter": SOME_TEXT, "Stage": SOME_TEXT})),
    },
    "numbers": {
        "bucket.a": bucket(days=Unknown(NUMBER)),
        "bucket.b": bucket(days=Unknown(NUMBER, Refinement(True, lower=(30, True), upper=(365, True)))),
        "bucket.c": bucket(days=Unknown(NUMBER, Refinement(True, lower=(400, True)))),
    },
    "documents that are known in part": {
        "bucket.a": bucket(policy=document(statement(Resource=SOME_TEXT))),
        "bucket.b": bucket(policy=document(statement(Principal=ANY_TEXT, Effect=SOME_TEXT))),
        "bucket.c": bucket(policy=document(statement(Principal="me", Resource=ARN), statement(Effect=ANY_TEXT))),
        "bucket.d": bucket(policy=document(statement(Resource=Unknown(ListType(STRING)), Effect="Deny"))),
    },
    "switches": {
        "bucket.a": bucket(public=Unknown(BOOL, NOT_NULL), encrypted=Unknown(BOOL, NOT_NULL)),
        "bucket.b": bucket(public=True, encrypted=Unknown(BOOL), kms_key="foreign"),
        "block.a": block(all=Unknown(BOOL)),
    },
    "lists": {
        "bucket.a": bucket(zones=Unknown(ListType(STRING))),
        "bucket.b": bucket(zones=Unknown(ListType(STRING), Refinement(True, min_length=2))),
        "bucket.c": bucket(zones=List(STRING, (SOME_TEXT, "c"))),
    },
    "stages and sizes": {
        "bucket.a": bucket(stage=ANY_TEXT, size="huge"),
        "bucket.b": bucket(stage=ANY_TEXT, size=SOME_TEXT, region=Unknown(STRING, Refinement(True, "us-"))),
        "bucket.c": bucket(region=Unknown(STRING, Refinement(True, "eu-")), size=ANY_TEXT),
    },
    "texts whose beginning tells": {
        "bucket.a": bucket(kms_key=begins("arn:aws:kms:eu-west-1:"), name=begins("acme-web-"), size=begins("t2.")),
        "bucket.b": bucket(kms_key=begins("arn:aws:kms:us-east-1:"), name=begins("x"), region=begins("eu")),
        "bucket.c": bucket(kms_key=begins("arn"), stage=begins("dev-"), size=begins("1."), region=begins("us-")),
    },
    "values of any kind": {
        "bucket.a": bucket(days=Unknown(DYNAMIC), name="acme-c"),
        "bucket.b": bucket(name="Acme", tags=Unknown(MapType(STRING), NOT_NULL)),
    },
}
FEW_WAYS, MOST_WAYS = 250, 1_500


@cache
def loaded(name: str) -> Policies:
    policies, problems = load_policies((("p.dl", POLICIES[name]),))
    assert policies is not None, problems
    return policies


def facts(plan: dict[str, dict[str, Any]]) -> tuple[FactBase, dict[Any, Any]]:
    rows = ValueRows()
    for address, value in plan.items():
        rows.add_object(address, value)
    changes = [(a, a.partition(".")[0], a.partition(".")[2], "", "p", "managed") for a in plan]
    relations = {
        "planned": rows.values,
        "configured": rows.values,
        "size_of": rows.sizes,
        "part": rows.parts,
        "maybe": maybe_rows(rows),
        "maybe_exact": rows.exact,
        "maybe_open": rows.open,
        "change": changes,
        "action": [(a, "create") for a in plan],
    }
    return FactBase.build(relations), rows.unknown


def verdicts(policies: Policies, plan: dict[str, dict[str, Any]]) -> tuple[set[Any], set[Any]]:
    """What is denied, and what is undecided."""
    base, unknown = facts(plan)
    found = evaluate(policies.modal_program, base)
    certain = {row[:2] for row in found["deny"]}
    could = policies.modal.could.get("deny")
    cases = Cases(policies, found, unknown)
    decided = {row: cases.decide("deny", *row) for row in (found[could] if could else set()) - certain}
    certain |= {row for row, holds in decided.items() if holds}
    return certain, {row for row, holds in decided.items() if holds is None}


# ---------------------------------------------------------------- the ways in which values can turn out


def texts(policy: str) -> list[str]:
    """Texts that the policy compares with, others near them, and what values of plans look like."""
    written = {re.sub(r"\\(.)", r"\1", text) for text in re.findall(r'"((?:[^"\\]|\\.)*)"', policy)}
    written = {text for text in written if not text.startswith("^") and " " not in text}
    others = {
        "x",
        "Xx",
        "acme-a",
        "acme-longer-name",
        "eu-1",
        "us-1",
        "0.0.0.0/0",
        "10.1.0.0/16",
        "1234",
        "x-logs",
        "t2.a",
    }
    others |= {"x-logs", "t2.a"}
    return [*sorted({*written, *(f"{text}z" for text in written), *others}), EVERYBODY, NOBODY, OTHERS]


def numbers(policy: str) -> list[int]:
    written = {int(n) for n in re.findall(r"(?<![\w.\"/-])\d{1,4}(?![\w./])", policy)}
    return sorted({n + d for n in (*written, 0, 50, 90, 500, -1000) for d in (-1, 0, 1)})


ENDINGS = (":aws:kms:eu-west-1:1:key/k", ":aws:kms:us:1", "s", ":gcp:kms", "2.0", "-web-logs", "micro", "-a-b", "data")
IN_DOCUMENTS = ("Allow", "Deny", "*", "me", "arn:aws:s3:::acme")


def few_ways(value: Any, policy: str) -> list[Any]:
    """How an unknown part of a document can turn out."""
    if value.type is not STRING:
        return ways(value, policy)
    known = value.refinement or Refinement()
    return [*([] if known.not_null else [Null()]), *(text for text in IN_DOCUMENTS if text.startswith(known.prefix))]


def ways(value: Any, policy: str) -> list[Any]:
    """How an unknown value can turn out."""
    known = value.refinement or Refinement()
    found: list[Any] = [] if known.not_null else [Null()]
    if value.document is not None:
        inside = [few_ways(part, policy) for part in places(value.document)]
        return [json_text(filled(value.document, list(chosen))) for chosen in product(*inside)]
    if value.type is STRING:
        every = texts(policy)
        found += [t for t in every if t.startswith(known.prefix)] + [
            known.prefix + t for t in ("", "b", "X", "x-logs", "longer-name", *ENDINGS)
        ]
    elif value.type is NUMBER:
        lower, upper = known.lower, known.upper
        every_number = sorted({*numbers(policy), *((lower[0],) if lower else ()), *((upper[0],) if upper else ())})
        found += [n for n in every_number if (not lower or n >= lower[0]) and (not upper or n <= upper[0])]
    elif value.type is BOOL:
        found += [True, False]
    elif isinstance(value.type, MapType):
        found += [Map(STRING, {}), *(Map(STRING, {k: v}) for k in ("Owner", "owner", "Stage") for v in ("dev", "x"))]
        found += [Map(STRING, {"Owner": "x", "CostCenter": c, "Stage": s}) for c in ("1234", "x") for s in ("dev", "x")]
        found += [Map(STRING, {"CostCenter": "x", "Owner": "y"}), Map(STRING, {"Owner": "0.0.0.0/0"})]
    elif value.type is DYNAMIC:
        found += ["x", "", True, *numbers(policy), Map(STRING, {"a": "x"})]
    elif value.type.element is STRING:
        found += [List(STRING, items) for items in ((), ("a",), ("a", "b"), ("c",), ("c", "a"), ("a", "b", "c"))]
        found = [v for v in found if isinstance(v, Null) or len(v.items) >= (known.min_length or 0)]
    else:
        rules = [{"cidr": c, "port": p} for c in ("0.0.0.0/0", "10.1.0.0/16", "x") for p in (443, 22)]
        found += [List(RULE, items) for items in ((), *((rule,) for rule in rules), tuple(rules))]
    return found


def places(value: Any) -> list[Any]:
    """The unknown values in a value."""
    if isinstance(value, Unknown):
        return [value]
    if isinstance(value, tuple):
        return [found for part in value for found in places(part)]
    inner = value.values() if isinstance(value, dict) else places_of_container(value)
    return [found for part in inner for found in places(part)]


def places_of_container(value: Any) -> Any:
    return value.items.values() if isinstance(value, Map) else value.items if isinstance(value, List) else ()


def filled(value: Any, given: list[Any]) -> Any:
    """The value with others in the place of the unknown ones, in order."""
    if isinstance(value, Unknown):
        return given.pop(0)
    if isinstance(value, dict):
        return {name: filled(part, given) for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(filled(part, given) for part in value)
    if isinstance(value, Map):
        return Map(value.element, {name: filled(part, given) for name, part in value.items.items()})
    return List(value.element, tuple(filled(part, given) for part in value.items)) if isinstance(value, List) else value


def completions(plan: dict[str, Any], policy: str, most: int) -> list[dict[str, Any]]:
    """Many ways in which the plan can turn out: all where there are few; else each value in each way, and at random."""
    each = [ways(value, policy) for value in places(plan)]
    total = 1
    for options in each:
        total *= len(options)
    if total <= most:
        return [filled(plan, list(chosen)) for chosen in product(*each)]
    random = Random(7)
    return [filled(plan, [random.choice(options) for options in each]) for _ in range(most)]


@pytest.mark.parametrize("most", [FEW_WAYS, pytest.param(MOST_WAYS, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", thinned(POLICIES, 10))
def test_undecided_only_when_it_is(name: str, most: int) -> None:
    policies = loaded(name)
    for title, plan in PLANS.items():
        denied, undecided = verdicts(policies, plan)
        always: set[Any] | None = None
        ever: set[Any] = set()
        for way in completions(plan, POLICIES[name], most):
            found = {row[:2] for row in evaluate(policies.program, facts(way)[0], ["deny"])["deny"]}
            always = found if always is None else always & found
            ever |= found
        assert always is not None
        assert denied <= always, (title, "is denied, but not in every way", denied - always)
        assert ever <= denied | undecided, (title, "passes, but not in every way", ever - denied - undecided)
        assert undecided <= ever, (title, "is undecided, and never denied", undecided - ever)
        assert not undecided & always, (title, "is undecided, and always denied", undecided & always)


def test_there_are_many_policies_and_plans() -> None:
    assert len(POLICIES) >= 30 and len(PLANS) >= 10
