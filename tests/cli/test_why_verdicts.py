"""`why deny|warn|undecided|broken`: the rule of a policy, and the line of the value that is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CONFIG = """variable "size" { default = 20 }
resource "terraform_data" "id" {}
resource "terraform_data" "a" {
  input = {
    tags = {
      Name = "x"
    }
    size  = var.size
    ports = [80, 22]
  }
}
resource "terraform_data" "b" {
  input = {
    tags = { Owner = terraform_data.id.id == "x" ? null : "me" }
    size = "many"
  }
}
"""
POLICY = """@reason("every resource needs an owner")
deny("owner", A, "has no Owner") :- planned(A, "input.size", _), not planned(A, "input.tags.Owner", _).
@reason("{A} is too large")
deny("size", A, "is too large: " ++ to_symbol(N)) :- planned(A, "input.size", N), N > 10.
@reason("{A} opens ssh")
warn("ssh", A, "opens port 22") :- part(A, "input.ports", _, P), planned(A, P, 22).
@reason("{A} begins")
warn("new", A, "begins") :- acts(A, "create"), change(A, _, "id", _, _, _).
"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "p.dl").write_text(POLICY, encoding="utf-8")
    return tmp_path


def lines(planner, *words):
    ran = planner("why", "-policy=p.dl", *words)
    assert ran.code == 0, ran.err
    return ran.out.rstrip("\n").split("\n")


def test_a_value_and_what_it_copies(planner, work: Path):
    assert lines(planner, "deny", "size", "terraform_data.a")[:3] == [
        "Policy size denies terraform_data.a: is too large: 20",
        "  terraform_data.a.input.size is 20: main.tf:8: size  = var.size",
        '    which is var.size (default): main.tf:1: variable "size" { default = 20 }',
    ]
    work.joinpath("x.tfvars").write_text("size = 30\n", encoding="utf-8")
    given = lines(planner, "deny", "size", "-var-file=x.tfvars")
    assert given[1:3] == [
        "  terraform_data.a.input.size is 30: main.tf:8: size  = var.size",
        "    which is var.size (x.tfvars): x.tfvars:1: size = 30",
    ]


def test_what_is_missing_and_an_element(planner):
    first, culprit, because = lines(planner, "deny", "owner", "terraform_data.a")
    assert first == "Policy owner denies terraform_data.a: has no Owner"
    assert culprit == "  terraform_data.a.input.tags.Owner is not there: main.tf:5: tags = {"
    (Path("p.dl")).write_text(POLICY.replace('@reason("every resource needs an owner")', ""), encoding="utf-8")
    assert lines(planner, "deny", "owner", "terraform_data.a")[-1].startswith("  by the rule [p.1]: p.dl:2: ")
    (Path("p.dl")).write_text(POLICY, encoding="utf-8")
    assert because.startswith("  because every resource needs an owner [p.1]: p.dl:2: ")
    assert "  terraform_data.a.input.ports[1] is 22: main.tf:9: ports = [80, 22]" in lines(planner, "warn", "ssh")
    assert lines(planner, "warn", "new")[1].startswith(
        "  the planned action of terraform_data.id is create (reason: planner why "
    )


def test_what_is_undecided_or_broken(planner):
    told = lines(planner, "undecided", "terraform_data.b")
    assert told[0] == "Policy owner is undecided for terraform_data.b"
    assert "terraform_data.b.input.tags.Owner is not known yet" in told[1] and "  it may become: deny" in told
    assert any("the provider decides terraform_data.id.id when terraform_data.id is applied" in line for line in told)
    told = lines(planner, "broken", "terraform_data.b")
    assert told[0].startswith("Policy size cannot be decided for terraform_data.b: N > 10 has no value")
    assert told[1].startswith('  terraform_data.b.input.size is "many": main.tf:15')


def test_no_machinery_of_three_values(planner):
    """Proofs are by the rules as written."""
    for words in (("deny", "owner"), ("deny", "size"), ("warn", "ssh")):
        document = json.loads("\n".join(lines(planner, *words, "-json")))
        text = json.dumps(document["proofs"])
        assert "maybe" not in text and "could" not in text and "(" + "could" not in text
        assert document["goal"][:2] == list(words) and document["culprits"][0]["source"]["line"] in (5, 8, 9)
    full = lines(planner, "-full", "deny", "owner", "terraform_data.a")
    assert '    not planned("terraform_data.a", "input.tags.Owner", _)' in full and "maybe" not in "".join(full)


def test_saved_plans_and_what_is_not_said(planner, work: Path):
    (work / "p.dl").write_text(POLICY.replace("deny(", "warn("), encoding="utf-8")
    assert planner("plan", "-policy=p.dl", "-out=plan").code == 1  # one is broken
    (work / "main.tf").write_text(CONFIG.replace('"many"', "3"), encoding="utf-8")
    assert planner("plan", "-policy=p.dl", "-out=plan").code == 0
    saved = planner("why", "-plan=plan", "warn", "size", "terraform_data.a")
    assert saved.code == 0 and "terraform_data.a.input.size is 20" in saved.out
    (work / "p.dl").write_text(POLICY, encoding="utf-8")
    ran = planner("why", "-policy=p.dl", "warn", "size", "terraform_data.a")
    assert ran.code == 1 and "deny size terraform_data.a" in ran.err
    ran = planner("why", "-policy=p.dl", "deny", "sise")
    assert ran.code == 1 and 'Did you mean "size"?' in ran.err
    ran = planner("why", "deny", "size")
    assert ran.code == 1 and "No policies" in ran.err


def test_overridden(planner):
    told = lines(planner, "deny", "size", "-policy-override=size", "-override-reason=for a day")
    assert (
        told[0].startswith("Policy size denies terraform_data.a, but the denial is overridden")
        and "for a day" in told[1]
    )


def test_what_is_not_denied(planner):
    ran = planner("why", "-not", "-policy=p.dl", "deny", "size", "terraform_data.id")
    assert ran.code == 0 and ran.out.startswith(
        "Policy size does not deny terraform_data.id.\n  [p.2] would need planned("
    )
    ran = planner("why", "-not", "-policy=p.dl", "warn", "ssh", "terraform_data.b")
    assert ran.code == 0 and '[p.3] would need part(terraform_data.b, "input.ports"' in ran.out.replace(
        "input.ports,", '"input.ports"'
    )
    ran = planner("why", "-not", "-policy=p.dl", "deny", "owner", "terraform_data.b")
    assert "it is undecided: planner why undecided owner terraform_data.b" in ran.out
    assert planner("why", "-not", "-policy=p.dl", "deny", "size", "terraform_data.a").code == 1
    ran = planner("why", "-not", "-policy=p.dl", "deny", "sise", "terraform_data.a")
    assert ran.code == 1 and 'Did you mean "size"?' in ran.err


EITHER = """deny("either", A, "has an owner") :- planned(A, "input.tags.Owner", V), V = "me".
deny("either", A, "has an owner") :- planned(A, "input.tags.Owner", V), V != "me".
deny("one", A, "has an owner") :- planned(A, "input.tags.Owner", V), V = "me".
"""


def test_what_holds_in_all_cases_is_said_with_its_rules(planner, work: Path):
    work.joinpath("p.dl").write_text(EITHER, encoding="utf-8")
    config = CONFIG.replace('terraform_data.id.id == "x" ? null : "me"', "terraform_data.id.id")
    work.joinpath("main.tf").write_text(config, encoding="utf-8")
    told = lines(planner, "deny", "either", "terraform_data.b")
    assert told[0] == ("Policy either denies terraform_data.b: has an owner")
    assert told[1] == "  terraform_data.b.input.tags.Owner is not known yet:"
    assert told[-3:-1] == [
        "  for every possible value, one of these rules holds:",
        '    [p.1]: p.dl:1: deny("either", A, "has an owner") :- planned(A, "input.tags.Owner", V), V = "me".',
    ]
    document = json.loads(planner("policy", "check", "-policy=p.dl", "-format=json").out)
    assert [(f["verdict"], f["code"], f.get("by_cases")) for f in document["findings"]] == [
        ("deny", "either", True),
        ("undecided", "one", None),
    ]
    assert "in all cases; one of them is:" in planner("policy", "check", "-policy=p.dl", "-proofs").out
    refused = planner("why", "-fix", "-policy=p.dl", "deny", "either", "terraform_data.b")
    assert refused.code == 1 and "No single result to fix" in refused.err


STORE = """variable "engine" { type = string }
variable "size" { default = 1 }
resource "terraform_data" "store" {
  input            = { engine = var.engine, size = var.size }
  triggers_replace = var.engine
}
"""
_STORE = "terraform_data.store"
_COPIED = f"which {_STORE}.input.engine copies: command line -var=engine"
_ACTION = f"  the planned action of {_STORE} is replace (reason: planner why {_STORE})"
_EDITS = f"The policy checks the action itself. For the edits that avoid it, run: planner why -fix {_STORE}"
_ENGINE = [
    f'  {_STORE}.input.engine is "16": main.tf:4: input            = {{ engine = var.engine, size = var.size }}',
    "    which is var.engine (command line): command line -var=engine",
]


@pytest.mark.parametrize(
    ("body", "told", "fixes"),
    [
        (
            'acts(A, "replace"), prior(A, "input.engine", W), planned(A, "input.engine", V), V != W',
            [f'  {_STORE}.input.engine was "15" (state)', *_ENGINE, _ACTION],
            [f'  1. set var.engine back to "15" ({_STORE}.input.engine copies it): command line -var=engine [checked]'],
        ),
        (
            'acts(A, "replace"), not prior(A, "input.owner", _), planned(A, "input.engine", "16")',
            [f"  {_STORE}.input.owner was not there (state)", *_ENGINE, _ACTION],
            [f'  1. set var.engine back to "15" ({_STORE}.input.engine copies it): command line -var=engine [checked]'],
        ),
        (  # the former value is denied, too
            'planned(A, "input.engine", V), V >= "15"',
            _ENGINE,
            [f"  1. another value of var.engine, {_COPIED} [checked]"],
        ),
        (
            'acts(A, "replace"), prior(A, "input.engine", "15")',
            [f'  {_STORE}.input.engine was "15" (state)', _ACTION],
            [f"  1. avoid the replacement of {_STORE} [checked]", _EDITS],
        ),
        (
            'acts(A, "replace"), change(A, _, _, _, _, _)',
            [_ACTION],
            [f"  1. avoid the replacement of {_STORE} [checked]", _EDITS],
        ),
    ],
)
def test_premises_about_the_state_and_the_action(planner, work: Path, body: str, told: list[str], fixes: list[str]):
    """A value in the state has no line of the configuration; the planned action is told beside values."""
    work.joinpath("main.tf").write_text(STORE, encoding="utf-8")
    assert planner("apply", "-auto-approve", "-var=engine=15").code == 0
    work.joinpath("p.dl").write_text(f'deny("store", A, "changes") :- {body}.\n', encoding="utf-8")
    assert lines(planner, "-var=engine=16", "deny", "store")[1:-1] == told
    assert lines(planner, "-fix", "-var=engine=16", "deny", "store")[1:] == fixes
