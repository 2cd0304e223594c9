"""Provisioners, which run after an object is created or before it is destroyed: their schemas, and `local-exec`.

`remote_provisioners` has `file` and `remote-exec`. A local command runs in its own process group without input; its
output and standard error are reported line by line. To stop it, SIGTERM and, a moment later, SIGKILL are sent to the
whole group.
"""

from __future__ import annotations

import atexit
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any

from planner.foundation.support import trace
from planner.foundation.support.disk import on_disk
from planner.foundation.support.lines import Lines
from planner.foundation.values.schema import AttributeSchema, BlockSchema
from planner.foundation.values.sets import quote
from planner.foundation.values.types import BOOL, STRING, ListType, MapType
from planner.foundation.values.value import Null, Unknown, Value
from planner.world.provider.interface import AttributeDiagnostic

if TYPE_CHECKING:
    from subprocess import Popen

REMOTE = ("file", "remote-exec")
TAIL = 8 * 1024  # maximum bytes of output in an error message
IDLE = 0.1  # seconds until an incomplete line is shown
GRACE = 1.0  # seconds between SIGTERM and SIGKILL


def unsupported(type: str) -> AttributeDiagnostic | None:
    """The reason why a provisioner of this type cannot run; None if it can."""
    if type == "local-exec":
        return None
    if type not in REMOTE:
        detail = f'There is no provisioner "{type}". The provisioners are "file", "local-exec" and "remote-exec".'
        return _error("Provisioner not supported", detail)
    if find_spec("asyncssh") is None:
        detail = f'The provisioner "{type}" needs asyncssh: install the extra "ssh" (pip install \'planner-iac[ssh]\').'
        return _error("The extra ssh is not installed", detail)
    return None


@cache
def provisioner_schema(type: str) -> BlockSchema | None:
    """The schema of a provisioner's block without meta-arguments; None for an unknown type."""
    if type == "file":
        return BlockSchema(
            {
                "source": AttributeSchema(STRING, optional=True),
                "content": AttributeSchema(STRING, optional=True),
                "destination": AttributeSchema(STRING, required=True),
            }
        )
    if type == "remote-exec":
        return BlockSchema(
            {
                "inline": AttributeSchema(ListType(STRING), optional=True),
                "script": AttributeSchema(STRING, optional=True),
                "scripts": AttributeSchema(ListType(STRING), optional=True),
            }
        )
    if type != "local-exec":
        return None
    return BlockSchema(
        {
            "command": AttributeSchema(STRING, required=True),
            "environment": AttributeSchema(MapType(STRING), optional=True),
            "interpreter": AttributeSchema(ListType(STRING), optional=True),
            "quiet": AttributeSchema(BOOL, optional=True),
            "working_dir": AttributeSchema(STRING, optional=True),
        }
    )


def validate_provisioner(type: str, config: Value | None) -> list[AttributeDiagnostic]:
    """Problems of a provisioner's type, and of its configuration, which is decoded and has no marks. Unknown values are
    accepted. If the configuration is None, only the type is checked."""
    problem = unsupported(type)
    if problem is not None:
        return [problem]
    if config is None:
        return []
    if type == "file":
        return _file_problems(config)
    if type == "remote-exec":
        arguments = [name for name in ("inline", "script", "scripts") if config[name].__class__ is not Null]
        if len(arguments) != 1:
            detail = 'Set exactly one of the arguments "inline", "script" and "scripts".'
            return [_error("Invalid remote-exec provisioner configuration", detail)]
        return []
    if not _may_be_text(config["command"]):
        return [_error("Nothing to run", 'The argument "command" must be a string that is not empty.')]
    return []


def _file_problems(config: Value) -> list[AttributeDiagnostic]:
    summary = "Invalid file provisioner configuration"
    problems = []
    if not _may_be_text(config["destination"]):
        problems.append(_error(summary, "The destination must be a non-empty string."))
    if len([name for name in ("source", "content") if config[name].__class__ is not Null]) != 1:
        problems.append(_error(summary, 'Set exactly one of the arguments "source" and "content".'))
    return problems


def _may_be_text(value: Value) -> bool:
    return value.__class__ is Unknown or bool(_text(value))


def validate_connection(type: str, connection: Value) -> list[AttributeDiagnostic]:
    """Problems of a connection, which is decoded and has no marks, for a provisioner of this type. Unknown values are
    accepted."""
    if connection.__class__ is Unknown:
        return []
    if connection["type"] != "winrm":
        return _ssh_problems(connection) if type in REMOTE else []
    path = (("attr", "type"),)
    detail = 'Windows supports SSH, too: use a connection of the type ssh with target_platform = "windows".'
    warning = AttributeDiagnostic("warning", "WinRM connection type is deprecated", detail, path)
    if type not in REMOTE:
        return [warning]
    detail = f'The provisioner "{type}" does not connect over WinRM. {detail}'
    return [warning, AttributeDiagnostic("error", "WinRM connections are not supported", detail, path)]


def _ssh_problems(connection: Value) -> list[AttributeDiagnostic]:
    """Problems of settings that make an SSH connection impossible."""
    wrong: dict[str, str] = {}
    type = _text(connection["type"])
    if type not in ("", "ssh"):
        wrong["type"] = f"connection type '{type}' not supported"
    if not _may_be_text(connection["host"]):
        wrong["host"] = "host for provisioner cannot be empty"
    if _text(connection["target_platform"]) not in ("", "unix", "windows"):
        wrong["target_platform"] = "target_platform for provisioner has to be either unix or windows"
    if _text(connection["proxy_host"]) and _text(connection["proxy_scheme"]) not in ("", "http", "https"):
        wrong["proxy_scheme"] = 'proxy_scheme must be "http" or "https"'
    for name in ("port", "bastion_port", "proxy_port"):
        value = connection[name]
        if value.__class__ not in (Null, Unknown) and (value != int(value) or not 0 <= value < 65536):
            wrong[name] = f"{name} must be a whole number between 0 and 65535"
    return [
        AttributeDiagnostic("error", "Invalid connection", detail, (("attr", name),)) for name, detail in wrong.items()
    ]


def run_provisioner(
    type: str, config: Value, connection: Value | None, output: Callable[[str], None], stop: Any = None
) -> list[AttributeDiagnostic]:
    """Run a provisioner, and return its problems. The configuration is wholly known and has no marks. `output` receives
    each line of output. `stop`: a threading.Event; when it is set, the provisioner is ended."""
    problems = validate_provisioner(type, config)
    if problems or type == "local-exec":
        return problems or _local_exec(config, output, stop)
    if connection is None:
        return [_error(f"{type} provisioner error", "Missing connection configuration for provisioner.")]
    problems = [p for p in validate_connection(type, connection) if p.severity == "error"]
    if problems:
        return [_error(p.summary, p.detail) for p in problems]
    from planner.engine.apply.remote_provisioners import run_remote

    return run_remote(type, config, connection, output, stop)


def _local_exec(config: Value, output: Callable[[str], None], stop: Any) -> list[AttributeDiagnostic]:
    import subprocess

    command = config["command"]
    interpreter = config["interpreter"]
    arguments = [] if interpreter.__class__ is Null else [_text(word) for word in interpreter.items if _text(word)]
    arguments = [*(arguments or ["/bin/sh", "-c"]), command]
    if config["quiet"] is True:
        output("local-exec: Executing: Suppressed by quiet=true")
    else:
        output(f"Executing: [{' '.join(map(quote, arguments))}]")
    environment = {**os.environ, **trace.environment()}
    if config["environment"].__class__ is not Null:
        environment.update({k: v for k, v in config["environment"].items.items() if v.__class__ is str})
    try:
        with _STARTING:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=on_disk(_text(config["working_dir"])) or None,
                env=environment,
                process_group=0,
            )
            _RUNNING.add(process)
    except (OSError, ValueError) as e:
        reason = f"{e.filename}: {e.strerror or e}" if isinstance(e, OSError) and e.filename else str(e)
        return [_error("Command not started", f"The command could not be started: {reason}.")]
    try:
        tail, stopped = _follow(process, output, stop)
        status = process.wait()
    finally:
        _RUNNING.discard(process)
    if status == 0 and not stopped:
        return []
    how = "stopped" if stopped else _ending(status)
    text = tail.decode("utf-8", "replace")
    return [_error("local-exec provisioner error", f"Error running command {command!r}: {how}. Output: {text}", how)]


_RUNNING: set[Popen[bytes]] = set()
_STARTING = Lock()  # locked while a command is started, because a command runs before its process id is known


@atexit.register
def end_all() -> None:
    """Kill all running commands. Called at the end of the process, which does not wait for them."""
    _STARTING.acquire(timeout=5)  # never released, so that no further command can start
    for process in list(_RUNNING):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _follow(process: Popen[bytes], output: Callable[[str], None], stop: Any) -> tuple[bytes, bool]:
    """Report the output of a process until the process closes its output. If `stop` is set, the process is ended.
    Returns the last bytes of the output, and whether the process was stopped."""
    import select

    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    tail, lines = b"", Lines(output)
    while True:
        if stop is not None and stop.is_set():
            _end(process)
            break
        if not select.select([descriptor], [], [], IDLE)[0]:
            lines.flush()
            continue
        data = os.read(descriptor, 1 << 16)
        if not data:
            break
        tail = (tail + data)[-TAIL:]
        lines.receive(data)
    lines.flush()
    process.stdout.close()
    stopped = stop is not None and stop.is_set() and process.poll() != 0
    return tail, stopped


def _end(process: Popen[bytes]) -> None:
    import subprocess

    for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            return
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue


def _ending(status: int) -> str:
    if status > 0:
        return f"exit status {status}"
    return f"ended by {signal.Signals(-status).name}"


def _text(value: Value) -> str:
    return value if value.__class__ is str else ""


def _error(summary: str, detail: str, ending: str = "") -> AttributeDiagnostic:
    return AttributeDiagnostic("error", summary, detail, ending=ending)
