"""Every command and program of the README and of the documentation prints what the page says.

Files of a page are written into an empty directory with the examples in it, and its commands run there, in order.
To refresh the outputs: REFRESH=1 pytest tests/docs/test_pages.py
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conformance import forked

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/pages").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
FILE = re.compile(r"(?://|#) (\S+\.(?:dl|case|tf|tofu|toml|csv|tfvars|hcl|json|rego))\n")
ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


def environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "PLANNER_"))}


def lines(text: str) -> str:
    return "".join(line.rstrip() + "\n" for line in text.strip("\n").split("\n"))


def planner(command: str, directory: Path) -> str:
    done = forked.run(shlex.split(command)[1:], directory, environment())
    return lines(done.stdout + done.stderr) if done.stdout + done.stderr else ""


def python(program: str, directory: Path) -> str:
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=directory, env=environment(), capture_output=True, text=True, check=True)
    return lines(done.stdout)


def replay(text: str, directory: Path) -> str:
    """The page with the outputs that its commands and programs really have. Ids are numbered."""
    parts, at, program = list[str](), 0, ""
    ids: dict[str, str] = {}

    def numbered(found: str) -> str:
        return ID.sub(lambda m: ids.setdefault(m[0], f"00000000-0000-0000-0000-{len(ids) + 1:012}"), found)

    for block in BLOCK.finditer(text):
        language, content = block[1], block[2]
        if language == "console":
            command = content.partition("\n")[0]
            assert command.startswith("$ planner"), command
            parts += [text[at : block.start(2)], f"{command}\n", numbered(planner(command[2:], directory))]
            at = block.end(2)
        elif language == "text" and program:
            parts += [text[at : block.start(2)], numbered(python(program, directory))]
            at = block.end(2)
        elif (file := FILE.match(content)) is not None:
            path = directory / file[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content.partition("\n")[2] if path.suffix in (".csv", ".json") else content, "utf-8")
        program = content if language == "python" else ""
    return "".join([*parts, text[at:]])


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def tried(page: Path) -> bool:
    return any(block[1] in ("console", "python") for block in BLOCK.finditer(page.read_text("utf-8")))


@pytest.mark.parametrize("page", [page for page in PAGES if tried(page)], ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_true(page: Path, directory: Path) -> None:
    text = page.read_text("utf-8")
    found = replay(text, directory)
    if os.environ.get("REFRESH"):
        page.write_text(found, "utf-8")
    else:
        assert found == text


def test_there_is_something_to_try() -> None:
    assert sum(page.read_text("utf-8").count("\n$ planner ") for page in PAGES) >= 20


def test_commands_that_are_mentioned_exist() -> None:
    from planner.cli.index import ALIASES, COMMANDS, FAMILIES

    mention = re.compile(r"(?:`|^\$ |&& )planner(?: -chdir=\S+)? ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?", re.M)
    unknown = []
    for page in PAGES:
        for word, more in mention.findall(page.read_text("utf-8")):
            known = word in COMMANDS or word in ALIASES
            if not known or (word in FAMILIES and more and f"{word} {more}" not in {**COMMANDS, **ALIASES}):
                unknown.append(f"{page.name}: {word} {more}")
    assert unknown == []
