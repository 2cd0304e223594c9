"""Every code of a diagnostic has a cause and a cure, and planner explain finds it by code and by title.

To refresh the titles: REFRESH=1 pytest tests/docs/test_diagnostics.py
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from planner.cli.reference import diagnostic_pages, find, groups

ROOT = Path(__file__).parents[2]
DATA = ROOT / "planner/cli/diagnostics.toml"
CODE = re.compile(r"[a-z_]+\.[a-z_0-9]+(?:\.[a-z_0-9]+)*")
MAKERS = {
    "error",
    "warning",
    "Diagnostic",
    "_error",
    "problem",
    "report",
    "make",
    "refuse",
    "_wrong",
    "evolve",
    "TomlFile",
}
GROUPS = {
    "env.report": "language",
    "self.report": "json",
    "session.refuse": "terragrunt",
    "self.refuse": "terragrunt",
    "_wrong": "plan",
}
"""functions that take the code without its group; those of a list of problems of a configuration are in `group`"""
VARIANTS = {
    "plan.…_message": ("sensitive", "ephemeral"),
    "rules.…": ("time", "memory", "depth"),
    "graph.no_…_called": ("form", "provider", "self", "function"),
    "batch.unknown_…": ("tag", "group"),
    "plan.invalid_…": ("for_each", "count"),
    "plan.unknown_…": ("for_each", "count"),
    "config.duplicate_… Duplicate …": ("key_provider", "method", "removed", "template", "unit"),
    "config.duplicate_… Duplicate … block": ("connection", "lifecycle"),
    "config.duplicate_…": ("backend", "cloud"),
    "config.install_…": (
        "module",
        "module_checksum",
        "no_service",
        "no_version",
        "registry",
        "subdirectory",
        "unknown_module",
    ),
    "install.…": ("no_service", "not_found", "query", "unknown_provider"),
    **dict.fromkeys(
        ("config.…", "json.…", "language.…", "plan.…", "syntax.…", "terragrunt.…"), ()
    ),  # in the functions above
}
"""codes with a part that is only known when the program runs, and what that can be; with a title, of that title only"""


ASSIGNED = re.compile(r'^(\w+ = )+f?"', re.MULTILINE)
"""an assignment of a string at the top of a module"""


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
        known = GROUPS.get(name)
    else:
        receiver = ast.unparse(function.value).rpartition(".")[2]
        known = GROUPS.get(f"{receiver}.{name}")
        if known is None and name in ("error", "warning") and receiver in ("problems", "reading", "self"):
            known = "config"
    return f"{known}." if known else ""


def constants(tree: ast.Module) -> dict[str, str]:
    """Name -> value, of constants that are codes."""
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    values = {target.id: text(one.value) for one in assigned for target in one.targets if isinstance(target, ast.Name)}
    return {name: value for name, value in values.items() if value is not None and is_code(value)}


def is_code(word: str) -> bool:
    return CODE.fullmatch(word.replace("…", "x")) is not None and word.partition(".")[0] in groups()


def made(node: ast.AST, known: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """The codes that a call, a tuple or a dictionary makes, each with its title."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "Mistake":
            yield f"syntax.{text(node.args[2])}", text(node.args[3])
        words = [known.get(node.id, "") if isinstance(node, ast.Name) else text(node) for node in node.args]
        for at, word in enumerate(words[:2] if name in MAKERS else ()):
            code = word if word and is_code(word) else group(node.func, name) + (word or "") if at == 0 else word
            if code and is_code(code):
                yield code, words[at + 1] if at + 1 < len(words) else None
                break
    elif isinstance(node, ast.Tuple) and len(node.elts) > 1:
        code, title = text(node.elts[0]), text(node.elts[1])
        if code and title and title[0].isupper() and is_code(code):
            yield code, title.replace("{}", "…")
    elif isinstance(node, ast.Dict):
        members = {text(key): text(value) for key, value in zip(node.keys, node.values, strict=True) if key}
        if "summary" in members and is_code(members.get("code") or ""):
            yield members["code"] or "", members["summary"]


def codes_of(tree: ast.Module, known: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """The codes of a module, each with its title."""
    return (one for node in ast.walk(tree) for one in made(node, known))


def titles() -> dict[str, list[str]]:
    """Code -> titles, of all diagnostics that planner makes."""
    texts = [file.read_text("utf-8") for file in sorted((ROOT / "planner").rglob("*.py"))]
    trees = map(ast.parse, texts)  # one at a time: all of them take hundreds of megabytes
    shared, found = dict[str, set[str]](), dict[str, set[str]]()
    for one in texts:
        for name, value in constants(ast.parse(one)).items() if ASSIGNED.search(one) else ():
            shared.setdefault(name, set()).add(value)
    imported = {name: value for name, (value, *others) in shared.items() if not others}
    codes = (one for tree in trees for known in [imported | constants(tree)] for one in codes_of(tree, known))
    for code, title in codes:
        variants = VARIANTS.get(f"{code} {title}") or VARIANTS[code] if "…" in code else ("",)
        for variant in variants:
            titled = (title or "").replace("…", variant) if variant else title or ""
            found.setdefault(code.replace("…", variant), set()).update([titled] if titled.strip("…") else [])
    return {code: sorted(names) for code, names in sorted(found.items())}


def test_every_code_has_its_titles_and_a_cure() -> None:
    codes = titles()
    before, marker, old = DATA.read_text("utf-8").partition("[titles]\n")
    lines = "".join(
        f'"{code}" = [{", ".join(json.dumps(name, ensure_ascii=False) for name in names)}]\n'
        for code, names in codes.items()
    )
    if os.environ.get("REFRESH"):
        DATA.write_text(before + marker + lines, "utf-8")
    else:
        assert old == lines
    prefixes = {code.partition(".")[0] for code in codes}
    assert sorted(prefixes - set(groups())) == []
    assert [page.code for page in diagnostic_pages() if page.is_specific and page.code not in codes] == []


def test_each_page_is_found_by_code_and_by_title() -> None:
    for page in diagnostic_pages():
        assert page.cause and page.cure, page.code
        assert find(page.code) == [page]
    assert find("Error acquiring the state lock")[0].code == "state.locked"
    assert find("Error: Invalid for_each argument")
    assert find("Error: Missing required argument: region")[0].code == "syntax.missing_argument"  # begins with a title
    assert find("for_each argument")[0].code == "plan.invalid_for_each"  # a piece of the title
    assert "policy.denied" in [page.code for page in find("the plan was denied")]  # words of the cause
    assert [page.code for page in find("could not process")] == ["core.*"]  # words of a group
    assert find("nothing like it") == find("") == []
