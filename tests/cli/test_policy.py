"""Policies through the command line: judged, overridden, decided while applying, written in every format."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Ran

MAIN = """
variable "port" {
  default = 22
}
resource "terraform_data" "first" {
  input = var.port
}
resource "terraform_data" "second" {
  input = terraform_data.first.output
}
resource "terraform_data" "third" {
  input = terraform_data.second.id
}
"""
PORT = """
@reason("{A} has port {V}")
deny("port", A, "has port " ++ V) :- change(A, _, "second", _, _, _), planned(A, "input", V), V = 22.
"""
WARN = """
@reason("{A} is new")
warn("new", A, "is new") :- acts(A, "create"), not change(A, _, "second", _, _, _).
"""
Run = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(MAIN)
    (tmp_path / "port.dl").write_text(PORT)
    (tmp_path / "warn.dl").write_text(WARN)
    return tmp_path


def names(folder: Path) -> list[str]:
    path = folder / "terraform.tfstate"
    if not path.exists():
        return []
    return sorted(r["name"] for r in json.loads(path.read_text())["resources"] if r["instances"])


def verdicts(planner: Run, *words: str) -> list[tuple[str, str, str]]:
    document = json.loads(planner("policy", "check", "-json", *words).out)
    return [(f["verdict"], f["code"], f["address"]) for f in document["findings"]]


# ---------------------------------------------------------------- judging


def test_a_table(folder: Path, planner: Run) -> None:
    ran = planner("policy", "check", "-policy=port.dl", "-policy=warn.dl")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[2:] == [
        "undecided  port    terraform_data.second  is decided when terraform_data.second.input is known",
        "warn       new     terraform_data.first   is new",
        "warn       new     terraform_data.third   is new",
        "",
        "Policies: 1 undecided, 2 warned.",
    ]


def test_a_denial_ends_with_1(folder: Path, planner: Run) -> None:
    (folder / "main.tf").write_text(MAIN.replace("terraform_data.first.output", "var.port"))
    assert planner("policy", "check", "-policy=port.dl").code == 1
    assert planner("policy", "check", "-policy=port.dl", "-var=port=80").code == 0
    assert verdicts(planner, "-policy=port.dl") == [("deny", "port", "terraform_data.second")]
    why = planner("policy", "check", "-policy=port.dl", "-proofs").out
    assert 'planned("terraform_data.second", "input", 22)  main.tf:9: input = var.port' in why


def test_a_plan_says_what_policies_say_and_is_not_saved_when_denied(folder: Path, planner: Run) -> None:
    ran = planner("plan", "-policy=port.dl", "-out=p")
    assert ran.code == 0 and "Policies: 1 undecided." in ran.out
    assert (folder / "p").exists()
    (folder / "main.tf").write_text(MAIN.replace("terraform_data.first.output", "var.port"))
    ran = planner("plan", "-policy=port.dl", "-out=q")
    assert ran.code == 1 and "Error: Denied by policy port" in ran.err
    assert ran.out.endswith("The plan was not saved to q, because a policy denies the plan or cannot be decided.\n")
    assert planner("plan", "-policy=port.dl", "-out=p").out.endswith("The existing file p is unchanged.\n")
    assert not (folder / "q").exists()
    (folder / "wrong.dl").write_text("deny(")
    for unreadable in ("wrong.dl", "nowhere", "builtin:nothing"):
        assert planner("plan", f"-policy={unreadable}", "-out=q").code == 1
        assert not (folder / "q").exists()  # it would have no policies on record
    lines = [json.loads(line) for line in planner("plan", "-json", "-policy=port.dl").out.splitlines()]
    (found,) = [line["policy"] for line in lines if line["type"] == "policy_result"]
    assert (found["verdict"], found["code"]) == ("deny", "port") and found["proof"]["goal"][0] == "deny"
    assert any(line["type"] == "diagnostic" and line["diagnostic"]["code"] == "policy.denied" for line in lines)


def test_the_own_folder_counts_by_itself(folder: Path, planner: Run) -> None:
    (folder / ".planner" / "policies").mkdir(parents=True)
    (folder / "port.dl").rename(folder / ".planner" / "policies" / "port.dl")
    assert "Policies: 1 undecided." in planner("plan").out
    assert "Policies: 1 undecided." in planner("plan", "-policy=builtin:frozen").out


def test_what_makes_no_sense(folder: Path, planner: Run) -> None:
    (folder / "bad.dl").write_text("deny(A) :- plannd(A, _, _).\n")
    ran = planner("policy", "check", "-policy=bad.dl")
    assert (
        ran.code == 1
        and "There is no predicate plannd. Did you mean planned(addr:" in ran.err
        and "bad.dl line 1" in ran.err
    )
    assert "No policies" in planner("policy", "check").err
    assert "needs a reason" in planner("plan", "-policy=port.dl", "-policy-override=port").err
    assert "Unknown format" in planner("policy", "check", "-policy=port.dl", "-format=yaml").err
    assert "Did you mean" in planner("policy", "check", "-policy=builtin:frozn").err
    assert planner("policy").code == 1
    assert planner("plan", "-policy=nowhere").code == 1
    (folder / "core.dl").write_text('action("a", "b").\n')
    assert planner("policy", "check", "-policy=core.dl").code == 1


def test_a_saved_plan_names_its_overrides(folder: Path, planner: Run) -> None:
    override = ("-policy=port.dl", "-policy-override=port", "-override-reason=a drill")
    assert planner("plan", *override, "-out=p.plan").code == 0
    line = "Made with a policy override: port (a drill)\n"
    assert planner("show", "p.plan").out.endswith(f"\n\n{line}")
    assert json.loads(planner("show", "-json", "p.plan").out)["policy_overrides"] == [
        {"code": "port", "reason": "a drill"}
    ]
    assert planner("apply", "p.plan").out.startswith(line)


def test_the_library_is_listed(folder: Path, planner: Run) -> None:
    listed = planner("policy", "list").out.splitlines()
    assert len(listed) >= 15 and any(line.startswith("  required_tags ") for line in listed)
    assert "required_tag(" in planner("policy", "list", "required_tags").out
    document = json.loads(planner("policy", "list", "-json").out)
    assert [p["name"] for p in document["policies"]] == sorted(
        line.split()[0] for line in listed if line.startswith("  ")
    )
    assert planner("policy", "list", "nothing").code == 1


# ---------------------------------------------------------------- applying


def test_what_waited_is_decided_before_the_object_is_touched(folder: Path, planner: Run) -> None:
    ran = planner("apply", "-auto-approve", "-policy=port.dl")
    assert ran.code == 1 and "Denied by policy port" in ran.err
    assert names(folder) == ["first"]
    ran = planner("apply", "-auto-approve", "-policy=port.dl", "-var=port=80")
    assert (ran.code, names(folder)) == (0, ["first", "second", "third"])


def test_a_saved_plan_keeps_its_policies(folder: Path, planner: Run) -> None:
    planner("plan", "-policy=port.dl", "-out=p")
    (folder / "port.dl").unlink()
    assert verdicts(planner, "-plan=p") == [("undecided", "port", "terraform_data.second")]
    assert planner("apply", "p").code == 1
    assert names(folder) == ["first"]


def test_a_denied_plan_is_not_applied(folder: Path, planner: Run) -> None:
    (folder / "main.tf").write_text(MAIN.replace("terraform_data.first.output", "var.port"))
    assert planner("apply", "-auto-approve", "-policy=port.dl").code == 1
    planner("plan", "-out=p")
    ran = planner("apply", "-policy=port.dl", "p")
    assert ran.code == 1 and "Denied by policy port" in ran.err
    assert names(folder) == []


def test_an_override_is_recorded(folder: Path, planner: Run) -> None:
    (folder / "main.tf").write_text(MAIN.replace("terraform_data.first.output", "var.port"))
    words = ("-policy=port.dl", "-policy-override=port", "-override-reason=ticket 7")
    assert verdicts(planner, *words) == [("overridden", "port", "terraform_data.second")]
    ran = planner("plan", *words, "-out=p")
    assert ran.code == 0 and "Reason: ticket 7" in ran.out + ran.err
    (found,) = json.loads(planner("policy", "check", "-json", "-plan=p").out)["findings"]
    assert (found["verdict"], found["reason"]) == ("overridden", "ticket 7")
    assert planner("apply", "p").code == 0
    assert names(folder) == ["first", "second", "third"]


def test_an_override_holds_for_what_is_decided_later(folder: Path, planner: Run) -> None:
    words = ("-policy=port.dl", "-policy-override=port", "-override-reason=ticket 7")
    assert planner("apply", "-auto-approve", *words).code == 0
    assert names(folder) == ["first", "second", "third"]


def test_a_replacement_that_is_denied_keeps_the_object(folder: Path, planner: Run) -> None:
    tf = MAIN.replace(
        "input = terraform_data.first.output",
        "input = terraform_data.first.output\n  triggers_replace = terraform_data.first.output\n"
        "  lifecycle {\n    create_before_destroy = true\n  }",
    )
    (folder / "main.tf").write_text(tf)
    assert planner("apply", "-auto-approve", "-var=port=80").code == 0
    before = (folder / "terraform.tfstate").read_text()
    assert planner("apply", "-auto-approve", "-policy=port.dl").code == 1
    old, new = (
        [r["instances"] for r in json.loads(text)["resources"] if r["name"] == "second"]
        for text in (before, (folder / "terraform.tfstate").read_text())
    )
    assert old == new


def test_what_is_known_only_afterwards_is_said(folder: Path, planner: Run) -> None:
    (folder / "id.dl").write_text(
        '@reason("{A} has an id")\n'
        'deny("id", A, "has an id") :- planned(A, "id", V), V != "x", change(A, _, "first", _, _, _).\n'
    )
    ran = planner("apply", "-auto-approve", "-policy=id.dl")
    assert ran.code == 1 and "only after the object had been changed" in " ".join(ran.err.split())
    assert names(folder) == ["first", "second", "third"]


def test_policies_about_several_objects_are_decided_too(folder: Path, planner: Run) -> None:
    (folder / "sum.dl").write_text(
        '@reason("two are 22")\n'
        'deny("two", "", "two objects have 22") :- N = count : { planned(_, "input", 22) }, N > 1.\n'
    )
    assert verdicts(planner, "-policy=sum.dl") == [("undecided", "two", "")]
    assert planner("apply", "-auto-approve", "-policy=sum.dl").code == 1
    # only with the last value is it certain how many there are
    assert names(folder) == ["first", "second"]


def test_what_is_missing_at_an_unknown_place_is_decided(folder: Path, planner: Run) -> None:
    (folder / "tag.dl").write_text(
        '@reason("{A} has no tag")\n'
        'deny("tag", A, "has no tag") :- change(A, _, "third", _, _, _), not planned(A, "input.tag", _).\n'
    )
    document = json.loads(planner("policy", "check", "-json", "-policy=tag.dl").out)
    said = "has no tag"  # it is a text, which has no parts
    assert [f["message"] for f in document["findings"]] == [said]
    assert planner("apply", "-auto-approve", "-policy=tag.dl").code == 1
    assert names(folder) == []


def test_outputs_are_decided_too(folder: Path, planner: Run) -> None:
    (folder / "more.tf").write_text(
        'output "id" {\n  value = terraform_data.first.id\n}\n'
        'output "secret" {\n  value     = terraform_data.second.id\n  sensitive = true\n}\n'
    )
    for output in ("id", "secret"):
        (folder / "out.dl").write_text(
            f'@reason("an id")\n'
            f'deny("id", "output.{output}", "gives away " ++ V) :- planned("output.{output}", _, V), V != "x".\n'
        )
        assert verdicts(planner, "-policy=out.dl") == [("undecided", "id", f"output.{output}")]
        ran = planner("apply", "-auto-approve", "-policy=out.dl")
        told = " ".join(ran.err.split())
        assert ran.code == 1 and f"output.{output} gives away" in told
        assert ("(sensitive value)" in told) == (output == "secret")
        assert planner("destroy", "-auto-approve").code == 0


def test_a_value_that_a_verdict_did_not_wait_for_is_learnt(folder: Path, planner: Run) -> None:
    """Whose size counts is not known, so nobody can say that the verdict waits for the size of `fifth`."""
    (folder / "more.tf").write_text(
        'resource "terraform_data" "name" {\n  input = "terraform_data.fifth"\n}\n'
        'resource "terraform_data" "fifth" {\n  input = { size = length(terraform_data.first.id) }\n}\n'
        'resource "terraform_data" "sixth" {\n'
        "  input = { of = terraform_data.name.output, after = terraform_data.fifth.id }\n}\n"
    )
    (folder / "size.dl").write_text(
        '@reason("{A} is about {B}")\n'
        'deny("size", A, "is about what is large") :-\n'
        '    planned(A, "input.of", B), N = count : { planned(B, "input.size", V), V > 5 }, N > 0.\n'
    )
    assert planner("apply", "-auto-approve", "-policy=size.dl").code == 1
    assert "sixth" not in names(folder)


# ---------------------------------------------------------------- secrets

SECRET = "hunter2-is-secret"
SECRETS = """
variable "password" {
  type      = string
  default   = "hunter2-is-secret"
  sensitive = true
}
resource "terraform_data" "db" {
  input = { password = var.password, keys = sensitive({ hunter2-is-secret = 1 }), plain = "shown" }
}
resource "terraform_data" "late" {
  input = [var.password, terraform_data.db.id]
}
output "password" {
  value     = var.password
  sensitive = true
}
"""
NOSY = """
/// seen(addr, value): a value. Example: seen("a", "b")
.decl seen(addr: address, value: any)
seen(A, V) :- planned(A, _, V).
seen(A, V) :- configured(A, _, V).
/// longest(value): the last of all. Example: longest("b")
.decl longest(value: any)
longest(V) :- V = max X : { planned(_, "input.password", X) }.

@reason("{A} holds {V}")
deny("direct", A, "holds " ++ V) :- planned(A, "input.password", V).
@reason("{A} holds {V}")
deny("helper", A, "holds " ++ V) :- seen(A, V), is_symbol(V), starts_with(V, "hunter").
@reason("{A} holds {W}")
deny("computed", A, "holds " ++ W ++ " and " ++ U) :-
    configured(A, _, V), is_symbol(V), starts_with(V, "hunter"), U = upper(V), W = "<" ++ V ++ ">".
@reason("the value is {V}")
deny(V, A, "is the code") :- planned(A, "input.password", V), is_symbol(V).
@reason("{V}")
deny("address", V, "is the address") :- planned("output.password", "value", V), is_symbol(V).
@reason("{V} is the largest")
deny("aggregate", "", "the largest is " ++ V) :- longest(V).
@reason("{P} and {K}")
deny("key", A, P ++ " has " ++ K) :- part(A, P, K, _), starts_with(P, "input.keys").
@reason("{P}")
deny("path", A, "at " ++ P) :- planned(A, P, 1), change(A, _, "db", _, _, _).
@reason("not {V}")
deny("absent", A, "no other") :- planned(A, "input.password", V), not planned("nothing", "input.password", V), V != "x".
@reason("{V} is public")
warn("public", A, "holds " ++ V) :- planned(A, "input.plain", V).
@reason("{V} in a list")
deny("list", A, "holds " ++ V) :- planned(A, "input[0]", V), planned(A, "input[1]", _).
"""


@pytest.mark.parametrize("code", ["direct", "helper", "computed", "address", "aggregate", "key", "path", "absent"])
def test_reasons_show_no_sensitive_values(folder: Path, planner: Run, code: str) -> None:
    (folder / "main.tf").write_text(SECRETS)
    (folder / "nosy.dl").write_text(NOSY)
    ran = planner("why", "-not", "-full", "-json", "-policy=nosy.dl", "deny", code, "terraform_data.other")
    assert ran.code == 0 and SECRET not in ran.out + ran.err
    for more in ([], ["-full"], ["-json"], ["-fix"], ["-fix", "-json"]):
        ran = planner("why", *more, "-policy=nosy.dl", "deny", code)
        assert ran.code == 0, ran.err
        text = ran.out + ran.err
        assert SECRET not in text and SECRET.upper() not in text, more


@pytest.mark.parametrize("format", ["table", "json", "sarif", "junit", "why", "plan", "plan -json", "apply"])
def test_sensitive_values_are_nowhere(folder: Path, planner: Run, format: str) -> None:
    (folder / "main.tf").write_text(SECRETS)
    (folder / "nosy.dl").write_text(NOSY)
    words = {
        "why": ("policy", "check", "-proofs"),
        "plan": ("plan",),
        "plan -json": ("plan", "-json"),
        "apply": ("apply", "-auto-approve"),
    }.get(format, ("policy", "check", f"-format={format}"))
    ran = planner(*words, "-policy=nosy.dl")
    text = ran.out + ran.err
    assert ran.code == 1
    assert "(sensitive value)" in text and "shown" in text
    assert SECRET not in text and SECRET.upper() not in text
    found = {
        f["code"]: f["message"]
        for f in json.loads(planner("policy", "check", "-json", "-policy=nosy.dl").out)["findings"]
    }
    assert found == {
        "(sensitive value)": "is the code",
        "absent": "no other",
        "address": "is the address",
        "aggregate": "the largest is (sensitive value)",
        "computed": "holds <(sensitive value)> and (sensitive value)",
        "direct": "holds (sensitive value)",
        "helper": "holds (sensitive value)",
        "key": "input.keys has (sensitive value)",
        "list": "is denied for every possible value of terraform_data.late.input[1]",
        "path": "at input.keys",
        "public": "holds shown",
    }


def test_a_plan_file_records_no_secret_with_its_verdicts(folder: Path, planner: Run) -> None:
    from planner.answers.documents.plan_file import read_plan

    (folder / "main.tf").write_text(SECRETS)
    (folder / "nosy.dl").write_text(NOSY.replace("\ndeny(", "\nwarn("))
    assert planner("plan", "-policy=nosy.dl", "-out=p").code == 0
    plan, _, _ = read_plan("p")
    assert plan is not None and plan.policy is not None and len(plan.policy.verdicts) > 10
    assert SECRET not in str(plan.policy.verdicts)


# ---------------------------------------------------------------- formats


def all_kinds(folder: Path, planner: Run, format: str) -> str:
    """Verdicts of every kind."""
    (folder / "both.dl").write_text(
        PORT
        + WARN
        + '@reason("{A} is there")\ndeny("there", A, "is <there> & \\"there\\"") :- change(A, _, "first", _, _, _).\n'
        + '@reason("{A} is third")\ndeny("third", A, "is third") :- change(A, _, "third", _, _, _).\n'
        + '@reason("never")\ndeny("never", "", "never") :- change(_, _, "fourth", _, _, _).\n'
    )
    words = ("-policy=both.dl", "-policy-override=third", "-override-reason=it may")
    ran = planner("policy", "check", *words, f"-format={format}")
    assert ran.code == 1
    return ran.out


def test_json(folder: Path, planner: Run) -> None:
    document = json.loads(all_kinds(folder, planner, "json"))
    assert (document["format_version"], document["verdict"]) == ("1.0", "deny")
    assert document["counts"] == {"deny": 1, "undecided": 1, "warn": 2, "overridden": 1}
    for finding in document["findings"]:
        proof = finding["proof"]
        assert proof["proofs"][proof["root"]]["tuple"] == proof["goal"]
        assert finding["policy"]["file"] == "both.dl"
    (undecided,) = [f for f in document["findings"] if f["verdict"] == "undecided"]
    assert undecided["waits_for"] == [{"address": "terraform_data.second", "path": "input"}]
    assert undecided["would"] == "deny"


SARIF_KEYS = {
    "log": ({"version", "runs"}, {"$schema", "inlineExternalProperties", "properties"}),
    "run": ({"tool"}, {"results", "columnKind", "artifacts", "invocations"}),
    "result": (
        {"message"},
        {
            "ruleId",
            "ruleIndex",
            "kind",
            "level",
            "locations",
            "partialFingerprints",
            "codeFlows",
            "suppressions",
            "properties",
        },
    ),
    "location": (set(), {"physicalLocation", "logicalLocations", "message", "id"}),
    "threadFlowLocation": (set(), {"location", "nestingLevel", "executionOrder", "kinds", "state"}),
    "region": (set(), {"startLine", "startColumn", "endLine", "endColumn", "snippet"}),
    "suppression": ({"kind"}, {"status", "justification", "location", "guid"}),
}
"""required and other keys of SARIF objects (OASIS SARIF 2.1.0, section 3), as far as they are used here"""


def keys(what: str, value: dict[str, Any]) -> None:
    required, others = SARIF_KEYS[what]
    assert required <= value.keys() <= required | others, (what, value)


def location(value: dict[str, Any]) -> None:
    keys("location", value)
    if "physicalLocation" in value:
        physical = value["physicalLocation"]
        uri = physical["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9_.~%/:-]+", uri)
        region = physical["region"]
        keys("region", region)
        assert all(type(region[k]) is int and region[k] >= 1 for k in region if k != "snippet")
        assert isinstance(region.get("snippet", {"text": ""})["text"], str)
    for logical in value.get("logicalLocations", ()):
        assert set(logical) == {"fullyQualifiedName", "kind"}
    assert isinstance(value.get("message", {"text": "x"})["text"], str)


def test_sarif(folder: Path, planner: Run) -> None:
    log = json.loads(all_kinds(folder, planner, "sarif"))
    keys("log", log)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    keys("run", run)
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    driver = run["tool"]["driver"]
    assert driver["name"] == "planner"
    ids = [rule["id"] for rule in driver["rules"]]
    assert ids == sorted(set(ids)) and "never" in ids
    assert all(isinstance(rule["shortDescription"]["text"], str) for rule in driver["rules"])
    for result in run["results"]:
        keys("result", result)
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["kind"] in ("fail", "review")
        # 3.27.10: a result that is no failure has no level
        assert (result["level"] == "none") == (result["kind"] != "fail")
        assert result["level"] in ("none", "note", "warning", "error")
        assert isinstance(result["message"]["text"], str) and result["message"]["text"]
        for place in result["locations"]:
            location(place)
            assert "physicalLocation" in place
        (flow,) = result["codeFlows"]
        (thread,) = flow["threadFlows"]
        assert thread["locations"]
        for step in thread["locations"]:
            keys("threadFlowLocation", step)
            location(step["location"])
        assert [s["executionOrder"] for s in thread["locations"]] == [*range(1, len(thread["locations"]) + 1)]
        assert thread["locations"][-1]["nestingLevel"] == 0
        for suppression in result.get("suppressions", ()):
            keys("suppression", suppression)
            assert suppression["kind"] in ("inSource", "external") and suppression["status"] == "accepted"
    kinds = {result["properties"]["verdict"]: result for result in run["results"]}
    assert set(kinds) == {"deny", "warn", "undecided", "overridden"}
    assert kinds["overridden"]["suppressions"][0]["justification"] == "it may"
    assert len({r["partialFingerprints"]["planner/v1"] for r in run["results"]}) == len(run["results"])


def test_junit(folder: Path, planner: Run) -> None:
    root = ElementTree.fromstring(all_kinds(folder, planner, "junit").encode())
    assert root.tag == "testsuites"
    assert {k: root.get(k) for k in ("tests", "failures", "skipped")} == {"tests": "6", "failures": "1", "skipped": "2"}
    suites = {suite.get("name"): suite for suite in root}
    assert set(suites) == {"never", "new", "port", "there", "third"}
    (case,) = suites["there"]
    (failure,) = case
    assert (failure.tag, failure.get("message")) == ("failure", 'is <there> & "there"')
    assert failure.text is not None and failure.text.startswith('deny("there", "terraform_data.first"')
    assert (case.get("file"), case.get("line")) == ("main.tf", "5")
    assert [child.tag for child in suites["port"][0]] == ["skipped"]
    assert suites["third"][0][0].get("message") == "overridden: it may"
    assert [child.tag for case in suites["new"] for child in case] == ["system-out", "system-out"]
    assert len(suites["never"]) == 1 and len(suites["never"][0]) == 0


def test_a_word_that_nothing_has_is_told_where_a_policy_would_never_deny(folder: Path, planner: Run) -> None:
    for condition in ('acts(A, "destroy")', 'action(A, "remove")', 'change(A, _, _, _, _, "manged")'):
        (folder / "word.dl").write_text(f'deny("word", A, "no") :- {condition}.\n')
        ran = planner("policy", "check", "-policy=word.dl")
        assert ran.code == 1 and "Error: Unknown word" in ran.err, condition
