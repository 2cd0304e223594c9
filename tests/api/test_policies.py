"""Policies and facts in Python, beside rule files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Ran

import planner as library
from planner import Failure

MODULE = """
variable "team" {
  default = "core"
}

resource "terraform_data" "a" {
  input = { owner = var.team, other = terraform_data.b.id }
}

resource "terraform_data" "b" {
  input = {}
}
"""
CHECKS = """
from planner import policy

@policy.deny("no_owner")
def no_owner(plan):
    for change in plan.changes:
        if "owner" not in change.after["input"]:
            yield change.address, f"{change.address} has no owner"

@policy.relation("owned(address: symbol, owner: symbol)")
def owned(plan):
    "An object and its owner."
    for change in plan.changes:
        if "owner" in change.after["input"]:
            yield change.address, change.after["input"]["owner"]
"""
RULES = 'warn("core", A, "belongs to core") :- owned(A, "core").\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.tf").write_text(MODULE)
    (tmp_path / "checks.py").write_text(CHECKS)
    (tmp_path / "rules.dl").write_text(RULES)
    return tmp_path


def test_functions_and_rules_together(folder: Path) -> None:
    plan = library.load(folder).plan()
    verdict = plan.judge(["checks.py", "rules.dl"])
    assert [(f.kind, f.code, f.address) for f in verdict.findings] == [
        ("deny", "no_owner", "terraform_data.b"),
        ("warn", "core", "terraform_data.a"),
    ]
    (denial, warning) = verdict.findings
    steps = [step for finding in (denial, warning) for step in finding.proof["proofs"].values()]
    assert {step.get("rule") for step in steps} >= {"checks.no_owner.1", "checks.owned.1"}
    assert any("the function owned yields it (checks.py:10)" in step.get("reason", "") for step in steps)


def test_on_the_command_line(folder: Path, planner: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    judged = planner("policy", "check", "-policy=checks.py")
    assert judged.code == 1 and "terraform_data.b has no owner" in judged.out
    refused = planner("plan", "-policy=checks.py", "-out=p")
    assert refused.code == 1 and not (folder / "p").exists()
    (folder / "main.tf").write_text(MODULE.replace("input = {}", 'input = { owner = "x" }'))
    assert planner("plan", "-policy=checks.py", "-out=p").code == 0
    assert planner("apply", "p").code == 0
    (folder / "plan.json").write_text('{"format_version": "1.2"}')
    documents = planner("policy", "check", "-policy=checks.py", "-plan=plan.json")
    assert documents.code == 1 and "Python policies not supported here" in documents.err


def test_nothing_runs_that_is_not_named(folder: Path) -> None:
    (folder / ".planner" / "policies").mkdir(parents=True)
    (folder / ".planner" / "policies" / "bad.py").write_text("raise SystemExit('run')\n")
    (folder / ".planner" / "policies" / "rules.dl").write_text('warn("x", "y", "z").\n')
    assert [f.code for f in library.load(folder).plan().judge().findings] == ["x"]


HEAD = "from planner import policy\n@policy.deny('x')\ndef f(plan):\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = 1\n", "has no function"),
        ("1 / 0\n", "ZeroDivisionError"),
        (HEAD + "    yield 'a', 1 / 0\n", "f in .*ZeroDivision"),
        (
            "from planner import policy\n@policy.deny('x')\ndef f(plan):\n    yield 'a', [1]\n",
            "is not a row of a policy",
        ),
        (HEAD + "    yield 'a'\n", "'a' is not a row of a policy: yield two strings .address, message."),
        (HEAD + "    yield 'a', 'b', 'c'\n", "is not a row of a policy"),
        (HEAD + "    yield 'a', 5\n", "is not a row of a policy"),
        (HEAD + "    pass\n", "returned None"),
        (HEAD + "    raise SystemExit(0)\n", "f in .*called exit"),
        ("raise SystemExit(0)\n", "called exit"),
        (HEAD.replace("('x')", "") + "    pass\n", "needs a string"),
        ("from planner import policy\npolicy.deny('x')(int)\n", "can only decorate functions"),
        (
            "from planner import policy\n@policy.relation('r(a: symbol)')\ndef f(plan):\n    yield 1.5\n",
            "not a value of a column",
        ),
        (
            "from planner import policy\n@policy.relation('nonsense')\ndef f(plan):\n    yield 'a'\n",
            "not a valid declaration",
        ),
    ],
)
def test_mistakes_are_no_pass(folder: Path, text: str, problem: str) -> None:
    (folder / "checks.py").write_text(text)
    with pytest.raises(Failure, match=problem):
        library.load(folder).plan().judge(["checks.py"])


@pytest.mark.parametrize(
    "use",
    [
        'change.after["id"] == "public"',
        'isinstance(change.after["id"], str)',
        'change.after["id"] in ("public",)',
        '"%s" % change.after["id"] == ""',
        '{}.get(change.after["id"])',
        'change.after["input"].get("other", "public") == "public"',
        'plan.outputs[0].after == "public"',
        'plan.outputs[1].after.reveal() == "public"',
        'change.after["id"] is None',
        'change.after["id"] is not UNKNOWN',
        'None is change.after["id"] is not UNKNOWN',
        'UNKNOWN in (change.after["id"],)',
        'type(change.after["id"]) is str',
        'type(change.after["id"]) == str',
        '"public" in repr(change.after)',
        "matches(change.after)",
        'caught(change.after["id"])',
        "is_unknown(change.after['id']) and False",
    ],
)
def test_what_is_not_known_is_no_pass(folder: Path, use: str) -> None:
    with (folder / "main.tf").open("a") as file:
        for name, sensitive in (("b", "false"), ("c", "true")):
            file.write(f'output "{name}" {{\n  value = terraform_data.b.id\n  sensitive = {sensitive}\n}}\n')
    program = f"""
from planner import UNKNOWN, policy
from planner.policy import is_unknown

def matches(after):
    match after:
        case {{"id": None}}:
            return True

def caught(value):
    try:
        return value == "public"
    except Exception:
        return False

@policy.deny("id")
def f(plan):
    for change in plan.changes:
        if ("id",) not in change.unknown:
            yield "its id", "is known"
        if {use}:
            yield change.address, "is public"
"""
    (folder / "checks.py").write_text(program)
    findings = library.load(folder).plan().judge(["checks.py"]).findings
    assert findings and all(f.kind == "deny" and "known only after apply" in f.message for f in findings)


def test_print_is_not_part_of_a_document(
    folder: Path, planner: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    (folder / "checks.py").write_text("print('begun')\n" + CHECKS)
    judged = planner("policy", "check", "-policy=checks.py", "-format=json")
    assert judged.code == 1 and judged.out.startswith("{")
    assert capsys.readouterr() == ("", "begun\n")


ASKING = """
from planner import policy

@policy.deny("id")
def f(plan):
    for change in plan.changes:
        if policy.is_unknown(change.after["id"]):
            if change.name == "a":
                yield change.address, "has no id yet"
        elif change.after["id"] is not None:
            yield change.address, "has an id"

@policy.relation("pending(address: symbol)")
def pending(plan):
    return [change.address for change in plan.changes if policy.is_unknown(change.after["id"])]
"""


def test_a_policy_may_ask_what_is_unknown(folder: Path) -> None:
    (folder / "checks.py").write_text(ASKING)
    (folder / "rules.dl").write_text('warn("pending", A, "has no id") :- pending(A).\n')
    findings = library.load(folder).plan().judge(["checks.py", "rules.dl"]).findings
    waits = "The policy cannot decide before the apply: terraform_data.b.id is known only after apply"
    assert {(f.kind, f.code, f.address, f.message) for f in findings} == {
        ("deny", "id", "terraform_data.a", "has no id yet"),
        ("deny", "id", "terraform_data.b", waits),
        ("warn", "pending", "terraform_data.a", "has no id"),
        ("warn", "pending", "terraform_data.b", "has no id"),
    }


def test_files_of_one_name_are_told_apart(folder: Path) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir()
        text = CHECKS.replace("has no owner", f"has no owner, says {name}").replace("owned(", f"owned_{name}(")
        (folder / name / "checks.py").write_text(text)
    verdict = library.load(folder).plan().judge(["one/checks.py", "two/checks.py"])
    assert sorted(f.message.rpartition(" ")[2] for f in verdict.findings) == ["one", "two"]


def test_a_policy_has_a_limit_of_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.api.policies.SECONDS", 0.1)
    (folder / "checks.py").write_text(
        "from planner import policy\n@policy.deny('x')\ndef f(plan):\n"
        "    while True:\n        try:\n            1 / 0\n        except Exception:\n            pass\n"
    )
    with pytest.raises(Failure, match="took longer"):
        library.load(folder).plan().judge(["checks.py"])


@pytest.mark.parametrize(
    "row",
    ['change.address, change.after["id"]', 'change.address, caught(change.after["id"])', "change.after['id'], 'x'"],
)
def test_a_relation_that_is_not_known_in_full_decides_nothing(folder: Path, row: str) -> None:
    program = f"""
from planner import policy

def caught(value):
    try:
        return "x" if value == "" else "y"
    except Exception:
        return "z"

@policy.relation("id_of(address: symbol, id: symbol)")
def id_of(plan):
    "The id of an object."
    yield "first", "known"
    for change in plan.changes:
        yield {row}
"""
    (folder / "checks.py").write_text(program)
    (folder / "rules.dl").write_text(
        'deny("none", A, "has no id") :- change(A, _, _, _, _, _), not id_of(A, _).\n'
        'deny("bad", A, "is bad") :- id_of(A, "bad").\n'
        'warn("odd", A, "is odd") :- id_of(A, "odd").\n'
        'warn("first", A, "is first") :- id_of(A, "known").\n'
        'deny("other", A, "is another") :- change(A, "other", _, _, _, _).\n'
    )
    findings = library.load(folder).plan().judge(["checks.py", "rules.dl"]).findings
    waits = "cannot be decided: it reads id_of, and terraform_data.a.id is known only after apply"
    assert {(f.kind, f.code, f.address, f.message) for f in findings} == {
        ("deny", "none", "", waits),
        ("deny", "bad", "", waits),
        ("undecided", "odd", "", waits),
        ("undecided", "first", "", waits),
        ("warn", "first", "first", "is first"),
    }


def test_questions_about_python_policies(
    folder: Path, planner: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    policies = ("-policy=checks.py", "-policy=rules.dl")
    rows = planner("query", "policy.deny(C, A, M)", *policies)
    assert (rows.code, "terraform_data.b has no owner" in rows.out) == (0, True)
    assert "terraform_data.a" in planner("query", 'owned(A, "core")', *policies).out
    for words in (("deny", "no_owner", "terraform_data.b"), ('owned("terraform_data.a", "core")',)):
        proof = planner("why", *words, *policies)
        assert proof.code == 0 and "yields it (checks.py:" in proof.out
    plan = library.load(folder).plan()
    proof = plan.why("deny", "no_owner", "terraform_data.b", policies="checks.py")
    assert "the function no_owner yields it (checks.py:4)" in proof.text
    assert not plan.why_not("deny", "no_owner", "terraform_data.a", policies=["checks.py"]).document["holds"]
    assert plan.query("policy.deny(C, A, M)", policies=["checks.py"]).as_dicts()[0]["C"] == "no_owner"
    assert plan.fixes("warn", "core", "terraform_data.a", policies=["checks.py", "rules.dl"]) == ()
    with pytest.raises(Failure, match="policies="):
        plan.why("deny", "no_owner", "terraform_data.b")
