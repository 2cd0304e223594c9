"""Which command runs, what the environment adds, and that nothing but diagnostics comes out of mistakes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from planner.cli import index, main
from planner.cli.commands import version as version_command
from planner.cli.flags import command
from planner.foundation.vocabulary.release import COMPATIBLE_VERSION


def test_no_word_prints_the_commands_and_exits_127(planner):
    ran = planner()
    assert ran.code == 127
    assert "Usage: planner" in ran.out
    assert all(name in ran.out for names in index.PURPOSES.values() for name in names)


@pytest.mark.parametrize("words", [("-help",), ("-h",), ("--help",)])
def test_help(planner, words):
    ran = planner(*words)
    assert ran.code == 0
    assert "Everyday:" in ran.out


@pytest.mark.parametrize("command", sorted(index.COMMANDS))
def test_every_command_explains_itself(planner, command):
    ran = planner(*command.split(), "-help")
    assert ran.code == 0
    assert ran.out.startswith(f"Usage: planner [global options] {command}")
    assert "-no-color" in ran.out
    assert max(map(len, ran.out.split("\n"))) <= 80


@pytest.mark.parametrize("command", sorted(index.COMMANDS))
def test_every_command_refuses_unknown_options(planner, command):
    ran = planner(*command.split(), "-there-is-no-such-option")
    assert ran.code == 1
    assert "there-is-no-such-option" in ran.err


@pytest.mark.parametrize("alias", sorted(index.ALIASES))
def test_aliases(planner, alias):
    assert planner(*alias.split(), "-help").out == planner(*index.ALIASES[alias].split(), "-help").out


def test_unknown_command_names_a_near_one(planner):
    ran = planner("valdate")
    assert ran.code == 1
    assert "Did you mean validate?" in ran.err
    assert not ran.out


def test_options_between_the_words_of_a_command(planner):
    ran = planner("refactor", "-no-color", "mv", "local.a", "b", "-dry-run")
    assert ran.code == 1 and "Write options after the command: planner refactor mv [options]." in ran.err


@pytest.mark.parametrize("words", [("version",), ("-version",), ("--version",), ("-v",)])
def test_version(planner, words):
    lines = planner(*words).out.split("\n")
    name, number = lines[0].split(" ")
    assert name == "planner"
    assert number.startswith(f"v{COMPATIBLE_VERSION}-planner")
    assert lines[1].startswith("on ")
    assert lines[-2] == f"compatible with OpenTofu v{COMPATIBLE_VERSION}"


def test_version_json(planner):
    import json

    answer = json.loads(planner("version", "-json").out)
    assert answer["terraform_version"] == COMPATIBLE_VERSION
    assert answer["provider_selections"] == {}
    assert answer["platform"].count("_") == 1


def test_version_tells_locked_providers(planner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".terraform.lock.hcl").write_text(
        'provider "registry.opentofu.org/hashicorp/null" {\n  version     = "3.2.4"\n'
        '  hashes = [\n    "h1:x",\n  ]\n}\n'
    )
    assert version_command.locked_providers() == {"registry.opentofu.org/hashicorp/null": "3.2.4"}
    assert "+ provider registry.opentofu.org/hashicorp/null v3.2.4" in planner("version").out


def test_another_name_for_clients_that_go_by_it(planner, monkeypatch):
    monkeypatch.setenv("PLANNER_VERSION_NAME", "OpenTofu")
    assert planner("version").out.startswith(f"OpenTofu v{COMPATIBLE_VERSION}")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("{", "JSONDecodeError"),
        ("[]", ""),
        ('["hashicorp/null"]', "TypeError"),
        ('{"x y": {}}', "x y"),
        ('{"hashicorp/null": {"Addr": 5}}', "Addr is not an object"),
        ('{"hashicorp/null": {"Addr": {"Network": "tcp", "String": "localhost"}}}', "has no port"),
        ('{"hashicorp/null": {"Addr": {"Network": "pipe", "String": "x"}}}', "is not supported"),
    ],
)
@pytest.mark.parametrize("command", ["version", "validate"])
def test_malformed_running_providers_stop_every_command(planner, tmp_path, monkeypatch, command, value, problem):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TF_REATTACH_PROVIDERS", value)
    ran = planner(command)
    assert ran.code == 1
    assert "Invalid running providers" in ran.err
    assert problem in " ".join(ran.err.split())


def test_no_running_providers(planner, monkeypatch):
    monkeypatch.setenv("TF_REATTACH_PROVIDERS", "null")
    assert planner("version").code == 0


def test_destroy_has_one_mode(planner):
    ran = planner("destroy", "-destroy")
    assert ran.code == 1
    assert "Remove -destroy" in ran.err


def test_chdir(planner, tmp_path):
    here = os.getcwd()
    try:
        assert planner(f"-chdir={tmp_path}", "version").code == 0
        assert os.path.samefile(os.getcwd(), tmp_path)
        ran = planner("-chdir=nowhere", "version")
        assert ran.code == 1
        assert "nowhere" in ran.err
        assert planner("-chdir", "version").code == 1
        twice = planner(f"-chdir={tmp_path}", f"-chdir={tmp_path}", "version")
        assert twice.code == 1 and "given twice" in twice.err
    finally:
        os.chdir(here)


def test_words_of_the_environment(planner, monkeypatch):
    monkeypatch.setenv("TF_CLI_ARGS_version", "-json")
    assert planner("version").out.startswith("{")
    monkeypatch.setenv("TF_CLI_ARGS", "-no-such")
    assert planner("version").code == 1
    monkeypatch.setenv("TF_CLI_ARGS", "'open")
    assert "TF_CLI_ARGS" in planner("version").err


def test_an_exception_is_reported_without_a_traceback(planner, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def broken(arguments, terminal):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(version_command, "version", command("", "")(broken))
    ran = planner("version")
    assert ran.code == 1
    assert "Internal error" in ran.err
    assert "ZeroDivisionError: by zero" in ran.err
    assert "Traceback" not in ran.err and "crash.log contains the traceback" in ran.err
    log = tmp_path / "crash.log"
    assert "ZeroDivisionError: by zero" in log.read_text() and log.stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("TF_LOG", "debug")
    assert "Traceback" in planner("version").err
    monkeypatch.delenv("TF_LOG")
    monkeypatch.setenv("PLANNER_DEBUG", "1")
    assert "Traceback" in planner("version").err


def test_interrupt_and_closed_pipe(monkeypatch, capsys):
    def interrupted(argv, terminal):
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "dispatch", interrupted)
    assert main.run([]) == 1
    assert "Interrupted" in capsys.readouterr().err


def run(*words: str, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "planner", *words], capture_output=True, text=True, **more)


def test_a_closed_pipe_ends_quietly():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "planner"], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.returncode == 1
    assert done.stderr == ""


def test_start_imports_only_what_version_needs():
    done = run("version", env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"})
    loaded = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.split("\n") if "|" in line}
    heavy = {"attr", "attrs", "click", "lark", "rich", "orjson", "gmpy2", "typing_extensions", "asyncio"}
    assert not loaded & heavy
    ours = {name for name in loaded if name.startswith("planner")}
    assert ours <= {
        "planner",
        "planner.__main__",
        "planner.cli",
        "planner.cli.main",
        "planner.cli.index",
        "planner.cli.flags",
        "planner.render.terminal",
        "planner.render",
        "planner.cli.commands",
        "planner.cli.commands.version",
        "planner.foundation",
        "planner.foundation.support",
        "planner.foundation.support.signals",
        "planner.foundation.vocabulary",
        "planner.foundation.vocabulary.release",
    }


def test_a_plan_of_one_resource_loads_little(tmp_path):
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" {}\n')
    for _ in range(2):  # the first one fills the caches
        done = run("plan", cwd=tmp_path, env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"})
    assert done.returncode == 0
    loaded = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.split("\n") if "|" in line}
    heavy = loaded & {"subprocess", "tempfile", "ssl", "lark", "attrs", "cattrs", "asyncio"}
    assert not heavy
    assert len([name for name in loaded if name.startswith("planner")]) <= 200


def test_a_command_that_a_family_does_not_have(planner):
    said = planner("batch", "plam")
    assert said.code == 1 and "There is no command batch plam" in said.err
    assert "Did you mean batch plan?" in said.err and "planner batch -help" in said.err
    assert "There is no command nope" in planner("nope").err


def test_help_lists_every_command_once():
    listed = [name for names in index.PURPOSES.values() for name in names]
    assert sorted(listed) == sorted(name for name in index.COMMANDS if " " not in name)


def test_help_of_a_command_and_of_none(planner):
    assert planner("help", "state", "list").out == planner("state", "list", "-help").out
    assert planner("help").out == planner("-help").out
    ran = planner("help", "plam")
    assert ran.code == 1
    assert 'Did you mean "plan"?' in ran.err


def test_documentation_in_the_terminal(planner, tmp_path):
    assert "from-opa" in planner("docs").out
    assert planner("docs", "exit-codes").out.startswith("# Exit codes\n")
    assert "There is no topic exit-code" in planner("docs", "exit-code").err
    assert planner("docs", f"-man={tmp_path / 'man'}").code == 0
    assert "planner state list" in (tmp_path / "man" / "planner-state-list.1").read_text()


def test_a_global_option_behind_the_command_is_named(planner):
    ran = planner("plan", "-chdir=x")
    assert ran.code == 1
    assert "Option -chdir comes before the command" in ran.err
    assert "planner -chdir=x COMMAND" in ran.err


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ('resource "terraform_data" "a" { for_each = ["a"] }', "Write toset(...) around a list"),
        ('resource "terraform_data" "a" { input = hello }', 'write double quotes: "hello"'),
    ],
)
def test_messages_name_the_way_out(planner, tmp_path, monkeypatch, line, hint):
    (tmp_path / "main.tf").write_text(line + "\n")
    monkeypatch.chdir(tmp_path)
    ran = planner("plan")
    assert ran.code == 1
    assert hint in " ".join(ran.err.split())
