"""What set an action off, and why a value is not known: the reasons of a proof from its root to its leaf cause."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from explain.explaining import explain, explain_text
from plan.planning import recorded, write_state

from planner.foundation.vocabulary.diagnostic import Failure
from planner.logic.programs.actions import verbs

ONLY = "exists only before or only after the apply"


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reasons(document: dict[str, Any]) -> list[str]:
    """The reasons of the steps of the chain, each before what it rests on."""
    found = []
    stack, seen = [document["root"]], set()
    while stack:
        name = stack.pop()
        step = document["proofs"][name]
        if name in seen or step.get("input"):
            continue
        seen.add(name)
        if step["tuple"][0] in ("explained", "changes", "unknown"):
            found.append(step["reason"])
        stack += [entry["proof"] for entry in reversed(step["body"]) if "proof" in entry]
    return found


CHAIN = """
variable "x" { default = "2" }
locals { t = var.x }
resource "terraform_data" "a" { triggers_replace = local.t }
resource "terraform_data" "b" { triggers_replace = terraform_data.a.id }
"""


def test_a_replacement_is_followed_to_the_variable_that_changed(work: Path) -> None:
    write_state(work, recorded("a", triggers="2"), recorded("b", triggers="id-a"))
    found = explain_text(CHAIN, "-var=x=3").action("terraform_data.b", "replace")
    assert reasons(found) == [
        "terraform_data.b is replaced (replace_because_cannot_update): triggers_replace forces replacement",
        "the value of terraform_data.b.triggers_replace is only known after the apply",
        "terraform_data.b.triggers_replace refers to terraform_data.a.id, which is not known yet",
        "the provider decides terraform_data.a.id when terraform_data.a is applied (delete-then-create)",
        "terraform_data.a is replaced (replace_because_cannot_update): triggers_replace forces replacement",
        'terraform_data.a.triggers_replace changes from "2" to "3"; it refers to local.t',
        "local.t refers to var.x",
        'var.x changed from "2" to "3" (command line)',
    ]
    places = {json.dumps(s.get("source"), sort_keys=True) for s in found["proofs"].values() if s.get("input")}
    assert '{"command_line": "-var=x"}' in places
    assert any('"line": 3' in place and "var.x" in place for place in places)


def test_a_plan_file_gives_the_same_answers(work: Path) -> None:
    from planner.engine.walk.hooks import Hooks
    from planner.operations.plan import plan
    from planner.operations.plan_files import save_plan

    write_state(work, recorded("a", triggers="2"), recorded("b", triggers="id-a"))
    made = explain_text(CHAIN, "-var=x=3").action("terraform_data.b")
    from explaining import FLAGS

    from planner.api.making import Making
    from planner.cli.flags import parse
    from planner.cli.options import plan_calls

    planned = plan(plan_calls(Making, parse(["-var=x=3"], FLAGS)).options, Hooks())
    assert planned.made is not None
    assert save_plan(planned.made, "saved") == []
    saved, _ = explain([], "saved")
    assert saved is not None
    assert reasons(saved.action("terraform_data.b"))[:-1] == reasons(made)[:-1]


def test_sensitive_values_are_never_shown(work: Path) -> None:
    write_state(work, recorded("a", triggers="secret-before", input="secret-before"))
    explained = explain_text(
        """
variable "x" {
  sensitive = true
  default   = "secret-after"
}
resource "terraform_data" "a" {
  triggers_replace = var.x
  input            = "secret-prefix-${var.x}"
}
"""
    )
    text = json.dumps(explained.action("terraform_data.a"))
    assert "(sensitive value)" in text and "secret-" not in text
    with pytest.raises(Failure) as raised:
        explained.unknown("terraform_data.a.input")
    assert "secret-" not in str(raised.value.diagnostics)


ACTIONS = {
    "text": (
        'resource "terraform_data" "a" { input = "new" }',
        ['terraform_data.a.input changes from "old" to "new", as written in the configuration'],
    ),
    "default of a variable": (
        'variable "v" { default = "new" }\nresource "terraform_data" "a" { input = "${var.v}d" }',
        ['terraform_data.a.input changes from "old" to "newd"; it refers to var.v', 'var.v is now "new" (default)'],
    ),
    "text of a local": (
        'locals { v = "new" }\nresource "terraform_data" "a" { input = "${local.v}d" }',
        [
            'terraform_data.a.input changes from "old" to "newd"; it refers to local.v',
            "local.v is set in the configuration",
        ],
    ),
    "another object's change": (
        'resource "terraform_data" "n" { input = "n" }\nlocals { n = terraform_data.n }\n'
        'resource "terraform_data" "a" { input = local.n.input }',
        [
            'terraform_data.a.input changes from "old" to "n"; it refers to local.n.input',
            "local.n.input refers to terraform_data.n.input",
            f"the planned action of terraform_data.n is create, so terraform_data.n.input {ONLY}",
            "the planned action of terraform_data.n is create",
        ],
    ),
    "a part of another object": (
        'resource "terraform_data" "o" { input = "o2" }\nresource "terraform_data" "a" '
        "{ input = jsonencode({ o = terraform_data.o.input }) }",
        [
            'terraform_data.a.input changes from "old" to "{\\"o\\":\\"o2\\"}"; it refers to terraform_data.o.input',
            'terraform_data.o.input changes from "o1" to "o2", as written in the configuration',
        ],
    ),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_an_update_is_followed(name: str, work: Path) -> None:
    text, expected = ACTIONS[name]
    write_state(work, recorded("a", input="old"), recorded("o", input="o1"))
    found = reasons(explain_text(text).action("terraform_data.a", "update"))
    assert found == ["terraform_data.a is updated in place: input differs", *expected]


def test_an_instance_that_goes(work: Path) -> None:
    write_state(work, recorded("c[0]"), recorded("c[1]"), recorded("a", input="old"))
    found = explain_text(
        'resource "terraform_data" "c" { count = 1 }\n'
        'resource "terraform_data" "a" { input = length(terraform_data.c) }'
    )
    assert reasons(found.action("terraform_data.a")) == [
        "terraform_data.a is updated in place: input differs",
        'terraform_data.a.input changes from "old" to 1; it refers to terraform_data.c',
        f"the planned action of terraform_data.c[1] is delete, so terraform_data.c {ONLY}",
        "the planned action of terraform_data.c[1] is delete (delete_because_count_index): "
        "terraform_data.c has 1 instance now and had 2",
        "terraform_data.c has 1 instance now and had 2, as written in the configuration",
    ]


def test_a_trigger_is_followed(work: Path) -> None:
    write_state(work, recorded("a"), recorded("r", input="1"))
    found = explain_text(
        'resource "terraform_data" "r" { input = "2" }\n'
        'resource "terraform_data" "a" {\n  lifecycle {\n    replace_triggered_by = [terraform_data.r]\n  }\n}'
    ).action("terraform_data.a", "replace")
    assert reasons(found) == [
        "terraform_data.a is replaced (replace_by_triggers): its replace_triggered_by names terraform_data.r",
        "terraform_data.r is updated in place: input differs",
        'terraform_data.r.input changes from "1" to "2", as written in the configuration',
    ]


def test_decisions_that_say_it_all(work: Path) -> None:
    write_state(work, recorded("a"), recorded("gone"), recorded("t", status="tainted"))
    explained = explain_text(
        'resource "terraform_data" "a" {}\nresource "terraform_data" "t" {}', "-replace=terraform_data.a"
    )
    expected = {
        ("terraform_data.a", "replace"): (
            "the planned action of terraform_data.a is delete-then-create (replace_by_request)",
            {"command_line": "-replace=terraform_data.a"},
        ),
        ("terraform_data.t", "replace"): (
            "terraform_data.t is tainted, so it is replaced (replace_because_tainted)",
            {"state": "terraform_data.t"},
        ),
        ("terraform_data.gone", "delete"): (
            "the planned action of terraform_data.gone is delete (delete_because_no_resource_config)",
            {"state": "terraform_data.gone"},
        ),
    }
    for (address, verb), (words, source) in expected.items():
        found = explained.action(address, verb)
        assert reasons(found) == [words]
        assert source in [step.get("source") for step in found["proofs"].values()]


LACKING = {
    "no-op": ["input, output differ"],
    "create": ["it already has an object"],
    "delete": ["it is still declared (main.tf:1)", "-destroy was not given"],
    "forget": ["it is still declared (main.tf:1)", "-destroy was not given"],
    "read": ["it is not a data source"],
    "replace": [
        "the provider can change input, output in place",
        "nothing requests its replacement: no taint, no -replace, no replace_triggered_by",
    ],
}


@pytest.mark.parametrize("verb", verbs())
def test_another_action_is_an_error_that_says_which(verb: str, work: Path) -> None:
    write_state(work, recorded("a", input="old"))
    explained = explain_text('resource "terraform_data" "a" { input = "new" }')
    if verb == "update":
        explained.action("terraform_data.a", verb)
        return
    with pytest.raises(Failure) as raised:
        explained.action("terraform_data.a", verb)
    (problem,) = raised.value.diagnostics
    assert problem.summary == f"No {verb} is planned for terraform_data.a"
    first, *reasons, last = problem.detail.split("\n")
    assert first == "The plan is to update terraform_data.a: use planner why update."
    assert last == f"To see all rules that were tried: planner why -not -full {verb} terraform_data.a"
    assert reasons == [f"  {line}" for line in LACKING[verb]]
    assert explained.not_action("terraform_data.a", verb)["rules"]


def test_why_not_goes_down_to_what_is_missing(work: Path) -> None:
    write_state(work, recorded("a", input="old"))
    found = explain_text('resource "terraform_data" "a" { input = "new" }').not_action("terraform_data.a", "replace")
    first = found["rules"][0]
    assert (first["rule"], first["tuple"], first["literal"]) == (
        "plan/actions.delete-then-create",
        ["replaced", "terraform_data.a"],
        0,
    )
    missing = {inner["rule"]: inner["fails"] for inner in first["because"]}
    assert missing["plan/actions.replaced-tainted"] == "tainted(terraform_data.a)"
    assert missing["plan/actions.replaced-path"] == "requires_replace(terraform_data.a, P)"


UNKNOWNS = """
variable "v" { default = "known" }
locals {
  now  = "at ${timestamp()}"
  nest = { a = [terraform_data.a.id, "known"], b = var.v }
  pick = terraform_data.many["y"].output
}
resource "terraform_data" "a" { input = uuid() }
resource "terraform_data" "many" {
  for_each = { x = "known", y = terraform_data.a.id }
  input    = each.value
}
module "m" {
  source = "./m"
  count  = 1
  v      = local.nest.a[count.index]
}
output "all" { value = { m = module.m, ids = [for d in terraform_data.many : d.id] } }
output "splat" { value = module.m[*].out }
"""
MODULE = 'variable "v" {}\noutput "out" { value = upper(var.v) }\nlocals { late = var.v == "" ? 1 : 2 }\n'
CREATED = "the planned action of {0} is create"
DECIDED = "the provider decides {0} when {1} is applied (create)"
A = [DECIDED.format("terraform_data.a.id", "terraform_data.a"), CREATED.format("terraform_data.a")]
NEST = ["local.nest.a[0] refers to terraform_data.a.id, which is not known yet", *A]
IN_M = ["module.m[0].var.v refers to local.nest.a[0], which is not known yet", *NEST]
OUT = ["module.m[0].out refers to module.m[0].var.v, which is not known yet", *IN_M]
CAUSES = {
    "terraform_data.a.id": A,
    "local.now": ["local.now calls timestamp, which returns a different result each time and is called while applying"],
    "local.nest.a[0]": NEST,
    "local.nest": ["local.nest.a[0], a part of local.nest, is not known yet", *NEST],
    "module.m[0].out": OUT,
    "module.m[0].output.out": OUT,
    "module.m[0].local.late": ["module.m[0].local.late refers to module.m[0].var.v, which is not known yet", *IN_M],
    "output.splat[0]": ["output.splat[0] refers to module.m[0].out, which is not known yet", *OUT],
    "local.pick": [
        'local.pick refers to terraform_data.many["y"].output, which is not known yet',
        DECIDED.format('terraform_data.many["y"].output', 'terraform_data.many["y"]'),
        CREATED.format('terraform_data.many["y"]'),
    ],
    'terraform_data.many["y"].input': [
        'terraform_data.many["y"].input refers to terraform_data.many.for_each.y, which is not known yet',
        "terraform_data.many.for_each.y refers to terraform_data.a.id, which is not known yet",
        *A,
    ],
}


@pytest.fixture
def unknowns(work: Path) -> Any:
    (work / "m").mkdir()
    (work / "m" / "main.tf").write_text(MODULE, encoding="utf-8")
    return explain_text(UNKNOWNS)


def test_why_is_it_unknown(unknowns: Any) -> None:
    for name, expected in CAUSES.items():
        assert reasons(unknowns.unknown(name)) == expected, name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("local.nest.a[1]", 'local.nest.a[1] is known: "known".'),
        ("var.v", 'var.v is known: "known".'),
        ("terraform_data.b.id", 'There is no planned value "terraform_data.b.id".'),
        ("local", 'There is no planned value "local".'),
        ("1 +", 'There is no planned value "1 +".'),
        ("module.m[1].out", 'There is no planned value "module.m[1].out".'),
        ("local.nest.zz", 'There is no planned value "local.nest.zz".'),
    ],
)
def test_known_values_and_none(unknowns: Any, name: str, words: str) -> None:
    with pytest.raises(Failure) as raised:
        unknowns.unknown(name)
    assert raised.value.diagnostics[0].detail.startswith(words)


def test_what_a_target_leaves_out(work: Path) -> None:
    text = 'resource "terraform_data" "a" {}\nlocals { l = terraform_data.a.id }\nresource "terraform_data" "b" {}'
    found = reasons(explain_text(text, "-target=terraform_data.b").unknown("local.l"))
    assert found == [
        "local.l refers to terraform_data.a, which is not known yet",
        "-target or -exclude leaves terraform_data.a out of this plan, and terraform_data.a does not exist yet",
    ]


def test_a_read_that_waits(work: Path) -> None:
    text = """
resource "terraform_data" "p" { input = "s.tfstate" }
data "terraform_remote_state" "r" {
  backend = "local"
  config  = { path = terraform_data.p.output }
}
output "o" { value = data.terraform_remote_state.r.outputs }
"""
    explained = explain_text(text)
    read = [
        "data.terraform_remote_state.r is read while applying (read_because_config_unknown): "
        "config is not known before the apply",
        "data.terraform_remote_state.r.config refers to terraform_data.p.output, which is not known yet",
        DECIDED.format("terraform_data.p.output", "terraform_data.p"),
        CREATED.format("terraform_data.p"),
    ]
    assert [r for r in reasons(explained.action("data.terraform_remote_state.r", "read")) if "a part of" not in r] == [
        r.replace("r.config refers", "r.config.path refers") for r in read
    ]
    found = reasons(explained.unknown("output.o"))
    assert found[0] == "output.o refers to data.terraform_remote_state.r.outputs, which is not known yet"
    assert read[0] in found


PARTS_OF = """
variable "a" { default = "A" }
variable "b" { default = "B" }
variable "m" { default = { k = "A", n = "B" } }
locals {
  both  = { one = var.a, two = var.b }
  upper = { for k, v in local.both : upper(k) => "${v}" }
  list  = [for v in [var.a, var.b] : { v = v }]
  text  = "${var.a}/${var.b}"
}
module "m" {
  source = "./m"
  v      = local.both
}
resource "terraform_data" "a" { input = %s }
"""
LEAVES = {
    "an object": ("{ one = var.a, two = var.b }", {"one": "A", "two": "0"}, {"var.b"}),
    "a list": ("[var.a, { x = [var.b] }]", ["A", {"x": ["0"]}], {"var.b"}),
    "a local value": ("local.both", {"one": "A", "two": "0"}, {"var.b"}),
    "a part of a local value": ("[local.both.one, local.both.two]", ["0", "B"], {"var.a"}),
    "a loop": ("local.upper", {"ONE": "A", "TWO": "0"}, {"var.b"}),
    "a loop over a list": ("local.list", [{"v": "A"}, {"v": "0"}], {"var.b"}),
    "an output of a module": ("module.m.out", {"x": {"one": "A", "two": "0"}, "y": "A"}, {"var.b"}),
    "merge": ("merge({ one = var.a }, local.both, { z = var.a })", {"one": "A", "two": "0", "z": "A"}, {"var.b"}),
    "merge over something": (
        "merge(local.both, var.m)",
        {"k": "A", "n": "B", "one": "0", "two": "B"},
        {"var.a", "var.m"},
    ),
    "a key that merge has no more": (
        "merge({ one = var.a }, var.m)",
        {"one": "A", "k": "A", "n": "B", "z": 1},
        {"var.m"},
    ),
    "a branch": (
        'var.a == "A" ? { x = var.b, y = var.m.k } : { x = "q", y = "" }',
        {"x": "0", "y": "A"},
        {"var.a", "var.b"},
    ),
    "a key of a loop": ("{ for k, v in var.m : v => k }", {"A": "0", "B": "n"}, {"var.m"}),
    "JSON": ("jsonencode({ one = var.a, two = [local.both.two] })", '{"one":"A","two":["0"]}', {"var.b"}),
    "a template": ('"${var.a}-${var.b}"', "0", {"var.a", "var.b"}),
    "a template in a part": ("{ t = local.text, b = var.b }", {"t": "0", "b": "B"}, {"var.a", "var.b"}),
    "a function": ("join(var.a, [var.b, local.both.two])", "0", {"var.a", "var.b"}),
    "an index": ('local.both[var.b == "B" ? "one" : "two"]', "0", {"var.a", "var.b"}),
    "a key that is new in the text": ("{ one = var.a, two = var.b }", {"one": "A"}, set()),
    "an element that is no more in the text": ("[var.a]", ["A", "B"], set()),
    "a text": ('{ one = var.a, two = "x" }', {"one": "A", "two": "0"}, set()),
}


TEXTS = {
    "around a mention": ('"${var.a}-v2"', "A-v1", True),
    "of a template that is the same": ('"${var.a}-v2"', "a-v2", False),
    "of a local value": ("local.text", "A-B", True),
    "of a local value that is the same": ("local.text", "A/b", False),
    "of a branch": ('var.a == "A" ? "new" : "B"', "old", True),
    "of a computation": ("length(var.a) + 2", 2, True),
    "of a loop": ('[for v in ["x", "y"] : "${var.a}${v}"]', ["Ax", "Az"], True),
    "of a file": ('"${var.a} ${file("main.tf")}"', "A ", False),
    "of an argument": ("module.m.out", {"x": "A.", "y": "A"}, True),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_may_have_been_another_is_named_beside_the_mentions(name: str, work: Path) -> None:
    """Nobody blames a variable when somebody may as well have written something else around it."""
    expression, before, expected = TEXTS[name]
    (work / "m").mkdir()
    (work / "m" / "main.tf").write_text(
        'variable "v" {}\noutput "out" { value = { x = "${var.v.one}!", y = var.v.one } }', encoding="utf-8"
    )
    write_state(work, recorded("a", input=before))
    found = explain_text(PARTS_OF % expression).action("terraform_data.a", "update")
    steps = [s["tuple"] for s in found["proofs"].values()]
    assert any(step[0] == "own_text" for step in steps) == expected
    blamed = {s["tuple"][1] for s in found["proofs"].values() if s["tuple"][0] == "changes"}
    if expected:
        assert not {name for name in blamed if name.startswith("var.")}


@pytest.mark.parametrize("name", LEAVES)
def test_only_the_parts_that_differ_are_followed(name: str, work: Path) -> None:
    expression, before, expected = LEAVES[name]
    (work / "m").mkdir()
    (work / "m" / "main.tf").write_text(
        'variable "v" {}\noutput "out" { value = { x = var.v, y = var.v.one } }', encoding="utf-8"
    )
    write_state(work, recorded("a", input=before))
    found = explain_text(PARTS_OF % expression).action("terraform_data.a", "update")
    leaves = {s["tuple"][1] for s in found["proofs"].values() if s["tuple"][0] == "root_variable"}
    assert {leaf.split(".")[1].partition("[")[0] for leaf in leaves} == {e.removeprefix("var.") for e in expected}
    blamed = {s["tuple"][1] for s in found["proofs"].values() if s["tuple"][0] == "changes" and s["tuple"][1] in leaves}
    assert bool(blamed) == (len(expected) == 1)
