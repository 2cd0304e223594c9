"""Modules and providers from OCI registries: a real registry with contents, and one of the test's own for tokens."""

from __future__ import annotations

import json
import shutil
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from install.conftest import Project
from install.registries import IMAGE, PASSWORD, PROGRAM, USER, RegistryServer
from install.world import PLATFORM, Reply, World, package, sha

from planner.foundation.clients.cli_config import load_cli_config
from planner.foundation.clients.oci import OciLogin, login_for
from planner.foundation.vocabulary.diagnostic import Failure, ServiceError

MODULE = "application/vnd.opentofu.modulepkg"
FILES = {"main.tf": b'output "a" { value = 1 }\n', "inner/main.tf": b'output "b" { value = 2 }\n'}
LOGIN = b64encode(f"{USER}:{PASSWORD}".encode()).decode()


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryServer]:
    if PROGRAM is None:
        pytest.skip("needs docker-registry")
    server = RegistryServer(tmp_path_factory.mktemp("oci") / "registry")
    try:
        server.digest = server.push_archive("team/mod", "1.0", package(FILES), MODULE)["digest"]  # type: ignore[attr-defined]
        server.push_archive("team/mod", "latest", package({"main.tf": b'output "c" { value = 3 }\n'}), MODULE)
        server.push_archive("team/mod", "image", package(FILES), "application/vnd.example.thing")
        server.push_archive("team/mod", "tar", b"x", MODULE, "archive/tar")
        for version in ("1.0.0", "1.2.0_build.1"):
            program = {f"terraform-provider-box_v{version[:5]}": b"#!/bin/sh\nexit 3\n# " + version.encode()}
            server.push_provider("mirror/acme/box", version, {PLATFORM: package(program)})
        server.push_provider("mirror/acme/box", "2.0.0", {"plan9_arm": package({"terraform-provider-box": b"x"})})
        server.push_archive("mirror/acme/box", "extra", b"x", "application/vnd.example.thing")
        yield server
    finally:
        server.stop()


@pytest.fixture
def project(tmp_path: Path, world: World, registry: RegistryServer) -> Project:
    made = Project(tmp_path, world)
    made.environ["SSL_CERT_FILE"] = registry.authority
    return made


def settings(registry: RegistryServer, more: str = "") -> str:
    return f'oci_credentials "{registry.domain}" {{\n username = "{USER}"\n password = "{PASSWORD}"\n}}\n{more}'


def test_modules(project: Project, registry: RegistryServer) -> None:
    project.settings(settings(registry))
    source = f"oci://{registry.domain}/team/mod"
    for name, rest in (("a", "?tag=1.0"), ("b", f"//inner?digest={registry.digest}"), ("c", "")):  # type: ignore[attr-defined]
        output = f'output "{name}" {{\n  value = module.{name}.{name}\n}}\n'
        project.write(f'module "{name}" {{\n  source = "{source}{rest}"\n}}\n{output}', f"{name}.tf")
    project.run("init")
    project.run("validate")
    keys = [m["Key"] for m in json.loads((project.work / ".terraform/modules/modules.json").read_text())["Modules"]]
    assert keys == ["", "a", "b", "c"]


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("team/mod?tag=image", "artifact type application/vnd.example.thing"),
        ("team/mod?tag=tar", "no layers of the type archive/zip"),
        ("team/mod?tag=none", "has no none"),
        ("mirror/acme/box?tag=1.0.0", f"not {IMAGE}"),
        (f"team/mod?digest=sha256:{'0' * 64}", "has no sha256:000"),
        ("team/mod?tag=a&digest=b", "either a tag or a digest"),
        ("team/mod?tag=", "is not a valid tag"),
        ("team/mod?digest=md5:1", "is not a digest"),
        ("team/mod?ref=v1", "no argument 'ref'"),
        ("team/mod?archive=zip", "argument archive is not allowed"),
        ("Team/mod", "is not the address of a repository"),
        ("team", "has no latest"),
    ],
)
def test_modules_that_cannot_be_had(rest: str, said: str, project: Project, registry: RegistryServer) -> None:
    project.settings(settings(registry))
    project.write(f'module "a" {{\n  source = "oci://{registry.domain}/{rest}"\n}}\n')
    assert said in project.run("init", code=1)


def test_credentials_of_others(project: Project, registry: RegistryServer, tmp_path: Path) -> None:
    project.write(f'module "a" {{\n  source = "oci://{registry.domain}/team/mod"\n}}\n')
    assert f"{registry.domain} needs credentials for team/mod" in project.run("init", code=1)
    docker = tmp_path / "home/.docker"
    docker.mkdir()
    (docker / "config.json").write_text(json.dumps({"auths": {registry.domain: {"auth": LOGIN}}}))
    project.run("init")
    shutil.rmtree(project.work / ".terraform")
    project.settings("oci_default_credentials {\n  discover_ambient_credentials = false\n}\n")
    assert "needs credentials" in project.run("init", code=1)
    project.settings(settings(registry).replace(PASSWORD, "wrong"))
    assert "does not accept the credentials" in project.run("init", code=1)
    programs = tmp_path / "programs"
    programs.mkdir()
    helper = programs / "docker-credential-safe"
    answer = json.dumps({"Username": USER, "Secret": PASSWORD})
    helper.write_text(f"#!/bin/sh\nread -r url\n[ \"$url\" = https://{registry.domain} ] && echo '{answer}'\n")
    helper.chmod(0o755)
    project.environ["PATH"] = f"{programs}:{project.environ['PATH']}"
    helped = 'docker_credentials_helper = "safe"\n  docker_style_config_files = []'
    project.settings(f"oci_default_credentials {{\n  {helped}\n}}\n")
    project.run("init")


def test_a_mirror(project: Project, registry: RegistryServer) -> None:
    template = f"{registry.domain}/mirror/${{namespace}}/${{type}}"
    mirror = f'oci_mirror {{\n repository_template = "{template}"\n include = ["prov.example.com/*/*"]\n}}'
    project.settings(settings(registry, f"provider_installation {{\n{mirror}\n}}\n"))
    project.requires(version="~> 1.0")
    assert "Installed prov.example.com/acme/box v1.2.0+build.1 (verified checksum)" in project.run("init")
    assert "h1:" in project.lock and "zh:" in project.lock
    shutil.rmtree(project.work / ".terraform")
    project.run("init")  # with the lock file
    (project.work / ".terraform.lock.hcl").unlink()
    project.requires(version="2.0.0")
    assert "no package of prov.example.com/acme/box 2.0.0" in project.run("init", code=1)
    project.requires("prov.example.com/acme/other")
    assert "was not found" in project.run("init", code=1)


@pytest.mark.parametrize("refreshed", [False, True])
def test_tokens(refreshed: bool, tmp_path: Path, world: World) -> None:
    """A registry that issues a token for a repository, for a password or a refresh token."""
    archive = package(FILES)
    manifest = {
        "mediaType": IMAGE,
        "artifactType": MODULE,
        "layers": [{"mediaType": "archive/zip", "digest": f"sha256:{sha(archive)}"}],
    }

    def guarded(reply: Reply) -> Any:
        bearer = f'Bearer realm="{world.url}/token",service="here",scope="repository:team/mod:pull"'
        refusal = Reply(b"{}", 401, headers={"WWW-Authenticate": bearer})
        return lambda headers: reply if headers.get("authorization") == "Bearer t1" else refusal

    world.files["/v2/team/mod/manifests/latest"] = guarded(Reply(json.dumps(manifest).encode(), media_type=IMAGE))
    world.files[f"/v2/team/mod/blobs/sha256:{sha(archive)}"] = guarded(Reply(archive))
    allowed = Reply(b'{"token": "t1"}')
    login = f"Basic {b64encode(b'u:p').decode()}"
    world.files["/token"] = lambda h: allowed if refreshed or h.get("authorization") == login else Reply(b"{}", 401)
    project = Project(tmp_path, world)
    given = 'access_token = ""\n refresh_token = "r1"' if refreshed else 'username = "u"\n password = "p"'
    project.settings(f'oci_credentials "{world.host}/team" {{\n {given}\n}}\n')
    project.write(f'module "a" {{\n  source = "oci://{world.host}/team/mod"\n}}\n')
    project.run("init")
    asked = [path for path in world.paths() if path.startswith("/token")]
    words = "service=here&scope=repository%3Ateam%2Fmod%3Apull"
    assert asked == (["/token"] if refreshed else [f"/token?{words}"])
    if refreshed:
        assert world.posted == [f"grant_type=refresh_token&client_id=planner&refresh_token=r1&{words}".encode()]
    shutil.rmtree(project.work / ".terraform")
    world.files[f"/v2/team/mod/blobs/sha256:{sha(archive)}"] = Reply(archive + b"x")
    assert "does not have the digest" in project.run("init", code=1)


def test_the_most_specific_credentials(tmp_path: Path) -> None:
    file = tmp_path / "auth.json"
    entries = {"r.io": "a:1", "r.io/team": "b:2", "r.io/team/x": "c:3"}
    auths = {name: {"auth": b64encode(text.encode()).decode()} for name, text in entries.items()}
    file.write_text(json.dumps({"auths": {**auths, "r.io/team/y": {}, "r.io/bad": {"auth": "%"}}}))
    rc = tmp_path / "rc"
    environ = {"TF_CLI_CONFIG_FILE": str(rc), "HOME": str(tmp_path)}

    def login(text: str, name: str) -> OciLogin:
        rc.write_text(text)
        return login_for(load_cli_config(environ).oci, "r.io", name, environ)

    files = 'oci_default_credentials {\n docker_style_config_files = ["auth.json"]\n}\n'
    own = 'oci_credentials "r.io/team" {\n username = "o"\n password = "4"\n}\n'
    assert [login(files, name).user for name in ("team/x/z", "team/xy", "tea", "bad")] == ["c", "b", "a", "a"]
    assert [login(own + files, name).user for name in ("team/x", "team/y")] == ["c", "o"]
    assert login(own, "elsewhere") == OciLogin()
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker/config.json").write_text("{")  # one that others have spoilt
    assert login(own, "team").user == "o"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('oci_credentials "r.io" { username = "a" }', "exactly one of these"),
        ('oci_credentials "r.io" {\n username = "a"\n password = "b"\n access_token = "c"\n}', "exactly one of these"),
        ('oci_credentials "r.io" {}', "exactly one of these"),
        ('oci_credentials "r.io/x" { docker_credentials_helper = "a" }', "remove the path"),
        ('oci_credentials "r.io" { docker_credentials_helper = "a/b" }', "cannot be the name"),
        ('oci_credentials "r io" { docker_credentials_helper = "a" }', "is not the address"),
        ("oci_default_credentials {}\noci_default_credentials {}", "only one oci_default_credentials"),
        (
            "oci_default_credentials {\n discover_ambient_credentials = false\n docker_style_config_files = []\n}",
            "needs discover",
        ),
        ('oci_default_credentials { docker_style_config_files = ["none"] }', "none cannot be read"),
        ("T", "the argument repository_template"),
        ("Tr.io/${namespace}", "needs ${hostname}"),
        ("Tr.io/${hostname}/${namespace}/${name}", "no other expressions"),
        ("T${type}-${namespace}.${hostname}", "must have the form"),
    ],
)
def test_settings_that_are_wrong(text: str, said: str, tmp_path: Path) -> None:
    if text.startswith("T"):
        text = f'provider_installation {{\n oci_mirror {{\n repository_template = "{text[1:]}"\n }}\n}}\n'
    (tmp_path / "rc").write_text(text)
    environ = {"TF_CLI_CONFIG_FILE": str(tmp_path / "rc"), "HOME": str(tmp_path)}
    with pytest.raises((Failure, ServiceError)) as caught:  # a file with credentials is read when it is needed
        login_for(load_cli_config(environ).oci, "r.io", "x", environ)
    problem = caught.value
    assert said in (problem.diagnostics[0].detail if isinstance(problem, Failure) else problem.text)


def test_checksums_from_a_mirror(project: Project, registry: RegistryServer) -> None:
    project.settings(settings(registry))
    project.requires(version="~> 1.0")
    template = f"{registry.domain}/mirror/{{namespace}}/{{type}}"
    assert "the checksums for" in project.run("providers", "lock", f"-oci-mirror={template}")
    assert "zh:" in project.lock
    assert "no other expressions" in project.run("providers", "lock", "-oci-mirror=r.io/{name}", code=1)
    assert "not from several" in project.run("providers", "lock", "-oci-mirror=r.io/x", "-fs-mirror=.", code=1)
