"""The tutorials in rules are true: their files are written, their commands run in order, and print what they say; the
index of predicates is up to date.

To refresh the outputs and the index: REFRESH=1 pytest tests/test_rules_readme.py
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from conformance import forked

README = Path(__file__).parents[1] / "rules" / "README.md"
TEXT = README.read_text(encoding="utf-8")
POLICIES = README.with_name("POLICIES.md")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
FILE = re.compile(r"(?://|#) (\S+\.(?:dl|case|tf|toml|csv))\n")
BEGIN, END = "<!-- begin: planner rules doc -markdown -->\n", "<!-- end -->\n"


def planner(command: str, folder: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "PLANNER_"))}
    done = forked.run(shlex.split(command)[1:], folder, environment)
    return "".join(f"{line.rstrip()}\n" for line in (done.stdout + done.stderr).strip("\n").split("\n"))


def replay(text: str, folder: Path) -> str:
    """The text with the outputs that the commands really have."""
    parts, at = [], 0
    for block in BLOCK.finditer(text):
        language, content = block[1], block[2]
        if language == "console":
            command, _, _output = content.partition("\n")
            assert command.startswith("$ planner ")
            parts += [text[at : block.start(2)], f"{command}\n{planner(command[2:], folder)}"]
            at = block.end(2)
        elif (name := FILE.match(content)) is not None and not name[1].startswith("acme/"):
            path = folder / name[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content.partition("\n")[2] if name[1].endswith(".csv") else content, encoding="utf-8")
    return "".join([*parts, text[at:]])


@pytest.mark.parametrize("page", [README, POLICIES], ids=lambda page: page.name)
def test_the_tutorials_are_true(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = replay(text, tmp_path)
    if os.environ.get("REFRESH"):
        page.write_text(found, encoding="utf-8")
    else:
        assert found == text


def test_the_tutorials_have_something_to_try() -> None:
    assert len(re.findall(r"^\$ planner ", POLICIES.read_text(encoding="utf-8"), re.M)) >= 6
    assert len(re.findall(r"^\$ planner ", TEXT, re.M)) >= 12
    assert len(FILE.findall(TEXT)) >= 5


def test_every_kind_of_policy_has_a_file_with_cases() -> None:
    table = POLICIES.read_text(encoding="utf-8").partition("## Kinds of policies")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith(("| kind", "| ---"))]
    assert len(rows) >= 25
    for row in rows:
        files = re.findall(r"\]\(((?:packs|\.\./examples)/\S+\.dl)\)", row)
        assert files, row
        assert all((README.parent / name).is_file() for name in files), row
        assert all((README.parent / name).with_suffix(".case").is_file() for name in files), row


def test_every_word_of_the_language_is_explained() -> None:
    from planner.language.syntax.rule_parse import tables
    from planner.logic.datalog.language.builtins import FUNCTIONS, RELATIONS, TESTS
    from planner.logic.datalog.language.link import OPERATORS

    directives = [word for word in tables().terminals.words.values() if word[0] == "." and len(word) > 1]
    operators = [name for name in FUNCTIONS if not name.isidentifier()]
    words = [
        *directives,
        *(n for n in (*FUNCTIONS, *TESTS, *RELATIONS, *OPERATORS) if n not in operators),
        "@name",
        "@reason",
    ]
    assert [word for word in words if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", TEXT)] == []


def test_the_index_is_up_to_date(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    index, _, after = rest.partition(END)
    found = "\n" + planner("planner rules doc -markdown", tmp_path) + "\n"
    if os.environ.get("REFRESH"):
        README.write_text(before + BEGIN + found + END + after, encoding="utf-8")
    else:
        assert index == found
