"""Servers of ssh on loopback: a real OpenSSH, and proxies and listeners of the test's own."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from planner.engine.apply.provisioners import run_provisioner
from planner.foundation.values.types import STRING, ListType
from planner.foundation.values.value import List, Null
from planner.language.config.provisioners import connection_schema

SSHD = shutil.which("sshd") or shutil.which("/usr/sbin/sshd")
SFTP = next(
    (p for p in ("/usr/lib/openssh/sftp-server", "/usr/libexec/sftp-server") if os.path.exists(p)), "internal-sftp"
)


def free_port() -> int:
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return int(it.getsockname()[1])


def make_key(path: Path, *more: str) -> str:
    """A new key pair; returns the private key."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", str(path), *more], check=True)
    return path.read_text()


def public(path: Path) -> str:
    return path.with_name(path.name + ".pub").read_text().strip()


class Sshd:
    """OpenSSH's server for the user of the test, who logs in with the key `user`. `more`: lines of sshd_config."""

    def __init__(self, directory: Path, *more: str, sftp: bool = True) -> None:
        directory.mkdir(exist_ok=True)
        self.directory, self.port = directory, free_port()
        self.key = make_key(directory / "user")
        make_key(directory / "host")
        self.host_key = public(directory / "host")
        (directory / "authorized").write_text(public(directory / "user") + "\n")
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        lines = [
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {directory}/host",
            f"AuthorizedKeysFile {directory}/authorized",
            "PasswordAuthentication no",
            "UsePAM no",
            "StrictModes no",
            "MaxStartups 100",
            f"SetEnv HOME={directory}",  # without the start files of this user's shell
            f"PidFile {directory}/pid",
            *([f"Subsystem sftp {SFTP}"] if sftp else []),
            *more,
        ]
        (directory / "config").write_text("\n".join(lines) + "\n")

    def __enter__(self) -> Sshd:
        assert SSHD is not None
        self.process = subprocess.Popen(
            [SSHD, "-D", "-f", f"{self.directory}/config", "-E", f"{self.directory}/log"], start_new_session=True
        )
        wait_for_port(self.port)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()

    def connection(self, **more: Any) -> dict[str, Any]:
        """A connection to the server."""
        given: dict[str, Any] = {
            "host": "127.0.0.1",
            "port": self.port,
            "user": getpass.getuser(),
            "private_key": self.key,
            "host_key": self.host_key,
            "agent": False,
            "timeout": "20s",
            "script_path": f"{self.directory}/script_%RAND%.sh",
        }
        return connection(**{**given, **more})

    @property
    def scripts(self) -> list[Path]:
        """The scripts that are left."""
        return list(self.directory.glob("script_*"))


def wait_for_port(port: int) -> None:
    for _ in range(200):
        with socket.socket() as it:
            if it.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(port)


def connection(**given: Any) -> dict[str, Any]:
    empty = {name: Null(attribute.type) for name, attribute in connection_schema().attributes.items()}
    return {**empty, **{name: value for name, value in given.items() if value is not None}}


def remote_exec(connection: Any, *inline: str, stop: Any = None, **more: Any) -> tuple[list[str], list[str]]:
    """The lines of output after those about the connection, and the errors."""
    nothing = Null(ListType(STRING))
    config = {"inline": List(STRING, inline) if inline else nothing, "script": Null(STRING), "scripts": nothing, **more}
    lines: list[str] = []
    problems = run_provisioner("remote-exec", config, connection, lines.append, stop)
    after = lines.index("Connected!") + 1 if "Connected!" in lines else len(lines)
    return [line.rstrip("\r") for line in lines[after:]], [p.detail for p in problems]


def copy(connection: Any, destination: object, **more: Any) -> list[str]:
    config = {"source": Null(STRING), "content": Null(STRING), "destination": str(destination), **more}
    return [p.detail for p in run_provisioner("file", config, connection, print)]


@contextmanager
def listener(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port whose connections are served by threads."""

    def one(client: socket.socket) -> None:
        with client, suppress(OSError):
            serve(client)

    def accept() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(client,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def relay(one: socket.socket, other: socket.socket) -> None:
    """Pass on what comes from either side until one ends."""

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    back = threading.Thread(target=pump, args=(other, one), daemon=True)
    back.start()
    pump(one, other)
    back.join()
