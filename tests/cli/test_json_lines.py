"""JSON lines of commands that neither plan nor apply, and of saved plans: types and fields that programs read."""

from __future__ import annotations

import json

import pytest

MAIN = """resource "terraform_data" "a" {
  count = 2
  input = "x"
}
resource "terraform_data" "s" {
  input = "x"
}
output "o" { value = 1 }
"""


@pytest.fixture
def here(tmp_path, monkeypatch, planner):
    monkeypatch.chdir(tmp_path)
    for name in ("TF_WORKSPACE", "TF_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "main.tf").write_text(MAIN)
    assert planner("apply", "-auto-approve").code == 0
    return tmp_path


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def said(text):
    """(type, message) of every line after the first, which tells the version."""
    first, *rest = lines(text)
    assert (first["type"], first["ui"]) == ("version", "1.2")
    return [(line.get("type"), line["@message"]) for line in rest]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["state", "list"],
            [("resource_address", a) for a in ("terraform_data.a[0]", "terraform_data.a[1]", "terraform_data.s")],
        ),
        (
            ["state", "mv", "-dry-run", "terraform_data.s", "terraform_data.t"],
            [(None, 'Would move "terraform_data.s" to "terraform_data.t"')],
        ),
        (
            ["state", "mv", "terraform_data.s", "terraform_data.t"],
            [(None, 'Move "terraform_data.s" to "terraform_data.t"'), (None, "Successfully moved 1 object(s)")],
        ),
        (["state", "rm", "-dry-run", "terraform_data.s"], [(None, "Would remove terraform_data.s")]),
        (
            ["state", "rm", "terraform_data.s"],
            [(None, "Removed terraform_data.s"), (None, "Successfully removed 1 resource instance(s)")],
        ),
        (["taint", "terraform_data.s"], [(None, "Resource instance terraform_data.s has been marked as tainted.")]),
        (["workspace", "new", "w"], None),
        (["workspace", "list"], [("workspace_list", "list of workspaces")]),
        (["get"], []),
    ],
    ids=lambda value: " ".join(value[:3]) if value and isinstance(value[0], str) else "",
)
def test_messages(planner, here, words, expected):
    ran = planner(*words, "-json")
    assert (ran.code, ran.err) == (0, "")
    assert expected is None or said(ran.out) == expected


@pytest.mark.parametrize("words", [["state", "list"], ["workspace", "list"], ["taint", "terraform_data.s"], ["get"]])
def test_the_same_lines_in_a_file_beside_the_text(planner, here, words):
    expected = said(planner(*words, "-json").out)
    ran = planner(*words, "-json-into=lines")
    assert not ran.out.startswith("{")
    assert said((here / "lines").read_text()) == expected


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["state", "list", "terraform_data.nope"], "state.unknown_address"),
        (["state", "show", "terraform_data.a"], "state.not_an_instance"),
        (["state", "rm", "terraform_data.nope"], None),
        (["state", "push", "nofile"], "state.read"),
        (["taint", "terraform_data.nope"], None),
        (["workspace", "select", "nope"], "workspace.unknown"),
        (["force-unlock", "-force", "abc"], None),
        (["state", "replace-provider", "terraform.io/builtin/terraform", "a/b"], "cli.no_input"),
        (["state", "mv", "one"], "cli.usage"),
        (["plan", "-target=a..b"], "cli.address"),
        (["apply", "nofile"], None),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, list) else "",
)
def test_problems_are_lines_too(planner, here, words, code):
    ran = planner(*words, "-json")
    assert (ran.code, ran.err) == (1, "")
    last = lines(ran.out)[-1]
    assert (last["type"], last["@level"]) == ("diagnostic", "error")
    assert code in (None, last["diagnostic"]["code"])


def test_state_show_gives_one_instance(planner, here):
    first, document = lines(planner("state", "show", "-json", "terraform_data.a[1]").out)
    assert first["type"] == "version"
    (resource,) = document["values"]["root_module"]["resources"]
    assert (resource["address"], resource["values"]["input"]) == ("terraform_data.a[1]", "x")
    assert "outputs" not in document["values"]


def test_replaced_provider(planner, here):
    ran = planner("state", "replace-provider", "-json", "-auto-approve", "terraform.io/builtin/terraform", "acme/data")
    overview = lines(ran.out)[1]
    assert overview["type"] == "replace_provider"
    assert overview["resources"] == ["terraform_data.a", "terraform_data.s"]


def test_a_saved_plan_tells_its_changes(planner, here):
    (here / "main.tf").write_text(MAIN.replace("count = 2", "count = 3"))
    planner("plan", "-out=p")
    found = lines(planner("apply", "-json", "p").out)
    assert [line.get("type") for line in found] == [
        "version",
        "planned_change",
        "apply_start",
        "apply_complete",
        "change_summary",
        "outputs",
    ]


def test_refresh_of_an_empty_state_warns(planner, here):
    planner("destroy", "-auto-approve")
    found = lines(planner("refresh", "-json").out)
    assert [(line["type"], line["@level"]) for line in found[1:2]] == [("diagnostic", "warn")]


@pytest.mark.parametrize("command", ["show", "output", "validate"])
def test_documents_into_a_file(planner, here, command):
    document = planner(command, "-json").out
    ran = planner(command, "-json-into=doc")
    assert ran.code == 0
    assert json.loads((here / "doc").read_text()) == json.loads(document)
    assert not ran.out.startswith("{")
    assert planner(command, "-json", "-json-into=doc").code == 1


def test_configuration_and_module_as_json(planner, here):
    configuration = json.loads(planner("show", "-json", "-config").out)
    planner("plan", "-out=p")
    assert configuration == json.loads(planner("show", "-json", "p").out)["configuration"]
    module = json.loads(planner("show", "-json", "-module=.").out)
    assert module == {
        "provider_config": {"terraform": {"name": "terraform", "full_name": "terraform.io/builtin/terraform"}},
        "root_module": {
            "outputs": {"o": {}},
            "resources": [
                {
                    "address": f"terraform_data.{name}",
                    "mode": "managed",
                    "type": "terraform_data",
                    "name": name,
                    "provider_config_key": "terraform",
                }
                for name in "as"
            ],
        },
    }
    for words in (["-config"], ["-module=."], ["-json", "-config", "-state"], ["-json", "-module=nowhere"]):
        assert planner("show", *words).code == 1


def test_console_into_a_file(planner, here):
    ran = planner("console", "-json-into=lines", stdin="1 + 2\n")
    assert ran.out == "3\n"
    assert said((here / "lines").read_text()) == [(None, "3")]


def test_console_answers_about_a_value_without_a_json_form(planner, here):
    answer = json.loads(planner("console", "-json", stdin='{"expr": "[log(0, 10)]"}\n').out)
    assert answer["phase"] == "eval" and answer["diagnostics"][0]["summary"] == "Value has no JSON form"


def test_failed_conditions_tell_their_operands(planner, here):
    (here / "main.tf").write_text(
        'variable "v" {\n  default = "x"\n  validation {\n    condition     = var.v == "y"\n'
        '    error_message = "no"\n  }\n}\n'
    )
    diagnostics = [line["diagnostic"] for line in lines(planner("plan", "-json").out) if "diagnostic" in line]
    assert [d["snippet"]["values"] for d in diagnostics] == [[{"traversal": "var.v", "statement": 'is "x"'}]]


def test_init_and_get_tell_their_steps_without_ornaments(here, planner):
    (here / "m").mkdir()
    (here / "m" / "main.tf").write_text("")
    (here / "modules.tf").write_text('module "m" { source = "./m" }\n')
    assert said(planner("init", "-json", "-upgrade").out)[:-1] == [
        (None, "Initializing the backend..."),
        (None, "Upgrading modules..."),
        (None, "m in m"),
        (None, "Initializing provider plugins..."),
        (None, "terraform.io/builtin/terraform is part of this program"),
        (None, "planner has been successfully initialized!"),
    ]
    assert said(planner("get", "-json", "-update").out) == [(None, "m in m")]
