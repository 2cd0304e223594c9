"""Units install what their lock files select by themselves: a fresh clone has lock files and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from batch.fleets import batch, write
from provider.plugins import SOURCE, override, write_plugin
from thinned import thinned

from planner.world.provider.locate import own_platform

NEEDS = f"terraform {{\n  required_providers {{\n    test = {{ source = {SOURCE!r} }}\n  }}\n}}\n".replace("'", '"')
MAIN = NEEDS + 'resource "test_thing" "t" {\n  name = "t"\n}\n'
LOCK = f'provider "{SOURCE}" {{\n  version = "1.0.0"\n}}\n'
FLEETS = {
    "modules": {"u/main.tf": MAIN.replace("required_providers", 'backend "local" {}\n  required_providers')},
    "in place": {"u/main.tf": MAIN, "u/terragrunt.hcl": ""},
    "source": {"thing/main.tf": MAIN, "u/terragrunt.hcl": 'terraform {\n  source = "../thing"\n}\n'},
    "stack": {
        "u/x.tfcomponent.hcl": f"""
required_providers {{
  test = {{ source = "{SOURCE}" }}
}}
provider "test" "p" {{
  config {{}}
}}
component "c" {{
  source    = "./thing"
  providers = {{ test = provider.test.p }}
}}
""",
        "u/x.tfdeploy.hcl": 'deployment "d" { inputs = {} }\n',
        "u/thing/main.tf": MAIN,
    },
    "lock of the source": {
        "thing/main.tf": MAIN,
        "thing/.terraform.lock.hcl": LOCK,
        "u/terragrunt.hcl": 'terraform {\n  source = "../thing"\n}\n',
    },
}


@pytest.mark.parametrize("kind", thinned(sorted(FLEETS), 2))
@pytest.mark.parametrize("words", [("plan",), ("apply", "-auto-approve")], ids=lambda words: str(words[0]))
def test_a_fresh_clone(kind: str, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    override(monkeypatch, tmp_path)
    write_plugin(tmp_path / "mirror" / SOURCE / "1.0.0" / own_platform())
    settings = tmp_path / "mirror.tfrc"
    mirror = f'filesystem_mirror {{\n    path = "{tmp_path}/mirror"\n  }}'
    settings.write_text(f"provider_installation {{\n  {mirror}\n}}\n")
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(settings))
    lock = {} if kind == "lock of the source" else {"u/.terraform.lock.hcl": LOCK}
    write(tmp_path / "fleet", {**FLEETS[kind], **lock})
    ran = batch(tmp_path / "fleet", *words)
    assert ran.code == 0, ran.out
    installed = [path for path in (tmp_path / "fleet").rglob("providers") if path.is_dir()]
    assert len(installed) == 1
    shutil.rmtree(installed[0])  # while all that was recorded of the unit stays
    ran = batch(tmp_path / "fleet", *words)
    assert ran.code == 0, ran.out
