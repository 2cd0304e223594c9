"""Starts the process of a plugin, reads its handshake and output, and always ends it.

As in hashicorp/go-plugin: a cookie in the environment identifies the starting program, and the plugin's first line of
output has its address: CORE|PROTOCOL|NETWORK|ADDRESS|grpc[|CERTIFICATE]."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import IO

from planner.foundation.support import trace
from planner.foundation.support.disk import on_disk
from planner.foundation.vocabulary.address import AddressError
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.provider_address import provider_source
from planner.foundation.vocabulary.records import frozen
from planner.world.provider.plugin.messages import VERSIONS

COOKIE = ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2")
CORE_VERSION = "1"
START_SECONDS = 60.0  # the maximum time until the handshake of a plugin
END_SECONDS = 2.0  # the time that a plugin may take to end
_KEPT_LINES = 200
_SHOWN_LINES = 30
# a socket path has at most 103 bytes, and the plugin appends a file name to the directory
_LONGEST_DIRECTORY = 60

# The shell replaces itself with the plugin. A watchdog process waits until its input ends, which happens when planner
# ends. It then kills the plugin with all its child processes, and removes the socket.
_SCRIPT = """exec 3<&0
(read -r _; kill -KILL $$; rm -rf -- "$1"; kill -KILL 0) <&3 >/dev/null 2>&1 &
shift
exec "$@" </dev/null 3<&-"""


class PluginError(Exception):
    """A plugin could not be started or violated the protocol."""


class UnknownCall(PluginError):
    """The plugin does not implement the call."""


@frozen
class Handshake:
    """The protocol version, the gRPC target, and the certificate (Base64 DER, "" for none) of a plugin."""

    version: int
    target: str
    certificate: str = ""


class PluginProcess:
    """A running plugin. Raises PluginError if it cannot be started."""

    def __init__(self, command: list[str], name: str, seconds: float = START_SECONDS) -> None:
        self.name = name
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._first: SimpleQueue[str | None] = SimpleQueue()
        self._lock = Lock()
        self._ended = False
        base = tempfile.gettempdir()
        self._directory = tempfile.mkdtemp(prefix="planner-", dir=base if len(base) <= _LONGEST_DIRECTORY else "/tmp")
        if trace.RECORDER is None and _log_is_wanted():  # programs that use planner as a library start no log
            trace.start(os.environ)
        trace.note("DEBUG", "starting a plugin", provider=name, command=command)
        try:
            self._process, self._lifeline = _spawn(command, self._directory, name)
        except OSError as problem:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise PluginError(f"It cannot be started: {problem}.") from None
        _RUNNING.add(self)
        assert self._process.stdout is not None and self._process.stderr is not None
        self._readers = [
            Thread(target=self._read_output, args=(self._process.stdout,), name=f"{name} output", daemon=True),
            Thread(target=self._read_log, args=(self._process.stderr,), name=f"{name} log", daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        try:
            self.handshake = self._shake_hands(seconds)
        except BaseException:
            self.end()
            raise

    def _shake_hands(self, seconds: float) -> Handshake:
        try:
            line = self._first.get(timeout=seconds)
        except Empty:
            raise PluginError(
                f"It did not announce its address within {seconds:g} seconds.{self.last_output()}"
            ) from None
        if line is None:
            raise PluginError(f"It ended before it announced its address: {self.how_it_ended()}.{self.last_output()}")
        return parse_handshake(line)

    # ---------------------------------------------------------------- output

    def _read_output(self, stream: IO[bytes]) -> None:
        first = True
        for data in stream:
            line = data.decode(errors="replace").rstrip("\r\n")
            if first:
                self._first.put(line)
                first = False
            else:
                self._keep(line)
        self._first.put(None)

    def _read_log(self, stream: IO[bytes]) -> None:
        for data in stream:
            self._keep(data.decode(errors="replace").rstrip("\r\n"))

    def _keep(self, line: str) -> None:
        self._lines.append(line)
        trace.plugin_line(self.name, line)

    def last_output(self) -> str:
        """The plugin's last output, to be appended to a message; "" if there was none."""
        for reader in self._readers:
            reader.join(0.5 if self._process.poll() is not None else 0.05)
        lines = [line for line in list(self._lines) if line.strip()]
        causes = [i for i, line in enumerate(lines) if line.startswith(("panic:", "fatal error:", "Traceback "))]
        shown = lines[causes[-1] :][:_SHOWN_LINES] if causes else lines[-_SHOWN_LINES:]
        return "\n\nIts last output:\n" + "\n".join(f"  {line}" for line in shown) if shown else ""

    # ---------------------------------------------------------------- end

    def how_it_ended(self) -> str:
        """A description of the exit status. Waits up to END_SECONDS for the process to end."""
        try:
            status = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return "it still runs"
        if status >= 0:
            return f"exit status {status}"
        try:
            return f"killed by {signal.Signals(-status).name}"
        except ValueError:
            return f"killed by signal {-status}"

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def end(self, seconds: float = 0.0) -> None:
        """Wait up to `seconds` until the process ends on its own, then kill it and its child processes."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
        if seconds:
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                trace.plugin_line(self.name, f"did not end within {seconds:g} seconds and is killed")
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._lifeline)
        for reader in self._readers:
            reader.join(0.2)
        shutil.rmtree(self._directory, ignore_errors=True)
        _RUNNING.discard(self)


_RUNNING: set[PluginProcess] = set()


@atexit.register
def end_all() -> None:
    for process in list(_RUNNING):
        process.end()


def _spawn(command: list[str], directory: str, name: str) -> tuple[subprocess.Popen[bytes], int]:
    watched, lifeline = os.pipe()
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "sh", directory, *command],
            stdin=watched,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(directory, name),
            cwd=on_disk("") or None,
            start_new_session=True,  # Ctrl-C must reach only planner, which requests the plugin to stop
        )
    except BaseException:
        os.close(lifeline)
        raise
    finally:
        os.close(watched)
    return process, lifeline


def environment(directory: str, name: str = "") -> dict[str, str]:
    """The environment of the plugin of the provider `name`. The plugin creates its socket in `directory`. planner
    offers no certificate, because other users cannot enter the directory. The plugin's log level is set to warnings
    unless a log is requested: by default, a plugin writes about 20 log lines for each call, and spends half of its time
    on them."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PLUGIN_")}
    variables[COOKIE[0]] = COOKIE[1]
    variables["PLUGIN_PROTOCOL_VERSIONS"] = ",".join(map(str, VERSIONS))
    variables["PLUGIN_MIN_PORT"], variables["PLUGIN_MAX_PORT"] = "10000", "25000"
    variables["PLUGIN_UNIX_SOCKET_DIR"] = directory
    if not _log_is_wanted():
        own = name.rpartition("/")[2].upper().replace("-", "_")
        for variable in ("TF_LOG_SDK", f"TF_LOG_PROVIDER_{own}"):
            variables.setdefault(variable, "WARN")
    return variables


def parse_handshake(line: str) -> Handshake:
    """The handshake in a plugin's first line of output. Raises PluginError."""
    parts = line.strip().split("|")
    if len(parts) < 4:
        raise PluginError(
            f"Its first line of output is not a handshake: {line.strip()[:200]!r}. Is it a provider plugin?"
        )
    core, version, network, address = parts[:4]
    if core != CORE_VERSION:
        raise PluginError(f"It uses version {core!r} of the handshake; version {CORE_VERSION} is required.")
    if version not in map(str, VERSIONS):
        raise PluginError(f"It uses the plugin protocol {version}; {' or '.join(map(str, VERSIONS))} is required.")
    if len(parts) < 5 or parts[4] != "grpc":
        raise PluginError("It does not use gRPC, so it is too old for planner.")
    if network not in ("unix", "tcp") or not address:
        raise PluginError(f"It listens at an unsupported address: {network} {address}.")
    target = f"unix:{address}" if network == "unix" else address
    return Handshake(int(version), target, parts[5] if len(parts) > 5 else "")


# ---------------------------------------------------------------- log


def _log_is_wanted() -> bool:
    level = os.environ.get("TF_LOG_PROVIDER") or os.environ.get("TF_LOG") or "OFF"
    return level.upper() != "OFF"


# Plugins that already run (TF_REATTACH_PROVIDERS), for debugging a provider.
#
# The variable is a JSON object: provider address -> {"Protocol": "grpc", "ProtocolVersion": 6, "Pid": 42, "Test": true,
# "Addr": {"Network": "unix", "String": "/tmp/plugin.sock"}}.


VARIABLE = "TF_REATTACH_PROVIDERS"


@frozen
class Attachment:
    """A running plugin. planner neither reads its output nor stops it."""

    handshake: Handshake
    is_running: bool = True

    def how_it_ended(self) -> str:
        return "it was started by another program"

    def last_output(self) -> str:
        return ""

    def end(self, seconds: float = 0.0) -> None:
        """Does nothing: the plugin continues to run."""


def attachments(environ: Mapping[str, str]) -> dict[str, Attachment]:
    """The running plugins in TF_REATTACH_PROVIDERS, by provider address. Raises Failure."""
    text = environ.get(VARIABLE, "")
    if not text:
        return {}
    try:
        given = json.loads(text)
        if given is None:
            return {}
        if not isinstance(given, dict):
            raise TypeError("it is not a JSON object")
        return {provider_source(name): _attachment(given[name]) for name in given}
    except (ValueError, TypeError, KeyError, AttributeError, AddressError) as problem:
        detail = f"The environment variable {VARIABLE} cannot be used: {type(problem).__name__}: {problem}."
        raise Failure(error("provider.reattach", "Invalid running providers", detail)) from None


def _attachment(given: dict[str, object]) -> Attachment:
    address = given["Addr"]
    if not isinstance(address, dict):
        raise TypeError("Addr is not an object")
    network, where = address["Network"], str(address["String"])
    version = given.get("ProtocolVersion") or VERSIONS[0]
    if version not in VERSIONS or given.get("Protocol", "grpc") != "grpc" or network not in ("unix", "tcp"):
        raise ValueError(f"protocol {given.get('Protocol')} {version} on {network} is not supported")
    if network == "tcp" and not where.rpartition(":")[2].isdecimal():
        raise ValueError(f"the TCP address {where!r} has no port")
    return Attachment(Handshake(int(str(version)), f"unix:{where}" if network == "unix" else where))
