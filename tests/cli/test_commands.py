"""Commands around operations that are played: what they ask of them, what they print, how they exit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from render import from_json

from cli.conftest import Ran
from planner.cli.commands.console import evaluated, open_brackets, statements
from planner.cli.commands.providers import module_entries, tree
from planner.engine.evaluation.schemas import Schemas
from planner.foundation.values.types import NUMBER, STRING
from planner.foundation.vocabulary.diagnostic import error, warning
from planner.language.config.model import Config, ModuleConfig, RequiredProvider
from planner.language.expressions.evaluate import MappingScope
from planner.logic.graph.query_answers import Answers
from planner.logic.programs.actions import Counts
from planner.operations.apply import Applied
from planner.operations.plan import MadePlan, Planned
from planner.operations.providers_needed import needed_providers
from planner.operations.show import ShownState
from planner.operations.state_access import Stored
from planner.world.provider.registry import start_provider
from planner.world.state.backends.local import LocalBackend
from planner.world.state.model import InstanceState, ObjectState, OutputState, ResourceState, State

PROVIDER = 'provider["terraform.io/builtin/terraform"]'
CREATED = {
    "address": "terraform_data.a",
    "mode": "managed",
    "type": "terraform_data",
    "name": "a",
    "provider_name": "terraform.io/builtin/terraform",
    "change": {"actions": ["create"], "before": None, "after": {"input": 1}, "after_unknown": {"id": True}},
}
CHANGES = from_json.plan({"resource_changes": [CREATED]})
NOTHING = from_json.plan({})
STATE = State(
    {
        address: ResourceState(module, "managed", "terraform_data", "a", PROVIDER, instances)
        for address, module, instances in (
            (
                "terraform_data.a",
                "",
                {k: InstanceState(k, ObjectState({"id": f"i-{k}", "input": 1})) for k in (0, 10, 2)},
            ),
            (
                "module.m.terraform_data.a",
                "module.m",
                {None: InstanceState(None, ObjectState({"id": "m"}, tainted=True))},
            ),
        )
    },
    {"o": OutputState(5, NUMBER), "s": OutputState("hush", STRING, True)},
)


class NoSchemas(Schemas):
    """Knows no schema: objects are shown by their values."""

    def resource(self, source, mode, type):
        return None


class Played:
    """The operations; every call is noted in `calls` as (name, arguments)."""

    def __init__(self):
        self.calls, self.problems = [], ()
        self.planned, self.state, self.counts = CHANGES, STATE, (1, 0, 0, 0, 0)
        self.schemas = NoSchemas(start_provider)
        self.backend = LocalBackend()

    def note(self, name, *arguments):
        self.calls.append((name, arguments))

    def made(self, options):
        more = {"backend": self.backend, "store": self.backend.store(), "state": State()}
        config = Config(ModuleConfig((), ".", None))
        loaded = Stored(options, "default", {}, config, self.schemas, (), **more)
        made = None if self.planned is None else MadePlan(self.planned, loaded, {})
        return Planned(made, tuple(self.problems))

    def plan(self, options, hooks, to_apply=False):
        self.note("plan", options)
        hooks.refresh_start("terraform_data.old")
        return self.made(options)

    def open_saved_plan(self, options, path):
        self.note("saved", path)
        return self.made(options)

    def refresh(self, options, hooks):
        self.note("refresh", options)
        return Applied(self.state, diagnostics=tuple(self.problems))

    def save_plan(self, made, path, review=None):
        self.note("save_plan", path)
        return []

    def apply(self, options, planned, hooks):
        self.note("apply", options, planned)
        if planned.complete is None:
            return Applied(None, diagnostics=planned.diagnostics)
        hooks.apply_start("terraform_data.a", "create")
        hooks.apply_complete("terraform_data.a", "create")
        return Applied(self.state, Counts(*self.counts), tuple(self.problems))

    def validate_with_tests(self, options, test_directory):
        self.note("validate", options, test_directory)
        return list(self.problems)

    def outputs(self, options):
        self.note("outputs", options)
        return (self.state.outputs if self.state else {}), []

    def stored_state(self, options):
        return ShownState(self.state, self.schemas), list(self.problems)

    def show(self, options, path):
        self.note("show", path)
        return (self.made(options).made if path else ShownState(self.state, self.schemas)), list(self.problems)

    def shown_json(self, shown):
        if isinstance(shown, ShownState):
            return {"format_version": "1.0"}
        return {"format_version": "1.2", "terraform_version": "1.12.6"}

    def init(self, options, **more):
        self.note("init", options, more)
        return list(self.problems)

    def query(self, options, words, asked):
        self.note("query", words, asked.kind, asked.plan_file)
        return Answers(("X",), [("a",), ("1",)]), []


WHERE = {
    "operations.plan": ("plan",),
    "operations.plan_files": ("open_saved_plan", "save_plan"),
    "operations.apply": ("apply", "refresh"),
    "workflows.testing.validate": ("validate_with_tests",),
    "operations.show": ("outputs", "stored_state", "show"),
    "cli.commands.show": ("shown_json",),
    "cli.commands.state": ("shown_json",),
    "operations.init": ("init",),
    "operations.query": ("query",),
}
"""the modules that commands call, and what is played of them"""


@pytest.fixture
def played(monkeypatch):
    stage = Played()
    for module, names in WHERE.items():
        for name in names:
            monkeypatch.setattr(f"planner.{module}.{name}", getattr(stage, name))
    return stage


def lines_of(text):
    return [json.loads(line) for line in text.split("\n") if line]


def types_of(text):
    return [line["type"] for line in lines_of(text)]


# ---------------------------------------------------------------- plan


@pytest.mark.parametrize(
    ("plan", "problems", "words", "code"),
    [
        (CHANGES, (), (), 0),
        (CHANGES, (), ("-detailed-exitcode",), 2),
        (NOTHING, (), ("-detailed-exitcode",), 0),
        (NOTHING, (warning("w", "Odd"),), ("-detailed-exitcode",), 0),
        (CHANGES, (error("e", "Bad"),), ("-detailed-exitcode",), 1),
        (None, (error("e", "Bad"),), ("-detailed-exitcode",), 1),
    ],
)
def test_plan_exit_codes(planner, played, plan, problems, words, code):
    played.planned, played.problems = plan, problems
    assert planner("plan", *words).code == code


def test_plan_text(planner, played):
    ran = planner("plan")
    assert "terraform_data.old: Refreshing state..." in ran.out
    assert "Plan: 1 to add, 0 to change, 0 to destroy." in ran.out
    assert "Note: The plan was not saved" in ran.out
    assert ran.err == ""
    played.planned = NOTHING
    assert "No changes. Your infrastructure matches the configuration." in planner("plan").out


def test_plan_in_automation_gives_no_advice(planner, played, monkeypatch):
    monkeypatch.setenv("TF_IN_AUTOMATION", "1")
    assert "Note:" not in planner("plan").out


def test_plan_is_saved_even_when_it_failed(planner, played):
    ran = planner("plan", "-out", "p.bin")
    assert ("save_plan", ("p.bin",)) in played.calls
    assert 'planner apply "p.bin"' in ran.out
    played.problems = (error("e", "Bad"),)
    played.calls.clear()
    assert planner("plan", "-out=p.bin").code == 1
    assert ("save_plan", ("p.bin",)) in played.calls


def test_plan_json(planner, played):
    ran = planner("plan", "-json")
    assert types_of(ran.out) == ["version", "refresh_start", "planned_change", "change_summary"]


def test_json_into_a_file_beside_the_text(planner, played, tmp_path):
    path = tmp_path / "lines"
    ran = planner("plan", f"-json-into={path}")
    assert "Plan: 1 to add" in ran.out
    assert types_of(path.read_text()) == ["version", "refresh_start", "planned_change", "change_summary"]
    assert planner("plan", f"-json-into={tmp_path}/no/file").code == 1


def test_flags_reach_the_operation(planner, played):
    words = ["-destroy", "-refresh=false", "-parallelism", "3", "-lock=false", "-lock-timeout=1m", "-state", "S"]
    more = ["-state-out=T", "-backup=-", "-var", "a=1", "-var-file=f", "-target=a.b[0]", "-replace=a.c"]
    more += ["-compact-warnings"]
    assert planner("plan", *words, *more).code == 0
    (options,) = played.calls[0][1]
    assert (options.mode, options.refresh, options.parallelism, options.lock) == ("destroy", False, 3, False)
    assert (options.lock_timeout, options.state_path, options.state_out, options.backup) == (60.0, "S", "T", "-")
    assert options.var_args == (("var", "a=1"), ("var-file", "f"))
    assert options.limits.to_json() == {"targets": ["a.b[0]"], "excludes": [], "replace": ["a.c"]}


@pytest.mark.parametrize(
    ("words", "needle"),
    [
        (["-destroy", "-refresh-only"], "-destroy and -refresh-only"),
        (["-refresh-only", "-refresh=false"], "-refresh-only reads the real"),
        (["-target=a.b", "-exclude=c.d"], "not by both"),
        (["-target=a..b"], "is not a valid address"),
        (["-target="], "is not a valid address"),
        (["-parallelism=-1"], "negative"),
        (["-target-file=nowhere"], "nowhere"),
        (["words"], "-chdir=DIR"),
    ],
)
def test_flags_that_make_no_sense(planner, played, words, needle):
    ran = planner("plan", *words)
    assert ran.code == 1
    assert needle in ran.err
    assert not played.calls


def test_targets_from_a_file(planner, played, tmp_path):
    path = tmp_path / "targets"
    path.write_text("# these\nterraform_data.a\n\n  module.m\n")
    planner("plan", f"-target-file={path}")
    assert played.calls[0][1][0].limits.to_json()["targets"] == ["terraform_data.a", "module.m"]
    path.write_text("terraform_data.a\na.b.[\n")
    ran = planner("plan", f"-target-file={path}")
    assert ran.code == 1
    assert "targets line 2" in ran.err


def test_usage_errors_as_json_lines(planner, played):
    ran = planner("plan", "-json", "-bogus")
    assert ran.code == 1
    assert types_of(ran.out) == ["version", "diagnostic"]


# ---------------------------------------------------------------- apply


def test_apply_asks(planner, played):
    ran = planner("apply", stdin="yes\n")
    assert ran.code == 0
    assert "Only 'yes' will be accepted to approve." in ran.out
    assert "terraform_data.a: Creation complete after 0s" in ran.out
    assert "Apply complete! Resources: 1 added, 0 changed, 0 destroyed." in ran.out
    assert "Outputs:\n\no = 5\ns = <sensitive>\n" in ran.out


def test_apply_takes_no_for_an_answer(planner, played):
    ran = planner("apply", stdin="y\n")
    assert ran.code == 1
    assert "Apply cancelled." in ran.out
    assert [name for name, _ in played.calls] == ["plan"]


@pytest.mark.parametrize("words", [("-input=false",), ()])
def test_apply_that_cannot_ask_fails(planner, played, words):
    ran = planner("apply", *words)
    assert ran.code == 1
    assert [name for name, _ in played.calls] == ["plan"]
    assert "Error:" in ran.err


def test_input_can_be_switched_off_by_the_environment(planner, played, monkeypatch):
    monkeypatch.setenv("TF_INPUT", "0")
    assert planner("apply", stdin="yes\n").code == 1


def test_apply_without_changes_does_not_ask(planner, played):
    played.planned, played.counts = NOTHING, (0, 0, 0, 0, 0)
    ran = planner("apply")
    assert ran.code == 0
    assert "Apply complete! Resources: 0 added, 0 changed, 0 destroyed." in ran.out


def test_apply_a_saved_plan(planner, played):
    ran = planner("apply", "-input=false", "-parallelism=2", "p.bin", "-state=S", "-no-color")
    assert ran.code == 0
    (_, (path,)), (name, (options, saved)) = played.calls
    assert (name, path, saved.plan, options.state_path) == ("apply", "p.bin", CHANGES, "S")
    assert planner("apply", "a", "b").code == 1


def test_apply_json(planner, played):
    ran = planner("apply", "-json", "-auto-approve")
    assert types_of(ran.out) == [
        "version",
        "refresh_start",
        "planned_change",
        "change_summary",
        "apply_start",
        "apply_complete",
        "change_summary",
        "outputs",
    ]
    assert planner("apply", "-json").code == 1


def test_a_failed_apply_does_not_claim_to_be_complete(planner, played):
    played.problems = (error("e", "Bad"),)
    ran = planner("apply", "p.bin")
    assert ran.code == 1
    assert "complete!" not in ran.out
    assert "Error: Bad" in ran.err


def test_imports_and_forgotten_objects_are_counted(planner, played):
    played.counts = (1, 2, 3, 4, 5)
    sentence = "Apply complete! Resources: 4 imported, 1 added, 2 changed, 3 destroyed, 5 forgotten."
    assert sentence in planner("apply", "p.bin").out


def test_destroy(planner, played):
    played.planned = from_json.plan({"resource_changes": [CREATED]}, "destroy")
    played.counts = (0, 0, 1, 0, 0)
    ran = planner("destroy", stdin="yes\n")
    assert ran.code == 0
    assert played.calls[0][1][0].mode == "destroy"
    assert "Destroy complete! Resources: 1 destroyed." in ran.out
    assert "Outputs:" not in ran.out
    assert "Destroy cancelled." in planner("destroy", stdin="no\n").out
    assert planner("destroy", "-force").code == 1
    assert planner("destroy", "p.bin").code == 1


def test_refresh_records_without_asking(planner, played):
    ran = planner("refresh")
    assert ran.code == 0
    assert [name for name, _ in played.calls] == ["refresh"]
    assert played.calls[0][1][0].mode == "normal"


# ---------------------------------------------------------------- show, output, state


def test_output(planner, played):
    assert planner("output", "-no-color").out == "o = 5\ns = <sensitive>\n"
    assert planner("output", "s").out == '"hush"\n'
    assert planner("output", "-raw", "s").out == "hush"
    assert planner("output", "o", "-json", "-no-color").out == "5\n"
    assert json.loads(planner("output", "-json").out) == {
        "o": {"sensitive": False, "type": "number", "value": 5},
        "s": {"sensitive": True, "type": "string", "value": "hush"},
    }
    missing = planner("output", "oo")
    assert missing.code == 1
    assert 'Did you mean "o"?' in missing.err


def test_no_output(planner, played):
    played.state = None
    assert planner("output", "-json").out == "{}\n"
    ran = planner("output")
    assert ran.code == 0
    assert "Warning: No outputs found" in ran.err
    assert planner("output", "-json", "x").code == 1


def test_show(planner, played):
    assert planner("show", "-json", "p.bin").out == '{"format_version":"1.2","terraform_version":"1.12.6"}\n'
    assert planner("show", "-json").out == '{"format_version":"1.0"}\n'
    assert "Plan: 1 to add" in planner("show", "p.bin").out
    text = planner("show").out
    assert '# terraform_data.a[2]:\nresource "terraform_data" "a" {\n    id    = "i-2"\n    input = 1\n}\n' in text
    assert "# module.m.terraform_data.a: (tainted)" in text
    assert text.endswith("Outputs:\n\no = 5\ns = (sensitive value)\n")
    played.state = None
    assert planner("show").out == "No state.\n"


def test_state_list(planner, played):
    everything = ["terraform_data.a[0]", "terraform_data.a[2]", "terraform_data.a[10]", "module.m.terraform_data.a"]
    assert planner("state", "list").out.split() == everything
    assert planner("state", "list", "module.m").out.split() == everything[3:]
    assert planner("state", "list", "terraform_data.a").out.split() == everything[:3]
    assert planner("state", "list", "-id=i-2").out.split() == everything[1:2]
    missing = planner("state", "list", "terraform_data.nope")
    assert missing.code == 1
    assert "terraform_data.nope" in missing.err
    assert planner("state", "list", "a..b").code == 1
    played.state = None
    assert planner("state", "list").code == 1


def test_state_show(planner, played):
    assert 'id    = "i-10"' in planner("state", "show", "terraform_data.a[10]").out
    assert "several instances" in planner("state", "show", "terraform_data.a").err
    assert planner("state", "show").code == 1


# ---------------------------------------------------------------- others


def test_validate(planner, played):
    ran = planner("validate")
    assert (ran.code, ran.out) == (0, "Success! The configuration is valid.\n")
    played.problems = (error("e", "Bad"), warning("w", "Odd"))
    ran = planner("validate", "-no-color", "-json")
    assert ran.code == 1
    found = json.loads(ran.out)
    assert (found["valid"], found["error_count"], found["warning_count"]) == (False, 1, 1)
    assert ran.err == ""
    assert planner("validate").code == 1


def test_init(planner, played):
    ran = planner("init", "-input=false", "-backend-config=a=b", "-upgrade", "-plugin-dir", "d", "-var-file=f")
    assert ran.code == 0
    assert "planner has been successfully initialized!" in ran.out
    options, more = played.calls[0][1]
    assert more["backend_config"] == ("a=b",)
    assert (more["upgrade"], more["plugin_dirs"]) == (True, ("d",))
    assert options.var_args == (("var-file", "f"),)
    assert lines_of(planner("init", "-json").out)[-1]["@level"] == "info"


def test_query(planner, played):
    assert planner("query", "edge(X, Y)").out == "X\n---\na\n1\n"
    found = json.loads(planner("query", "-json", "edge(X, Y)", "-plan=p").out)
    assert found == {"format_version": "1.0", "columns": ["X"], "rows": [["a"], ["1"]]}
    assert played.calls[-1] == ("query", (("edge(X, Y)",), "", "p"))
    assert planner("query").code == 1


@pytest.mark.parametrize("command", ["state", "workspace", "metadata"])
def test_families_list_their_commands(planner, command):
    ran = planner(command)
    assert ran.code == 1
    assert "Commands:" in ran.out


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        *(("f(", 1), ("[{(", 3), ("f()", 0), ('"("', 0), ('"\\"("', 0), ("# (\n[", 1), ("// (", 0), (")", -1)),
        ("/* { */ 1", 0),
    ],
)
def test_open_brackets(text, depth):
    assert open_brackets(text) == depth


def test_statements_join_lines_while_brackets_are_open():
    lines = iter(["1 +\\\n", "2\n", "\n", "[\n", "3\n", "]\n", "last"])
    depths = []
    found = list(statements(lambda: next(lines, ""), depths.append))
    assert found == ["1 +\n2", "", "[\n3\n]", "last"]
    assert max(depths) == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('type([1, "a"])', "tuple([\n    number,\n    string,\n])"),
        ("type(sensitive(true))", "bool"),
        ("1e400", "1" + "0" * 400),
        ("", ""),
    ],
)
def test_console_shows(text, shown):
    assert evaluated(text, MappingScope({})) == shown


def test_tree_of_providers():
    child = ModuleConfig(("m",), "m", None)
    root = ModuleConfig(
        (),
        str(Path.cwd()),
        None,
        required_providers={"x": RequiredProvider("x", "example.com/a/x", "~> 1.0", (), None)},
        children={"m": child},
    )
    needed = needed_providers(Config(root))
    assert tree(module_entries(root, needed), "") == ["├── provider[example.com/a/x] ~> 1.0", "└── module.m"]


def test_a_workspace_that_the_environment_names_can_be_created(tmp_path, monkeypatch, planner):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TF_WORKSPACE", "q")
    assert planner("workspace", "new", "other").code == 1
    assert planner("workspace", "new", "q").code == 0
    assert planner("workspace", "select", "q").code == 1
    for words in (("state", "pull", "x"), ("workspace", "list", "x")):
        assert planner(*words).code == 1, words


def test_what_has_not_begun_says_how_to_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = planner("test", terminal=True)
    assert ran.code == 0 and "planner test -generate" in ran.out
    assert planner("test").out == "\nSuccess! 0 passed, 0 failed.\n"
    ran = planner("policy", "check")
    assert ran.code == 1 and "-policy=builtin:NAME" in ran.err
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies/p.dl").write_text('deny("x", A, "no") :- acts(A, "delete").\n')
    assert "planner policy check -policy=policies" in " ".join(planner("policy", "check").err.split())


def test_cycles_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text("locals {\n  a = 1\n}\n")
    assert planner("cycles").code == 0
    (tmp_path / "main.tf").write_text("locals {\n  a = local.b\n  b = local.a\n}\n")
    assert (planner("cycles").code, planner("cycles", "-json").code) == (1, 1)
    ran = planner("query", "edge(terraform_data.a, X)")
    assert ran.code == 1 and 'in double quotes: "terraform_data.a"' in " ".join(ran.err.split())
