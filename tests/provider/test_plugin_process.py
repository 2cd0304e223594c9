"""Plugin processes: how they start, what is told of those that do not, and that none outlives us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from provider.plugins import ROOT, is_alive, override, pids, write_plugin

from planner.foundation.support import trace
from planner.world.provider.plugin.process import (
    COOKIE,
    PluginError,
    PluginProcess,
    environment,
    parse_handshake,
)


def script(folder: Path, text: str) -> list[str]:
    path = folder / "plugin"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return [str(path)]


def gone(pid: int, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_alive(pid)


def test_handshakes() -> None:
    found = parse_handshake("1|5|unix|/tmp/x/plugin1|grpc\n")
    assert (found.version, found.target, found.certificate) == (5, "unix:/tmp/x/plugin1", "")
    assert parse_handshake("1|6|tcp|127.0.0.1:123|grpc|MIIB|true").target == "127.0.0.1:123"
    assert parse_handshake("1|6|tcp|127.0.0.1:123|grpc|MIIB|true").certificate == "MIIB"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("hello", "not a handshake"),
        ("", "not a handshake"),
        ("2|5|unix|/x|grpc", "version '2' of the handshake"),
        ("1|4|unix|/x|grpc", "protocol 4"),
        ("1|7|unix|/x|grpc", "protocol 7"),
        ("1|5|unix|/x|netrpc", "does not use gRPC"),
        ("1|5|unix|/x", "does not use gRPC"),
        ("1|5|carrier|pigeon|grpc", "unsupported address"),
        ("1|5|unix||grpc", "unsupported address"),
    ],
)
def test_what_is_no_handshake(line: str, reason: str) -> None:
    with pytest.raises(PluginError, match=reason):
        parse_handshake(line)


def test_the_environment_of_a_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLUGIN_CLIENT_CERT", "of somebody else")
    monkeypatch.setenv("SOME_SETTING", "kept")
    found = environment("/run/x")
    assert found[COOKIE[0]] == COOKIE[1]
    assert (found["PLUGIN_PROTOCOL_VERSIONS"], found["PLUGIN_UNIX_SOCKET_DIR"]) == ("5,6", "/run/x")
    assert "PLUGIN_CLIENT_CERT" not in found and found["SOME_SETTING"] == "kept"


def test_plugins_are_told_to_be_quiet_unless_somebody_wants_to_hear_them(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("TF_LOG_SDK", "TF_LOG_PROVIDER_CLOUD_INIT")
    for name in ("TF_LOG", "TF_LOG_PROVIDER", *names):
        monkeypatch.delenv(name, raising=False)

    def levels() -> list[str | None]:
        found = environment("/run/x", "registry.example.com/hashicorp/cloud-init")
        return [found.get(name) for name in names]

    assert levels() == ["WARN", "WARN"]
    monkeypatch.setenv("TF_LOG_SDK", "TRACE")
    assert levels() == ["TRACE", "WARN"]
    monkeypatch.setenv("TF_LOG", "off")
    assert levels() == ["TRACE", "WARN"]
    monkeypatch.setenv("TF_LOG", "debug")
    assert levels() == ["TRACE", None]


def test_a_plugin_and_its_directory_are_gone_after_the_end(tmp_path: Path) -> None:
    text = (
        'stat -c %a "$PLUGIN_UNIX_SOCKET_DIR" > mode; echo "$PLUGIN_UNIX_SOCKET_DIR" > dir; sleep 300 & echo $! > child'
    )
    command = script(tmp_path, f"cd {tmp_path}; {text}\necho $$ > pid\necho '1|5|unix|/x|grpc'\nexec sleep 300")
    process = PluginProcess(command, "test")
    folder = Path((tmp_path / "dir").read_text().strip())
    assert (tmp_path / "mode").read_text() == "700\n" and folder.is_dir()
    assert process.is_running
    process.end()
    process.end()
    assert not folder.exists()
    for name in ("pid", "child"):
        assert gone(int((tmp_path / name).read_text()))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("echo 'out of order' >&2; exit 3", r"(?s)exit status 3\..*out of order"),
        ("kill -SEGV $$", "killed by SIGSEGV"),
        ("echo nonsense; exec sleep 300", "not a handshake: 'nonsense'"),
        ("echo waiting >&2; exec sleep 300", r"(?s)within 0\.3 seconds.*waiting"),
        ("echo a >&2; echo 'panic: no' >&2; echo goroutine >&2; exit 2", r"output:\n  panic: no\n  goroutine$"),
    ],
)
def test_a_failed_start_says_why(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(PluginError, match=reason):
        PluginProcess(script(tmp_path, f"echo $$ > {tmp_path}/pid\n{text}"), "test", seconds=0.3)
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_program_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "plugin").write_text("")
    with pytest.raises(PluginError, match=r"(?s)exit status 12[67].*plugin"):
        PluginProcess([str(tmp_path / "plugin")], "test")


def test_a_talkative_plugin_is_drained_and_its_last_words_are_kept(tmp_path: Path) -> None:
    text = "i=0; while [ $i -lt 3000 ]; do echo line $i of much output; echo line $i >&2; i=$((i+1)); done"
    command = script(tmp_path, f"echo '1|5|unix|/x|grpc'\n{text}\necho the end >&2\nexit 4")
    process = PluginProcess(command, "test")
    assert process.how_it_ended() == "exit status 4"
    assert process.last_output().count("\n") <= 33 and "line 2999" in process.last_output()
    process.end()


def test_logs_are_shown_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_LOG_PATH", str(tmp_path / "log"))
    command = script(tmp_path, "echo '1|5|unix|/x|grpc'\necho '[DEBUG] something' >&2\nexit 0")
    for level, shown in (("", False), ("off", False), ("debug", True)):
        monkeypatch.setenv("TF_LOG", level)
        process = PluginProcess(command, "example.com/test/test")
        process.how_it_ended()
        process.end()
        trace.stop()
        assert (tmp_path / "log").exists() == shown
    assert "[DEBUG] provider: something: provider=example.com/test/test\n" in (tmp_path / "log").read_text()


HOLDER = """
import sys, time
from planner.foundation.support import trace
from planner.world.provider.plugin.process import PluginProcess
process = PluginProcess([sys.argv[1]], "test")
print(process._directory, flush=True)
{ending}
"""


@pytest.mark.parametrize("ending", ["time.sleep(300)", "raise SystemExit(0)", "import os; os._exit(1)"])
def test_no_plugin_outlives_us_however_we_end(tmp_path: Path, ending: str) -> None:
    command = script(tmp_path, f"echo $$ > {tmp_path}/pid\necho '1|5|unix|/x|grpc'\nsleep 300")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER.format(ending=ending), *command],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert holder.stdout is not None
    folder = Path(holder.stdout.readline().strip())
    pid = int((tmp_path / "pid").read_text())
    if "sleep" in ending:
        assert is_alive(pid) and folder.is_dir()
        holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    assert gone(pid)
    end = time.monotonic() + 5
    while folder.exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert not folder.exists()


def test_an_interrupt_at_the_terminal_is_not_for_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = override(monkeypatch, tmp_path, is_alone=True)
    process = PluginProcess([str(write_plugin(tmp_path / "bin", is_alone=True))], "test")
    (pid,) = pids(world)
    assert os.getsid(pid) != os.getsid(0)
    process.end()
    assert gone(pid)
