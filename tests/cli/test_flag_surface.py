"""The options that OpenTofu 1.12.6 takes, command by command (data/flags.json): each is an option here too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.cli import index
from planner.cli.flags import COMMON, parse

TABLE = json.loads((Path(__file__).parent / "data" / "flags.json").read_text())
NOT_YET = {"providers lock", "providers mirror", "test"}
"""commands that this version does not have"""
SAMPLES = {"bool": "true", "int": "3", "duration": "5s"}


@pytest.mark.parametrize("command", sorted(set(TABLE) & set(index.COMMANDS)))
def test_every_option_is_known(command):
    flags = index.load(command).flags
    table = {flag.name: flag for flag in (*COMMON, *flags)}
    missing = [name for name in TABLE[command] if name not in table]
    assert not missing
    for name in TABLE[command]:
        sample = SAMPLES.get(table[name].kind, "x")
        for words in ([f"-{name}={sample}"], [f"--{name}={sample}"]):
            assert name in parse(words, flags)


def test_commands_without_options_table():
    assert set(TABLE) - set(index.COMMANDS) <= NOT_YET


@pytest.mark.parametrize("level", ["module:loud", "all", "output:none"])
def test_deprecation_levels(planner, level):
    ran = planner("validate", f"-deprecation={level}")
    assert ran.code == 1
    assert "-deprecation" in ran.err


def test_deprecation_hides_warnings_about_modules(planner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "m.tf").write_text('variable "old" {\n  type = string\n  deprecated = "use new"\n}\n')
    (tmp_path / "main.tf").write_text('module "m" {\n  source = "./m"\n  old = "x"\n}\n')
    assert planner("init").code == 0
    assert "use new" in planner("plan").out
    assert "use new" in planner("plan", "-deprecation=module:local").out
    assert "use new" not in planner("plan", "-deprecation=module:none").out
