"""Whatever is fed to the command line, it answers with diagnostics and an exit code, never with a traceback."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_tests import examples

from .hostile import BYTE_EDITS, EDITS, TOKENS, dumped, json_spoiled, judged, members, packed, planner, spoiled

CONFIG = """variable "n" {
  type    = number
  default = 2
  validation {
    condition     = var.n > 0
    error_message = "More than none."
  }
}

locals {
  l = { for k in ["x", "y"] : k => upper("${k}-${var.n}") if k != "" }
}

resource "terraform_data" "a" {
  for_each = local.l
  input    = <<-E
    %{for i in range(var.n)}${i}:${each.value}%{endfor}
  E
  lifecycle {
    create_before_destroy = true
    precondition {
      condition     = length(each.key) == 1
      error_message = "One letter."
    }
  }
}

resource "terraform_data" "b" {
  count            = var.n
  input            = [for a in terraform_data.a : a.output]
  triggers_replace = [count.index, 1.5e3, -0x0 == 0 ? null : "\\u00e9"]
  depends_on       = [module.m]
}

module "m" {
  source = "./m"
  i      = var.n
}

moved {
  from = terraform_data.old
  to   = terraform_data.b[0]
}

output "o" {
  value     = terraform_data.b[*].id
  sensitive = true
}

output "p" {
  value = try(module.m.o.x[0], "none")
}
"""
CONFIG = CONFIG.replace("-0x0 == 0", "-0 == 0")
CHILD = 'variable "i" {}\noutput "o" {\n  value = { x = [var.i] }\n}\n'
TFVARS = 'n = 3\nm = { a = [1, "b"], c = null }\n'
JSON_CONFIG: dict[str, Any] = {
    "variable": {"n": {"type": "number", "default": 2}},
    "locals": [{"l": "${var.n + 1}"}],
    "resource": {
        "terraform_data": {
            "a": {
                "for_each": {"x": 1},
                "input": "${each.key}-%{if true}y%{endif}",
                "lifecycle": {"prevent_destroy": False},
            },
            "b": [{"count": "${var.n}", "input": ["${terraform_data.a}"], "depends_on": ["terraform_data.a"]}],
        }
    },
    "output": {"o": {"value": "${local.l}", "sensitive": True}},
    "moved": [{"from": "terraform_data.old", "to": "terraform_data.b[0]"}],
    "//": "a comment",
}
EXTRA = '\n/* more */ output "q" { value = 1 }\n'
COMMANDS = (("validate",), ("validate", "-json"), ("plan",), ("plan", "-json"), ("graph",), ("init",))

MODULES = """{"Modules": [{"Key": "", "Source": "", "Dir": "."}, {"Key": "m", "Source": "./m", "Dir": "m"}]}"""

few = settings(
    max_examples=int(os.environ.get("EXAMPLES") or examples(100)),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)


@contextlib.contextmanager
def folder(**files: str | bytes) -> Iterator[Path]:
    """A new working directory with these files (`__` is a dot, `___` a slash), and the child module m, installed."""
    former = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        files = {"m___m__tf": CHILD, "__terraform___modules___modules__json": MODULES, **files}
        for key, content in files.items():
            file = path / key.replace("___", "/").replace("__", ".")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        os.chdir(path)
        try:
            yield path
        finally:
            os.chdir(former)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("TF_", "PLANNER_"))]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def applied() -> tuple[dict[str, Any], bytes]:
    """The state after an apply of CONFIG, and a saved plan that follows it."""
    with folder(main__tf=CONFIG) as path:
        assert planner("apply", "-auto-approve").code == 0
        assert planner("plan", "-var=n=3", "-out=next").code == 0
        return json.loads((path / "terraform.tfstate").read_bytes()), (path / "next").read_bytes()


# ---------------------------------------------------------------- any damage


@few
@given(EDITS, st.sampled_from(COMMANDS))
def test_spoiled_configuration(edits: list[Any], command: tuple[str, ...]) -> None:
    with folder(main__tf=spoiled(CONFIG, edits)):
        judged(*command)


@few
@given(st.one_of(st.binary(max_size=60), st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join)))
def test_any_bytes_as_configuration(data: str | bytes) -> None:
    with folder(main__tf=data):
        judged("validate")


@few
@given(json_spoiled(JSON_CONFIG), st.sampled_from(COMMANDS))
def test_spoiled_json_configuration(document: Any, command: tuple[str, ...]) -> None:
    with folder(main__tf__json=dumped(document)):
        judged(*command)


@few
@given(EDITS)
def test_spoiled_json_text(edits: list[Any]) -> None:
    with folder(main__tf__json=spoiled(json.dumps(JSON_CONFIG, indent=1), edits)):
        judged("validate")


@few
@given(st.one_of(EDITS.map(lambda e: spoiled(TFVARS, e)), st.binary(max_size=30)), st.booleans())
def test_spoiled_variables(data: str | bytes, as_json: bool) -> None:
    name = "x.tfvars.json" if as_json else "x.tfvars"
    with folder(main__tf=CONFIG, **{name.replace(".", "__"): data}):
        judged("plan", f"-var-file={name}")


@few
@given(
    data=st.data(),
    command=st.sampled_from(
        ("state list", "plan", "output -json", "show -json", "state pull", "taint terraform_data.b[0]")
    ),
)
def test_spoiled_state(applied: tuple[dict[str, Any], bytes], data: Any, command: str) -> None:
    document = data.draw(json_spoiled(applied[0]))
    with folder(main__tf=CONFIG, terraform__tfstate=dumped(document)):
        judged(*command.split())


@few
@given(edits=BYTE_EDITS, command=st.sampled_from(("state list", "output", "show", "state mv a.b a.c")))
def test_spoiled_state_bytes(applied: tuple[dict[str, Any], bytes], edits: list[Any], command: str) -> None:
    with folder(main__tf=CONFIG, terraform__tfstate=spoiled(dumped(applied[0]), edits)):
        judged(*command.split())


PLAN_COMMANDS = st.sampled_from(
    ("show FILE", "show -json FILE", "apply FILE", "graph -plan=FILE", "why -plan=FILE terraform_data.b[0]")
)


@few
@given(edits=BYTE_EDITS, command=PLAN_COMMANDS)
def test_spoiled_plan_bytes(applied: tuple[dict[str, Any], bytes], edits: list[Any], command: str) -> None:
    state, plan = applied
    with folder(main__tf=CONFIG, terraform__tfstate=dumped(state), next=spoiled(plan, edits)):
        judged(*command.replace("FILE", "next").split())


@pytest.mark.slow
@few
@given(data=st.data(), command=PLAN_COMMANDS)
def test_spoiled_plan_members(applied: tuple[dict[str, Any], bytes], data: Any, command: str) -> None:
    state, plan = applied
    contents = members(plan)
    name = data.draw(st.sampled_from(["tfplan", "tfplan", *sorted(contents)]))
    if name == "sha256" or name.startswith("config/"):
        contents[name] = spoiled(contents[name], data.draw(BYTE_EDITS))
    else:
        contents[name] = dumped(data.draw(json_spoiled(json.loads(contents[name]))))
    with folder(main__tf=CONFIG, terraform__tfstate=dumped(state), next=packed(contents)):
        judged(*command.replace("FILE", "next").split())


TEXTS = st.one_of(st.lists(st.sampled_from(TOKENS), min_size=1, max_size=8).map("".join), st.text(max_size=12))


def spoiled_or_any(*texts: str) -> st.SearchStrategy[str]:
    return st.one_of(TEXTS, st.builds(spoiled, st.sampled_from(texts), EDITS))


@few
@given(
    spoiled_or_any(
        'try(terraform_data.b[0].id, "x")', 'templatestring("${var.n}", {})', "{for k, v in local.l : k => v...}"
    )
)
def test_any_text_in_the_console(text: str) -> None:
    with folder(main__tf=CONFIG):
        judged("console", stdin=text + "\n")


QUESTION = 'edge(X, "terraform_data.b (expand)"), not module(X, _, 1), X != Y, N = count { edge(X, Y) }'


@few
@given(spoiled_or_any('edge(X, "terraform_data.b (expand)")', QUESTION), st.booleans())
def test_any_question(text: str, as_json: bool) -> None:
    with folder(main__tf=CONFIG):
        judged("query", *(["-json"] if as_json else []), "--", text)


SET = 'deps(terraform_data.*) & rdeps(terraform_data.b, 2) - "module.m (close)" + terraform_data.a["x"]'


@pytest.mark.slow
@few
@given(
    spoiled_or_any(SET, "somepath(root, terraform_data.b (expand))", "blast(terraform_data.b)"),
    st.sampled_from(("-json", "-csv", "-dot")),
)
def test_any_set_of_vertices(text: str, form: str) -> None:
    with folder(main__tf=CONFIG):
        judged("query", form, "--", text)


NODE = spoiled_or_any(
    "terraform_data.b (expand)", 'terraform_data.a["x"]', "module.m (close)", 'edge("root", X)', "edge(X, Y)"
)


@pytest.mark.slow
@few
@given(st.lists(NODE, min_size=1, max_size=3), st.sampled_from(([], ["-not"], ["-json"], ["-full"], ["-type=apply"])))
def test_any_words_to_why(words: list[str], flags: list[str]) -> None:
    with folder(main__tf=CONFIG):
        judged("why", *flags, "--", *words)


ADDRESS = spoiled_or_any('module.m["k"].terraform_data.a["x"]', "terraform_data.b[0]", "data.x.y", "module.m")


@few
@given(ADDRESS, st.sampled_from(("target", "exclude", "replace")))
def test_any_address_as_option(text: str, option: str) -> None:
    with folder(main__tf=CONFIG):
        judged("plan", f"-{option}={text}")


@pytest.mark.slow
@few
@given(
    addresses=st.lists(ADDRESS, min_size=2, max_size=2),
    command=st.sampled_from(("list", "show", "rm", "mv", "taint", "untaint", "import")),
)
def test_any_address_in_the_state(applied: tuple[dict[str, Any], bytes], addresses: list[str], command: str) -> None:
    words = ["state", command] if command in ("list", "show", "rm", "mv") else [command]
    with folder(main__tf=CONFIG, terraform__tfstate=dumped(applied[0])):
        judged(*words, "--", *addresses[: 2 if command in ("mv", "import") else 1])


FLAGS = st.lists(
    st.one_of(
        TEXTS.map("-{}".format),
        st.tuples(
            st.sampled_from(
                ("var", "var-file", "out", "target", "parallelism", "lock-timeout", "lock", "json", "type", "state")
            ),
            st.sampled_from(
                ("", "=", "=x", "=0", "=-1", "=1h", "=n=", "=n=[", "=1e9", "=true", "=.", "=\x00", "=n=\udcff")
            ),
        ).map("-{0[0]}{0[1]}".format),
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.slow
@few
@given(
    st.sampled_from(("plan", "validate", "graph", "show", "output", "state list", "init", "fmt", "query", "console")),
    FLAGS,
)
def test_any_options(command: str, flags: list[str]) -> None:
    with folder(main__tf='variable "n" {\n  default = 1\n}\n'):
        judged(*command.split(), *flags)


@few
@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_any_command_line(words: list[str]) -> None:
    with folder():
        ran = planner(*words)
        assert ran.code in (0, 1, 127)
        assert "Traceback" not in ran.err and "Internal error" not in ran.err


# ---------------------------------------------------------------- what is said


def test_syntax_errors_of_several_files_are_reported_together() -> None:
    with folder(a__tf="locals {\n  x = \n}\n", b__tf='\noutput "o" {\n', c__tf__json='{"locals": [}'):
        said = judged("validate").err
    assert "on a.tf line 2" in said and "on b.tf line 2" in said and "on c.tf.json line 1" in said


def test_files_that_cannot_be_read() -> None:
    with folder() as path:
        (path / "gone.tf").symlink_to("nowhere")
        ran = judged("validate")
        assert ran.code == 1 and "gone.tf" in ran.err
        for words in (
            ("plan", "-var-file=m"),
            ("show", "m"),
            ("apply", "m"),
            ("plan", "-state=m"),
            ("plan", "-var-file=no"),
        ):
            assert judged(*words).code == 1


def test_a_directory_that_is_named_like_a_file() -> None:
    with folder(main__tf="locals {}\n") as path:
        (path / "x.tf").mkdir()
        judged("validate")


def test_a_missing_variable_is_named_with_its_line() -> None:
    with folder(main__tf='\nvariable "wanted" {}\n'):
        ran = judged("plan", "-input=false")
    assert ran.code == 1 and "on main.tf line 2" in ran.err and '"wanted"' in ran.err


def test_an_unknown_command_is_refused() -> None:
    ran = judged("plam")
    assert ran.code == 1 and "Did you mean plan?" in ran.err


@pytest.mark.parametrize(
    "content",
    [
        '{"version": 4',
        "",
        "null",
        "[]",
        '{"version": 3, "serial": 1, "lineage": "x", "modules": [1]}',
        '{"version": 99}',
        "\x00",
    ],
)
def test_unusable_states(content: str) -> None:
    for words in (("state", "list"), ("plan",), ("output",), ("show",)):
        with folder(main__tf='output "o" {\n  value = 1\n}\n', terraform__tfstate=content) as path:
            ran = judged(*words)
            # an empty file is what a lock leaves behind: no state yet
            assert ran.code == 1 or content == ""
            assert (path / "terraform.tfstate").read_bytes() == content.encode()


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("name", ""),
        ("name", "a b"),
        ("type", "1."),
        ("module", "module."),
        ("mode", "x"),
        ("provider", "x["),
        ("instances", 5),
    ],
)
def test_states_with_one_wrong_part(applied: tuple[dict[str, Any], bytes], part: str, value: Any) -> None:
    document = json.loads(dumped(applied[0]))
    document["resources"][0][part] = value
    for words in (("state", "list"), ("plan",), ("state", "rm", "terraform_data.b")):
        with folder(main__tf=CONFIG, terraform__tfstate=dumped(document)):
            assert judged(*words).code == 1


def test_a_type_in_the_state_that_is_none(applied: tuple[dict[str, Any], bytes]) -> None:
    document = json.loads(dumped(applied[0]))
    document["resources"][0]["instances"][0]["attributes"]["input"]["type"] = ["string", "string"]
    with folder(main__tf=CONFIG, terraform__tfstate=dumped(document)):
        assert judged("plan").code == 1


@pytest.mark.parametrize(
    ("member", "value"),
    [("importing", "x"), ("facts", {"t": [{"t": [None]}]}), ("action", "x"), ("key", True), ("replace_paths", 1)],
)
def test_plans_with_one_wrong_part(applied: tuple[dict[str, Any], bytes], member: str, value: Any) -> None:
    contents = members(applied[1])
    head = json.loads(contents["tfplan"])
    head["plan"]["changes"]["t"][0]["f"][member] = value
    contents["tfplan"] = dumped(head)
    with folder(main__tf=CONFIG, terraform__tfstate=dumped(applied[0]), next=packed(contents)):
        ran = judged("show", "-json", "next")
    assert ran.code == 1 and "next cannot be read as a plan" in ran.err.replace("\n", " ")


def test_a_rule_file_with_an_error_is_named() -> None:
    from planner.logic.datalog.engine.cache import load_program

    program, problems = load_program([("policy/broken.dl", "\np(X) :- q(X\n")])
    assert program is None
    subject = problems[0].subject
    assert subject is not None and subject.source.filename == "policy/broken.dl"


def test_a_process_ends_with_a_diagnostic_too(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_bytes(b'locals {\n  x = "\xff"\n}\n')
    done = subprocess.run(
        [sys.executable, "-m", "planner", "validate"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr and "main.tf line 2" in done.stderr


def test_numbers_longer_than_any_are_refused_and_not_read_for_minutes(tmp_path: Path) -> None:
    """Reading them takes time that grows with the square of their digits, and Python listens to no signal then."""
    output = f'{{"value": {"9" * 30_000}, "type": "number"}}'
    (tmp_path / "terraform.tfstate").write_text(
        f'{{"version": 4, "terraform_version": "1.12.0", "serial": 1, "lineage": "l", "outputs": {{"o": {output}}}}}'
    )
    done = subprocess.run([sys.executable, "-m", "planner", "output"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "is not valid JSON: Exceeds the limit (20000" in " ".join(done.stderr.split())


@pytest.mark.parametrize("key", ["[null]", "[true]", "[1.5]", ".0.1"])
@pytest.mark.parametrize(
    "block", ["moved {\n  from = %s\n  to = a.c\n}", "removed {\n  from = %s\n}", 'import {\n  to = %s\n  id = "x"\n}']
)
def test_keys_that_are_none(block: str, key: str) -> None:
    with folder(**{"main.tf": block.replace("%s", f"terraform_data.b{key}")}):
        assert judged("validate").code == 1
