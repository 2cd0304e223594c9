"""Reports of verdicts: what packs say of their policies reaches SARIF, and Markdown fits a discussion."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import make_terminal
from planner.answers.policy.model import Finding, Verdict
from planner.cli import main
from planner.render.verdicts_formats import MOST, markdown

PACK = """
name = "acme.owners"
version = "1.0.0"
description = "Owners"

[policies.owner]
severity = "critical"
title = "Everything has an owner"
links = ["https://example.com/owners"]
controls = ["CIS 1.1"]

[policies.size]
level = "warn"
severity = "low"
"""
RULES = """
@name("rules.owner") @reason("{A} has no owner")
deny("owner", A, "has no | owner <b>\\n@all") :- change(A, _, _, _, _, _), not planned(A, "input.owner", _).
@name("rules.size") @reason("{A} is large")
warn("size", A, "is large") :- planned(A, "input.size", N), N > 10.
"""


def run(*words: str) -> tuple[int, str, str]:
    screen: Any = make_terminal()
    code = main.dispatch(["policy", "check", "-policy=pack", *words], screen)
    return code, screen.stdout.getvalue(), screen.stderr.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" {\n  input = { size = 11 }\n}\n')
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "pack.toml").write_text(PACK)
    (tmp_path / "pack" / "rules.dl").write_text(RULES)
    return tmp_path


def test_sarif_has_what_packs_say(folder: Path) -> None:
    code, out, problems = run("-format=sarif")
    assert code == 1, problems
    owner, size = json.loads(out)["runs"][0]["tool"]["driver"]["rules"]
    assert owner["fullDescription"] == owner["shortDescription"] == {"text": "Everything has an owner"}
    assert owner["helpUri"] == "https://example.com/owners"
    assert owner["properties"]["security-severity"] == "9.5" and owner["properties"]["tags"] == ["CIS 1.1"]
    assert size["defaultConfiguration"] == {"level": "warning"} and size["properties"]["severity"] == "low"


def test_markdown(folder: Path) -> None:
    code, out, problems = run("-format=markdown")
    assert code == 1, problems
    assert "**Policies: 1 denied, 1 warned.**" in out
    (row,) = [line for line in out.splitlines() if line.startswith("| **deny**")]
    assert "[owner](https://example.com/owners) | critical | terraform\\_data.a (main.tf:1)" in row
    assert "has no \\| owner \\<b\\> \\@all" in row
    assert (
        "<details><summary>Why owner: terraform_data.a</summary>" in out
        and "<b>" not in out
        and "@all" not in (re.sub(r"\\@all", "", out))
    )


def finding(number: int) -> Finding:
    proof = {
        "format_version": "1.0",
        "root": "p1",
        "goal": ["deny"],
        "proofs": {"p1": {"tuple": ["deny", "x"], "input": True}},
    }
    return Finding("deny", "code", f"terraform_data.a[{number}]", "is not right" * 5, "r", None, None, proof)


def test_long_verdicts_fit() -> None:
    text = markdown(Verdict(tuple(finding(number) for number in range(5000))))
    assert len(text) <= MOST
    shown = text.count("| **deny** |")
    assert f"{5000 - shown} more: see `planner policy check`." in text
    assert text.count("<details>") == text.count("</details>")


def test_what_rules_cost(folder: Path) -> None:
    code, out, problems = run("-rule-times")
    assert code == 1, problems
    rows = [line.split() for line in out[out.index("MS") :].splitlines()]
    by_rule = {row[2]: row for row in rows if len(row) > 3}
    assert by_rule["acme.owners/rules.owner"][1] == "1" and by_rule["acme.owners/rules.size"][1] == "1"
    assert by_rule["acme.owners/rules.owner"][3].startswith("pack/rules.dl:")
    assert sum(float(row[0]) for row in rows[2:-1]) == pytest.approx(float(rows[-1][0]), abs=0.05)
    code, _, problems = run("-rule-times", "-format=json")
    assert code == 1 and "Conflicting options" in problems


def shown(kind: str, name: str) -> str:
    """What `show -json` prints of a plan that makes one object."""
    values = {"input": {"size": 11} if kind == "large" else {"owner": "me"}}
    head = {
        "mode": "managed",
        "type": "terraform_data",
        "name": name,
        "provider_name": "terraform.io/builtin/terraform",
    }
    change = {"actions": ["create"], "before": None, "after": values, "after_unknown": {}}
    document = {
        "format_version": "1.2",
        "resource_changes": [{"address": f"terraform_data.{name}", **head, "change": change}],
        "configuration": {},
    }
    return json.dumps(document)


@pytest.fixture
def plans(folder: Path) -> list[str]:
    """Options for three documents: one that is denied, one that passes, and one that is no plan."""
    (folder / "main.tf").unlink()
    for name, text in (("a b.json", shown("large", "x")), ("ok.json", shown("owned", "x")), ("no.json", "[]")):
        (folder / name).write_text(text)
    return ["-plan=a b.json", "-plan=ok.json", "-plan=no.json"]


def test_sarif_of_several_plans_has_a_run_for_each(plans: list[str]) -> None:
    code, out, problems = run("-format=sarif", *plans)
    runs = json.loads(out)["runs"]
    assert code == 1 and "no.json cannot be checked" in problems
    found = [
        (r["automationDetails"]["id"], len(r["results"]), r["invocations"][0]["executionSuccessful"]) for r in runs
    ]
    assert found == [("planner/a%20b.json/", 2, True), ("planner/ok.json/", 0, True), ("planner/no.json/", 0, False)]


def test_junit_of_several_plans_has_suites_for_each(plans: list[str]) -> None:
    code, out, _ = run("-format=junit", *plans)
    root = ElementTree.fromstring(out)
    assert code == 1
    names = ["a b.json: owner", "a b.json: size", "ok.json: owner", "ok.json: size", "no.json"]
    assert [suite.get("name") for suite in root] == names
    assert {case.get("classname") for case in root.iter("testcase")} == set(names)
    counts = {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "5", "failures": "1", "errors": "1", "skipped": "0"}


def test_several_plans_as_markdown(plans: list[str]) -> None:
    code, out, _ = run("-format=markdown", *plans)
    assert code == 1
    assert [line for line in out.splitlines() if line.startswith("### ")] == [
        "### Policies: a b.json",
        "### Policies: ok.json",
        "### Policies: no.json",
    ]
    assert out.count("**It could not be checked.**") == 1 and "| **deny** |" in out


def test_what_the_rules_cost_for_several_plans(plans: list[str]) -> None:
    _, out, _ = run("-rule-times", *plans[:2])
    headings = [line for line in out.splitlines() if line.split()[:1] == ["MS"]]
    assert len(headings) == 2 and out.count("acme.owners/rules.owner") == 2


SECRETIVE = """
name = "acme.tokens"
version = "1.0.0"
description = "Tokens"

[policies.token]
secret = true
"""
TOKENS = """
@name("rules.token") @reason("{P} of {A} is a token")
deny("token", A, "is a token: " ++ P) :- planned(A, P, V), is_symbol(V), L = lower(V), starts_with(L, "token-").
"""


@pytest.mark.parametrize("format", ["table", "json", "sarif", "junit", "markdown"])
def test_what_looks_for_secrets_shows_none(folder: Path, format: str) -> None:
    (folder / "main.tf").write_text('resource "terraform_data" "a" {\n  input = "Token-1234"\n}\n')
    (folder / "pack" / "pack.toml").write_text(SECRETIVE)
    (folder / "pack" / "rules.dl").write_text(TOKENS)
    code, out, problems = run(f"-format={format}", *(["-proofs"] if format == "table" else []))
    assert code == 1 and "main.tf" in out, problems
    assert "1234" not in out and "is a token: input" in out.replace("\\", "")
    (folder / "pack" / "pack.toml").write_text(SECRETIVE.replace("true", "false"))
    assert "1234" in run(f"-format={format}", *(["-proofs"] if format == "table" else []))[1]


def test_characters_that_terminals_obey_are_shown_in_markdown() -> None:
    found = Finding("warn", "c", "a", "x\x1b[2Jy", "r", None, None, {"predicate": "deny", "row": []})
    shown = markdown(Verdict((found,)))
    assert "\x1b" not in shown and "x\\\\x1b\\[2Jy" in shown
