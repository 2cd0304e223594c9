"""file and remote-exec with a real OpenSSH on loopback, and with servers that mean harm."""

from __future__ import annotations

import asyncio
import getpass
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from ssh_servers import SSHD, Sshd, connection, copy, listener, make_key, public, relay, remote_exec
from thinned import thinned

from planner.engine.apply.provisioners import validate_provisioner
from planner.foundation.values.types import STRING
from planner.foundation.values.value import List, Null

needs_sshd = pytest.mark.skipif(SSHD is None, reason="sshd is not on PATH")


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    if SSHD is None:
        pytest.skip("sshd is not on PATH")
    with Sshd(tmp_path_factory.mktemp("sshd")) as it:
        yield it


# ---------------------------------------------------------------- remote-exec


def test_a_script_runs_with_its_output(sshd: Sshd) -> None:
    lines, problems = remote_exec(sshd.connection(), "echo one", "false", "echo two >&2", "stat -c %a $0", "printf x")
    assert (lines, problems) == (["one", "two", "700", "x"], [])
    assert sshd.scripts == []


def test_a_failing_script_is_removed_too(sshd: Sshd) -> None:
    lines, [problem] = remote_exec(sshd.connection(), "echo before", "exit 7")
    assert lines == ["before"]
    assert problem.endswith('.sh": exit status 7')
    assert sshd.scripts == []
    assert "SIGKILL" in remote_exec(sshd.connection(), "kill -9 $$")[1][0]


def test_scripts_from_files(sshd: Sshd, tmp_path: Path) -> None:
    paths = [tmp_path / "a b", tmp_path / "c"]
    paths[0].write_text("#!/bin/cat\nall of it\n")
    paths[1].write_text("echo $((1 + 1))")
    given = {"scripts": List(STRING, tuple(map(str, paths)))}
    assert remote_exec(sshd.connection(), **given) == (["#!/bin/cat", "all of it", "2"], [])
    assert remote_exec(sshd.connection(script_path=f"{sshd.directory}/with space.sh"), script=str(paths[1])) == (
        ["2"],
        [],
    )
    assert "No such file" in remote_exec(sshd.connection(port=1), script=str(tmp_path / "nope"))[1][0]
    paths[1].write_text("")
    assert "empty" in remote_exec(sshd.connection(port=1), script=str(paths[1]))[1][0]
    assert "null" in remote_exec(sshd.connection(port=1), inline=List(STRING, (Null(STRING),)))[1][0]


def test_a_link_in_place_of_a_script_is_not_followed(sshd: Sshd, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "s.sh").symlink_to(tmp_path / "mine")
    assert remote_exec(sshd.connection(script_path=f"{tmp_path}/s.sh"), "echo x") == (["x"], [])
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "s.sh").exists()


def test_huge_output_streams(sshd: Sshd) -> None:
    lines, problems = remote_exec(sshd.connection(), "seq 200000", "head -c 3000000 /dev/zero | tr '\\0' x")
    assert problems == []
    assert lines[:200000] == [str(i) for i in range(1, 200001)]
    assert sum(map(len, lines[200000:])) == 3000000
    assert max(map(len, lines)) < 200000


def test_a_stop_ends_the_remote_process(sshd: Sshd, tmp_path: Path) -> None:
    stop = threading.Event()
    threading.Timer(1.5, stop.set).start()
    began = time.monotonic()
    _, problems = remote_exec(sshd.connection(), f"echo $$ > {tmp_path}/pid; exec sleep 60", stop=stop)
    assert problems == ["stopped"]
    assert time.monotonic() - began < 15
    assert sshd.scripts == []
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 10
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not os.path.exists(f"/proc/{pid}")


def test_fifty_at_once(sshd: Sshd) -> None:
    with ThreadPoolExecutor(50) as pool:
        work = [pool.submit(remote_exec, sshd.connection(timeout="120s"), f"echo {i}") for i in range(50)]
        assert [each.result() for each in work] == [([str(i)], []) for i in range(50)]
    assert sshd.scripts == []


def test_a_connection_that_is_lost(sshd: Sshd) -> None:
    def serve(client: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", sshd.port)) as other:
            client.settimeout(2.0)  # with keys and sleeping, nothing comes from it
            relay(client, other)

    with listener(serve) as port:
        _, [problem] = remote_exec(sshd.connection(port=port, host_key=None), "echo x; sleep 20")
    assert "lost" in problem
    assert sshd.scripts == []


# ---------------------------------------------------------------- file


def tree(path: Path) -> dict[str, str]:
    return {str(p.relative_to(path)): p.read_text() for p in sorted(path.rglob("*")) if p.is_file()}


@pytest.fixture(params=["sftp", "shell"])
def server(request: pytest.FixtureRequest, sshd: Sshd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    if request.param == "sftp":
        yield sshd
        return
    with Sshd(tmp_path_factory.mktemp("plain"), sftp=False) as it:
        yield it


def test_files(server: Sshd, tmp_path: Path) -> None:
    it, to = server.connection(), tmp_path / "to"
    to.mkdir()
    big = os.urandom(3_000_000)
    (tmp_path / "big").write_bytes(big)
    assert copy(it, to / "big", source=str(tmp_path / "big")) == []
    assert (to / "big").read_bytes() == big
    assert copy(it, to / "it's", content="hé\n") == []
    assert copy(it, to / "it's", content="") == []
    assert (to / "it's").read_text() == ""
    assert (to / "it's").stat().st_mode & 0o777 == 0o644
    assert copy(it, f"{to}/", content="in it") == []
    assert (to / "to").read_text() == "in it"
    for destination in (to, to / "no/such/x", "/proc/x"):
        [problem] = copy(it, destination, content="x")
        assert problem.startswith(f"Upload failed: {destination}")
    assert "no such file" in copy(it, to / "x", source=str(tmp_path / "nope"))[0]


def test_directories(server: Sshd, tmp_path: Path) -> None:
    source, to = tmp_path / "d", tmp_path / "to"
    (source / "sub" / "empty").mkdir(parents=True)
    to.mkdir()
    (source / "one").write_text("1")
    (source / "sub" / "two").write_text("2")
    (source / "link").symlink_to("one")
    (source / "way").symlink_to("sub")
    whole = {"link": "1", "one": "1", "sub/two": "2", "way/two": "2"}
    it = server.connection()
    assert copy(it, to, source=str(source)) == []
    assert tree(to / "d") == whole
    assert (to / "d/sub/empty").is_dir()
    assert copy(it, f"{to}/", source=f"{source}/") == []
    assert {name: text for name, text in tree(to).items() if not name.startswith("d/")} == whole
    assert copy(it, to / "new", source=str(source)) == []
    assert tree(to / "new") == whole
    assert "does not exist" in copy(it, to / "other", source=f"{source}/")[0]
    (source / "loop").symlink_to(".")
    assert "leads back" in copy(it, to, source=str(source))[0]
    (source / "loop").unlink()
    os.mkfifo(source / "pipe")
    assert "not a file" in copy(it, to, source=str(source))[0]


def test_home(server: Sshd) -> None:
    name = f".planner-test-{os.getpid()}"
    assert copy(server.connection(), f"~/{name}", content="x") == []
    assert remote_exec(server.connection(), f"cat {name}; rm {name}")[0] == ["x"]


def test_scripts_without_sftp(server: Sshd) -> None:
    assert remote_exec(server.connection(), "stat -c %a $0", "exit 3")[0] == ["700"]
    assert server.scripts == []


# ---------------------------------------------------------------- who is who


def test_host_keys(sshd: Sshd, tmp_path: Path) -> None:
    make_key(tmp_path / "other")
    began = time.monotonic()
    _, [problem] = remote_exec(sshd.connection(host_key=public(tmp_path / "other")), "echo x")
    assert "expected host key" in problem
    assert time.monotonic() - began < 10
    assert remote_exec(sshd.connection(host_key=None), "echo x") == (["x"], [])
    assert "not a public key" in remote_exec(sshd.connection(host_key="nonsense"), "echo x")[1][0]


def test_host_certificates(tmp_path: Path) -> None:
    if SSHD is None:
        pytest.skip("sshd is not on PATH")
    make_key(tmp_path / "authority")
    it = Sshd(tmp_path / "sshd", f"HostCertificate {tmp_path}/sshd/host-cert.pub")
    sign = ["ssh-keygen", "-q", "-s", str(tmp_path / "authority"), "-I", "h", "-h", "-n", "127.0.0.1"]
    subprocess.run([*sign, str(tmp_path / "sshd/host.pub")], check=True)
    with it:
        for key in (public(tmp_path / "authority"), it.host_key):
            assert remote_exec(it.connection(host_key=key), "echo x") == (["x"], [])
        make_key(tmp_path / "other")
        assert "expected host key" in remote_exec(it.connection(host_key=public(tmp_path / "other")), "echo x")[1][0]


def test_user_certificates(tmp_path: Path) -> None:
    if SSHD is None:
        pytest.skip("sshd is not on PATH")
    make_key(tmp_path / "authority")
    key = make_key(tmp_path / "k")
    sign = ["ssh-keygen", "-q", "-s", str(tmp_path / "authority"), "-I", "u", "-n", getpass.getuser()]
    subprocess.run([*sign, str(tmp_path / "k.pub")], check=True)
    with Sshd(tmp_path / "sshd", f"TrustedUserCAKeys {tmp_path}/authority.pub") as it:
        certificate = (tmp_path / "k-cert.pub").read_text()
        assert remote_exec(it.connection(private_key=key, certificate=certificate), "echo x") == (["x"], [])
        _, [problem] = remote_exec(it.connection(private_key=key, timeout="1s"), "echo x")
        assert problem.startswith("timeout - last error: SSH authentication failed")
        wrong = [
            it.connection(private_key=key, certificate=public(tmp_path / "k")),
            it.connection(certificate=certificate),
        ]
        for each in wrong:
            assert "invalid certificate" in remote_exec(each, "echo x")[1][0]


def test_keys_that_cannot_be_used(sshd: Sshd, tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(tmp_path / "k")], check=True)
    assert "Decrypt" in remote_exec(sshd.connection(private_key=(tmp_path / "k").read_text()), "echo x")[1][0]
    assert "private key" in remote_exec(sshd.connection(private_key="nonsense"), "echo x")[1][0]


def test_the_agent(sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    socket_path = str(tmp_path / "s")
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", socket_path], stdout=subprocess.DEVNULL)
    try:
        while not os.path.exists(socket_path):
            time.sleep(0.05)
        monkeypatch.setenv("SSH_AUTH_SOCK", socket_path)
        for i in range(7):  # more than a server lets anyone try
            make_key(tmp_path / f"k{i}")
            subprocess.run(["ssh-add", "-q", str(tmp_path / f"k{i}")], check=True)
        subprocess.run(["ssh-add", "-q", str(sshd.directory / "user")], check=True)
        for identity in (str(sshd.directory / "user"), public(sshd.directory / "user").split()[2]):
            it = sshd.connection(agent=True, private_key=None, agent_identity=identity)
            assert remote_exec(it, "ssh-add -l | wc -l") == (["8"], [])
        it = sshd.connection(agent=Null(STRING), private_key=None, timeout="1s")
        assert "uthentication fail" in remote_exec(it, "echo x")[1][0]
        refused = sshd.connection(private_key=None, timeout="1s", agent_identity=str(sshd.directory / "user"))
        assert "authentication failed" in remote_exec(refused, "echo x")[1][0]
    finally:
        agent.terminate()
        agent.wait()
    monkeypatch.delenv("SSH_AUTH_SOCK")
    assert "SSH_AUTH_SOCK" in remote_exec(sshd.connection(agent=True), "echo x")[1][0]


class Passwords(asyncssh.SSHServer):
    """Lets anyone in with the password secret, or with it as the answer to two questions."""

    def __init__(self, questions: bool) -> None:
        self.questions = questions

    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return not self.questions

    def validate_password(self, username: str, password: str) -> bool:
        return password == "secret"

    def kbdint_auth_supported(self) -> bool:
        return self.questions

    def get_kbdint_challenge(self, username: str, lang: str, submethods: str) -> Any:
        return "", "", "", [("First? ", False), ("Second? ", True)]

    def validate_kbdint_response(self, username: str, responses: Any) -> bool:
        return list(responses) == ["secret", "secret"]


@pytest.mark.parametrize("questions", [False, True])
def test_passwords(questions: bool, tmp_path: Path) -> None:
    loop = asyncio.new_event_loop()
    key = asyncssh.generate_private_key("ssh-ed25519")
    starting = asyncssh.listen(
        "127.0.0.1",
        0,
        server_factory=lambda: Passwords(questions),
        server_host_keys=[key],
        sftp_factory=True,
        process_factory=lambda process: process.exit(4),
    )
    server = loop.run_until_complete(starting)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        it = {"host": "127.0.0.1", "port": server.get_port(), "agent": False, "timeout": "1s"}
        path = str(tmp_path / "x.sh")
        _, [problem] = remote_exec(connection(**it, password="secret", script_path=path), "echo x")
        assert problem == f'error executing "{path}": exit status 4'
        assert "authentication failed" in remote_exec(connection(**it, password="wrong"), "echo x")[1][0]
        assert "authentication failed" in remote_exec(connection(**it), "echo x")[1][0]
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


# ---------------------------------------------------------------- the way


def test_a_bastion(sshd: Sshd, tmp_path: Path) -> None:
    with Sshd(tmp_path / "bastion") as bastion:
        way = {
            "bastion_host": "127.0.0.1",
            "bastion_port": bastion.port,
            "bastion_private_key": bastion.key,
            "bastion_host_key": bastion.host_key,
        }
        assert remote_exec(sshd.connection(**way), "echo x") == (["x"], [])
        assert copy(sshd.connection(**way), tmp_path / "f", content="x") == []
        _, [problem] = remote_exec(sshd.connection(**{**way, "bastion_host_key": sshd.host_key}), "echo x")
        assert problem.startswith("Error connecting to bastion")
        _, [problem] = remote_exec(sshd.connection(**way, host_key=bastion.host_key), "echo x")
        assert "expected host key" in problem
        assert "bastion" not in problem
        _, [problem] = remote_exec(sshd.connection(**{**way, "port": 1, "timeout": "1s"}), "echo x")
        assert "cannot connect to 127.0.0.1:1" in problem


class Proxied:
    """A proxy with a password that counts its connections."""

    def __init__(self, replies: str = "") -> None:
        self.replies, self.seen = replies, []

    def serve(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(1 << 16)
        lines = head.decode().split("\r\n")
        self.seen.append(lines[0])
        if self.replies:
            client.sendall(self.replies.encode())
            return
        if "Proxy-Authorization: Basic bWU6c2VjcmV0" not in lines:
            client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return
        host, port = lines[0].split()[1].rsplit(":", 1)
        with socket.create_connection((host, int(port))) as other:
            banner = other.recv(1 << 16)
            client.sendall(b"HTTP/1.1 200 OK\r\nVia: x\r\n\r\n" + banner)
            relay(client, other)


def test_a_proxy(sshd: Sshd) -> None:
    proxy = Proxied()
    with listener(proxy.serve) as port:
        way = {"proxy_host": "127.0.0.1", "proxy_port": port, "proxy_user_name": "me", "timeout": "5s"}
        assert remote_exec(sshd.connection(**way, proxy_user_password="secret"), "echo x") == (["x"], [])
        there = {"bastion_host": "localhost", "bastion_host_key": sshd.host_key}
        assert remote_exec(sshd.connection(**way, **there, proxy_user_password="secret"), "echo x") == (["x"], [])
        assert proxy.seen == [f"CONNECT {host}:{sshd.port} HTTP/1.1" for host in ("127.0.0.1", "localhost")]
        assert "407" in remote_exec(sshd.connection(**{**way, "timeout": "1s"}), "echo x")[1][0]
    assert "proxy_scheme" in remote_exec(sshd.connection(**way, proxy_scheme="socks9"), "echo x")[1][0]


@pytest.mark.parametrize("reply", ["HTTP/1.1 200 " + "x" * 200000, "nonsense\r\n\r\n", "HTTP/1.1 502 Bad\r\n\r\n", "x"])
def test_proxies_that_fail(sshd: Sshd, reply: str) -> None:
    with listener(Proxied(reply).serve) as port:
        it = sshd.connection(proxy_host="127.0.0.1", proxy_port=port, timeout="1s")
        assert "the proxy" in remote_exec(it, "echo x")[1][0]


# ---------------------------------------------------------------- servers that mean harm, or are not there


def test_a_host_that_comes_up_late(sshd: Sshd) -> None:
    turns = iter([False, False])

    def serve(client: socket.socket) -> None:
        if next(turns, True):
            with socket.create_connection(("127.0.0.1", sshd.port)) as other:
                relay(client, other)

    with listener(serve) as port:
        assert remote_exec(sshd.connection(port=port), "echo x") == (["x"], [])


def endless(client: socket.socket) -> None:
    while True:
        client.sendall(b"welcome to the machine\r\n" * 1000)


def long_line(client: socket.socket) -> None:
    while True:
        client.sendall(b"x" * 65536)


def silent(client: socket.socket) -> None:
    client.recv(1)
    time.sleep(30)


def rubbish(client: socket.socket) -> None:
    client.sendall(b"SSH-2.0-x\r\n" + os.urandom(100_000))
    time.sleep(5)


@pytest.mark.parametrize("serve", thinned([endless, long_line, silent, rubbish], 2))
def test_servers_that_mean_harm(serve: Any) -> None:
    with listener(serve) as port:
        began = time.monotonic()
        _, [problem] = remote_exec(connection(host="127.0.0.1", port=port, agent=False, timeout="2s"), "echo x")
    assert problem.startswith("timeout - last error: ")
    assert time.monotonic() - began < 8


def test_connections_that_are_wrong() -> None:
    wrong: dict[str, dict[str, Any]] = {
        "host for provisioner cannot be empty": {"host": ""},
        "connection type 'telnet' not supported": {"host": "h", "type": "telnet"},
        "target_platform": {"host": "h", "target_platform": "beos"},
        "port must be a whole number": {"host": "h", "port": 70000},
    }
    for text, given in wrong.items():
        assert text in remote_exec(connection(**given), "echo x")[1][0]
    assert "WinRM" in remote_exec(connection(host="h", type="winrm"), "echo x")[1][0]
    assert "Missing connection" in remote_exec(None, "echo x")[1][0]


# ---------------------------------------------------------------- whole applies

CONFIG = """
variable "secret" {
  default   = "s3cret"
  sensitive = true
}
resource "terraform_data" "a" {
  connection {
    host        = "127.0.0.1"
    port        = 1
    user        = "USER"
    private_key = file("KEY")
    host_key    = file("KEY/../host.pub")
    agent       = false
    timeout     = "20s"
  }
  provisioner "remote-exec" {
    connection {
      port = self.input
    }
    inline = ["echo made ${self.id}"]
  }
  provisioner "remote-exec" {
    connection {
      port = self.input
    }
    inline = ["echo it is ${var.secret}"]
  }
  provisioner "remote-exec" {
    connection {
      port = self.input
    }
    on_failure = continue
    inline     = ["exit 3"]
  }
  provisioner "file" {
    connection {
      port = self.input
    }
    content     = self.id
    destination = "DIRECTORY/made"
  }
  provisioner "remote-exec" {
    when = destroy
    connection {
      port = self.input
    }
    inline = ["rm DIRECTORY/made"]
  }
  input = PORT
}
"""


def planner(directory: Path, *words: str) -> tuple[int, str]:
    result = subprocess.run(
        [sys.executable, "-m", "planner", *words, "-no-color"], cwd=directory, text=True, capture_output=True
    )
    return result.returncode, result.stdout + result.stderr


def test_applies(sshd: Sshd, tmp_path: Path) -> None:
    text = CONFIG.replace("KEY/..", str(sshd.directory)).replace("KEY", str(sshd.directory / "user"))
    text = text.replace("DIRECTORY", str(tmp_path)).replace("PORT", str(sshd.port)).replace("USER", getpass.getuser())
    (tmp_path / "main.tf").write_text(text)
    code, output = planner(tmp_path, "apply", "-auto-approve")
    assert code == 0, output
    assert "(remote-exec): made " + (tmp_path / "made").read_text() in output
    assert "s3cret" not in output
    assert "output suppressed" in output
    assert "exit status 3" not in output
    (tmp_path / "main.tf").write_text(text.replace('["rm', '["false # rm'))
    code, output = planner(tmp_path, "destroy", "-auto-approve")
    assert code == 1
    assert "exit status 1" in output
    (tmp_path / "main.tf").write_text(text)
    assert planner(tmp_path, "destroy", "-auto-approve")[0] == 0
    assert not (tmp_path / "made").exists()
    (tmp_path / "main.tf").write_text(text.replace("/made", "/no/such/made"))
    code, output = planner(tmp_path, "apply", "-auto-approve")
    assert code == 1
    assert "file provisioner error" in output
    assert "is tainted" in planner(tmp_path, "plan")[1]


def test_an_interrupt(sshd: Sshd, tmp_path: Path) -> None:
    text = CONFIG.replace("KEY/..", str(sshd.directory)).replace("KEY", str(sshd.directory / "user"))
    text = text.replace("DIRECTORY", str(tmp_path)).replace("PORT", str(sshd.port)).replace("USER", getpass.getuser())
    (tmp_path / "main.tf").write_text(text.replace("echo made", f"echo > {tmp_path}/started; sleep 60; echo"))
    words = [sys.executable, "-m", "planner", "apply", "-auto-approve", "-no-color"]
    process = subprocess.Popen(words, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + 60
    while not (tmp_path / "started").exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=30)[0]
    assert process.returncode == 1
    assert "Execution halted" in output
    assert "is tainted" in planner(tmp_path, "plan")[1]


def test_the_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.engine.apply.provisioners.find_spec", lambda name: None)
    for type in ("file", "remote-exec"):
        [problem] = validate_provisioner(type, None)
        assert "planner-iac[ssh]" in problem.detail
    assert validate_provisioner("local-exec", None) == []
