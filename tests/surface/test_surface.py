"""OpenTofu's documented surface, row by row: what planner does about it, and a probe that finds it out.

A table has the columns `item`, `documented` (the chapter of OpenTofu's documentation), `planner`, `probe` and `remark`.
`planner` is same, better (different on purpose), none (there is nothing to do), hosted (needs a hosted service)
or next (part of 1.13, which is not released); docs/pages/differences.md lists all but the first. Probes are the
functions below; `test:FILE` is a file of tests that runs it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from planner.cli import index
from planner.cli.flags import COMMON, parse
from planner.cli.main import find
from planner.engine.apply.provisioners import provisioner_schema
from planner.foundation.clients.cli_config import load_cli_config
from planner.foundation.values.schema import BlockSchema, NestedAttributes
from planner.language.config.load import load_config
from planner.language.config.provisioners import connection_schema
from planner.language.config.test_files.load import read_test_files
from planner.language.functions import names

HERE = Path(__file__).parent
TESTS, ROOT = HERE.parent, HERE.parents[1]
STATES = {"same", "better", "none", "hosted", "next"}


class Row(NamedTuple):
    area: str
    item: str
    documented: str
    planner: str
    probe: str
    remark: str


@cache
def rows() -> list[Row]:
    found = []
    for path in sorted(HERE.glob("*.tsv")):
        header, *lines = path.read_text().splitlines()
        assert header.split("\t") == list(Row._fields[1:])
        found += [Row(path.stem, *line.split("\t")) for line in lines]
    return found


@cache
def snippets(area: str) -> dict[str, str]:
    _, *parts = re.split(r"^=== (.*)\n", (HERE / f"{area}.snippets").read_text(), flags=re.M)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@cache
def source() -> str:
    """The text of planner."""
    return "\n".join(path.read_text() for path in sorted((ROOT / "planner").rglob("*.py")))


# ------------------------------------------------------------ probes


def flag(row: Row, folder: Path) -> bool:
    """The command has the flag."""
    words = row.item.split()
    command, rest = find(words[:-1]) if len(words) > 1 else ("", [])
    if command is None or rest:
        return False
    name = words[-1].lstrip("-").partition("=")[0]
    flags = index.load(command).flags
    known = {one.name: one for one in (*flags, *COMMON)}
    if name not in known:
        return False
    kind = known[name].kind
    value = {"bool": "true", "int": "1", "duration": "1s", "string": "x"}.get(kind, "a=b")
    return name in parse([f"-{name}={value}"], flags)


def command(row: Row, folder: Path) -> bool:
    """There is such a command, or global option."""
    if row.item.startswith("-"):
        text = (ROOT / "planner/cli/main.py").read_text() + (ROOT / "planner/cli/help.py").read_text()
        return all(word.partition("=")[0].lstrip("-") in text for word in row.item.split(" / "))
    if row.item.startswith("did-you-mean"):
        return "Did you mean" in source()
    return find(row.item.split())[0] is not None


def function(row: Row, folder: Path) -> bool:
    """The language has the function."""
    return row.item in names()


def setting(row: Row, folder: Path) -> bool:
    """The backend has the setting."""
    backend, _, name = row.item.partition(".")
    return name in attributes(import_module(f"planner.world.state.backends.{backend}").SCHEMA)


def attributes(block: BlockSchema | NestedAttributes) -> set[str]:
    """The names of all arguments, at any depth."""
    blocks = block.blocks if isinstance(block, BlockSchema) else {}
    inner = [one.nested for one in block.attributes.values() if one.nested is not None]
    inner += [one.block for one in blocks.values()]
    return {*block.attributes, *blocks, *(name for one in inner for name in attributes(one))}


def variable(row: Row, folder: Path) -> bool:
    """The variable is read, by planner or by a library that it uses."""
    names = [word for word in re.findall(r"[A-Za-z_]+[A-Z_a-z0-9]*", row.item) if word.isupper() or "_" in word]
    return any(name in source() or name in BY_OTHERS or re.fullmatch(COMPOSED, name) for name in names)


COMPOSED = (
    "AWS_ENDPOINT_URL_[A-Z0-9]+|AWS_[A-Z0-9]+_ENDPOINT|TENCENTCLOUD_ASSUME_ROLE_[A-Z_]+|TF_HTTP_[A-Z]+_METHOD"
    "|TF_(CLI_ARGS|TOKEN)_.*"
)
"""variables whose names are composed"""
BY_OTHERS = {"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "BROWSER", "GIT_SSH_COMMAND"}
"""variables of Python's library, or of programs that are started"""


def key(row: Row, folder: Path) -> bool:
    """The key provider has the argument."""
    name, _, argument = row.item.removeprefix("key_provider ").partition(".")
    if name == "static":
        return True
    text = (ROOT / f"planner/foundation/encryption/key_providers/{name}.py").read_text()
    if name == "azure_vault":
        text += (ROOT / "planner/foundation/clients/azure_settings.py").read_text()
    return f'"{argument}"' in text if argument else True


def provisioner(row: Row, folder: Path) -> bool:
    """The provisioner, or the connection, has the argument."""
    kind, _, argument = row.item.partition(".")
    schema = connection_schema() if kind == "connection" else provisioner_schema(kind)
    return schema is not None and (argument in schema.attributes or argument == "when")


def snippet(row: Row, folder: Path) -> bool:
    """A configuration, or a test file, with it has no errors."""
    text = snippets(row.area).get(row.item)
    if text is None:
        return False
    (folder / "m").mkdir()
    (folder / "m/main.tf").write_text("")
    if row.area == "test-files":
        (folder / "x.tftest.hcl").write_text(text)
        problems = read_test_files(str(folder)).problems
    else:
        (folder / "main.tf").write_text(text)
        problems = tuple(load_config(str(folder))[1])
    wrong = [p.detail for p in problems if p.is_error and p.code != "config.module_not_installed"]
    if wrong:
        raise ValueError(wrong[0])
    return True


def settings(row: Row, folder: Path) -> bool:
    """The settings of the command line tool mean it."""
    text, _, wanted = snippets(row.area)[row.item].partition("\n---\n")
    (folder / "rc").write_text(text)
    config = load_cli_config({"TF_CLI_CONFIG_FILE": str(folder / "rc"), "HOME": str(folder)})
    return bool(eval(wanted, {name: getattr(config, name) for name in config.__match_args__}))


def absent(row: Row, folder: Path) -> bool:
    """Nothing in planner reads the variable, or has the command; `remark` is the reason."""
    name = row.item.split()[-1]
    is_command = row.area == "cli-command"
    return bool(row.remark) and (find([name])[0] is None if is_command else not re.search(rf"\b{name}\b", source()))


def none(row: Row, folder: Path) -> bool:
    """There is nothing to find out here: `remark` is the reason."""
    return bool(row.remark)


PROBES: dict[str, Callable[[Row, Path], bool]] = {
    one.__name__: one
    for one in (flag, command, function, setting, variable, key, provisioner, snippet, settings, absent, none)
}


def test_every_row_holds(tmp_path: Path) -> None:
    failed = []
    for number, row in enumerate(rows()):
        assert row.planner in STATES, row
        name, _, file = row.probe.partition(":")
        if name == "test":
            if not (TESTS / file).is_file():
                failed.append(row)
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            if not PROBES[name](row, folder):
                failed.append(row)
        except Exception as problem:
            failed.append((row, repr(problem)))
    assert not failed, "\n".join(map(str, failed))


def test_a_snippet_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = next(row for row in rows() if row.item == "variable.deprecated")
    monkeypatch.setitem(snippets("language"), row.item, 'variable "x" {\n  outdated = "Use y."\n}\n')
    with pytest.raises(ValueError, match="outdated"):
        snippet(row, tmp_path)


def test_nothing_is_listed_twice() -> None:
    items = [(row.area, row.item) for row in rows()]
    assert len(set(items)) == len(items)


TITLES = {
    "better": "Intended differences",
    "hosted": "Not supported: parts of runs in a hosted service",
    "none": "Not applicable to planner",
    "next": "Of OpenTofu 1.13, which is not released",
}


HEAD = """# Differences from OpenTofu

## The most visible differences

- On a terminal, `plan`, `show` and `why` open a pager if the output is longer than the screen, as git does: `q` closes
  it. `-pager=false`, or an empty `PLANNER_PAGER`, turns the pager off. In CI, and if output is redirected, no pager is
  used.
- On a terminal, `plan` prints the cause under each change. If the plan destroys or replaces an object, or is longer
  than the screen, it begins with the root causes and their effects. `-explain=none` omits the causes in both places.
- Policies in `.planner/policies` apply to every plan and every apply of the directory.
- Messages are planner's own; most of their titles are those of OpenTofu.

All other differences follow. Everything else that the documentation of OpenTofu 1.12 describes works in the same way in
planner: `tests/surface` checks {count} points, of which {same} are the same in both programs. `REFRESH=1 pytest
tests/surface` writes this page.
"""


def differences() -> str:
    """The text of docs/pages/differences.md."""
    same = sum(row.planner == "same" for row in rows())
    lines = [HEAD.format(count=f"{len(rows()):,}", same=f"{same:,}").rstrip("\n")]
    for state, title in TITLES.items():
        listed = [row for row in rows() if row.planner == state]
        lines += ["", f"## {title}", ""] if listed else []
        lines += [f"- {row.item}{f': {row.remark}' if row.remark else ''}" for row in listed]
    return "\n".join([*lines, ""])


def test_the_differences_are_documented() -> None:
    path = ROOT / "docs/pages/differences.md"
    if os.environ.get("REFRESH"):
        path.write_text(differences())
    assert path.read_text() == differences()
