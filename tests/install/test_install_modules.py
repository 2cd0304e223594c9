"""`init` and `get` with modules: from registries, git repositories, archives, pages that name them, directories."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from install.conftest import Project
from install.world import Reply, World, package, tarball

MAIN = b'output "found" {\n  value = "yes"\n}\n'


def call(source: str, version: str = "", name: str = "m") -> str:
    return f'module "{name}" {{\n  source = "{source}"\n' + (f'  version = "{version}"\n' if version else "") + "}\n"


def manifest(project: Project) -> dict[str, dict[str, str]]:
    text = (project.work / ".terraform" / "modules" / "modules.json").read_text()
    return {record["Key"]: record for record in json.loads(text)["Modules"]}


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Tag v1 has a module at the top, the branch main another one, and one below modules/net."""
    folder = tmp_path / "repository"
    (folder / "modules" / "net").mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "main.tf").write_bytes(MAIN)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    git(folder, "tag", "v1")
    (folder / "main.tf").write_bytes(MAIN.replace(b"yes", b"two"))
    (folder / "modules" / "net" / "main.tf").write_bytes(MAIN.replace(b"yes", b"net"))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "two")
    git(folder, "branch", "side", "v1")
    return folder


@pytest.mark.parametrize(
    ("constraint", "chosen"),
    [("", "2.0.0"), ("~> 1.0", "1.1.0"), ("2.1.0-rc1", "2.1.0-rc1"), (">= 2.1.0-rc1", ""), ("> 5", "")],
)
def test_registry_versions(project: Project, world: World, constraint: str, chosen: str) -> None:
    world.module(versions=("1.0.0", "1.1.0", "2.0.0", "2.1.0-rc1"))
    project.write(call("mods.example.com/acme/net/any", constraint))
    if not chosen:
        assert "no version of the module matches" in project.run("init", code=1)
        assert not (project.work / ".terraform" / "modules" / "m").exists()
        return
    project.run("init")
    assert manifest(project)["m"] == {
        "Key": "m",
        "Source": "mods.example.com/acme/net/any",
        "Version": chosen,
        "Dir": ".terraform/modules/m",
    }
    assert f'"{chosen}"' in (project.work / ".terraform/modules/m/main.tf").read_text()


def test_modules_are_kept_until_something_changes(project: Project, world: World) -> None:
    world.module(versions=("1.0.0",))
    project.write(call("mods.example.com/acme/net/any", "~> 1.0"))
    project.run("init")
    world.module(versions=("1.0.0", "1.1.0", "2.0.0"))
    world.requests.clear()
    project.run("init")
    project.run("get")
    assert not world.requests and manifest(project)["m"]["Version"] == "1.0.0"
    project.run("get", "-update")
    assert manifest(project)["m"]["Version"] == "1.1.0"
    project.write(call("mods.example.com/acme/net/any", "2.0.0"))
    project.run("init")
    assert manifest(project)["m"]["Version"] == "2.0.0"


def test_modules_in_modules(project: Project, world: World) -> None:
    inner = call("./inner", name="i") + call("mods.example.com/acme/leaf/any", name="leaf")
    world.module("acme/leaf/any")
    world.module()
    files = {"sub/main.tf": inner.encode(), "sub/inner/main.tf": MAIN}
    world.files["/archives/acme/net/any/1.0.0.zip"] = Reply(package(files))
    project.write(call("mods.example.com/acme/net/any//sub"))
    project.run("init")
    assert {key: record["Dir"] for key, record in manifest(project).items()} == {
        "": ".",
        "m": ".terraform/modules/m/sub",
        "m.i": ".terraform/modules/m/sub/inner",
        "m.leaf": ".terraform/modules/m.leaf",
    }
    project.run("plan")
    project.write(call("./local"))
    project.write(MAIN.decode(), "local/main.tf")
    project.run("init")
    assert sorted(manifest(project)) == ["", "m"]


def test_packages_with_the_credentials_of_the_registry(project: Project, world: World) -> None:
    world.module()
    world.tokens |= {"/m/": "Bearer x", "/archives/": "Bearer x"}
    location = {"location": "/archives/acme/net/any/1.0.0.zip", "use_registry_credentials": True}
    world.json("/m/acme/net/any/1.0.0/download", location)
    project.write(call("mods.example.com/acme/net/any"))
    assert "401 Unauthorized" in project.run("init", code=1)
    project.run("init", TF_TOKEN_mods_example_com="x")


@pytest.mark.parametrize(
    ("query", "sub", "found"),
    [
        ("", "", "two"),
        ("?ref=v1", "", "yes"),
        ("?ref=side", "", "yes"),
        ("?ref=COMMIT", "", "yes"),
        ("?depth=1", "", "two"),
        ("?depth=1&ref=v1", "", "yes"),
        ("", "//modules/net", "net"),
        ("?ref=main", "//modules/*", "net"),
    ],
)
def test_git(project: Project, repository: Path, query: str, sub: str, found: str) -> None:
    query = query.replace("COMMIT", git(repository, "rev-parse", "v1"))
    project.write(call(f"git::file://{repository}{sub}{query}"))
    project.run("init")
    folder = manifest(project)["m"]["Dir"]
    assert folder == ".terraform/modules/m" + ("/modules/net" if sub else "")
    assert found in (project.work / folder / "main.tf").read_text()
    project.run("plan")


def archives(world: World) -> None:
    world.files["/a/box.zip"] = Reply(package({"main.tf": MAIN, "in/main.tf": MAIN.replace(b"yes", b"inner")}))
    world.files["/a/box.tar.gz"] = Reply(tarball({"main.tf": MAIN}))
    world.files["/a/box"] = Reply(package({"main.tf": MAIN}))
    world.files["/page"] = Reply(status=204, headers={"X-Terraform-Get": "./a/box.zip//in"})
    world.files["/html"] = Reply(
        f'<html><meta name="terraform-get" content="{world.url}/a/box.zip"></html>'.encode(), media_type="text/html"
    )
    world.files["/circle"] = Reply(headers={"X-Terraform-Get": f"{world.url}/circle"})
    world.files["/odd"] = Reply(b'<meta name="terraform-get" content="./a/box.zip"><![odd[ ]]>', media_type="text/html")
    world.files["/wrong"] = Reply(headers={"X-Terraform-Get": "https://[x/y.zip"})
    world.files["/nothing"] = Reply(b"<html>")
    world.files["/bad.zip"] = Reply(b"PK nonsense")
    world.files["/out.tgz"] = Reply(tarball({"../../main.tf": MAIN}))
    world.files["/sums"] = Reply(f"{hashlib.sha256(world.files['/a/box'].body).hexdigest()}  box\n".encode())


@pytest.mark.parametrize(
    ("path", "directory"),
    [
        ("/a/box.zip", "m"),
        ("/a/box.zip//in", "m/in"),
        ("/a/box.tar.gz", "m"),
        ("/a/box?archive=zip", "m"),
        ("/a/box?archive=zip&checksum=SHA", "m"),
        ("/a/box?archive=zip&checksum=file:URL/sums", "m"),
        ("/page", "m"),
        ("/html", "m"),
        ("/odd", "m"),
    ],
)
def test_archives(project: Project, world: World, path: str, directory: str) -> None:
    archives(world)
    sum_ = hashlib.sha256(world.files["/a/box"].body).hexdigest()
    project.write(call(world.url + path.replace("SHA", sum_).replace("URL", world.url)))
    project.run("init")
    assert manifest(project)["m"]["Dir"] == f".terraform/modules/{directory}"
    assert (project.work / ".terraform/modules" / directory / "main.tf").is_file()


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("URL/missing.zip", "404 Not Found"),
        ("URL/nothing", "neither has the suffix of an archive"),
        ("URL/wrong", "https://[x/y.zip is not a valid URL"),
        ("https://[x/y.zip", "https://[x/y.zip is not a valid URL"),
        ("git::https://[x/y", "https://[x/y is not a valid URL"),
        ("URL/circle", "redirects too many times"),
        ("URL/bad.zip", "the archive is damaged"),
        ("URL/out.tgz", "a member whose path is outside the archive"),
        ("URL/a/box.zip//nowhere", "no directory nowhere"),
        ("URL/a/box.zip?checksum=md5:00", "has the md5 checksum"),
        ("URL/a/box.zip?checksum=crc:00", "not a checksum of a known kind"),
        ("URL/a/box?archive=rar", "not a supported kind of archive"),
        ("s3::https://s3.amazonaws.com/b", "does not name a bucket and a path"),
        ("gcs::https://www.googleapis.com/b", "is not of the form"),
        ("hg::file:///no/such/repository", "hg "),
        ("git::file:///no/such/repository", "git clone failed"),
        ("/no/such/directory", "there is no directory /no/such/directory"),
        ("mods.example.com/acme/none/any", "has no module acme/none/any"),
    ],
)
def test_what_cannot_be_fetched(project: Project, world: World, source: str, told: str) -> None:
    archives(world)
    project.write(call(source.replace("URL", world.url)))
    assert told in project.run("init", code=1)
    modules = project.work / ".terraform" / "modules"
    assert not modules.exists() or sorted(p.name for p in modules.iterdir()) in ([], [".lock"])


@pytest.mark.parametrize(
    ("path", "answer", "told"),
    [
        ("versions", {"modules": [{"versions": True}]}, "has no list versions"),
        ("versions", {"modules": 1}, "lists no modules"),
        ("1.0.0/download", {"location": 1.5}, "did not return the location of version 1.0.0"),
        ("1.0.0/download", {"location": "https://[x/y", "use_registry_credentials": True}, "not a valid URL"),
    ],
)
def test_registries_that_answer_with_something_else(
    project: Project, world: World, path: str, answer: object, told: str
) -> None:
    world.module("acme/net/any", "1.0.0", {"main.tf": MAIN})
    world.files[f"/m/acme/net/any/{path}"] = Reply(json.dumps(answer).encode())
    project.write(call("mods.example.com/acme/net/any"))
    assert told in project.run("init", code=1)


def test_git_references_that_do_not_exist(project: Project, repository: Path) -> None:
    project.write(call(f"git::file://{repository}?ref=v9"))
    assert "no branch, tag or commit v9" in project.run("init", code=1)
    project.write(call(f"git::file://{repository}?depth=1&ref={git(repository, 'rev-parse', 'v1')}"))
    assert "with depth, ref must be a branch or a tag" in project.run("init", code=1)


def test_directories_and_archives_of_this_machine(project: Project, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "main.tf").write_bytes(MAIN)
    (tmp_path / "mine.zip").write_bytes(package({"main.tf": MAIN}))
    project.write(call(str(tmp_path / "mine"), name="a") + call(str(tmp_path / "mine.zip"), name="b"))
    project.run("init")
    assert (project.work / ".terraform/modules/a").is_symlink()
    assert manifest(project)["a"]["Source"] == f"file://{tmp_path / 'mine'}"
    assert (project.work / ".terraform/modules/b/main.tf").read_bytes() == MAIN


def test_local_modules_stay_in_their_package(project: Project, world: World) -> None:
    world.module()
    world.files["/archives/acme/net/any/1.0.0.zip"] = Reply(package({"main.tf": call("../../x").encode()}))
    project.write(call("mods.example.com/acme/net/any"))
    assert "outside the package mods.example.com/acme/net/any" in project.run("init", code=1)


def test_versions_belong_to_registries(project: Project, repository: Path) -> None:
    project.write(call(f"git::file://{repository}", "1.0.0"))
    project.run("init", code=1)


def test_one_package_for_several_calls_is_fetched_once(project: Project, world: World) -> None:
    archives(world)
    source = f"{world.url}/a/box.zip"
    project.write(call(source, name="a") + call(f"{source}//in", name="b"))
    project.run("init")
    assert world.paths().count("/a/box.zip") == 1
    assert manifest(project)["b"]["Dir"] == ".terraform/modules/b/in"


def test_the_manifest_has_the_ecosystems_bytes(project: Project, repository: Path) -> None:
    project.write(call(f"git::file://{repository}?ref=v1&depth=1"))
    project.run("init")
    text = (project.work / ".terraform" / "modules" / "modules.json").read_text()
    assert text == (
        '{"Modules":[{"Key":"","Source":"","Dir":"."},'
        f'{{"Key":"m","Source":"git::file://{repository}?ref=v1\\u0026depth=1","Dir":".terraform/modules/m"}}]}}'
    )


HERE = 'output "here" {\n  value = path.module\n}\n'


def test_path_module_is_that_of_the_ecosystem(project: Project, world: World, repository: Path) -> None:
    """For every kind of source, and modules in modules: a plan on a state of others must not show other paths. The
    directories are those that OpenTofu records."""
    place, work = project.folder / "place", project.work
    for name, calls in {
        "abs": {"in": "./in", "more": str(place / "more")},
        "abs/in": {"deep": "./deep"},
        "abs/in/deep": {},
        "more": {},
        "package": {"sub": "./sub"},
        "package/sub": {"leaf": "./leaf", "other": "../other"},
        "package/sub/leaf": {},
        "package/other": {},
    }.items():
        (place / name).mkdir(parents=True, exist_ok=True)
        (place / name / "main.tf").write_text(HERE + "".join(call(s, name=n) for n, s in calls.items()))
    files = {str(p.relative_to(place / "package")): p.read_bytes() for p in (place / "package").rglob("*.tf")}
    world.files["/a.tgz"] = Reply(tarball(files))
    world.module()
    world.files["/archives/acme/net/any/1.0.0.zip"] = Reply(package(files))
    (repository / "again").symlink_to("modules")
    (repository / "main.tf").write_text(call("./again/net", name="net"))
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "links")
    project.write(HERE + call("./child", name="child") + call(str(place / "abs"), name="abs"), "local/main.tf")
    project.write(HERE, "local/child/main.tf")
    for name, target in {"link": "local/child", "absolute": str(work / "local"), "out": "../place/more"}.items():
        (work / name).symlink_to(target)
    sources = {
        "local": "./local",
        "link": "./link",
        "absolute": "./absolute/child",
        "out": "./out",
        "abs": str(place / "abs"),
        "part": f"{place / 'abs'}//in",
        "tgz": f"{world.url}/a.tgz//sub",
        "registry": "mods.example.com/acme/net/any//sub",
        "git": f"git::file://{repository}",
    }
    project.write("".join(call(source, name=name) for name, source in sources.items()))
    project.run("init")
    modules = ".terraform/modules"
    assert {key: record["Dir"] for key, record in manifest(project).items() if key} == {
        "local": "local",
        "local.child": "local/child",
        "local.abs": f"{modules}/local.abs",
        "local.abs.in": f"{modules}/local.abs/in",  # a second call of a package gets a copy, no link
        "local.abs.in.deep": f"{modules}/local.abs/in/deep",
        "local.abs.more": f"{modules}/local.abs.more",
        "link": "local/child",
        "absolute": f"{work}/local/child",
        "out": "../place/more",
        "abs": f"{modules}/abs",
        "abs.in": f"{place}/abs/in",
        "abs.in.deep": f"{place}/abs/in/deep",
        "abs.more": f"{modules}/abs.more",
        "part": f"{modules}/part/in",
        "part.deep": f"{modules}/part/in/deep",
        "tgz": f"{modules}/tgz/sub",
        "tgz.leaf": f"{modules}/tgz/sub/leaf",
        "tgz.other": f"{modules}/tgz/other",
        "registry": f"{modules}/registry/sub",
        "registry.leaf": f"{modules}/registry/sub/leaf",
        "registry.other": f"{modules}/registry/other",
        "git": f"{modules}/git",
        "git.net": f"{modules}/git/modules/net",
    }
    project.write("".join(call(sources[n], name=n) for n in ("abs",)) + 'output "o" {\n  value = module.abs.here\n}\n')
    (place / "abs" / "main.tf").write_text(
        call("./in", name="in")
        + call(str(place / "more"), name="more")
        + 'output "here" {\n  value = module.in.here\n}\n'
    )
    assert f'o = "{place}/abs/in"' in project.run("plan", "-out=plan")
    (place / "abs" / "in" / "main.tf").write_text("nothing that could be read")
    assert f'o = "{place}/abs/in"' in project.run("apply", "plan")  # as it was when the plan was made


def test_a_version_has_the_same_files_each_time(project: Project, world: World) -> None:
    world.module("acme/net/any", ("1.0.0", "1.1.0"))
    source = "mods.example.com/acme/net/any"
    project.write(f'module "a" {{\n  source  = "{source}"\n  version = "1.0.0"\n}}\n')
    project.run("init")
    (line,) = [line for line in project.lock.splitlines() if "acme/net" in line]
    assert line.startswith(f"# module {source} 1.0.0 h1:")
    shutil.rmtree(project.work / ".terraform")
    project.run("init")
    path = "/archives/acme/net/any/1.0.0.zip"
    world.files[path] = Reply(package({"main.tf": b"# other\n"}), media_type="application/zip")
    shutil.rmtree(project.work / ".terraform")
    said = project.run("init", code=1)
    assert "Module package has changed" in said and "the files of version 1.0.0 have changed" in said
    assert not (project.work / ".terraform/modules/a").exists() and line in project.lock
    project.run("get", code=1)
    project.write(f'module "a" {{\n  source  = "{source}"\n  version = "1.1.0"\n}}\n')
    project.run("init", "-lockfile=readonly")
    assert line in project.lock
    shutil.rmtree(project.work / ".terraform")
    project.run("get")
    assert f"# module {source} 1.1.0 h1:" in project.lock and line not in project.lock


def test_checksums_of_modules_and_providers(project: Project, world: World) -> None:
    world.module("acme/net/any")
    world.provider("acme/box")
    project.requires()
    project.write('module "a" {\n  source = "mods.example.com/acme/net/any"\n}\n', "a.tf")
    project.run("init")
    first = project.lock
    assert first.count("provider ") == 1 and first.count("# module ") == 1
    project.run("providers", "lock", "-platform=plan9_arm", code=1)
    world.provider("acme/box", "1.1.0")
    project.run("init", "-upgrade")
    assert '"1.1.0"' in project.lock and project.lock.splitlines()[-1] == first.splitlines()[-1]
