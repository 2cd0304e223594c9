"""Commands that edit states and manage workspaces, on real files."""

from __future__ import annotations

import json
import multiprocessing
import time

import pytest

from planner.world.state.backends.local import StateStore

PROVIDER = 'provider["terraform.io/builtin/terraform"]'
MAIN = 'resource "terraform_data" "a" {}\n'


def resource(name, *instances, module=""):
    head = {"module": module} if module else {}
    return {
        **head,
        "mode": "managed",
        "type": "terraform_data",
        "name": name,
        "provider": PROVIDER,
        "instances": [
            {
                **({} if key is None else {"index_key": key}),
                "schema_version": 0,
                "attributes": {"id": f"{name}-{key}", "input": None, "output": None, "triggers_replace": None},
                "sensitive_attributes": [],
            }
            for key in instances
        ],
    }


def document(*resources, serial=3, lineage="line-1"):
    return {
        "version": 4,
        "terraform_version": "1.12.6",
        "serial": serial,
        "lineage": lineage,
        "outputs": {},
        "resources": list(resources),
        "check_results": None,
    }


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with a state of one single, one counted and one module's resource."""
    monkeypatch.chdir(tmp_path)
    for name in ("TF_WORKSPACE", "TF_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "main.tf").write_text(MAIN)
    content = document(resource("a", None), resource("b", 0, 1), resource("c", "k", module="module.m"))
    (tmp_path / "terraform.tfstate").write_text(json.dumps(content))
    return tmp_path


def listed(planner):
    return planner("state", "list").out.split()


EVERYTHING = [
    "terraform_data.a",
    "terraform_data.b[0]",
    "terraform_data.b[1]",
    'module.m.terraform_data.c["k"]',
]


def test_list(planner, here):
    assert listed(planner) == EVERYTHING


@pytest.mark.parametrize(
    ("old", "new", "addresses"),
    [
        ("terraform_data.a", "terraform_data.z", ["terraform_data.z"]),
        ("terraform_data.a", "terraform_data.z[3]", ["terraform_data.z[3]"]),
        ("terraform_data.b", "terraform_data.z", ["terraform_data.z[0]", "terraform_data.z[1]"]),
        ("terraform_data.b[1]", 'module.x["k"].terraform_data.b', ['module.x["k"].terraform_data.b']),
        ("module.m", "module.n[0]", ['module.n[0].terraform_data.c["k"]']),
    ],
)
def test_mv(planner, here, old, new, addresses):
    ran = planner("state", "mv", "-no-color", "-lock-timeout=0s", old, new)
    assert ran.code == 0
    assert ran.out.endswith("Successfully moved 1 object(s).\n")
    assert set(addresses) <= set(listed(planner))
    assert len(listed(planner)) == len(EVERYTHING)
    assert list(here.glob("terraform.tfstate.*.backup"))


@pytest.mark.parametrize(
    ("old", "new", "needle"),
    [
        ("terraform_data.nope", "terraform_data.z", "terraform_data.nope"),
        ("terraform_data.a", "terraform_data.b[0]", "already"),
        ("terraform_data.a", "other_type.a", "type must stay"),
        ("terraform_data.a", "module.m", "a resource"),
        ("module.m", "terraform_data.z", "a module"),
        ("terraform_data.b", "terraform_data.z[0]", "several instances"),
        ("terraform_data.a", "terraform_data..", "is not a valid address"),
    ],
)
def test_mv_refused(planner, here, old, new, needle):
    ran = planner("state", "mv", old, new)
    assert ran.code == 1
    assert needle in ran.err
    assert listed(planner) == EVERYTHING


def test_rm_wants_something_to_do(planner, here):
    ran = planner("state", "rm", "terraform_data.nope", "terraform_data.a")
    assert (ran.code, listed(planner)) == (0, EVERYTHING[1:])
    assert planner("state", "rm", "terraform_data.nope", "terraform_data.a").code == 1


def test_a_module_without_key_means_all_its_instances(planner, here):
    assert planner("state", "mv", "module.m", "module.m[0]").code == 0
    assert planner("state", "list", "module.m").out.split() == ['module.m[0].terraform_data.c["k"]']
    assert planner("state", "list", "module.m.terraform_data.c").code == 1
    assert planner("state", "rm", "module.m").code == 0


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("terraform_data.a", "terraform_data.z", ["module.m.terraform_data.c"]),
        ("module.m", "module.n", ["terraform_data.a"]),
        ("terraform_data.b", "terraform_data.z", ["terraform_data.a", "module.m.terraform_data.c"]),
    ],
)
def test_mv_takes_back_dependencies_on_the_address_that_is_left(planner, here, old, new, left):
    file = here / "terraform.tfstate"
    state = json.loads(file.read_text())
    instances = state["resources"][1]["instances"]
    for instance, name in zip(instances, ("terraform_data.a", "module.m.terraform_data.c"), strict=True):
        instance["dependencies"] = [name]
    file.write_text(json.dumps(state))
    assert planner("state", "mv", old, new).code == 0
    resources = json.loads(file.read_text())["resources"]
    assert [d for r in resources for i in r["instances"] for d in i.get("dependencies", ())] == left


def test_mv_dry_run_changes_nothing(planner, here):
    ran = planner("state", "mv", "-dry-run", "terraform_data.a", "terraform_data.z")
    assert 'Would move "terraform_data.a" to "terraform_data.z"' in ran.out
    assert listed(planner) == EVERYTHING


def test_mv_into_another_state(planner, here):
    ran = planner("state", "mv", "-state-out=other.tfstate", "terraform_data.b", "terraform_data.b")
    assert ran.code == 0, ran.err
    assert listed(planner) == [EVERYTHING[0], EVERYTHING[3]]
    assert planner("state", "list", "-state=other.tfstate").out.split() == EVERYTHING[1:3]


def test_rm(planner, here):
    ran = planner("state", "rm", "terraform_data.b", "module.m")
    assert ran.out.split("\n")[:3] == [
        "Removed terraform_data.b[0]",
        "Removed terraform_data.b[1]",
        'Removed module.m.terraform_data.c["k"]',
    ]
    assert "Successfully removed 3 resource instance(s)." in ran.out
    assert listed(planner) == ["terraform_data.a"]


def test_rm_of_nothing_is_an_error(planner, here):
    ran = planner("state", "rm", "terraform_data.no", "terraform_data.nope")
    assert ran.code == 1
    assert listed(planner) == EVERYTHING
    assert "Would remove terraform_data.a" in planner("state", "rm", "-dry-run", "terraform_data.a").out
    assert listed(planner) == EVERYTHING


def test_pull_and_push(planner, here):
    pulled = json.loads(planner("state", "pull").out)
    assert (pulled["serial"], pulled["lineage"]) == (3, "line-1")
    path = here / "pushed.json"

    def push(content, *words):
        path.write_text(json.dumps(content))
        return planner("state", "push", *words, str(path))

    assert push(document(resource("a", None), serial=4)).code == 0
    assert listed(planner) == ["terraform_data.a"]
    assert json.loads(planner("state", "pull").out)["serial"] == 4
    assert "older" in push(document(serial=2)).err
    assert "lineage" in push(document(serial=9, lineage="line-2")).err
    assert "same serial" in push(document(serial=4)).err
    assert push(document(serial=2, lineage="line-2"), "-force").code == 0
    assert json.loads(planner("state", "pull").out)["lineage"] == "line-2"
    path.write_text("no state")
    assert planner("state", "push", str(path)).code == 1
    assert planner("state", "push", "nowhere.json").code == 1


def test_taint_and_untaint(planner, here):
    assert planner("taint", "-no-color", "-lock=true", "terraform_data.a").code == 0
    assert "# terraform_data.a: (tainted)" in planner("show").out
    assert planner("untaint", "terraform_data.a").code == 0
    assert "tainted" not in planner("show").out
    assert planner("untaint", "terraform_data.a").code == 1
    assert planner("taint", "terraform_data.nope").code == 1
    assert planner("taint", "-allow-missing", "terraform_data.nope").code == 0
    assert planner("taint", "data.x.y").code == 1


def test_replace_provider(planner, here):
    ran = planner("state", "replace-provider", "terraform", "acme/x", stdin="no\n")
    assert ran.code == 1 and "The provider of 3 resources changes:\n" in ran.out
    ran = planner("state", "replace-provider", "-auto-approve", "terraform", "acme/x")
    assert "Successfully replaced provider for 3 resources." in ran.out
    found = json.loads((here / "terraform.tfstate").read_text())
    assert {r["provider"] for r in found["resources"]} == {'provider["registry.opentofu.org/acme/x"]'}
    assert "No matching resources" in planner("state", "replace-provider", "terraform", "acme/x").out
    for words in (["plan"], ["apply", "-auto-approve"], ["refresh"], ["destroy", "-auto-approve"]):
        ran = planner(*words)
        assert ran.code == 1 and "registry.opentofu.org/acme/x is not installed on this machine" in ran.err
    assert json.loads((here / "terraform.tfstate").read_text()) == found


def test_no_state(planner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert planner("state", "rm", "a.b").code == 1
    assert planner("state", "pull").out == ""


def test_force_unlock(planner, here):
    lock = here / ".terraform.tfstate.lock.info"
    info = {"ID": "abc", "Operation": "x", "Info": "", "Who": "me", "Version": "1", "Created": "", "Path": "p"}
    lock.write_text(json.dumps(info))
    assert "abc" in planner("force-unlock", "-force", "wrong").err
    assert planner("force-unlock", "abc", stdin="no\n").code == 1
    assert "Use -force to unlock without a prompt." in planner("force-unlock", "-input=false", "abc").err
    assert lock.exists()
    assert planner("force-unlock", "abc", stdin="yes\n").code == 0
    assert not lock.exists()


# ---------------------------------------------------------------- workspaces


def names(planner):
    return planner("workspace", "list", "-no-color").out.split("\n")[:-2]


def test_workspaces(planner, here):
    assert names(planner) == ["* default"]
    ran = planner("workspace", "new", "-no-color", "dev")
    assert ran.out.startswith('Created and switched to workspace "dev"!')
    assert names(planner) == ["  default", "* dev"]
    assert planner("workspace", "show").out == "dev\n"
    assert (here / ".terraform" / "environment").read_text() == "dev"
    assert planner("workspace", "new", "dev").code == 1
    assert listed(planner) == []
    assert planner("workspace", "delete", "dev").code == 1
    assert 'Switched to workspace "default".' in planner("workspace", "select", "default").out
    assert planner("workspace", "select", "default").out == ""
    assert planner("workspace", "delete", "dev").code == 0
    assert names(planner) == ["* default"]


def test_the_former_name_of_workspaces_warns(planner, here):
    ran = planner("env", "list", "-no-color")
    assert ran.code == 0
    assert 'Warning: The command "planner env list" is deprecated' in ran.err
    assert ran.out == "* default\n\n"
    lines = [json.loads(line) for line in planner("env", "new", "-json", "dev").out.splitlines()]
    assert [line["@message"] for line in lines if line["@level"] == "warn"] == [
        'The command "planner env new" is deprecated. Use "planner workspace new" instead.'
    ]
    assert "type" not in lines[1]
    assert "deprecated" not in planner("workspace", "list").out


def test_a_copy_of_a_missing_state_creates_nothing(planner, here):
    before = names(planner)
    ran = planner("workspace", "new", "-state=missing.tfstate", "copy")
    assert ran.code == 1
    assert "state file missing.tfstate does not exist" in ran.err
    assert names(planner) == before
    (here / "broken.tfstate").write_text("{")
    assert planner("workspace", "new", "-state=broken.tfstate", "copy").code == 1
    assert names(planner) == before


def test_select_says_what_it_created(planner, here):
    assert 'Created and switched to workspace "made"!' in planner("workspace", "select", "-or-create", "made").out
    assert "Created" not in planner("workspace", "select", "-or-create", "default").out


def test_what_is_left_of_a_deleted_workspace_is_named(planner, here):
    assert planner("workspace", "new", "-state=terraform.tfstate", "copy").code == 0
    assert planner("workspace", "select", "default").code == 0
    refused = planner("workspace", "delete", "copy")
    assert refused.code == 1
    addresses = planner("state", "list").out.splitlines()
    assert addresses
    assert all(f"  - {address}" in refused.err for address in addresses)
    forced = planner("workspace", "delete", "-force", "copy")
    assert forced.code == 0
    assert "Warning: Objects remain unmanaged" in forced.out
    assert all(f"  - {address}" in forced.out for address in addresses)


def test_data_sources_do_not_keep_a_workspace(planner, here):
    (here / "main.tf").write_text(
        'data "terraform_remote_state" "r" {\n  backend = "local"\n  config = { path = "r" }\n}'
    )
    (here / "r").write_text(
        '{"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "x", "resources": []}'
    )
    assert planner("workspace", "new", "data").code == 0
    assert planner("apply", "-auto-approve").code == 0
    assert planner("workspace", "select", "default").code == 0
    assert planner("workspace", "delete", "data").code == 0


def test_a_workspace_in_use_is_not_deleted(planner, here):
    assert planner("workspace", "new", "-state=terraform.tfstate", "used").code == 0
    assert planner("workspace", "select", "default").code == 0
    store = StateStore("terraform.tfstate.d/used/terraform.tfstate")
    held = multiprocessing.get_context("fork").Process(target=_hold, args=(store, here))
    held.start()
    while not (here / "held").exists():
        time.sleep(0.01)
    ran = planner("workspace", "delete", "-force", "used")
    held.terminate()
    held.join()
    assert ran.code == 1
    assert "state lock" in ran.err


def _hold(store: StateStore, here) -> None:
    assert store.lock("apply") == []
    (here / "held").touch()
    time.sleep(60)


def test_an_applied_plan_says_so(planner, here):
    (here / "main.tf").write_text('resource "terraform_data" "n" { input = { a = [1, "x"] } }')
    assert planner("plan", "-out=p").code == 0
    assert planner("apply", "p").code == 0
    again = planner("apply", "p")
    assert again.code == 1
    assert "Saved plan already applied" in again.err
    (here / "main.tf").write_text('resource "terraform_data" "n" { input = "other" }')
    assert planner("apply", "-auto-approve").code == 0
    assert "Saved plan is stale" in planner("apply", "p").err


def test_import_looks_before_it_asks(planner, here):
    (here / "main.tf").write_text('variable "v" {}\nresource "terraform_data" "n" { input = var.v }')
    assert planner("apply", "-auto-approve", "-var=v=1").code == 0
    ran = planner("import", "terraform_data.n", "id", stdin="value\n")
    assert ran.code == 1
    assert "already has an object for terraform_data.n" in " ".join(ran.err.split())
    assert "Enter a value" not in ran.out
    assert planner("state", "rm", "terraform_data.n").code == 0
    assert "Enter a value" in planner("import", "terraform_data.n", "id", stdin="value\n").out


def test_unlocking_looks_before_it_asks(planner, here):
    ran = planner("force-unlock", "no-such-lock", stdin="yes\n")
    assert ran.code == 1
    assert "not locked" in ran.err
    assert "Enter a value" not in ran.out


@pytest.mark.parametrize(
    ("given", "who"),
    [
        (("-var=n=x",), "given by -var=n=..."),
        (("-var-file=v.tfvars",), "given by -var-file, v.tfvars:1"),
        ((), "given by terraform.tfvars:1"),
        (("environment",), "given by the environment variable TF_VAR_n"),
    ],
)
def test_a_wrong_value_says_who_gave_it(planner, here, monkeypatch, given, who):
    (here / "main.tf").write_text('variable "n" { type = number }')
    (here / "v.tfvars").write_text('n = "x"')
    if given == ("environment",):
        monkeypatch.setenv("TF_VAR_n", "x")
        given = ()
    elif not given:
        (here / "terraform.tfvars").write_text('n = "x"')
    assert who in " ".join(planner("plan", *given).err.split())


def test_workspaces_refused(planner, here):
    assert planner("workspace", "select", "nope").code == 1
    assert planner("workspace", "new", "a/b").code == 1
    assert planner("workspace", "delete", "nope").code == 1
    assert planner("workspace", "delete", "default").code == 1
    assert planner("workspace", "select", "-or-create", "made").code == 0
    assert names(planner) == ["  default", "* made"]


def test_a_workspace_that_manages_objects_is_kept(planner, here):
    assert planner("workspace", "new", "-state=terraform.tfstate", "copy").code == 0
    assert listed(planner) == EVERYTHING
    planner("workspace", "select", "default")
    assert "still manages" in planner("workspace", "delete", "copy").err
    assert planner("workspace", "delete", "-force", "copy").code == 0


def test_the_environment_selects_the_workspace(planner, here, monkeypatch):
    monkeypatch.setenv("TF_WORKSPACE", "forced")
    assert planner("workspace", "show").out == "forced\n"
    assert "TF_WORKSPACE" in planner("workspace", "new", "x").err
    assert "TF_WORKSPACE" in planner("workspace", "select", "default").err


# ---------------------------------------------------------------- providers


def test_providers(planner, here):
    ran = planner("providers", "-no-color")
    assert "└── provider[terraform.io/builtin/terraform]" in ran.out
    assert "Providers required by state:" in ran.out


def test_provider_schemas(planner, here):
    document = json.loads(planner("providers", "schema", "-json").out)
    assert document["format_version"] == "1.0"
    schemas = document["provider_schemas"]["terraform.io/builtin/terraform"]
    attributes = schemas["resource_schemas"]["terraform_data"]["block"]["attributes"]
    assert attributes["id"] == {"type": "string", "description_kind": "plain", "computed": True}
    assert schemas["data_source_schemas"]["terraform_remote_state"]["block"]["attributes"]["backend"]["required"]
    assert planner("providers", "schema").code == 1


@pytest.mark.parametrize("words", [("providers",), ("providers", "schema", "-json")])
def test_providers_without_values_of_variables(planner, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text('variable "a" {}\nresource "terraform_data" "a" {\n  input = var.a\n}\n')
    assert "terraform.io/builtin/terraform" in planner(*words).out
    (tmp_path / "terraform.tfstate").write_text("{")
    ran = planner(*words)
    assert ran.code == 1 and "Unsupported state file format" in ran.err


def test_providers_of_an_empty_directory(planner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = planner("providers")
    assert ran.code == 1 and "No configuration files" in ran.err and not ran.out


def test_functions(planner):
    document = json.loads(planner("metadata", "functions", "-json").out)
    assert document["function_signatures"]["abs"]["return_type"] == "number"
    assert planner("metadata", "functions").code == 1


def test_providers_of_test_files(tmp_path, planner, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(
        'resource "terraform_data" "a" {}\nprovider "terraform" {\n  version = "1.0"\n}\n'
    )
    (tmp_path / "tests/x").mkdir(parents=True)
    (tmp_path / "tests/x/main.tf").write_text('resource "terraform_data" "x" {}\n')
    run = 'run "own" {\n  module {\n    source = "./tests/x"\n  }\n}\n'
    (tmp_path / "tests/one.tftest.hcl").write_text(f'provider "terraform" {{}}\nrun "plain" {{}}\n{run}')
    assert planner("get").code == 0
    assert planner("providers", "-no-color").out == (
        "\nProviders required by configuration:\n.\n"
        "├── provider[terraform.io/builtin/terraform] 1.0.0\n"
        "└── test.tests.one\n"
        "    ├── provider[terraform.io/builtin/terraform]\n"
        "    └── run.own\n"
        "        └── provider[terraform.io/builtin/terraform]\n"
    )
    ran = planner("providers", "-no-color", "-test-directory=none")
    assert "test." not in ran.out and "Test directory does not exist" in ran.out + ran.err
    (tmp_path / "tests/one.tftest.hcl").unlink()
    assert "Invalid dependency" not in planner("plan").err
    assert "Invalid dependency" in planner("init").err


def test_refresh_is_refresh_only(tmp_path, planner, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text('output "a" {\n  value = 1\n}\n')
    assert planner("refresh", "-refresh-only").code == 0
    assert "Remove -destroy" in planner("refresh", "-destroy").err


def test_a_verbose_drawing_has_what_closes_providers(tmp_path, planner, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" {}\n')
    close = 'label = "provider[\\"terraform.io/builtin/terraform\\"] (close)", shape = "diamond"'
    assert close in planner("graph", "-type=plan", "-verbose").out
    assert close not in planner("graph", "-type=plan").out


def test_graphs_of_a_plan_file_are_of_its_configuration_and_state(planner, here):
    (here / "main.tf").write_text('resource "terraform_data" "a" {\n  input = 1\n}\n')
    assert planner("plan", "-out=p").code == 0
    (here / "main.tf").write_text('resource "terraform_data" "later" {}\n')
    graphs = {kind: planner("graph", "-plan=p", f"-type={kind}") for kind in ("plan", "plan-destroy", "apply")}
    for kind, ran in graphs.items():
        assert ran.code == 0 and "terraform_data.a" in ran.out and "later" not in ran.out, kind
    assert "terraform_data.a (expand)" in graphs["plan"].out and "(destroy)" not in graphs["plan"].out
    assert "terraform_data.a (destroy)" in graphs["plan-destroy"].out
    assert planner("graph", "-plan=p").out == graphs["apply"].out
