"""Units that run where the files of the fleet are not: what travels, what is looked at there, what comes back."""

from __future__ import annotations

import json
import os
import sys
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from batch.fleets import batch, write
from batch.test_executors import ender
from state.backends.servers import SERVERS, Server

from planner.foundation.vocabulary.diagnostic import Failure
from planner.workflows.batch.bundles import host
from planner.workflows.batch.bundles.host import take
from planner.workflows.batch.bundles.pack import Bundle, pack, stays_here
from planner.workflows.batch.bundles.parcel import (
    BadParcel,
    Parcel,
    ParcelResult,
    parcel_bytes,
    parse_result,
    received,
    result_bytes,
)
from planner.workflows.batch.bundles.shipping import Shipping, needs_of
from planner.workflows.batch.bundles.stores import Folder, fetched, open_store
from planner.workflows.batch.model import Request, UnitResult
from planner.workflows.batch.recipe import Hook, Recipe

WORKER = f"command:{sys.executable} -m planner batch work"


def unit(settings: dict[str, Any], more: str = "") -> str:
    lines = "".join(f"    {name} = {json.dumps(value)}\n" for name, value in settings.items())
    return f'terraform {{\n  backend "http" {{\n{lines}  }}\n}}\nvariable "up" {{ default = "none" }}\n{more}'


@pytest.fixture(scope="module")
def server() -> Server:
    return SERVERS["http"]()


@pytest.fixture
def fleet(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two units with a module and files beside them, whose states are in a service."""
    root = tmp_path / "fleet"
    module = (
        'variable "up" {}\n'
        'resource "terraform_data" "m" {\n  input = "${var.up} ${file("${path.module}/../../shared/word.txt")}"\n}\n'
        'output "id" { value = terraform_data.m.output }\n'
    )
    body = 'module "m" {\n  source = "../modules/m"\n  up = var.up\n}\noutput "id" { value = module.m.id }\n'
    listed = 'output "names" { value = fileset("../shared", "*.txt") }\noutput "gone" { value = fileexists("../no") }\n'
    write(
        root,
        {
            "modules/m/main.tf": module,
            "shared/word.txt": "word",
            "shared/other.txt": "other",
            "net/main.tf": unit(server.settings(), body),
            "app/main.tf": unit(server.settings(), body + listed),
            "planner.batch.hcl": 'unit "net" { path = "net" }\n'
            'unit "app" {\n  path = "app"\n  inputs = { up = unit.net.id }\n}\n',
        },
    )
    (tmp_path / "there").mkdir()
    monkeypatch.setenv(host.FOLDER, str(tmp_path / "there"))
    return root


def test_a_fleet_is_planned_and_applied_elsewhere(fleet: Path, tmp_path: Path) -> None:
    """With files that only the work itself asks for, and folders that it lists."""
    here = batch(fleet, "plan", "-json", "-executor=inline", "-no-cache").json
    there = batch(fleet, "plan", "-json", f"-executor={WORKER}", "-no-cache").json
    for one, other in zip(here["units"], there["units"], strict=True):
        assert (one["outcome"], one["changes"]) == (other["outcome"], other["changes"])
    applied = batch(fleet, "apply", "-auto-approve", "-json", f"-executor={WORKER}")
    assert applied.outcomes == {"net": "applied", "app": "applied"}
    assert batch(fleet, "plan", "-json", "-no-cache").outcomes == {"net": "unchanged", "app": "unchanged"}
    again = batch(fleet, "plan", "-json", "-no-cache", f"-executor={WORKER}")
    assert again.outcomes == {"net": "unchanged", "app": "unchanged"}
    assert not list((tmp_path / "there").iterdir())


@pytest.mark.slow
def test_plans_are_made_elsewhere_and_applied_there(fleet: Path) -> None:
    """A plan file comes back, and goes out again when it is approved."""
    out = str(fleet.parent / "json")
    assert batch(fleet, "plan", f"-json-out-dir={out}", f"-executor={WORKER}").code == 0
    assert json.loads(Path(out, "net/tfplan.json").read_bytes())["resource_changes"]
    applied = batch(fleet, "apply", f"-executor={WORKER}", answers="yes\nyes\n")
    assert applied.code == 0 and "2 applied" in applied.out, applied.errors


@pytest.mark.slow
def test_what_was_saved_is_applied_there(fleet: Path) -> None:
    """A plan that was incomplete is made again there, and compared with what was approved."""
    saved = str(fleet.parent / "saved")
    assert batch(fleet, "plan", "-json", f"-out={saved}", f"-executor={WORKER}").outcomes["app"] == "incomplete"
    applied = batch(fleet, "apply", saved, f"-executor={WORKER}")
    assert applied.code == 0 and "2 applied" in applied.out and "Do you want" not in applied.out, applied.errors


def test_a_local_state_does_not_travel(tmp_path: Path) -> None:
    write(tmp_path, {"a/main.tf": 'terraform {\n  backend "local" {}\n}\nresource "terraform_data" "x" {}\n'})
    ran = batch(tmp_path, "plan", f"-executor={WORKER}")
    assert ran.code == 1 and "is a file on the machine that sent the bundle" in " ".join(ran.errors.split())


@pytest.mark.slow
def test_through_a_folder(fleet: Path, tmp_path: Path) -> None:
    """Archives are kept once, by their content."""
    store = tmp_path / "store"
    for _ in range(2):
        batch(fleet, "plan", f"-bundles={store}", f"-executor={WORKER}", "-no-cache")
        kept = sorted(path.name for path in store.iterdir())
    assert kept and all(len(name) == 64 + len(".tar.gz") for name in kept)
    for path in store.iterdir():
        path.write_bytes(b"something else")
    ran = batch(fleet, "plan", f"-bundles={store}", f"-executor={WORKER}", "-no-cache")
    assert ran.code == 1 and "has different content" in ran.errors


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("relative/folder", "no backend type"),
        ("s3:bucket=b,secret_key=x", "secret_key is a secret"),
        ("http:address=http://127.0.0.1:1/x", "can store other objects next to states"),
        ("s3:bucket", "is not a setting"),
    ],
)
def test_what_is_no_store(text: str, said: str) -> None:
    with pytest.raises(Failure) as caught:
        open_store(text)
    assert said in str([(d.summary, d.detail) for d in caught.value.diagnostics])


@pytest.mark.slow
def test_a_store_in_a_service(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SERVERS["s3"]().settings()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", settings["access_key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", settings["secret_key"])
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", settings["endpoints"]["s3"])
    text = f"s3:bucket=bucket,key={settings['key']},region=us-east-1,use_path_style=true"
    text += ",skip_credentials_validation=true"
    store = open_store(text)
    assert store is not None and not store.has("0" * 64)
    ran = batch(fleet, "plan", f"-bundles={text},skip_requesting_account_id=true", f"-executor={WORKER}", "-json")
    assert ran.outcomes["net"] == "changes", ran.errors


# ---------------------------------------------------------------- archives


def test_the_same_files_give_the_same_bundle(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write(tmp_path / name, {"u/main.tf": "x", "u/sub/f": "y", "m/a.tf": "z"})
        os.utime(tmp_path / name / "u/main.tf", (len(name), len(name)))
    one, other = (pack(str(tmp_path / name), ["u", "m"], []) for name in ("one", "other"))
    assert one == other and one.files == ("m/a.tf", "u/main.tf", "u/sub/f")


@pytest.mark.parametrize(
    "path",
    [
        "u/terraform.tfstate",
        "u/terraform.tfstate.backup",
        "u/errored.tfstate",
        "u/.terraform/terraform.tfstate",
        "u/.terraform/providers/x",
        ".git/config",
        "u/.git/config",
        ".planner/batch/x/plans/u.tfplan",
        "u/terraform.tfstate.d/w/terraform.tfstate",
        "u/.terraform.tfstate.lock.info",
    ],
)
def test_what_stays_here(path: str, tmp_path: Path) -> None:
    write(tmp_path, {path: "x", "u/.terraform/modules/m/main.tf": "", "u/.terraform.lock.hcl": "", "u/main.tf": ""})
    found = pack(str(tmp_path), ["."], [path]).files
    assert stays_here(path) and found == ("u/.terraform.lock.hcl", "u/.terraform/modules/m/main.tf", "u/main.tf")


def test_links(tmp_path: Path) -> None:
    write(tmp_path, {"secret": "x", "root/u/main.tf": "", "root/lib/a.tf": "a"})
    root = tmp_path / "root"
    (root / "u/lib").symlink_to("../lib")
    (root / "u/b.tf").symlink_to("../lib/a.tf")
    assert pack(str(root), ["u"], []).files == ("u/b.tf", "u/lib/a.tf", "u/main.tf")
    (root / "u/out").symlink_to("../../secret")
    assert "is a link to a target outside" in refused(str(root))
    (root / "u/out").unlink()
    (root / "u/loop").symlink_to("..")
    assert "that contains the link" in refused(str(root))


def refused(root: str) -> str:
    with pytest.raises(Failure) as caught:
        pack(root, ["u"], [])
    return caught.value.diagnostics[0].detail


# ---------------------------------------------------------------- what others send


def parcel(tmp_path: Path, **more: Any) -> tuple[Parcel, str]:
    root = tmp_path / "here"
    write(root, {"u/main.tf": 'output "x" { value = 1 }\n'})
    bundle = pack(str(root), ["u"], [])
    request = Request("u", f"{root}/u", "plan", state="s3:b/u", **more)
    return Parcel(request, bundle.digest, "r", 1, bundle.files, bundle.folders, data=bundle.data), str(root)


def answer_to(made: Parcel, root: str) -> ParcelResult:
    return parse_result(host.work(parcel_bytes(made, root)), root)


def test_there_and_back(tmp_path: Path) -> None:
    made, root = parcel(tmp_path)
    data = parcel_bytes(made, root)
    assert root.encode() not in data
    assert received(data, root) == made
    answer = answer_to(made, root)
    assert answer.result is not None and answer.result.result == "changes" and answer.result.reads == []


def test_values_are_no_paths(tmp_path: Path) -> None:
    """A text of a user's that happens to begin like the root stays as it is."""
    made, root = parcel(tmp_path, variables=(("x", f"{tmp_path}/here/u"),))
    assert received(parcel_bytes(made, root), "/elsewhere").request.variables == made.request.variables


@pytest.mark.parametrize("data", [b"", b"\n", b"{}\n", b"[]\n", b'{"bytes": [1, 0]}\n', b"\xff", b'{"bytes":[-1,1]}\n'])
def test_no_parcel(data: bytes) -> None:
    with pytest.raises(BadParcel):
        received(data, "/x")
    assert "not a valid message" in parse_result(host.work(data), "/x").problem


def test_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, root = parcel(tmp_path)
    data = parcel_bytes(made, root).replace(b'"version":"', b'"version":"9')
    assert "both must have the same version" in parse_result(host.work(data), root).problem


@pytest.mark.parametrize("name", ["", "A=B", "A\0"])
def test_a_variable_that_no_environment_has(tmp_path: Path, name: str) -> None:
    made, root = parcel(tmp_path, environment=((name, "x"),))
    assert "invalid environment variable" in answer_to(made, root).problem


def archive(**members: str) -> bytes:
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as file:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            file.addfile(member, BytesIO(text.encode()))
    return packed.getvalue()


@pytest.mark.parametrize("name", ["../../escaped", "/tmp/escaped", "tree/../../../escaped"])
def test_an_archive_that_leads_out(name: str, tmp_path: Path) -> None:
    import hashlib

    made, root = parcel(tmp_path)
    data = archive(**{name: "x"})
    answer = answer_to(evolve(made, data=data, digest=hashlib.sha256(data).hexdigest()), root)
    assert "cannot be used" in answer.problem


def test_another_archive_than_the_digest_says(tmp_path: Path) -> None:
    made, root = parcel(tmp_path)
    assert "does not match its digest" in answer_to(evolve(made, data=archive(x="y")), root).problem


@pytest.mark.parametrize("folder", ["/etc", "{root}/u/../..", "{root}x"])
def test_a_folder_that_is_not_in_it(folder: str, tmp_path: Path) -> None:
    made, root = parcel(tmp_path)
    request = evolve(made.request, directory=folder.format(root=root))
    assert "names a directory that is not in it" in answer_to(evolve(made, request=request), root).problem


class Replies:
    """A carrier that says something else than what was asked for."""

    def __init__(self, answer: ParcelResult) -> None:
        self.answer, self.sent = answer, 0

    def send(self, unit: str, parcel: bytes) -> Any:
        from concurrent.futures import Future

        self.sent += 1
        future: Any = Future()
        future.set_result(result_bytes(self.answer, "/x"))
        return future

    def stop(self) -> None: ...

    def close(self, at_once: bool = False) -> None: ...


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ParcelResult(missing=("../../etc/passwd",)), "bundle does not contain"),
        (ParcelResult(missing=("/etc/passwd",)), "bundle does not contain"),
        (ParcelResult(missing=("u/main.tf",)), "bundle does not contain"),
        (ParcelResult(UnitResult("other", "changes")), "returned no result for the unit"),
        (ParcelResult(UnitResult("u", "changes", plan_file="/etc/cron.d/x"), plan=b"x"), "was not requested"),
    ],
)
def test_answers_that_cannot_be(answer: ParcelResult, said: str, tmp_path: Path) -> None:
    made, root = parcel(tmp_path)
    carrier = Replies(answer)
    shipping = Shipping(carrier, root, needs_of(root, {}))
    result = shipping.submit(None, made.request).result(5)
    assert said in result.diagnostics[0]["detail"] and carrier.sent == 1


def test_what_is_asked_for_again_and_again(tmp_path: Path) -> None:
    """A worker that always misses something else is given up."""
    made, root = parcel(tmp_path)
    write(tmp_path / "here", {f"more/{n}": "" for n in range(20)})
    carrier = Replies(ParcelResult())

    class Counts(Replies):
        def send(self, unit: str, parcel: bytes) -> Any:
            self.answer = ParcelResult(missing=(f"more/{self.sent}",))
            return super().send(unit, parcel)

    carrier = Counts(ParcelResult())
    result = Shipping(carrier, root, needs_of(root, {})).submit(None, made.request).result(5)
    assert result.result == "error" and carrier.sent == 8


def test_a_folder_of_archives(tmp_path: Path) -> None:
    store = Folder(str(tmp_path / "s"))
    bundle = Bundle("0" * 64, b"x", (), ())
    store.put(bundle.digest, b"x")
    with pytest.raises(OSError, match="has different content"):
        fetched(store, bundle.digest)
    with pytest.raises(OSError, match="its digest is not valid"):
        fetched(store, "../../etc/passwd")


# ---------------------------------------------------------------- leases


class _Beside:
    """A store with one document beside its state."""

    has_place_beside = True

    def __init__(self, data: bytes) -> None:
        self.client, self.data = self, data

    def get_beside(self, name: str) -> bytes:
        return self.data

    def put_beside(self, name: str, data: bytes) -> None:
        self.data = data


@pytest.mark.parametrize("attempt", ["1e999", "-Infinity", "NaN", "null", "[]", "9" * 5000])
def test_a_lease_that_nobody_can_read_keeps_nobody_out(attempt: str) -> None:
    store: Any = _Beside(b'{"run": "r", "attempt": %s}' % attempt.encode())
    assert take(store, "r", 1)
    assert not take(store, "r", 1)


@pytest.mark.slow
def test_an_execution_that_was_begun_before_does_nothing(tmp_path: Path) -> None:
    """What an engine runs again by itself must not happen twice."""
    settings = SERVERS["s3"]().settings()
    lines = "".join(f"    {name} = {json.dumps(value)}\n" for name, value in settings.items())
    root = tmp_path / "here"
    main = (
        f'terraform {{\n  backend "s3" {{\n{lines}  }}\n}}\nresource "terraform_data" "x" {{ input = timestamp() }}\n'
    )
    write(root, {"u/main.tf": main})
    bundle = pack(str(root), ["u"], [])
    request = Request("u", f"{root}/u", "apply", state=f"s3:bucket/{settings['key']}")
    made = Parcel(request, bundle.digest, "run", 1, bundle.files, bundle.folders, data=bundle.data)
    first = answer_to(made, str(root))
    assert first.result is not None and first.result.result == "applied", first
    assert answer_to(made, str(root)).begun
    second = answer_to(evolve(made, attempt=2), str(root))
    assert second.result is not None and second.result.result == "applied"
    assert answer_to(made, str(root)).begun  # the first comes back from wherever it was
    other = answer_to(evolve(made, run="another"), str(root))
    assert other.result is not None and other.result.result == "applied"
    plan = answer_to(evolve(made, request=evolve(request, command="plan")), str(root))
    assert plan.result is not None and plan.result.result == "changes"  # looking is no matter of leases


def in_bucket(more: str = "") -> str:
    """A unit whose state is in a bucket, and lies there without a lock."""
    settings = SERVERS["s3"]().settings()
    plain = {name: value for name, value in settings.items() if name not in ("use_lockfile", "dynamodb_table")}
    lines = "".join(f"    {name} = {json.dumps(value)}\n" for name, value in plain.items())
    return f'terraform {{\n  backend "s3" {{\n{lines}  }}\n}}\nvariable "up" {{ default = "none" }}\n{more}'


@pytest.mark.slow
def test_a_worker_of_a_cluster_that_dies(tmp_path: Path, cluster: str) -> None:
    """Dask runs its work again by itself; that does nothing, and we do it again, as often as the rules allow."""
    body = 'resource "terraform_data" "main" { input = var.up }\noutput "id" { value = terraform_data.main.output }\n'
    file = 'unit "a" { path = "a" }\nunit "b" {\n  path = "b"\n  inputs = { up = unit.a.id }\n}\n'
    root, flag = tmp_path / "fleet", tmp_path / "flag"
    first, second = in_bucket(body), in_bucket(body)
    executor = (f"-executor=dask://{cluster}", "-bundles=scheduler")
    for version in (1, 2):
        more = ender(version, f"echo x >> {flag}; test $(wc -l < {flag}) -gt 1 && exit 0;")
        write(root, {"planner.batch.hcl": file, "a/main.tf": first, "b/main.tf": second + more})
        ran = batch(root, "apply", "-auto-approve", "-json", *executor)
        assert ran.code == 0, ran.errors
    assert ran.outcomes == {"a": "unchanged", "b": "applied"}
    assert (
        ran.unit("b")["attempts"] >= 2 and ran.unit("b")["diagnostics"][0]["summary"] == "A process ended unexpectedly"
    )
    assert len(flag.read_text().split()) == 2  # once by the worker that died, once when it was requested
    assert batch(root, "plan", "-json", *executor).outcomes == {"a": "unchanged", "b": "unchanged"}


def test_programs_of_the_fleet_travel(tmp_path: Path) -> None:
    """What `auth` and hooks name below the root, and nothing above it."""
    root = str(tmp_path / "here")
    write(tmp_path, {"here/u/main.tf": "", "here/tools/auth": "", "here/tools/hook": "", "above": ""})
    hook = Hook("h", "before", ("plan",), ("../tools/hook", "../../above", "echo"))
    request = Request("u", f"{root}/u", "plan", recipe=Recipe(hooks=(hook,), auth=("../tools/auth",), home=f"{root}/u"))
    assert needs_of(root, {})(request) == ({"u"}, {"tools/auth", "tools/hook"})


# ---------------------------------------------------------------- units of Terragrunt's

LIVE = """
locals {
  env   = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals.env
  place = run_cmd("cat", "${get_repo_root()}/word.txt")
}
remote_state {
  backend  = "s3"
  generate = { path = "backend.tf", if_exists = "overwrite_terragrunt" }
  config   = merge(%s, { key = "%s/${path_relative_to_include()}" })
}
inputs = { env = local.env, place = local.place, who = get_env("WHO", "nobody") }
"""
THING = """
variable "env" {}
variable "place" {}
variable "who" {}
variable "secret" { default = "" }
variable "up" { default = "" }
module "near" { source = "../near" }
resource "terraform_data" "x" {
  input = [var.env, var.place, var.who, var.secret, var.up, module.near.word, templatefile("${path.module}/t.txt", {})]
}
output "name" { value = "down" }
"""


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository; what its units read lies above the folder that the batch begins in."""
    found = SERVERS["s3"]().settings()
    key = found.pop("key")
    settings = json.dumps({name: v for name, v in found.items() if name not in ("use_lockfile", "dynamodb_table")})
    unit = 'include "root" {\n  path = find_in_parent_folders("root.hcl")\n}\n'
    source = 'terraform {\n  source = "${get_repo_root()}/modules//thing"\n}\n'
    root = tmp_path / "repository"
    write(
        root,
        {
            ".git/config": "[secret]\n",
            "root.hcl": LIVE % (settings, key),
            "word.txt": "word\n",
            "modules/thing/main.tf": THING,
            "modules/thing/t.txt": "template",
            "modules/near/main.tf": 'output "word" { value = file("${path.module}/near.txt") }\n',
            "modules/near/near.txt": "near",
            "live/env.hcl": 'locals {\n  env = "dev"\n}\n',
            "live/a/terragrunt.hcl": unit + source,
            "live/b/terragrunt.hcl": unit + source + 'dependency "a" {\n  config_path = "../a"\n}\n'
            'inputs = {\n  up = file("../${dependency.a.outputs.name}.txt")\n}\n',
            "live/down.txt": "from below",
        },
    )
    (tmp_path / "there").mkdir()
    monkeypatch.setenv(host.FOLDER, str(tmp_path / "there"))
    return root / "live"


@pytest.mark.slow
def test_units_of_terragrunt_travel_with_what_they_read(live: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Included files, sources and the files beside these, what was asked outside, and what only outputs name."""
    monkeypatch.setenv("WHO", "somebody")
    elsewhere = f"-executor={WORKER.replace('command:', 'command:env WHO=another ')}"
    here = batch(live, "plan", "-json", "-show", "-no-cache").json
    there = batch(live, "plan", "-json", "-show", "-no-cache", elsewhere).json
    for one, other in zip(here["units"], there["units"], strict=True):
        assert (one["outcome"], one["changes"]) == (other["outcome"], other["changes"])
    applied = batch(live, "apply", "-auto-approve", "-json", elsewhere)
    assert applied.outcomes == {"a": "applied", "b": "applied"}, applied.out
    assert batch(live, "plan", "-json", "-no-cache").outcomes == {"a": "unchanged", "b": "unchanged"}
    again = batch(live, "plan", "-json", "-no-cache", elsewhere)
    assert again.outcomes == {"a": "unchanged", "b": "unchanged"}, again.out


def test_secret_answers_stay_here(live: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables whose names say so and quiet programs are asked again; a variable must have the same value."""
    file = live / "a/terragrunt.hcl"
    quiet = 'run_cmd("--terragrunt-quiet", "cat", "/dev/shm/../null")'
    file.write_text(f'{file.read_text()}inputs = {{\n  secret = "${{get_env("DB_PASSWORD")}}${{{quiet}}}"\n}}\n')
    monkeypatch.setenv("DB_PASSWORD", "hunter-two")
    sent_bytes = live.parent.parent / "sent"
    tee = f"command:sh -c 'tee -a {sent_bytes} | {sys.executable} -m planner batch work'"
    assert batch(live, "plan", "-json", "-no-cache", f"-executor={tee}", "a").outcomes == {"a": "changes"}
    assert b"hunter-two" not in sent_bytes.read_bytes()
    other = f"-executor={WORKER.replace('command:', 'command:env DB_PASSWORD=other ')}"
    ran = batch(live, "plan", "-json", "-no-cache", other, "a")
    assert "DB_PASSWORD has a different value on" in ran.unit("a")["diagnostics"][0]["detail"]


def test_a_working_folder_travels_and_packages_of_others_do_not(live: Path) -> None:
    write(live, {".planner/terragrunt/packages/x/main.tf": "", "a/.planner/terragrunt/work/link.tf": "x"})
    (live / "a/.planner/terragrunt/work/near").symlink_to("../../../../packages")
    write(live, {"packages/.terraform/modules/m/main.tf": "", "packages/.terraform/providers/p": ""})
    base = "a/.planner/terragrunt/work"
    assert pack(str(live), [".", base], []).files == (
        f"{base}/link.tf",
        f"{base}/near/.terraform/modules/m/main.tf",
        "a/terragrunt.hcl",
        "b/terragrunt.hcl",
        "down.txt",
        "env.hcl",
        "packages/.terraform/modules/m/main.tf",
    )
