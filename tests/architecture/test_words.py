"""How we write: the patterns that make planner's English read as if translated are counted, and only become fewer.

The ceilings are in words.json. A commit that lowers a count lowers its ceiling, too:
`python tests/architecture/test_words.py` prints the counts and writes them. A ceiling is never raised.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
CEILINGS = Path(__file__).with_name("words.json")
HEADLESS = re.compile(r"\s*(What|Whose|The same|That of)\b")
PATTERNS = {
    "tell, say": re.compile(r"\b(tells?|told|telling|says?|said|saying)\b", re.I),
    "stands": re.compile(r"\bstands?\b", re.I),
    "ask": re.compile(r"\b(asks?|asked|asking)\b", re.I),
    "nobody, somebody, whoever": re.compile(r"\b(nobody|somebody|whoever|those who)\b", re.I),
    "is no": re.compile(r"(?<!here )\b(is|are) no (?!longer|more\b|other|such)[a-z]", re.I),
}
PARTICIPLES = {
    "added", "answered", "asked", "begun", "bound", "broken", "called", "carried", "changed", "checked",
    "chosen", "copied", "counted", "declared", "denied", "derived", "described", "done", "drawn", "ended",
    "expanded", "explained", "felt", "filled", "found", "given", "gone", "handed", "heard", "held", "joined",
    "kept", "known", "left", "listed", "looked", "lost", "made", "marked", "matched", "merged", "met", "moved",
    "named", "noted", "opened", "packed", "parted", "passed", "planned", "recorded", "refused", "removed",
    "said", "saved", "seen", "sent", "settled", "shared", "shown", "sorted", "stored", "taken", "told", "tried",
    "turned", "used", "wanted", "written",
}  # fmt: skip


class Words:
    """What a program says and how it is named: the texts of its messages and docstrings, its names."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.docstrings: list[str] = []
        self.functions: list[str] = []
        self.classes: Counter[str] = Counter()
        self.names: Counter[str] = Counter()
        for file in sorted((ROOT / "planner").rglob("*.py")):
            self.read(ast.parse(file.read_text("utf-8")), "api." * (file.parent.name == "api"))

    def read(self, tree: ast.Module, space: str = "") -> None:
        """`space`: the library presents a Plan or a Graph of the engine under its name, and that is no other idea."""
        known: set[ast.expr] = set()
        for node in ast.walk(tree):  # what is around comes before what is within
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                self.define(node, space)
                first = node.body[0] if node.body else None
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    known.add(first.value)
                    self.docstrings.append(str(first.value.value))
            elif isinstance(node, ast.Constant):
                if isinstance(node.value, str) and node not in known:
                    self.messages.append(node.value)
            elif isinstance(node, ast.Name):
                self.names[node.id] += 1

    def define(self, node: ast.AST, space: str) -> None:
        if isinstance(node, ast.ClassDef):
            self.classes[space + node.name] += 1
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self.functions.append(node.name.strip("_"))


def pages() -> list[str]:
    """The pages that people read, and what rules say."""
    rules = [file for file in sorted((ROOT / "rules").rglob("*")) if file.suffix in (".md", ".dl")]
    return [file.read_text("utf-8") for file in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *rules)]


def counts() -> dict[str, int]:
    """How often each pattern occurs."""
    words = Words()
    found = {"docstrings that begin without a noun": sum(bool(HEADLESS.match(text)) for text in words.docstrings)}
    for where, texts in (("messages", words.messages), ("docstrings", words.docstrings), ("pages", pages())):
        whole = "\0".join(texts)
        for name, pattern in PATTERNS.items():
            found[f"{where}: {name}"] = len(pattern.findall(whole))
    found["functions named by a participle"] = sum(name in PARTICIPLES for name in words.functions)
    found["classes with the name of another"] = sum(number - 1 for number in words.classes.values())
    found["the name found"] = words.names["found"]
    return found


def test_patterns_become_fewer() -> None:
    most = json.loads(CEILINGS.read_text("utf-8"))
    risen = {name: f"{count}, at most {most[name]}" for name, count in counts().items() if count > most[name]}
    headless = [text[:60] for text in Words().docstrings if HEADLESS.match(text)] if risen else []
    assert not risen, f"see CONTRIBUTING.md, Style; docstrings without a noun: {headless}"


def main() -> int:
    before = json.loads(CEILINGS.read_text("utf-8")) if CEILINGS.exists() else {}
    now = counts()
    for name, count in now.items():
        print(f"{count:6} {name}" + (f" (ceiling {before[name]})" if before.get(name, count) != count else ""))
    risen = [name for name, count in now.items() if count > before.get(name, count)]
    CEILINGS.write_text(
        json.dumps({name: min(now[name], before.get(name, now[name])) for name in sorted(now)}, indent=2) + "\n"
    )
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main())
