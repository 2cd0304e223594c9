"""Commands that fail before they have done anything write nothing, so that a plan that was reviewed can be applied."""

from __future__ import annotations

from pathlib import Path

import pytest
from provider.plugins import SOURCE, write, write_settings
from state.backends.servers import SERVERS, Server, kinds
from state.backends.test_shared_states import OURS, Place

PLUGIN = f"""
terraform {{
  required_providers {{
    test = {{ source = "{SOURCE}" }}
  }}
}}
resource "test_thing" "a" {{
  name = "a"
}}
output "o" {{ value = "x" }}
"""
CONDITION = """
variable "file" { default = "allowed" }
resource "terraform_data" "a" {
  lifecycle {
    precondition {
      condition     = fileexists("${path.root}/${var.file}")
      error_message = "Not allowed."
    }
  }
}
output "o" { value = "x" }
"""
KINDS = kinds("local", "http", "pg", "s3", quick=("local", "pg"))


def placed(kind: str, folder: Path, text: str) -> Place:
    server = Server("local", lambda name: {}) if kind == "local" else SERVERS[kind]()
    place = Place(folder / "work", server)
    place.environment["TEST_PROVIDER_WORLD"] = str(folder)
    place.backend(server.settings())
    (place.folder / "main.tf").write_text(text)
    return place


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", [(), ("-destroy",)], ids=" ".join)
def test_a_plan_outlives_an_apply_without_its_providers(kind: str, words: tuple[str, ...], tmp_path: Path) -> None:
    place = placed(kind, tmp_path, PLUGIN)
    settings = write_settings(tmp_path, {"test": write("test", tmp_path / "bin")})
    place.environment["TF_CLI_CONFIG_FILE"] = str(settings)
    place.good(OURS, "init")
    if words:
        place.good(OURS, "apply", "-auto-approve")
    before = place.good(OURS, "state", "pull")
    place.good(OURS, "plan", *words, "-out=plan")
    place.environment["TF_CLI_CONFIG_FILE"] = "/dev/null"
    for attempt in (("apply", "plan"), ("import", "test_thing.a", "a"), ("refresh",), ("destroy", "-auto-approve")):
        assert place.run(OURS, *attempt)[0] == 1, attempt
        assert place.good(OURS, "state", "pull") == before
    place.environment["TF_CLI_CONFIG_FILE"] = str(settings)
    place.good(OURS, "apply", "plan")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_new", [True, False])
def test_a_plan_outlives_an_apply_that_came_to_nothing(kind: str, is_new: bool, tmp_path: Path) -> None:
    place = placed(kind, tmp_path, CONDITION)
    place.good(OURS, "init")
    if not is_new:
        (place.folder / "old.tf").write_text('resource "terraform_data" "old" {\n  input = path.module\n}\n')
        place.good(OURS, "apply", "-auto-approve", "-target=terraform_data.old")
    before = place.good(OURS, "state", "pull")
    allowed = place.folder / "allowed"
    allowed.touch()
    place.good(OURS, "plan", "-out=plan")
    allowed.unlink()
    assert "Not allowed." in place.run(OURS, "apply", "plan")[1]
    assert place.good(OURS, "state", "pull") == before
    assert (before == "") is is_new
    allowed.touch()
    assert "1 added" in place.good(OURS, "apply", "plan")
