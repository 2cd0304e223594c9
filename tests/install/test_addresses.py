"""What addresses of modules may make this program do: nothing but to fetch; and no password in them is ever shown."""

from __future__ import annotations

import base64
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from install.conftest import Project
from install.test_install_modules import MAIN, call, git, manifest
from install.world import Reply, World, package

from planner.foundation.vocabulary.diagnostic import InstallError
from planner.language.config.sources import without_secrets
from planner.world.install.web import Web, display_url

SECRET = "s3cret%2Fword"
TOLD = ("s3cret", "tok3n")


@pytest.fixture
def web(world: World, monkeypatch: pytest.MonkeyPatch) -> Web:
    monkeypatch.setenv("SSL_CERT_FILE", world.authority)
    return Web(0)


@pytest.fixture
def plain() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server without encryption, and the headers that it got."""
    got: list[dict[str, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            got.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"plain")

        def log_message(self, *words: object) -> None: ...

    server = http.server.HTTPServer(("localhost", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"localhost:{server.server_address[1]}", got
    server.shutdown()
    server.server_close()


def leads(world: World, where: str, status: int = 302) -> str:
    world.files["/leads"] = Reply(status=status, headers={"Location": where})
    return f"{world.url}/leads"


@pytest.mark.parametrize(
    "where", ["ftp://localhost/x", "file:///etc/passwd", "data:text/plain,x", "FILE:/etc/passwd", "gopher://localhost/"]
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_to_other_protocols(world: World, web: Web, tmp_path: Path, where: str, status: int) -> None:
    for ask in (
        lambda: web.get(leads(world, where, status)),
        lambda: web.download(world.url + "/leads", str(tmp_path / "x")),
    ):
        with pytest.raises(InstallError, match="not an http or https URL"):
            ask()


def test_redirects_that_stay(world: World, web: Web) -> None:
    world.files["/end"] = Reply(b"end")
    for where in ("/end", "end", f"{world.url}/end", "//" + world.host + "/end", "/end?x=ü"):
        assert web.get(leads(world, where)).body == b"end"
    assert web.get(leads(world, "", 302)).status == 302
    with pytest.raises(InstallError, match="redirects too many times"):
        web.get(leads(world, "/leads"))
    with pytest.raises(InstallError, match="not a valid URL, or redirects to an invalid one"):
        web.get(leads(world, "https://[/"))


def test_credentials_are_not_sent_without_encryption(
    world: World, web: Web, plain: tuple[str, list[dict[str, str]]]
) -> None:
    host, got = plain
    assert web.get(leads(world, f"http://{host}/"), {"Authorization": "Bearer s3cret"}).body == b"plain"
    assert "authorization" not in got[0]
    assert web.get(f"http://user:pass@{host}/").body == b"plain"
    assert base64.b64decode(got[1]["authorization"].partition(" ")[2]) == b"user:pass"


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


@pytest.mark.slow
def test_user_and_password_in_an_address(project: Project, world: World) -> None:
    world.files["/a/box.zip"] = world.files["/b/box.zip"] = Reply(package({"main.tf": MAIN}))
    world.files["/page"] = Reply(status=204, headers={"X-Terraform-Get": "./a/box.zip"})
    world.files["/a/leads.zip"] = Reply(status=302, headers={"Location": "/b/box.zip"})
    world.tokens |= {path: basic("me:s3cret/word") for path in ("/a/", "/b/", "/page")}
    with_user = world.url.replace("https://", f"https://me:{SECRET}@")
    for path in ("/a/box.zip", "/page", "/a/leads.zip", "/a/box.zip//"):
        project.write(call(with_user + path))
        said = project.run("get", "-update")
        assert not any(word in said for word in TOLD), said
        assert manifest(project)["m"]["Source"].startswith(with_user)
    world.tokens["/a/"] = basic("me:other")
    project.write(call(f"{with_user}/a/box.zip?x=1"))
    said = project.run("get", code=1)
    assert "401" in said and "main.tf" in said and not any(word in said for word in TOLD)
    project.write(call(f"{with_user}/none"))
    said = project.run("validate", code=1)
    assert "has changed" in said and not any(word in said for word in TOLD)


@pytest.mark.parametrize(
    "source",
    [
        f"git::https://me:{SECRET}@localhost:1/x.git",
        "git::https://tok3n@localhost:1/x.git?depth=1",
        f"git::ssh://me:{SECRET}@localhost:1/x.git?sshkey=dG9rM24=",
        f"https://me:{SECRET}@localhost:1/x.zip",
        f"https://me:{SECRET}@localhost:1/page//sub",
        f"https://me:{SECRET}@[::1/page",
        f"s3::https://me:{SECRET}@localhost/x.zip",
        f"ftp://me:{SECRET}@localhost/x.zip",
    ],
)
def test_passwords_are_not_shown(project: Project, source: str) -> None:
    project.write(call(source))
    said = project.run("get", code=1)
    assert not any(word in said for word in (*TOLD, "dG9rM24"))


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("git::https://user:pass@host/x?ref=a@b", "git::https://host/x?ref=a@b"),
        ("https://token@host/x", "https://host/x"),
        ("git::ssh://git@host/x", "git::ssh://git@host/x"),
        ("git::ssh://me:pass@host/x?depth=1&sshkey=abc&ref=v1", "git::ssh://me@host/x?depth=1&sshkey=...&ref=v1"),
        ("fatal: 'https://a:b@c/' and HTTPS://d:e@f/", "fatal: 'https://c/' and HTTPS://f/"),
        ("https://host/a:b@c", "https://host/a:b@c"),
    ],
)
def test_what_is_shown(text: str, seen: str) -> None:
    assert without_secrets(text) == seen
    assert "pass" not in display_url(text) and "token" not in display_url(text)


# ---------------------------------------------------------------- git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "main.tf").write_bytes(MAIN)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return folder


@pytest.mark.parametrize("given", [None, "ext:file", "ext"])
@pytest.mark.parametrize("configured", [False, True])
def test_addresses_run_no_programs(project: Project, given: str | None, configured: bool) -> None:
    ran = project.folder / "ran"
    if configured:
        (project.folder / "home" / ".gitconfig").write_text(
            '[protocol]\n  allow = always\n[protocol "ext"]\n  allow = always\n'
        )
    environ = {} if given is None else {"GIT_ALLOW_PROTOCOL": given}
    for source in (f"git::ext::touch% {ran}", f"git::ext::sh -c touch% {ran}?depth=1", f"git::fd::17/{ran}"):
        project.write(call(source))
        project.run("get", code=1, **environ)
    assert not ran.exists()


def test_submodules_run_no_programs_and_read_no_files(project: Project, repository: Path) -> None:
    ran = project.folder / "ran"
    for url in (f"ext::touch% {ran}", f"file://{repository}/.git"):
        (repository / ".gitmodules").write_text(f'[submodule "s"]\n  path = s\n  url = {url}\n')
        git(repository, "add", "-A")
        git(repository, "update-index", "--add", "--cacheinfo", f"160000,{git(repository, 'rev-parse', 'HEAD')},s")
        git(repository, "commit", "-qm", "more", "--allow-empty")
        project.write(call(f"git::file://{repository}"))
        assert "not allowed" in project.run("get", code=1)
    assert not ran.exists()


@pytest.mark.slow
@pytest.mark.parametrize("ref", ["--upload-pack=touch RAN", "-b", "--", "--help"])
@pytest.mark.parametrize("depth", ["", "depth=1&"])
def test_references_are_no_options(project: Project, repository: Path, ref: str, depth: str) -> None:
    ran = project.folder / "ran"
    ref = ref.replace("RAN", str(ran)).replace(" ", "%20")
    project.write(call(f"git::file://{repository}?{depth}ref={ref}"))
    said = project.run("get", code=1)
    assert not ran.exists() and "usage" not in said


@pytest.mark.parametrize("source", ["git::--upload-pack=touch RAN", "git::ssh://-oProxyCommand=touch%20RAN/x"])
def test_addresses_are_no_options(project: Project, source: str) -> None:
    ran = project.folder / "ran"
    project.write(call(source.replace("RAN", str(ran))))
    project.run("get", code=1)
    assert not ran.exists() and not os.path.lexists(project.work / ".terraform" / "modules" / "m")


@pytest.mark.parametrize("data", [".terraform", "a b$(touch ran)"])
def test_the_key_of_an_address_is_a_file_for_ssh_wherever_git_runs(project: Project, data: str) -> None:
    program, words = project.folder / "ssh", project.folder / "words"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{words}"\nexit 1\n')
    program.chmod(0o755)
    project.write(call("git::ssh://git@localhost:1/x.git?sshkey=dG9rM24="))
    project.run("get", code=1, GIT_SSH_COMMAND=str(program), TF_DATA_DIR=data)
    option, key, *_ = words.read_text().split("\n")
    assert option == "-i" and key.startswith(f"{project.work}/{data}/modules/")
    assert not (project.work / "ran").exists()
