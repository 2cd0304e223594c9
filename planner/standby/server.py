"""The process that stands by. A request is its length, the three standard files, then the parts of client.py."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import NoReturn

from planner.standby import BEGUN, LENGTH, REFUSED, socket_path, stamp, stay

_TICK = 1.0
"""seconds between two looks at what has ended meanwhile"""
_PATIENCE = 10.0
"""seconds that a request may take to arrive"""


def serve() -> NoReturn:
    """Load everything, then listen until nobody has asked for a while. Ends the process."""
    with suppress(OSError, KeyboardInterrupt), suppress(KeyboardInterrupt):
        _serve()
    os._exit(0)


def _serve() -> None:
    """Raises OSError when there is no place to listen, or somebody listens there already."""
    import fcntl

    path = socket_path()
    if path is None:
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with suppress(FileNotFoundError):
        os.unlink(path)  # of one that was killed
    version = stamp()
    from planner.standby import practice

    practice.load()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.umask(0o177)  # nobody else may connect
    listener.bind(path)
    listener.listen(16)
    try:
        _listen(listener, lock, version)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _listen(listener: socket.socket, lock: int, version: str) -> None:
    last, at_work = time.monotonic(), 0
    while at_work or time.monotonic() - last < stay():
        ready, _, _ = select.select([listener], [], [], _TICK)
        with suppress(ChildProcessError):
            while at_work and os.waitpid(-1, os.WNOHANG)[0]:
                at_work, last = at_work - 1, time.monotonic()
        if not ready:
            continue
        connection, _ = listener.accept()
        with connection:
            request = _request(connection)
            if request is None:
                continue
            files, parts = request
            if parts[0] != version:
                connection.send(REFUSED)
                return
            if os.fork() == 0:
                os.close(lock)
                listener.close()
                _work(connection, files, parts[1:])
            at_work += 1
            for file in files:
                os.close(file)


def _request(connection: socket.socket) -> tuple[list[int], list[str]] | None:
    """The files and parts of a request; None for what is none."""
    connection.settimeout(_PATIENCE)
    try:
        head, files, _, _ = socket.recv_fds(connection, LENGTH, 3)
        length = int(head)
        data = b""
        while len(data) < length:
            part = connection.recv(length - len(data))
            if not part:
                break
            data += part
    except (OSError, ValueError):
        return None
    if len(data) < length or len(files) != 3:
        for file in files:
            os.close(file)
        return None
    return files, os.fsdecode(data).split("\0")


# ---------------------------------------------------------------- in a fork


def _work(connection: socket.socket, files: list[int], parts: list[str]) -> NoReturn:
    """Do a command. Whatever happens, this process goes no further."""
    try:
        _become(files, parts)
        connection.settimeout(None)
        connection.send(BEGUN)
        _run(connection)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(1)


def _become(files: list[int], parts: list[str]) -> None:
    """Look like the process that asked: its files, folder, environment and ways of handling signals."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    mask, folder, count = int(parts[0]), parts[1], int(parts[2])
    os.environ.clear()
    for variable in parts[3 + count :]:
        name, _, value = variable.partition("=")
        os.environ[name] = value
    time.tzset()
    os.umask(mask)
    os.chdir(folder)
    sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115 -- as Python opens them for itself
    sys.stdout = open(1, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.argv[1:] = parts[3 : 3 + count]
    sys.excepthook = sys.__excepthook__
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _run(connection: socket.socket) -> NoReturn:
    from threading import Thread

    from planner.cli.main import run

    def leave(code: int) -> NoReturn:
        import atexit

        with suppress(Exception, KeyboardInterrupt):
            atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception, KeyboardInterrupt):
                stream.flush()
        with suppress(OSError):
            connection.send(bytes((code,)))
        os._exit(code)

    Thread(target=_obey, args=(connection,), daemon=True).start()
    leave(run(sys.argv[1:], leave))


def _obey(connection: socket.socket) -> None:
    """Signals come over the connection. Where it ends, who asked is gone, and nobody reads what comes of it."""
    while True:
        try:
            said = connection.recv(1)
        except OSError:
            said = b""
        if not said:
            os._exit(1)
        os.kill(os.getpid(), said[0])
