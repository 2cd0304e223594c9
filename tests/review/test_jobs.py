"""The ready-made jobs: each file fits the schema of its service, and names only commands and flags that exist."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import validators

from planner.cli import index
from planner.cli.flags import parse

ROOT = Path(__file__).parents[2]
JOBS = {
    "action.yml": "github-actions",
    **{
        str(path.relative_to(ROOT)): "github-workflows"
        for folder in (".github/workflows", "docs/ci/github")
        for path in sorted((ROOT / folder).glob("*.yml"))
    },
    "docs/ci/gitlab/template.yml": "gitlab-ci",
    "docs/ci/azure/template.yml": "azure-pipelines",
    "docs/ci/buildkite/pipeline.yml": "buildkite",
    "docs/ci/atlantis/repos.yaml": "",
}
_VARIABLE = re.compile(r"\$\{\{.*?\}\}|\$\[\[.*?\]\]|\$\{[^}]*\}|\$[A-Z_]+")


@pytest.mark.parametrize("name", [name for name, kind in JOBS.items() if kind])
def test_schemas(name: str) -> None:
    folder = resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    schema = json.loads((folder / f"{JOBS[name]}.json").read_text())
    content = list(yaml.safe_load_all((ROOT / name).read_text()))[-1]
    found = validators.validator_for(schema)(schema).iter_errors(_keyed(content))
    assert not [f"{list(one.path)}: {one.message[:200]}" for one in found]


def _keyed(value: Any) -> Any:
    """The document with the key `on`, which is a bool in YAML 1.1."""
    if isinstance(value, dict):
        return {"on" if key is True else key: _keyed(inner) for key, inner in value.items()}
    return [_keyed(inner) for inner in value] if isinstance(value, list) else value


def commands(text: str) -> Iterator[list[str]]:
    """The words of each call of planner in the scripts of a file; variables stand for the word true."""
    for found in re.finditer(r"(?:^|\s|/|- |: |exec )planner ((?:[a-z-]+ ?)+[^\n|;&>]*)", text, re.M):
        if text[: found.start()].rpartition("\n")[2].lstrip(" -").startswith(("#", "description:", "name:", "label:")):
            continue
        yield shlex.split(_VARIABLE.sub("true", found[1].split(" || ")[0].rstrip(")`'")))


def checked(words: list[str]) -> str:
    """The command of a line. Raises UsageError for flags that it has not."""
    (name, rest), *_ = [(" ".join(words[:n]), words[n:]) for n in (2, 1) if " ".join(words[:n]) in index.COMMANDS]
    arguments = parse(rest, index.load(name).flags)
    if name == "ci" and arguments.words[0] != "true":
        checked(arguments.words)
    return name


@pytest.mark.parametrize("name", JOBS)
def test_commands_and_flags_exist(name: str) -> None:
    text = re.sub(r"\\\n\s*|>-\n\s*", "", (ROOT / name).read_text())
    text = re.sub(r"(planner (?!ci)[^\n]*)\n\s+> ", r"\1 > ", text)
    names = {checked(words) for words in commands(text) if words[0] not in ("true", "iac")}
    assert names or "nightly" in name or "uses: OWNER/planner@COMMIT" in text


@pytest.mark.parametrize("name", JOBS)
def test_no_job_installs_planner_by_its_name_alone(name: str) -> None:
    """Who reserves a name on PyPI would get the credentials of all that install it."""
    lines = [line for line in (ROOT / name).read_text().splitlines() if "planner-iac" in line]
    assert all("--hash=" in line for line in lines)


def test_hooks() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [one["id"] for one in hooks] == ["planner-fmt", "planner-validate", "planner-policy", "planner-test"]
    for one in hooks:
        assert one["entry"] == "planner" and checked(list(one["args"]))
        re.compile(one["files"])


def test_what_a_call_without_a_flag_would_be() -> None:
    """The check itself finds wrong names."""
    (words,) = commands("      - run: planner ci -coment -- plan\n")
    with pytest.raises(Exception, match="-coment"):
        checked(words)
    (words,) = commands("exec planner ci -comment -- plan -no-such\n")
    with pytest.raises(Exception, match="-no-such"):
        checked(words)
