"""What goes wrong on the way: each is told plainly, ends with exit code 1, and leaves nothing half-installed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from install.conftest import Project
from install.world import PLATFORM, Reply, World, new_key, package, sha
from thinned import thinned

Spoil = Callable[[World], None]
ARCHIVE = f"/files/acme/box/1.0.0/terraform-provider-box_1.0.0_{PLATFORM}.zip"
SUMS = "/files/acme/box/1.0.0/SHA256SUMS"
DOWNLOAD = f"/p/acme/box/1.0.0/download/{PLATFORM.replace('_', '/')}"


def said(**changes: Any) -> Spoil:
    """The registry says something else about the package."""
    return lambda world: world.answer("acme/box", "1.0.0", lambda value: value.update(changes))


def file(path: str, reply: Reply) -> Spoil:
    return lambda world: world.files.__setitem__(path, reply)


def truncated(world: World) -> None:
    data = world.files[ARCHIVE].body
    world.files[ARCHIVE] = Reply(data[:-50], promised=len(data))


def cut_and_consistent(world: World) -> None:
    """A truncated archive that its publisher signed."""
    replaced(world, world.files[ARCHIVE].body[:-50])


def replaced(world: World, data: bytes) -> None:
    world.files[ARCHIVE] = Reply(data)
    sums = f"{sha(data)}  {ARCHIVE.rpartition('/')[2]}\n".encode()
    world.files[SUMS] = Reply(sums)
    world.files[f"{SUMS}.sig"] = Reply(world.sign(sums))
    said(shasum=sha(data))(world)


def other_signer(world: World) -> None:
    world.signer = new_key()
    world.files[f"{SUMS}.sig"] = Reply(world.sign(world.files[SUMS].body))


def expired_certificate(world: World) -> None:
    port = world.port
    world.stop()
    world.port = port
    world.start(days=-1)


@pytest.mark.parametrize(
    ("spoil", "told"),
    thinned(
        [
            (truncated, "the connection was closed after"),
            (cut_and_consistent, "the archive is damaged"),
            (lambda w: replaced(w, b"no zip at all"), "the archive is damaged"),
            (
                lambda w: replaced(w, package({"../terraform-provider-box": b"x"})),
                "a member whose path is outside the archive",
            ),
            (lambda w: replaced(w, package({"README": b"x"})), "does not contain the program terraform-provider-box"),
            (file(ARCHIVE, Reply(b"something else")), "has the checksum zh:"),
            (said(shasum="0" * 64), "contradicts itself"),
            (said(shasum="short"), "as the SHA-256"),
            (said(os="beos"), "a package for beos"),
            (said(download_url="ftp://localhost/x.zip"), "not an http or https URL"),
            (said(filename="other.zip"), "does not contain other.zip"),
            (said(packages={PLATFORM: {"hashes": ["zh:" + "0" * 64], "package_size": 1}}), "1 bytes, but"),
            (other_signer, "not signed by a valid key"),
            (file(f"{SUMS}.sig", Reply(b"no signature")), "not signed by a valid key"),
            (said(signing_keys={"gpg_public_keys": []}), "not signed by a valid key"),
            (said(signing_keys={"gpg_public_keys": [{"ascii_armor": "what"}]}), "a signing key cannot be read"),
            (file(SUMS, Reply(b"", 404)), "404 Not Found"),
            (file(DOWNLOAD, Reply(b"", 404)), "no package of prov.example.com/acme/box 1.0.0 for"),
            (file(DOWNLOAD, Reply(b"[1")), "not valid JSON"),
            (file(DOWNLOAD, Reply(b"[]")), "not a JSON object"),
            (said(protocols=5), "has no list protocols"),
            (said(signing_keys=["key"]), "has no object signing_keys"),
            (said(signing_keys={"gpg_public_keys": True}), "has no list gpg_public_keys"),
            (said(packages=[]), "has no object packages"),
            (said(packages={PLATFORM: {"hashes": 1, "package_size": 1}}), "has no list hashes"),
            (said(download_url="https://[x/y.zip"), "names https://[x/y.zip, which is not a valid URL"),
            (file("/p/acme/box/versions", Reply(b'{"versions": 1}')), "has no list versions"),
            (
                file("/p/acme/box/versions", Reply(b'{"versions": [{"version": "1.0.0", "protocols": 5}]}')),
                "no list protocols",
            ),
            (file("/p/acme/box/versions", Reply(b'{"versions": [], "warnings": 1}')), "has no list warnings"),
            (said(protocols=["4.0"]), "supports the plugin protocols 4.0"),
            (file(ARCHIVE, Reply(b"", 503)), "503 Service Unavailable"),
            (file("/p/acme/box/versions", Reply(b"", 404)), "has no provider prov.example.com/acme/box"),
            (file("/p/acme/box/versions", Reply(b"", 500)), "500 Internal Server Error"),
            (expired_certificate, "certificate has expired"),
        ],
        3,
    ),
)
def test_nothing_is_installed(project: Project, world: World, spoil: Spoil, told: str) -> None:
    world.provider()
    spoil(world)
    project.requires()
    output = project.run("init", code=1, TF_PROVIDER_DOWNLOAD_RETRY="1")
    assert told in output
    assert not project.lock and not project.leftovers()
    assert not list(project.work.rglob("terraform-provider*"))


def test_an_unknown_authority(project: Project, world: World) -> None:
    world.provider()
    project.requires()
    assert "certificate cannot be trusted" in project.run("init", code=1, SSL_CERT_FILE="/dev/null")


def test_nobody_answers(project: Project, world: World) -> None:
    project.requires()
    world.stop()
    assert "Connection refused" in project.run("init", code=1)


@pytest.mark.slow
def test_a_server_that_never_answers(project: Project, world: World) -> None:
    world.provider()
    world.files["/p/acme/box/versions"] = lambda headers: time.sleep(4) or Reply(b"{}")
    project.requires()
    assert "no answer in time" in project.run("init", code=1, TF_REGISTRY_CLIENT_TIMEOUT="1")


def test_a_failure_that_passes(project: Project, world: World) -> None:
    world.provider()
    good = world.files["/p/acme/box/versions"]
    world.files["/p/acme/box/versions"] = lambda headers: (
        good if world.paths().count("/p/acme/box/versions") > 1 else Reply(b"", 502)
    )
    project.requires()
    project.run("init")


@pytest.mark.slow
def test_a_download_goes_on_where_it_broke_off(project: Project, world: World) -> None:
    content = {"terraform-provider-box": os.urandom(900_000)}
    world.provider(content=content)
    whole = world.files[ARCHIVE]

    def half_first(headers: dict[str, str]) -> Reply:
        if "range" in headers:
            return whole
        tag = {"ETag": f'"{sha(whole.body)[:16]}"', "Accept-Ranges": "bytes"}
        return Reply(whole.body[:600_000], headers=tag, promised=len(whole.body))

    world.files[ARCHIVE] = half_first
    project.requires()
    project.run("init")
    asked = [headers.get("range") for path, headers in world.requests if path == ARCHIVE]
    assert asked == [None, "bytes=600000-"]
    installed = project.packages / "box" / "1.0.0" / PLATFORM / "terraform-provider-box"
    assert installed.read_bytes() == content["terraform-provider-box"]


def test_a_package_that_is_not_the_locked_one(project: Project, world: World) -> None:
    world.provider()
    project.requires()
    project.run("init")
    before = project.lock
    subprocess.run(["rm", "-r", str(project.work / ".terraform")], check=True)
    world.provider(content={"terraform-provider-box": b"another"})
    assert "none of the checksums in the lock file" in project.run("init", code=1)
    assert project.lock == before and not list(project.work.rglob("terraform-provider*"))


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not hold for the superuser")
def test_an_unwritable_cache(project: Project, world: World) -> None:
    world.provider()
    project.requires()
    cache = project.folder / "shared"
    cache.mkdir(mode=0o500)
    assert "cannot be written: Permission denied" in project.run("init", code=1, TF_PLUGIN_CACHE_DIR=str(cache))


def test_a_cache_that_cannot_hold_directories(project: Project, world: World) -> None:
    world.provider()
    project.requires()
    cache = project.folder / "shared"
    cache.mkdir()
    (cache / "prov.example.com").write_text("in the way")
    assert "cannot be written: Not a directory" in project.run("init", code=1, TF_PLUGIN_CACHE_DIR=str(cache))
    assert not project.lock


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_ended_while_downloading(project: Project, world: World, number: int) -> None:
    world.provider()
    good = world.files[ARCHIVE]
    began = project.folder / "began"

    def slow(headers: dict[str, str]) -> Reply:
        began.touch()
        time.sleep(1.5)
        return good

    world.files[ARCHIVE] = slow
    project.requires()
    running = subprocess.Popen(
        [sys.executable, "-m", "planner", "init"], cwd=project.work, env=project.environ, stdout=subprocess.PIPE
    )
    for _ in range(400):
        if began.exists():
            break
        time.sleep(0.05)
    running.send_signal(number)
    running.communicate(timeout=60)
    assert running.returncode == (1 if number == signal.SIGINT else -number)
    assert not project.lock and not list(project.work.rglob("terraform-provider*"))
    world.files[ARCHIVE] = good
    project.run("init")
    assert not project.leftovers()


@pytest.mark.slow
def test_an_expired_key_is_told_of(project: Project, world: World) -> None:
    world.signer = new_key(validity=66)  # keys are made as if a minute ago
    world.provider()
    project.requires()
    ends = world.signer.extract_certificate().expiration
    time.sleep(max(0.0, (ends - datetime.now(UTC)).total_seconds()) + 1.5)
    assert "Signing key has expired" in project.run("init")
    assert "zh:" in project.lock
    subprocess.run(["rm", "-r", str(project.work / ".terraform")], check=True)
    output = project.run("init", "-upgrade", code=1, OPENTOFU_ENFORCE_GPG_EXPIRATION="true")
    assert "has expired" in output
    other_signer(world)
    assert "not signed by a valid key" in project.run("init", "-upgrade", code=1)


def test_the_default_registry_may_have_no_keys(project: Project, world: World) -> None:
    world.provider(signed=False)
    project.settings(f'host "registry.opentofu.org" {{ services = {{ "providers.v1" = "{world.url}/p/" }} }}')
    project.requires("acme/box")
    assert "acme/box v1.0.0 (signing skipped)" in project.run("init")
    assert "zh:" in project.lock
    subprocess.run(["rm", "-r", str(project.work / ".terraform")], check=True)
    assert "not signed" in project.run("init", code=1, OPENTOFU_ENFORCE_GPG_VALIDATION="true")


def test_credentials_do_not_follow_to_other_hosts(tmp_path: Path, world: World, monkeypatch: Any) -> None:
    from planner.world.install.web import Web

    monkeypatch.setenv("SSL_CERT_FILE", world.authority)
    world.files["/here"] = Reply(status=302, headers={"Location": f"https://127.0.0.1:{world.port}/there"})
    world.files["/there"] = Reply(b"got it")
    answer = Web(0).get(f"{world.url}/here", {"Authorization": "Bearer s3cret"})
    assert answer.body == b"got it"
    assert ["authorization" in headers for _, headers in world.requests] == [True, False]


def test_a_host_that_does_not_exist_is_not_call_is_repeated(monkeypatch: Any) -> None:
    from planner.foundation.vocabulary.diagnostic import InstallError
    from planner.world.install.web import Web

    def unknown(*_: Any, **__: Any) -> Any:  # without a network, the machine's own answer is another one
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    pauses: list[float] = []
    with pytest.raises(InstallError, match=r"nowhere\.invalid"):
        Web(retries=3, pause=pauses.append).document("https://nowhere.invalid/")
    assert pauses == []
