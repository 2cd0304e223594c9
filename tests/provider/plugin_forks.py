"""A process that has imported what plugin_server.py and probe_server.py need, and forks for each plugin that a test
starts.

Most of what a plugin costs is the import of gRPC. The program that the tests call a provider is plugin_client.py: it
passes its streams, its environment and its directory to this process, and ends as the fork does; when it is killed, the
fork ends, too. Run as `python plugin_forks.py SOCKET`; it ends with its standard input.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from typing import Any


def serve(path: str) -> None:
    sys.argv[1:] = ["6"]
    importlib.import_module("probe_server")
    gc.freeze()
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    print("ready", flush=True)
    running: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([listener, woken, 0], [], [])
        if 0 in ready:
            return
        if woken in ready:
            woken.recv(4096)
            _reap(running)
        if listener in ready:
            client, _ = listener.accept()
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for one in (listener, woken, wake, *running.values()):
                    one.close()
                _play(client)
            running[pid] = client


def _reap(running: dict[int, socket.socket]) -> None:
    """Tell the clients of forks that have ended how they did."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        client = running.pop(pid)
        with suppress(OSError):  # where it was killed first
            client.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
        client.close()


def _play(client: socket.socket) -> None:
    """Be the plugin that a client asks for."""
    head, streams, _, _ = socket.recv_fds(client, 8, 3)
    size, data = int.from_bytes(head, "little"), b""
    while len(data) < size:
        data += client.recv(size - len(data))
    pid, directory, program, version, *variables = data.decode("utf-8", "surrogateescape").split("\0")
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(variable.split("=", 1) for variable in variables)
    os.environ["TEST_PROVIDER_PID"] = pid
    threading.Thread(target=_follow, args=(client,), daemon=True).start()
    sys.argv[1:] = [version]
    del sys.modules["plugin_server"], sys.modules["probe_server"]
    code: Any = 0
    try:
        importlib.import_module(program).main()
    except SystemExit as end:
        code = end.code
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


def _follow(client: socket.socket) -> None:
    """End at once when the client does."""
    client.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    serve(sys.argv[1])
