"""Every code of a diagnostic has a cause and a cure, and planner explain finds it by code and by title.

To refresh the titles: REFRESH=1 pytest tests/docs/test_diagnostics.py
"""

from __future__ import annotations

import ast
import json
import os
import re
from pathlib import Path

from planner.cli.diagnostic_pages import diagnostic_pages, find, groups

ROOT = Path(__file__).parents[2]
DATA = ROOT / "planner/cli/diagnostics.toml"
CODE = re.compile(r"[a-z_]+\.[a-z_0-9]+(?:\.[a-z_0-9]+)*")
MAKERS = {"error", "warning", "Diagnostic", "_error", "problem", "report", "make"}
GROUPS = {"env.report": "language", "self.report": "json", "session.refuse": "terragrunt", "self.refuse": "terragrunt"}
"""functions that take the code without its group; those of a list of problems of a configuration are in `group`"""


def text(node: ast.expr) -> str | None:
    """A string, with … for what is only known when the program runs."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return None


def group(function: ast.expr, name: str) -> str:
    """The group of codes that a function makes: "config.", or nothing where the code has it."""
    if not isinstance(function, ast.Attribute):
        return ""
    receiver = ast.unparse(function.value).rpartition(".")[2]
    known = GROUPS.get(f"{receiver}.{name}")
    if known is None and name in ("error", "warning") and receiver in ("problems", "reading", "self"):
        known = "config"
    return f"{known}." if known else ""


def titles() -> dict[str, list[str]]:
    """Code -> titles, of all diagnostics that planner makes."""
    found: dict[str, set[str]] = {}
    for file in sorted((ROOT / "planner").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for at, argument in enumerate(node.args[:2] if name in MAKERS | {"refuse"} else ()):
                code = group(node.func, name) + (text(argument) or "") if at == 0 else text(argument)
                if code is not None and CODE.fullmatch(code) and not code.endswith("."):
                    title = text(node.args[at + 1]) if at + 1 < len(node.args) else None
                    found.setdefault(code, set()).update([title] if title and title.strip("…") else [])
                    break
    return {code: sorted(names) for code, names in sorted(found.items())}


def test_every_code_has_its_titles_and_a_cure() -> None:
    made = titles()
    before, marker, old = DATA.read_text("utf-8").partition("[titles]\n")
    lines = "".join(
        f'"{code}" = [{", ".join(json.dumps(name, ensure_ascii=False) for name in names)}]\n'
        for code, names in made.items()
    )
    if os.environ.get("REFRESH"):
        DATA.write_text(before + marker + lines, "utf-8")
    else:
        assert old == lines
    prefixes = {code.partition(".")[0] for code in made}
    assert sorted(prefixes - set(groups())) == []
    dynamic = re.compile(r"plan\.(invalid|unknown)_(for_each|count)")
    unknown = [page.code for page in diagnostic_pages() if page.is_specific and page.code not in made]
    assert [code for code in unknown if not dynamic.fullmatch(code)] == []


def test_each_page_is_found_by_code_and_by_title() -> None:
    for page in diagnostic_pages():
        assert page.cause and page.cure, page.code
        assert find(page.code) == [page]
    assert find("Error acquiring the state lock")[0].code == "state.locked"
    assert find("Error: Invalid for_each argument")
    assert find("nothing like it") == []
