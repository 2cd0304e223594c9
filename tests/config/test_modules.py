"""Module trees: where called modules are, what init records, what overrides change."""

from __future__ import annotations

import json

import pytest
from config_cases import write_files

from planner.language.config.backend import Overrides, backend_settings
from planner.language.config.directory import is_secret, manifest_path, read_manifest
from planner.language.config.load import load_config
from planner.language.config.module_installer import install_modules
from planner.language.config.variables import collect_variables
from planner.world.state.backends.local import SCHEMA

TREE = {
    "main.tf": 'variable "where" {\n  default = "a"\n}\nmodule "m" {\n  source = "./modules/${var.where}"\n}\n',
    "modules/a/main.tf": 'module "inner" {\n  source = "../b"\n}\n',
    "modules/b/main.tf": 'output "x" {\n  value = path.module\n}\n',
    "modules/c/main.tf": "",
}


def codes(diagnostics):
    return [d.code for d in diagnostics]


def test_modules_are_loaded_after_init_only(tmp_path):
    write_files(tmp_path, TREE)
    config, problems = load_config(str(tmp_path))
    assert config is None
    assert codes(problems) == ["config.module_not_installed"]
    installed, problems = install_modules(str(tmp_path))
    assert not problems
    assert [(r.key, r.directory) for r in installed] == [("m", "modules/a"), ("m.inner", "modules/b")]
    with open(manifest_path(str(tmp_path))) as file:
        assert json.load(file) == {
            "Modules": [
                {"Key": "", "Source": "", "Dir": "."},
                {"Key": "m", "Source": "./modules/a", "Dir": "modules/a"},
                {"Key": "m.inner", "Source": "../b", "Dir": "modules/b"},
            ]
        }
    config, problems = load_config(str(tmp_path))
    assert not problems
    assert config is not None
    assert [m.path for m in config.root.walk()] == [(), ("m",), ("m", "inner")]
    assert config.root.children["m"].children["inner"].directory == "modules/b"
    assert sorted(config.files) == ["main.tf", "modules/a/main.tf", "modules/b/main.tf"]
    assert install_modules(str(tmp_path)) == ([], [])


def test_a_changed_source_asks_for_init(tmp_path):
    write_files(tmp_path, TREE)
    install_modules(str(tmp_path))
    given, _ = collect_variables(str(tmp_path), [("var", "where=c")], {})
    assert codes(load_config(str(tmp_path), variables=given)[1]) == ["config.module_source_changed"]
    installed, problems = install_modules(str(tmp_path), variables=given)
    assert not problems
    assert [r.key for r in installed] == ["m"]
    assert sorted(read_manifest(str(tmp_path))[0]) == ["", "m"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"main.tf": 'module "m" {\n  source = "./m"\n}\n'}, ["config.missing_module"]),
        ({"main.tf": 'module "m" {\n  source = "a/b/c"\n}\n'}, ["config.module_not_installed"]),
        ({"main.tf": 'module "m" {\n  source = "../x"\n}\n'}, ["config.missing_module"]),
        (
            {"main.tf": 'module "m" {\n  source = "./m"\n}\n', "m/main.tf": 'module "n" {\n  source = "../m"\n}\n'},
            ["config.cyclic_module"],
        ),
        (
            {"main.tf": 'module "m" {\n  source = "./m"\n}\n', "m/main.tf": 'module "n" {\n  source = "../"\n}\n'},
            ["config.cyclic_module"],
        ),
    ],
)
def test_modules_that_cannot_be_installed(tmp_path, files, expected):
    write_files(tmp_path, files)
    _, problems = install_modules(str(tmp_path))
    assert codes(problems) == expected
    # what could be found is installed all the same, so that validating tells no more than what is wrong
    assert (tmp_path / ".terraform").exists() == (expected == ["config.cyclic_module"])


def test_a_module_may_contain_itself_a_few_times(tmp_path):
    files = {
        "main.tf": 'module "m" {\n  source = "./m"\n  depth = 3\n}\n',
        "m/main.tf": """
variable "depth" {}
module "next" {
  source = var.depth > 0 ? "../m" : "../leaf"
  depth  = var.depth - 1
}
""",
        "leaf/main.tf": 'variable "depth" {}\n',
    }
    write_files(tmp_path, files)
    installed, problems = install_modules(str(tmp_path))
    assert not problems
    assert [r.directory for r in installed] == ["m", "m", "m", "m", "leaf"]
    write_files(tmp_path, {"main.tf": files["main.tf"].replace("3", "300")})
    assert codes(install_modules(str(tmp_path))[1]) == ["config.cyclic_module"]


@pytest.mark.parametrize("text", ["{", "[]", '{"Modules": 1}', '{"Modules": [{}]}', '{"Modules": [1]}'])
def test_damaged_manifest(tmp_path, text):
    write_files(tmp_path, {"main.tf": "", ".terraform/modules/modules.json": text})
    config, problems = load_config(str(tmp_path))
    assert config is None
    assert codes(problems) == ["config.damaged_manifest"]


def test_installed_remote_modules_are_used(tmp_path):
    record = {"Key": "m", "Source": "git::https://github.com/a/b.git", "Dir": ".terraform/modules/m"}
    manifest = {"Modules": [{"Key": "", "Source": "", "Dir": "."}, record]}
    files = {
        "main.tf": 'module "m" {\n  source = "github.com/a/b"\n}\n',
        ".terraform/modules/m/main.tf": 'output "x" {\n  value = 1\n}\n',
        ".terraform/modules/modules.json": json.dumps(manifest),
    }
    write_files(tmp_path, files)
    config, problems = load_config(str(tmp_path))
    assert not problems
    assert config is not None
    assert config.root.children["m"].outputs.keys() == {"x"}
    assert install_modules(str(tmp_path)) == ([], [])


def test_overrides(tmp_path):
    files = {
        "main.tf": """
variable "v" {
  type    = string
  default = "1"
}
locals {
  l = 1
}
output "o" {
  value       = 1
  description = "kept"
}
provider "terraform" {
}
resource "terraform_data" "r" {
  count            = 1
  input            = "base"
  triggers_replace = "kept"
  lifecycle {
    prevent_destroy       = true
    create_before_destroy = true
  }
  provisioner "local-exec" {
    command = "base"
  }
}
""",
        "override.tf": """
variable "v" {
  type = number
}
locals {
  l = 2
}
output "o" {
  value = 2
}
resource "terraform_data" "r" {
  input = "first"
  lifecycle {
    create_before_destroy = false
    ignore_changes        = [input]
  }
}
""",
        "z_override.tf": """
resource "terraform_data" "r" {
  for_each = {}
  input    = "second"
  provisioner "local-exec" {
    command = "over"
  }
  provisioner "local-exec" {
    command = "more"
  }
}
""",
    }
    write_files(tmp_path, files)
    config, problems = load_config(str(tmp_path))
    assert not problems
    assert config is not None
    root = config.root
    assert root.variables["v"].default == 1
    assert root.locals["l"].expr.node.value == 2
    assert root.outputs["o"].value.node.value == 2
    assert root.outputs["o"].description == "kept"
    resource = root.resources["terraform_data.r"]
    assert resource.count is not None
    assert resource.for_each is not None
    assert resource.lifecycle.create_before_destroy is False
    assert resource.lifecycle.prevent_destroy is not None
    assert len(resource.lifecycle.ignore_changes) == 1
    assert len(resource.provisioners) == 2
    attributes, _ = resource.body.just_attributes()
    assert {name: a.expr.value for name, a in attributes.items()} == {"input": "second", "triggers_replace": "kept"}


def test_backend_settings(tmp_path):
    main = """
variable "name" {}
variable "secret" {
  default   = "x"
  sensitive = true
}
locals {
  folder = "states"
}
terraform {
  backend "local" {
    path          = "${local.folder}/${var.name}/${terraform.workspace}"
    workspace_dir = null
  }
}
"""
    write_files(tmp_path, {"main.tf": main})
    config, problems = load_config(str(tmp_path))
    assert config is not None, problems
    given, _ = collect_variables(str(tmp_path), [("var", "name=n")], {})
    assert backend_settings(config, given, SCHEMA, "w") == ({"path": "states/n/w", "workspace_dir": None}, [])
    settings, problems = backend_settings(config, given, SCHEMA, "w", Overrides((("path", "other"),)))
    assert settings["path"] == "other"
    _, problems = backend_settings(config, {}, SCHEMA, "w")
    assert codes(problems) == ["config.missing_variable", "config.static_unavailable"]
    write_files(tmp_path, {"main.tf": main.replace("var.name", "var.secret")})
    config, _ = load_config(str(tmp_path))
    assert config is not None
    assert codes(backend_settings(config, {}, SCHEMA, "w")[1]) == ["config.secret_in_backend"]


def test_provider_instances(tmp_path):
    main = """
locals {
  regions = { a = 1, b = 2 }
}
provider "terraform" {
  alias    = "by"
  for_each = local.regions
}
"""
    write_files(tmp_path, {"main.tf": main})
    config, problems = load_config(str(tmp_path))
    assert not problems
    assert config is not None
    assert config.root.providers["terraform.by"].instances == {"a": 1, "b": 2}


def test_a_file_is_read_once_as_long_as_it_says_the_same(tmp_path, monkeypatch):
    from planner.language.config import load

    read = []
    monkeypatch.setattr(load, "read_file", lambda *given: read.append(given[1]) or real(*given))
    real = __import__("planner.language.config.file_content", fromlist=["read_file"]).read_file
    monkeypatch.setattr(load, "_lately_read", {})
    write_files(tmp_path, {"main.tf": 'variable "a" {}\n', "b.tf": "locals {\n  b = 1\n}\n"})
    first, _ = load_config(str(tmp_path))
    again, _ = load_config(str(tmp_path))
    assert sorted(read) == ["b.tf", "main.tf"]
    assert again.root.variables == first.root.variables
    write_files(tmp_path, {"main.tf": 'variable "c" {}\n'})
    changed, _ = load_config(str(tmp_path))
    assert read[2:] == ["main.tf"]
    assert list(changed.root.variables) == ["c"]
    # The same text under another name is another file: its diagnostics name it.
    (tmp_path / "b.tf").rename(tmp_path / "z.tf")
    load_config(str(tmp_path))
    assert read[3:] == ["z.tf"]


def test_what_is_wrong_is_said_each_time(tmp_path):
    write_files(tmp_path, {"main.tf": 'variable "a" {\n  type = nonsense\n}\n', "b.tf": "locals {\n"})
    said = [[(d.code, str(d.subject)) for d in load_config(str(tmp_path))[1]] for _ in range(3)]
    assert said[0] and said[0] == said[1] == said[2]


def test_only_the_last_files_are_kept(tmp_path, monkeypatch):
    from planner.language.config import load

    monkeypatch.setattr(load, "_most_files", 3)
    write_files(tmp_path, {f"f{n}.tf": f"locals {{\n  a{n} = 1\n}}\n" for n in range(9)})
    config, problems = load_config(str(tmp_path))
    assert not problems and len(config.root.locals) == 9
    assert len(load._lately_read) <= 3


@pytest.mark.parametrize(
    ("text", "is_secret_text"),
    [
        ("terraform {\n  encryption {\n  }\n}\n", True),
        ("terraform {/**/encryption /* x */ {}}\n", True),
        ('{"terraform": {"encryption": {}}}', True),
        ('{"terraform": {"\\u0065ncryption": {}}}', True),
        ('{"terraform": {"encr\\u0079ption" : {}}}', True),
        ('resource "a" "b" {\n  encryption = true\n  name = "\\u0041"\n}\n', False),
        ('variable "encryption" {}\n', False),
    ],
)
def test_files_that_may_have_an_encryption_block(text, is_secret_text):
    assert is_secret([b"", text.encode()]) == is_secret_text
