"""Rule files and case files in an editor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from thinned import thinned

from editor.client import Document, Editor, edited

RULES = """\
/// large(addr): the object is large. Example: large("terraform_data.a")
.decl large(addr: instance)
large(A) :- planned(A, "input.size", N), is_number(N), N > 10.

@name("house.size")
deny("size", A, "is too large") :- large(A), acts(A, "create").
"""
CASES = """\
.case "large ones are denied"
planned("a", "input.size", 11). change("a", "t", "a", "", "p", "managed"). action("a", "create").
.want deny("size", "a", "is too large").

.case "small ones are not"
planned("a", "input.size", 10). action("a", "create").
.want deny("size", "a", "is too large").
"""


@pytest.fixture
def policies(folder: Path) -> Path:
    (folder / "main.tf").write_text('resource "terraform_data" "a" {\n  input = { size = 1 }\n}\n')
    policies = folder / ".planner" / "policies"
    policies.mkdir(parents=True)
    (policies / "house.dl").write_text(RULES)
    (policies / "house.case").write_text(CASES)
    return policies


def test_diagnostics_follow_what_is_typed(editor: Editor, policies: Path) -> None:
    rules = editor.open(policies / "house.dl")
    assert rules.problems() == []
    rules.edit("acts(A", "actz(A")
    (problem,) = rules.problems()
    assert "actz" in problem["message"] and "acts" in problem["message"] and problem["severity"] == 1
    assert problem["range"]["start"] == {"line": 5, "character": 45}
    rules.edit("actz(A", "acts(A")
    assert rules.problems() == []
    # paths that no such object has, by the schemas of the configuration around
    rules.change(RULES + 'deny("x", A, "no") :- change(A, "terraform_data", _, _, _, _), planned(A, "inptu.x", 1).\n')
    (problem,) = rules.problems()
    assert 'there is no inptu. Did you mean "input"?' in problem["message"] and problem["range"]["start"]["line"] == 6
    rules.change(RULES)
    assert rules.problems() == []
    # what one file declares, another reads
    cases = editor.open(policies / "house.case")
    assert cases.problems() == []
    cases.change(CASES.replace("planned(", "plannd("))
    assert "plannd" in cases.messages()[0]


def _labels(document: Document, line: str) -> dict[str, Any]:
    document.change(f"{RULES}\n{line}")
    return {item["label"]: item for item in document.ask("completion", f"{line}|")["items"]}


def test_completion(editor: Editor, policies: Path) -> None:
    rules = editor.open(policies / "house.dl")
    found = _labels(rules, 'deny("x", A, "y") :- pl')
    assert found["planned"]["detail"] == "planned(addr: address, path: text, value: any)"
    assert found["planned"]["insertText"] == "planned(Addr, Path, Value)"
    assert "large" in found and "lower" in found and "unit_planned" not in found
    assert {"create", "delete", "replace"} <= _labels(rules, 'warn("x", A, "y") :- acts(A, "').keys()
    assert ".decl" in _labels(rules, ".d")
    found = _labels(rules, 'deny("x", A, "y") :- change(A, "terraform_data", _, _, _, _), planned(A, "in')
    assert list(found) == ["input"]
    found = _labels(rules, 'deny("x", A, "y") :- stays(A, "terraform_data"), planned(A, "in')
    assert list(found) == ["input"]
    assert "terraform_data" in _labels(rules, 'deny("x", A, "y") :- stays(A, "terr')
    for relation in ("replace_path", "unknown_after", "sensitive_at", "json_value"):
        line = f'deny("x", B, "y") :- stays(B, "terraform_data"), planned(A, "id", _), {relation}(B, "trig'
        assert list(_labels(rules, line)) == ["triggers_replace"], relation
    rules.change('deny("x", A, "y") :- stays(A, "terraform_data"), replace_path(A, "trigger").\n')
    assert any("terraform_data has no trigger" in message for message in rules.messages())


def test_documentation_declarations_and_references(editor: Editor, policies: Path) -> None:
    rules = editor.open(policies / "house.dl")
    hover = rules.ask("hover", "pl|anned(")
    assert "the object (or root output) will have this value at this path" in hover["contents"]["value"]
    assert rules.ask("hover", "|10") is None
    (found,) = rules.ask("definition", "|large(A), ")
    assert found["uri"] == rules.uri and found["range"]["start"] == {"line": 1, "character": 6}
    (found,) = rules.ask("definition", "|acts(A")
    assert found["uri"].endswith("rules/policy/verdicts.dl")
    found = rules.ask("references", "|large(A), ", context={"includeDeclaration": True})
    assert [place["range"]["start"]["line"] for place in found] == [1, 2, 5]
    assert [symbol["name"] for symbol in rules.ask("documentSymbol")] == ["large", "large(A)", "house.size"]


def test_formatting_and_cases(editor: Editor, policies: Path) -> None:
    rules = editor.open(policies / "house.dl")
    rules.change("advice( A,B,C ):-b(A,B,C).\n")
    edits = rules.ask("formatting", options={"tabSize": 4, "insertSpaces": True})
    assert edited(rules.text, edits) == "advice(A, B, C) :- b(A, B, C).\n"
    rules.change(RULES)
    cases = editor.open(policies / "house.case")
    names = [lens["command"]["arguments"] for lens in cases.ask("codeLens")]
    assert names == [[cases.uri, "large ones are denied"], [cases.uri, "small ones are not"]]
    results = [
        editor.request("workspace/executeCommand", {"command": "planner.runCase", "arguments": arguments})
        for arguments in names
    ]
    assert [result["passed"] for result in results] == [True, False]
    assert "missing" in results[1]["text"]


def test_texts_with_characters_of_two_units(editor: Editor, policies: Path) -> None:
    rules = editor.open(policies / "house.dl")
    rules.change(RULES.replace("is too large", "\U0001f600 is too large").replace("acts(A", "actz(A"))
    (problem,) = rules.problems()
    assert problem["range"]["start"]["character"] == 48  # a column more than in code points
    hover = rules.ask("hover", '\U0001f600 is too large") :- l|arge')
    assert "large(addr: instance)" in hover["contents"]["value"]


@pytest.mark.parametrize("text", thinned(["((((", "", '"', "/// x", "a(\U0001f600", ".decl", "x" * 100_000, "/*"], 4))
def test_any_text_is_borne(editor: Editor, policies: Path, text: str) -> None:
    rules = editor.open(policies / "house.dl", text)
    rules.problems()
    for line, column in ((0, 0), (0, 3), (7, 99)):
        params = {"textDocument": {"uri": rules.uri}, "position": {"line": line, "character": column}}
        for method in ("completion", "hover", "definition"):
            editor.request(f"textDocument/{method}", params)
    rules.ask("documentSymbol")
