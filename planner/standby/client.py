"""Having a command done by the process that stands by, if there is one."""

from __future__ import annotations

import os
import sys

from planner.standby import BEGUN, COMMANDS, LENGTH, is_own_folder, socket_path, stamp, stay


def ask(words: list[str]) -> int | None:
    """The exit code of a command line that was done; None when this process has to do it itself. Never raises."""
    if len(words) < 2 or words[0] != "batch" or words[1] not in COMMANDS or stay() <= 0:
        return None
    path = socket_path()
    try:
        if path is None or os.stat(path).st_uid != os.getuid() or not is_own_folder(os.path.dirname(path)):
            return None
        import signal
        import socket

        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(path)
        if hasattr(socket, "SO_PEERCRED"):  # whatever became of the path meanwhile
            found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)  # process, user, group
            if int.from_bytes(found[4:8], sys.byteorder) != os.getuid():
                return None
        message = _message(words)
        socket.send_fds(connection, [b"%*d" % (LENGTH, len(message))], [0, 1, 2])
        connection.sendall(message)
        if connection.recv(1) != BEGUN:
            return None
    except OSError:  # nothing has begun
        return None

    def pass_on(number: int, frame: object) -> None:
        try:
            connection.send(bytes((number,)))
        except OSError:
            return

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # as batches by themselves do
            signal.signal(number, pass_on)
    try:
        answer = connection.recv(1)
    except OSError:
        answer = b""
    if not answer:
        sys.stderr.write("\nError: The process that ran this command was ended from outside.\n")
        return 1
    return answer[0]


def _message(words: list[str]) -> bytes:
    """What a command is made of besides its files: version, umask, folder, words and environment."""
    mask = os.umask(0)
    os.umask(mask)
    variables = [f"{name}={value}" for name, value in os.environ.items()]
    return os.fsencode("\0".join([stamp(), str(mask), os.getcwd(), str(len(words)), *words, *variables]))
