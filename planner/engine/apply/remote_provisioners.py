"""The provisioners `file` and `remote-exec`, which use ssh.

If connecting fails, it is tried again until the timeout of the connection, because the host may still be starting. Only
a wrong host key or an error in the configuration ends the attempts immediately. Uploaded scripts are readable only for
the user who connects. They are removed afterwards, also after a failure, if the host can still be reached."""

from __future__ import annotations

import asyncio
import io
import os
import random
import shlex
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from typing import Any

from planner.foundation.clients.ssh import (
    Agent,
    Files,
    Login,
    Proxy,
    Route,
    SshError,
    check_login,
    in_brackets,
    open_connection,
    open_files,
    reason,
    run_command,
    upload,
)
from planner.foundation.support.disk import on_disk
from planner.foundation.support.lines import Lines
from planner.foundation.values.value import Null, Value
from planner.foundation.vocabulary.records import frozen
from planner.language.functions.dates import parse_duration
from planner.language.functions.protocol import FunctionError
from planner.world.provider.interface import AttributeDiagnostic

DEFAULT_TIMEOUT = 300.0  # seconds
LONGEST_DELAY = 20.0  # the maximum number of seconds between two attempts to connect
IDLE = 0.1  # seconds until an incomplete line is shown, and between two checks for a stop
CLEANING = 5.0  # maximum seconds for removing a script


@frozen(eq=False)
class SshConnection:
    """The settings of a connection block, with defaults for missing arguments. `timeout`: in seconds."""

    route: Route
    timeout: float
    script_path: str
    windows: bool


class _ScriptFailed(Exception):
    def __init__(self, path: str, ending: str) -> None:
        super().__init__(f'error executing "{path}": {ending}')
        self.ending = ending


def run_remote(
    type: str, config: Value, connection: Value, output: Callable[[str], None], stop: Any
) -> list[AttributeDiagnostic]:
    """Run a file or remote-exec provisioner, and return its problems. `stop`: a threading.Event; when it is set, the
    provisioner is ended."""
    ending = ""
    try:
        it = read_connection(connection)
        if type == "file":
            work = _copy(it, config)
        else:
            work = _execute(it, _scripts(config), output)
        asyncio.run(_unless_stopped(work, stop))
        return []
    except _ScriptFailed as e:
        text, ending = str(e), e.ending
    except SshError as e:
        text = str(e)
    except asyncio.CancelledError:
        text = ending = "stopped"
    return [AttributeDiagnostic("error", f"{type} provisioner error", text, ending=ending)]


async def _unless_stopped(work: Coroutine[Any, Any, None], stop: Any) -> None:
    task = asyncio.ensure_future(work)
    while not task.done():
        await asyncio.wait({task}, timeout=IDLE)
        if stop is not None and stop.is_set() and not task.done():
            task.cancel()
            break
    await task


# ---------------------------------------------------------------- the connection block


def read_connection(block: Value) -> SshConnection:
    """The connection of a block that has passed `validate_connection`. Raises SshError for unusable keys."""

    def text(name: str, default: str = "") -> str:
        value = block[name]
        return value if value.__class__ is str and value else default

    def port(name: str, default: int) -> int:
        value = block[name]
        return default if value.__class__ is Null else int(value) or default

    platform = text("target_platform", "unix")
    target = Login(
        _without_brackets(text("host")),
        port("port", 22),
        text("user", "root"),
        text("password"),
        text("private_key"),
        text("certificate"),
        text("host_key"),
    )
    bastion: Login | None = None
    if text("bastion_host"):
        bastion = Login(
            _without_brackets(text("bastion_host")),
            port("bastion_port", target.port),
            text("bastion_user", target.user),
            text("bastion_password", target.password),
            text("bastion_private_key", target.private_key),
            text("bastion_certificate", target.certificate),
            text("bastion_host_key"),
        )
    proxy: Proxy | None = None
    if text("proxy_host"):
        scheme = text("proxy_scheme", "http")
        default = 443 if scheme == "https" else 80
        proxy = Proxy(
            scheme,
            _without_brackets(text("proxy_host")),
            port("proxy_port", default),
            text("proxy_user_name"),
            text("proxy_user_password"),
        )
    for login in (target, bastion):
        if login is not None:
            check_login(login)
    scripts = "C:/windows/temp/terraform_%RAND%.cmd" if platform == "windows" else "/tmp/terraform_%RAND%.sh"
    return SshConnection(
        Route(target, bastion, proxy, _agent(block["agent"], text("agent_identity"))),
        _timeout(text("timeout")),
        text("script_path", scripts),
        platform == "windows",
    )


def _without_brackets(host: str) -> str:
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def _agent(wanted: Value, identity: str) -> Agent | None:
    """The SSH agent; None if there is no agent or the connection disables it. Raises SshError if the connection
    requires an agent and there is none."""
    socket = os.environ.get("SSH_AUTH_SOCK", "")
    if wanted is True and not socket:
        raise SshError("agent is true, but there is no SSH agent: SSH_AUTH_SOCK is not set", lasting=True)
    return Agent(socket, identity) if socket and wanted is not False else None


def _timeout(written: str) -> float:
    """The timeout in seconds. As in OpenTofu, an invalid duration means the default timeout."""
    try:
        return parse_duration(written) / 1e9 if written else DEFAULT_TIMEOUT
    except FunctionError:
        return DEFAULT_TIMEOUT


def _announcement(it: SshConnection) -> str:
    """The output that describes the connection."""
    route = it.route
    lines = ["Connecting to remote host via SSH...", *_login_lines(route.target, route.agent)]
    lines.append(f"  Target Platform: {'windows' if it.windows else 'unix'}")
    if route.bastion is not None:
        lines += ["Using configured bastion host...", *_login_lines(route.bastion, route.agent)]
    if route.proxy is not None:
        lines += [
            "Using configured proxy host...",
            f"  ProxyHost: {route.proxy.host}",
            f"  ProxyPort: {route.proxy.port}",
            f"  ProxyUserName: {route.proxy.user}",
            f"  ProxyUserPassword: {_word(route.proxy.password)}",
        ]
    return "\n".join(lines)


def _login_lines(login: Login, agent: Agent | None) -> list[str]:
    return [
        f"  Host: {in_brackets(login.host)}",
        f"  User: {login.user}",
        f"  Password: {_word(login.password)}",
        f"  Private key: {_word(login.private_key)}",
        f"  Certificate: {_word(login.certificate)}",
        f"  SSH Agent: {_word(agent)}",
        f"  Checking Host Key: {_word(login.host_key)}",
    ]


def _word(value: object) -> str:
    return "true" if value else "false"


async def _connect(it: SshConnection, stack: AsyncExitStack, output: Callable[[str], None] | None) -> Any:
    """Connect to the host, with retries until the timeout. Raises SshError."""
    last, delay = "", 0.0
    try:
        async with asyncio.timeout(it.timeout):
            while True:
                await asyncio.sleep(delay)
                if output is not None:
                    output(_announcement(it))
                try:
                    connection = await stack.enter_async_context(open_connection(it.route))
                    break
                except SshError as e:
                    if e.lasting:
                        raise
                    last = str(e)
                delay = min(delay * 2 or 1.0, LONGEST_DELAY)
    except TimeoutError:
        raise SshError(f"timeout - last error: {last or 'the host did not complete the connection'}") from None
    if output is not None:
        output("Connected!")
    return connection


# ---------------------------------------------------------------- file


async def _copy(it: SshConnection, config: Value) -> None:
    content = config["content"]
    source = "" if content.__class__ is str else _expand_home(config["source"])
    if source and not os.path.exists(source):
        raise SshError(f"stat {source}: no such file or directory")
    async with AsyncExitStack() as stack:
        connection = await _connect(it, stack, None)
        files = await stack.enter_async_context(open_files(connection, it.windows))
        try:
            await upload(files, source or io.BytesIO(content.encode()), config["destination"])
        except SshError as e:
            raise SshError(f"Upload failed: {e}") from None


def _expand_home(source: str) -> str:
    return on_disk(os.path.expanduser(source) if source == "~" or source.startswith("~/") else source)


# ---------------------------------------------------------------- remote-exec


def _scripts(config: Value) -> list[bytes]:
    """The contents of the scripts to run. Inline commands become one script. Raises SshError."""
    inline, script, scripts = config["inline"], config["script"], config["scripts"]
    if inline.__class__ is not Null:
        lines = [_text(line, "inline") for line in inline.items]
        contents = ["\n".join([*lines, ""]).encode()]
    else:
        given = [script] if script.__class__ is not Null else list(scripts.items)
        contents = [_read(_text(path, "script" if script.__class__ is not Null else "scripts")) for path in given]
    if not all(contents):
        raise SshError("Error reading script: it is empty")
    return contents


def _text(value: Value, name: str) -> str:
    if value.__class__ is not str or not value:
        kind = "empty" if value.__class__ is str else "null"
        raise SshError(f"invalid {kind} string in '{name}'")
    return str(value)


def _read(path: str) -> bytes:
    try:
        with open(on_disk(path), "rb") as file:
            return file.read()
    except (OSError, ValueError) as e:
        raise SshError(f"Failed to open script '{path}': {reason(e)}") from None


async def _execute(it: SshConnection, scripts: list[bytes], output: Callable[[str], None]) -> None:
    async with AsyncExitStack() as stack:
        connection = await _connect(it, stack, output)
        files = await stack.enter_async_context(open_files(connection, it.windows))
        for script in scripts:
            path = it.script_path.replace("%RAND%", str(random.getrandbits(31)))
            if path.startswith("~/"):
                path = await files.home() + path[1:]
            if not it.windows and not script.startswith(b"#!"):
                script = b"#!/bin/sh\n" + script
            try:
                try:
                    await files.write(path, io.BytesIO(script), 0o700, fresh=True)
                except SshError as e:
                    raise SshError(f"Failed to upload script: {e}") from None
                await _run_script(it, connection, path, output)
            finally:
                await _remove_script(it, files, path)


async def _remove_script(it: SshConnection, files: Files, path: str) -> None:
    """Remove an uploaded script, over a new connection if the old one was lost."""
    try:
        async with asyncio.timeout(CLEANING):
            await files.remove(path)
    except (SshError, TimeoutError):
        with suppress(SshError, TimeoutError):
            async with (
                asyncio.timeout(CLEANING),
                open_connection(it.route) as again,
                open_files(again, it.windows) as opened,
            ):
                await opened.remove(path)


async def _run_script(it: SshConnection, connection: Any, path: str, output: Callable[[str], None]) -> None:
    lines = Lines(output)

    def receive(data: bytes) -> None:
        lines.receive(data) if data else lines.flush()

    command = shlex.quote(path) if not it.windows else f'"{path}"' if " " in path else path
    ending = await run_command(connection, command, receive, IDLE, terminal=not it.windows)
    lines.flush()
    if ending:
        raise _ScriptFailed(path, ending)
