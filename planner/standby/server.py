"""The process that stands by, and the one that is ready to do the next command.

The first process has everything loaded and forks another one, which practises once more (so that the memory it will
write to is its own) and then waits for a request; when it has one, it says so and becomes the command, and the first
process forks the next. A request is the length of its parts with the three standard files, then the parts of client.py.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import NoReturn

from planner.standby import BEGUN, LENGTH, REFUSED, is_own_folder, socket_path, stamp, stay

_TICK = 1.0
"""seconds between two looks at what has ended meanwhile"""
_PATIENCE = 10.0
"""seconds that a request may take to arrive"""
_MOST_FAILURES = 2
"""processes in a row that may end before they have a command"""
_TAKEN, _STALE = b"t", b"s"
"""what a process that was ready says: that it has a command, or that the code is another one by now"""


def serve() -> NoReturn:
    """Load everything, then do what is asked until nobody has asked for a while. Ends the process."""
    with suppress(OSError, KeyboardInterrupt):
        _serve()
    os._exit(0)


def _serve() -> None:
    """Raises OSError when there is no place to listen, or somebody listens there already."""
    import fcntl

    from planner.standby import practice

    path = socket_path()
    if path is None:
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    if not is_own_folder(os.path.dirname(path)):
        return
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.ftruncate(lock, 0)
    os.write(lock, b"%d\n" % os.getpid())
    signal.signal(signal.SIGTERM, _end)
    with suppress(FileNotFoundError):
        os.unlink(path)  # of one that was killed
    version = stamp()
    practice.load()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)  # nobody else may connect
    listener.bind(path)
    os.umask(mask)
    listener.listen(16)
    try:
        _Standby(listener, lock, version).run()
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _end(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


class _Standby:
    def __init__(self, listener: socket.socket, lock: int, version: str) -> None:
        self.listener, self.lock, self.version = listener, lock, version
        self.ready, self.children = 0, 0

    def run(self) -> None:
        """Have one process ready, until nothing was asked for a while."""
        last, failures, hears = time.monotonic(), 0, -1
        try:
            while self.children > bool(self.ready) or time.monotonic() - last < stay():
                if not self.ready:
                    hears = self._fork()
                if select.select([hears], [], [], _TICK)[0]:
                    said = os.read(hears, 1)
                    os.close(hears)
                    self.ready = 0
                    failures = 0 if said == _TAKEN else failures + 1
                    if said == _STALE or failures > _MOST_FAILURES:
                        return
                    last = time.monotonic()
                with suppress(ChildProcessError):
                    while os.waitpid(-1, os.WNOHANG)[0]:
                        self.children -= 1
                        last = time.monotonic()
        finally:
            if self.ready:
                os.kill(self.ready, signal.SIGKILL)  # it has no command

    def _fork(self) -> int:
        """Begin a process that gets ready; where it will say that it has a command."""
        hears, says = os.pipe()
        server = os.getpid()
        process = os.fork()
        if process == 0:
            try:
                os.close(hears)
                os.close(self.lock)
                _wait(self.listener, says, self.version, server)
            except BaseException:
                if os.environ.get("PLANNER_DEBUG"):
                    import traceback

                    traceback.print_exc()
            finally:
                os._exit(1)
        os.close(says)
        self.ready = process
        self.children += 1
        return hears


# ---------------------------------------------------------------- in the process that is ready


def _wait(listener: socket.socket, says: int, version: str, server: int) -> NoReturn:
    """Become the next command, unless the server ends before there is one."""
    from planner.standby import practice

    practice.again()
    while True:
        if not select.select([listener], [], [], _TICK)[0]:
            if os.getppid() != server:
                os._exit(0)
            continue
        connection, _ = listener.accept()
        request = _request(connection)
        if request is not None:
            break
        connection.close()
    listener.close()
    files, parts = request
    if parts[0] != version:
        os.write(says, _STALE)
        connection.send(REFUSED)
        os._exit(0)
    os.write(says, _TAKEN)
    os.close(says)
    _become(files, parts[1:])
    connection.settimeout(None)
    connection.send(BEGUN)
    _run(connection)


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
    from planner.signals import wind_up

    def leave(code: int) -> NoReturn:
        wind_up()
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
