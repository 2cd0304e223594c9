"""`init` with providers: from registries, mirrors and the shared cache, and the lock file that comes of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from install.conftest import Project
from install.world import PLATFORM, Reply, World, package, sha

from planner.world.install.placing import link

OTHER = "darwin_arm64" if PLATFORM != "darwin_arm64" else "linux_amd64"
ADDRESS = "prov.example.com/acme/box"


def test_from_a_registry(project: Project, world: World) -> None:
    for version in ("1.0.0", "1.2.0", "2.0.0", "3.0.0-beta1"):
        world.provider(version=version, platforms=(PLATFORM, OTHER))
    project.requires(version="~> 1.0")
    said = project.run("init")
    assert "Installed prov.example.com/acme/box v1.2.0 (signed, key ID " in said
    sums = [sha(world.files[world.archive_path(version="1.2.0", platform=p)].body) for p in (PLATFORM, OTHER)]
    content = re.search(r'"(h1:[^"]+)"', project.lock)
    assert content is not None
    hashes = "".join(f'    "{h}",\n' for h in sorted([content[1], *(f"zh:{s}" for s in sums)]))
    assert project.lock == (
        '# This file is maintained automatically by "tofu init".\n# Manual edits may be lost in future updates.\n\n'
        f'provider "{ADDRESS}" {{\n  version     = "1.2.0"\n  constraints = "~> 1.0"\n  hashes = [\n{hashes}  ]\n}}\n'
    )
    program = project.packages / "box" / "1.2.0" / PLATFORM / "terraform-provider-box_v1.2.0"
    assert os.access(program, os.X_OK)
    assert not project.leftovers()


def test_a_second_init_changes_and_fetches_nothing(project: Project, world: World) -> None:
    world.provider()
    project.requires()
    project.run("init")
    before = project.lock
    world.provider(version="1.1.0")
    world.requests.clear()
    assert "v1.0.0 is installed already" in project.run("init")
    assert project.lock == before and not any("/files/" in path for path in world.paths())
    project.run("init", "-upgrade")
    assert 'version = "1.1.0"' in project.lock


def test_plan_wants_the_lock_file_to_fit(project: Project, world: World) -> None:
    world.provider()
    project.requires()
    said = project.run("plan", code=1)
    assert "Inconsistent dependency lock file" in said and "planner init" in said
    project.run("init")
    project.run("plan")
    project.requires(version=">= 2.0.0")
    said = project.run("plan", code=1)
    assert 'selected in version 1.0.0, but ">= 2.0.0" is required' in said and "init -upgrade" in said
    said = project.run("init", code=1)
    assert "lock file selects version 1.0.0" in said and 'version = "1.0.0"' in project.lock


def test_plan_notices_a_changed_package(project: Project, world: World) -> None:
    world.provider()
    project.requires()
    project.write((project.work / "main.tf").read_text() + 'resource "box_thing" "a" {}\n')
    project.run("init")
    program = next((project.packages / "box" / "1.0.0" / PLATFORM).glob("terraform-provider-*"))
    program.chmod(0o755)
    program.write_bytes(b"#!/bin/sh\necho changed\n")
    assert "Provider package has changed" in project.run("plan", code=1)


@pytest.mark.parametrize(
    ("constraint", "chosen"),
    [
        ("", "2.1.0"),
        ("1.0.0", "1.0.0"),
        ("= 1.0.0", "1.0.0"),
        ("!= 2.1.0", "2.0.0"),
        ("< 2", "1.10.0"),
        ("<= 1.2", "1.2.0"),
        ("~> 1.0", "1.10.0"),
        ("~> 1.2.0", "1.2.0"),
        ("> 1.0.0, < 1.10.0", "1.2.0"),
        ("3.0.0-beta1", "3.0.0-beta1"),
        ("3.0.0-beta1, > 1.0.0", "3.0.0-beta1"),
        (">= 3.0.0-beta1", ""),
        ("~> 3.0.0-beta1", ""),
    ],
)
def test_constraints(constraint: str, chosen: str) -> None:
    from planner.world.provider.selections import VersionSet, readable

    versions = readable(["1.0.0", "1.2.0", "1.10.0", "2.0.0", "2.1.0", "3.0.0-beta1", "0.0.0", "what"])
    found = VersionSet((constraint,) if constraint else ()).newest(versions)
    assert str(found or "") == chosen


@pytest.mark.parametrize(
    ("constraint", "there", "chosen"),
    [
        ("1.0.0+local", ["1.0.0"], ""),
        ("1.0.0+local", ["1.0.0", "1.0.0+local"], "1.0.0+local"),
        ("1.0.0", ["1.0.0+local"], ""),
        ("1.0.0", ["1.0.0", "1.0.0+local"], "1.0.0"),
        ("!= 1.0.0", ["1.0.0", "1.0.0+local"], "1.0.0+local"),
        ("!= 1.0.0+local", ["1.0.0", "1.0.0+local"], "1.0.0"),
        (">= 1.0.0", ["1.0.0+local"], "1.0.0+local"),
        ("<= 1.0.0+a", ["1.0.0+local"], "1.0.0+local"),
        ("> 1.0.0", ["1.0.0+local"], ""),
        ("1.0.0-rc1+local", ["1.0.0-rc1"], ""),
    ],
)
def test_metadata_tells_versions_apart_but_does_not_order_them(constraint: str, there: list[str], chosen: str) -> None:
    from planner.world.provider.selections import VersionSet, readable

    assert str(VersionSet((constraint,)).newest(readable(there)) or "") == chosen


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ('import {\n  to = null_resource.x\n  id = "1"\n}\n', True),
        ('import {\n  to = a_b.x\n  id = "1"\n  provider = null\n}\n', True),
        ('import {\n  to = terraform_data.x\n  id = "1"\n}\nresource "terraform_data" "x" {}\n', False),
    ],
)
def test_what_is_only_imported_needs_its_provider(text: str, needed: bool, project: Project) -> None:
    project.settings(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{project.folder}"\n  }}\n}}')
    project.write(text)
    said = project.run("init", code=1 if needed else 0)
    assert ("registry.opentofu.org/hashicorp/null was not found" in said) == needed


def test_a_state_from_before_namespaces_cannot_be_installed_for(project: Project) -> None:
    project.write("")
    resource = {"mode": "managed", "type": "null_resource", "name": "a", "provider": "provider.null"}
    instance = {"schema_version": 0, "attributes": {"id": "1"}}
    resources = [{**resource, "instances": [instance]}]
    state = {"version": 4, "terraform_version": "0.12.0", "serial": 1, "lineage": "x", "outputs": {}}
    project.write(json.dumps({**state, "resources": resources}), "terraform.tfstate")
    said = project.run("init", code=1)
    assert "Invalid legacy provider address" in said
    assert "planner state replace-provider registry.opentofu.org/-/null NAMESPACE/null" in said


def test_providers_of_one_type_that_may_be_one(project: Project, world: World) -> None:
    for namespace in ("hashicorp", "opentofu", "acme"):
        world.provider(name=f"{namespace}/box")
        project.requires(f"prov.example.com/{namespace}/box")
        project.write((project.work / "main.tf").read_text(), f"{namespace}/main.tf")
    calls = "".join(f'module "{n}" {{\n  source = "./{n}"\n}}\n' for n in ("hashicorp", "opentofu", "acme"))
    project.write(calls)
    said = project.run("init")
    assert "Potential provider misconfiguration" in said
    assert "prov.example.com/hashicorp/box, prov.example.com/opentofu/box." in said


def test_settings_that_are_not_there_are_said_beside_the_data(project: Project) -> None:
    project.write('output "a" {\n  value = 1\n}\n')
    done = subprocess.run(
        [sys.executable, "-m", "planner", "validate", "-json"],
        cwd=project.work,
        env={**project.environ, "TF_CLI_CONFIG_FILE": str(project.folder / "nowhere")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["valid"] and "Unable to open CLI configuration file" in done.stderr


def test_constraints_of_all_modules_and_providers_of_the_state(project: Project, world: World) -> None:
    for version in ("1.0.0", "1.5.0", "2.0.0"):
        world.provider(version=version)
    world.provider(name="acme/gone")
    project.requires(version=">= 1.0.0")
    text = (project.work / "main.tf").read_text()
    project.write(text.replace(">= 1.0.0", "< 2.0.0"), "child/main.tf")
    project.write(text + 'module "child" { source = "./child" }\n')
    resource = {"mode": "managed", "type": "gone_thing", "name": "a", "instances": []}
    resource["provider"] = 'provider["prov.example.com/acme/gone"]'
    state = {"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "x", "resources": [resource]}
    project.write(json.dumps(state), "terraform.tfstate")
    project.run("init")
    assert 'constraints = ">= 1.0.0, < 2.0.0"' in project.lock and 'version     = "1.5.0"' in project.lock
    assert 'provider "prov.example.com/acme/gone"' in project.lock


def test_lock_file_readonly(project: Project, world: World) -> None:
    world.provider()
    project.requires()
    assert "Provider dependency changes detected" in project.run("init", "-lockfile=readonly", code=1)
    assert not project.lock
    project.run("init")
    assert "Conflicting options" in project.run("init", "-lockfile=readonly", "-upgrade", code=1)
    short = re.sub(r' +"zh:[^\n]*\n', "", project.lock)
    (project.work / ".terraform.lock.hcl").write_text(short)
    subprocess.run(["rm", "-r", str(project.work / ".terraform")], check=True)
    assert "lock file not updated" in project.run("init", "-lockfile=readonly")
    assert project.lock == short


def test_credentials(project: Project, world: World) -> None:
    world.provider()
    world.tokens["/p/"] = "Bearer s3cret"
    project.requires()
    assert "needs credentials" in project.run("init", code=1)
    project.run("init", TF_TOKEN_prov_example_com="s3cret")
    assert not any("authorization" in h for path, h in world.requests if path.startswith("/files/"))
    project.settings('credentials "prov.example.com" { token = "wrong" }')
    assert "does not accept these credentials" in project.run("init", "-upgrade", code=1)
    helper = project.folder / "home" / ".terraform.d" / "plugins" / "terraform-credentials-safe"
    helper.parent.mkdir(parents=True)
    helper.write_text('#!/bin/sh\n[ "$*" = "--x get prov.example.com" ] && echo \'{"token": "s3cret"}\'\n')
    helper.chmod(0o755)
    project.settings('credentials_helper "safe" { args = ["--x"] }')
    project.run("init", "-upgrade")


def test_the_shared_cache(project: Project, world: World) -> None:
    world.provider()
    project.requires()
    cache = project.folder / "shared"
    assert "does not exist" in project.run("init", TF_PLUGIN_CACHE_DIR=str(cache), code=1)
    cache.mkdir()
    project.run("init", TF_PLUGIN_CACHE_DIR=str(cache))
    linked = project.packages / "box" / "1.0.0" / PLATFORM
    assert linked.is_symlink() and linked.resolve() == (cache / ADDRESS / "1.0.0" / PLATFORM).resolve()
    before = project.lock
    subprocess.run(["rm", "-r", str(project.work / ".terraform")], check=True)
    world.requests.clear()
    assert "is in the shared cache already" in project.run("init", TF_PLUGIN_CACHE_DIR=str(cache))
    assert project.lock == before and not world.requests
    (project.work / ".terraform.lock.hcl").unlink()
    project.run("init", TF_PLUGIN_CACHE_DIR=str(cache), TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE="true")
    assert "h1:" in project.lock and "zh:" not in project.lock
    assert not any(path.endswith(".zip") for path in world.paths())


def mirror(base: Path, name: str, packed: bool) -> None:
    content = {f"terraform-provider-{name}": b"#!/bin/sh\n"}
    folder = base / "prov.example.com" / "acme" / name
    if packed:
        folder.mkdir(parents=True)
        (folder / f"terraform-provider-{name}_1.0.0_{PLATFORM}.zip").write_bytes(package(content))
    else:
        folder = folder / "1.0.0" / PLATFORM
        folder.mkdir(parents=True)
        for file, data in content.items():
            (folder / file).write_bytes(data)
            (folder / file).chmod(0o755)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("where", ["plugin-dir", "settings", "usual"])
def test_mirror_directories(project: Project, world: World, packed: bool, where: str) -> None:
    base = project.work / "terraform.d" / "plugins" if where == "usual" else project.folder / "mirror"
    mirror(base, "box", packed)
    project.requires()
    if where == "settings":
        method = f'filesystem_mirror {{\n path = "{base}"\n include = ["prov.example.com/acme/*"]\n }}'
        project.settings(
            f'provider_installation {{\n {method}\n direct {{\n exclude = ["prov.example.com/*/*"]\n }}\n}}'
        )
    said = project.run("init", *([f"-plugin-dir={base}"] if where == "plugin-dir" else []))
    assert "(unauthenticated)" in said and "Incomplete lock file information" in said
    assert (project.packages / "box" / "1.0.0" / PLATFORM).is_symlink() != packed
    assert project.lock.count("h1:") == 1 and "zh:" not in project.lock
    assert not world.requests


@pytest.mark.parametrize("source", ["acme/box", ADDRESS])
def test_network_mirrors(project: Project, world: World, source: str) -> None:
    data = package({"terraform-provider-box": b"#!/bin/sh\n"})
    folder = f"/mirror/{source if source == ADDRESS else 'registry.opentofu.org/acme/box'}"
    world.json(f"{folder}/index.json", {"versions": {"1.0.0": {}, "bad": {}}})
    world.files[f"{folder}/box.zip"] = Reply(data, media_type="application/zip")
    there = {"url": "box.zip", "hashes": [f"zh:{sha(data)}"]}
    world.json(f"{folder}/1.0.0.json", {"archives": {PLATFORM: there, OTHER: {"url": "x.zip", "hashes": ["h1:abc="]}}})
    project.requires(source)
    project.settings(f'provider_installation {{ network_mirror {{ url = "{world.url}/mirror/" }} }}')
    assert "(verified checksum)" in project.run("init")
    assert "h1:abc=" not in project.lock and f"zh:{sha(data)}" in project.lock
    mirror = f'network_mirror {{\n url = "{world.url}/mirror/"\n trust_all_hashes = true\n }}'
    project.settings(f"provider_installation {{\n {mirror}\n}}")
    subprocess.run(["rm", "-r", str(project.work / ".terraform")], check=True)
    project.run("init")
    # what must be signed is recorded only when somebody signed it
    assert ("h1:abc=" in project.lock) == (source != ADDRESS)


def test_development_overrides_are_never_missed(project: Project, world: World) -> None:
    project.requires()
    (project.folder / "dev").mkdir()
    project.settings(f'provider_installation {{ dev_overrides {{ "{ADDRESS}" = "{project.folder / "dev"}" }} }}')
    assert "development overrides are in effect" in project.run("init")
    assert "Inconsistent" not in project.run("plan", code=0)


def test_lock_and_mirror_for_other_platforms(project: Project, world: World) -> None:
    world.provider(platforms=(PLATFORM, OTHER))
    project.requires()
    said = project.run("providers", "lock", f"-platform={PLATFORM}", f"-platform={OTHER}")
    assert f"the checksums for {OTHER}" in said and project.lock.count("h1:") == 2
    before = project.lock
    assert "is already complete" in project.run("providers", "lock", f"-platform={OTHER}")
    assert project.lock == before
    assert "does not need" in project.run("providers", "lock", "acme/none", code=1)
    project.run("providers", "lock", f"-json-into={project.folder / 'lines'}", f"-platform={OTHER}")
    _, *lines = map(json.loads, (project.folder / "lines").read_text().splitlines())
    assert lines and not any("type" in line for line in lines)
    assert not any(line["@message"].startswith("\n") or line["@message"].endswith("e..") for line in lines)
    target = project.folder / "copy"
    project.run("providers", "mirror", f"-platform={OTHER}", f"-platform={PLATFORM}", str(target))
    index = json.loads((target / ADDRESS / "index.json").read_text())
    about = json.loads((target / ADDRESS / "1.0.0.json").read_text())["archives"]
    assert index == {"versions": {"1.0.0": {}}} and sorted(about) == sorted((PLATFORM, OTHER))
    assert about[OTHER]["hashes"] == [f"zh:{sha(world.files[world.archive_path(platform=OTHER)].body)}"]
    project.run("providers", "lock", f"-fs-mirror={target}", f"-platform={OTHER}")
    world.files.clear()
    assert "v1.0.0" in project.run("init", f"-plugin-dir={target}")
    assert project.lock == before


def test_selections_of_the_predecessors_registry(project: Project, world: World) -> None:
    from planner.world.provider.lock_file import read_locks, upgrade_locks

    project.write(
        'provider "registry.terraform.io/hashicorp/null" {\n  version = "3.2.1"\n  hashes = ["h1:x="]\n}\n',
        ".terraform.lock.hcl",
    )
    locks, warnings = upgrade_locks(read_locks(str(project.work))[0])
    assert str(locks["registry.opentofu.org/hashicorp/null"].version) == "3.2.1" and len(warnings) == 1
    assert locks["registry.opentofu.org/hashicorp/null"].hashes == ()


@pytest.mark.parametrize(
    "text",
    [
        'provider "a" {',
        'provider "acme/box" { version = "1.0.0" }',
        'provider "e.com/a/b" { }',
        'provider "e.com/a/b" { version = "1.0" }',
        'provider "e.com/a/b" {\n version = "1.0.0"\n constraints = ">=1"\n}',
        'provider "e.com/a/b" {\n version = "1.0.0"\n hashes = ["x"]\n}',
        'provider "e.com/a/b" {\n version = "1.0.0"\n}\nprovider "e.com/a/b" {\n version = "1.0.0"\n}',
        "thing {}",
    ],
)
def test_damaged_lock_files(project: Project, text: str) -> None:
    project.write(text, ".terraform.lock.hcl")
    project.requires()
    for command in ("init", "plan"):
        assert "Invalid dependency lock file" in project.run(command, code=1)


def test_two_at_once(project: Project, world: World) -> None:
    world.provider()
    world.module()
    project.requires()
    text = (project.work / "main.tf").read_text()
    project.write(text + 'module "m" {\n  source  = "mods.example.com/acme/net/any"\n  version = "1.0.0"\n}\n')
    words = [sys.executable, "-m", "planner", "init"]
    environ = {**project.environ, "TF_PLUGIN_CACHE_DIR": str(project.folder / "home")}
    running = [
        subprocess.Popen(words, cwd=project.work, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for _ in range(4)
    ]
    for one in running:
        said, _ = one.communicate(timeout=100)
        assert one.returncode == 0, said.decode()
    project.run("plan")
    assert not project.leftovers()


def test_planning_loads_nothing_that_installs(project: Project, world: World) -> None:
    world.provider()
    project.requires()
    project.run("init")
    project.run("plan")
    script = """
import atexit
import sys
from planner.__main__ import main
OTHERS = ("planner.world.install", "ssl", "http", "urllib.request")
atexit.register(lambda: print("LOADED", sorted(m for m in sys.modules if m.startswith(OTHERS))))
sys.argv[1:] = ["plan"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=project.work, env=project.environ, capture_output=True, text=True
    )
    assert "LOADED []" in done.stdout, done.stdout + done.stderr


def test_a_link_is_replaced_at_once(tmp_path: Path) -> None:
    """Other processes use a package in the shared cache while it is linked there once more."""
    source, folder = tmp_path / "source", tmp_path / "cache/1.0.0/linux_amd64"
    source.mkdir()
    (source / "terraform-provider-x").write_text("")
    link(source, folder, "example.com/a/x")
    done = threading.Event()

    def relink() -> None:
        for _ in range(300):
            link(source, folder, "example.com/a/x")
        done.set()

    thread = threading.Thread(target=relink)
    thread.start()
    missed = 0
    while not done.is_set():
        missed += not (folder / "terraform-provider-x").exists()
    thread.join()
    assert missed == 0
