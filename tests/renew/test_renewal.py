"""Plans made again from what is kept: the same bytes as those of a plan that is made anew, and anew wherever that is
not sure."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import random_data
import random_edits
import random_language
import random_modules
from cli.conftest import Ran
from random_tests import examples
from thinned import thinned

from planner.cli import renewed_plan
from planner.cli.commands import plan as command
from planner.workflows.batch.files_read import RECORDER
from planner.workflows.renew.renewal import Renewal
from planner.world.state.lock import FileLock

Run = Callable[..., Ran]


class Seen:
    """How the last plan was made: `told again`, `in part`, or `whole`."""

    how = "whole"


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Seen:
    """Everything is large enough to be kept, in a cache of its own."""
    found = Seen()
    again, renewed = renewed_plan._again, Renewal.renewed

    def heard(*given: Any) -> int | None:
        found.how = "told again"
        code = again(*given)
        found.how = "whole" if code is None else found.how
        return code

    def in_part(self: Renewal) -> Any:
        found.how = "in part"
        return renewed(self)

    monkeypatch.setattr(renewed_plan, "_again", heard)
    monkeypatch.setattr(Renewal, "renewed", in_part)
    monkeypatch.setattr(command, "LARGE", 0)
    for name in ("cache", "state"):
        (tmp_path / name).mkdir(mode=0o700)
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    RECORDER.install()  # which looks once where the cache is, whose files do not count
    monkeypatch.setattr(RECORDER, "_ignored", (*RECORDER._ignored, f"{tmp_path}/cache/", f"{tmp_path}/state/"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return found


def put(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8", newline="")


def compared(planner: Run, seen: Seen, *words: str, terminal: bool = False) -> Ran:
    """A plan, which has to be the one that is made anew."""
    seen.how = "whole"
    found = planner("plan", *words, terminal=terminal)
    how = seen.how
    os.environ["PLANNER_PLAN_ANEW"] = "1"
    try:
        whole = planner("plan", *words, terminal=terminal)
    finally:
        del os.environ["PLANNER_PLAN_ANEW"]
    assert (found.code, found.out, found.err) == (whole.code, whole.out, whole.err)
    seen.how = how
    return found


CHAIN = """
variable "prefix" {
  default = "x"
}
locals {
  all = [terraform_data.a.input, terraform_data.b.output]
}
resource "terraform_data" "a" {
  input = "${var.prefix}-1"
}
resource "terraform_data" "b" {
  input = terraform_data.a.input
}
resource "terraform_data" "c" {
  count = 2
  input = local.all
}
resource "terraform_data" "d" {
  for_each = toset(["k"])
  input    = terraform_data.c[0].id
}
output "long_name" {
  value = terraform_data.c[*].input
}
output "d" {
  value = terraform_data.d["k"].input
}
"""

FIRST = "  lifecycle {\n    create_before_destroy = true\n  }"
EDITS = {
    "nothing": ("", "", "told again", "told again"),
    "a remark": ("locals {", "# said\nlocals {", "in part", "in part"),
    "what nobody sees": ("local.all", "concat(local.all, [1])", "in part", "in part"),
    "what others see": ('-1"', '-2"', "in part", "in part"),
    "through a local": ("input = terraform_data.a.input", 'input = "other"', "in part", "whole"),
    "a variable": ('default = "x"', 'default = "y"', "in part", "in part"),
    "the type of a variable": ('default = "x"', 'default = "x"\n  type = bool', "whole", "whole"),
    "a variable that hides its value": ('default = "x"', 'default = "x"\n  sensitive = true', "whole", "whole"),
    "a variable that is asked for": ('default = "x"', "", "whole", "whole"),
    "a local": ("terraform_data.b.output]", "terraform_data.b.id]", "in part", "in part"),
    "a circle through a local": ("terraform_data.b.output]", "terraform_data.d]", "whole", "whole"),
    "a local with another name": ("  all =", "  some =", "whole", "whole"),
    "one more local": ("  all =", "  some = 1\n  all =", "in part", "in part"),
    "a provider": ("locals {", 'provider "terraform" {}\nlocals {', "whole", "whole"),
    "an output": ("c[*].input", "c[*].id", "in part", "in part"),
    "an output goes": ('output "d" {\n  value = terraform_data.d["k"].input\n}\n', "", "in part", "whole"),
    "one more": ('output "d"', 'resource "terraform_data" "e" {}\noutput "d"', "in part", "whole"),
    "how many": ("count = 2", "count = 3", "in part", "whole"),
    "one of them less": ("count = 2", "count = 1", "in part", "whole"),
    "the last goes": ("terraform_data.c[0].id", "1", "in part", "whole"),
    "a circle": ('"${var.prefix}-1"', "terraform_data.b.input", "whole", "whole"),
    "another circle": ('"${var.prefix}-1"', 'terraform_data.d["k"].id', "whole", "whole"),
    "itself": ("input = terraform_data.a.input", "input = terraform_data.b.id", "whole", "whole"),
    "what there is not": ("terraform_data.a.input\n", "terraform_data.z.input\n", "whole", "whole"),
    "a name twice": ('"d" {\n  for', '"a" {\n  for', "whole", "whole"),
    "on one line": ('}\nresource "terraform_data" "b"', '}resource "terraform_data" "b"', "whole", "whole"),
    "without an end": ("local.all\n}", "local.all\n", "whole", "whole"),
    "a remark without an end": ("count = 2", "/* count = 2", "whole", "whole"),
    "replaced": ("count = 2", "count = 2\n  triggers_replace = 1", "in part", "whole"),
    "before it is destroyed": ("count = 2", f"count = 2\n{FIRST}", "in part", "in part"),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("applied", [pytest.param(False, marks=pytest.mark.slow), True], ids=["new", "applied"])
def test_an_edit_gives_the_plan_that_is_made_anew(planner: Run, seen: Seen, edit: str, applied: bool) -> None:
    old, new, before, after = EDITS[edit]
    assert not old or CHAIN.count(old) == 1
    put({"main.tf": CHAIN})
    if applied:
        assert planner("apply", "-auto-approve").code == 0
    compared(planner, seen)
    put({"main.tf": CHAIN.replace(old, new)} if old else {})
    compared(planner, seen)
    assert seen.how == (after if applied else before)


@pytest.mark.parametrize(("edit", "how"), thinned([(edit, how) for how in ("", "-explain=full") for edit in EDITS], 3))
def test_on_a_terminal_changes_have_their_causes(planner: Run, seen: Seen, edit: str, how: str) -> None:
    old, new, _, after = EDITS[edit]
    put({"main.tf": CHAIN})
    assert planner("apply", "-auto-approve").code == 0
    words = [how] if how else []
    compared(planner, seen, *words, terminal=True)
    put({"main.tf": CHAIN.replace(old, new)} if old else {})
    ran = compared(planner, seen, *words, terminal=True)
    # the former value of the local value is made of what is not in the part
    assert seen.how == ("whole" if edit == "a local" else after)
    if ran.code == 0:
        changes = " will be " in ran.out or " must be " in ran.out
        assert ("because" in ran.out) == (changes and edit != "one more")  # which is only declared


def test_without_a_look_at_objects_nothing_is_told_in_the_order_of_the_graph(planner: Run, seen: Seen) -> None:
    put({"main.tf": CHAIN})
    planner("apply", "-auto-approve")
    compared(planner, seen, "-refresh=false")
    put({"main.tf": CHAIN.replace("count = 2", "count = 3")})
    compared(planner, seen, "-refresh=false")
    assert seen.how == "in part"


CALLS = """
module "a" {
  source = "./m"
  v      = "a"
}
module "b" {
  source   = "./m"
  for_each = toset(["k", "l.m"])
  v        = module.a.o
}
module "c" {
  source = "./n"
  v      = [for one in module.b : one.o]
}
output "c" {
  value = module.c.p
}
"""
INNER = """variable "v" {}
resource "terraform_data" "x" {
  input = var.v
}
output "o" {
  value = terraform_data.x.input
}
output "p" {
  value = path.module
}
"""
CALL_EDITS = {
    "an argument": ("main.tf", 'v      = "a"', 'v      = "z"', "in part"),
    "the last module": ("main.tf", "one.o]", "one.p]", "in part"),
    "keys": ("main.tf", '"l.m"', '"n"', "in part"),
    "a file of one module": ("n/main.tf", "input = var.v", "input = [var.v]", "in part"),
    "a file of two modules": ("m/main.tf", "input = var.v", "input = [var.v]", "in part"),
    "another source": ("main.tf", '"./n"', '"./m"', "whole"),
    "a module goes": ("main.tf", CALLS[CALLS.index('module "c"') : CALLS.index('output "c"')], "", "whole"),
    "another name": ("main.tf", 'module "c"', 'module "d"', "whole"),
    "a module with another output": ("n/main.tf", 'output "p"', 'output "q"', "whole"),
    "a circle": ("main.tf", 'v      = "a"', "v      = module.c.o", "whole"),
}


@pytest.mark.parametrize("edit", CALL_EDITS)
@pytest.mark.parametrize("applied", [pytest.param(False, marks=pytest.mark.slow), True], ids=["new", "applied"])
def test_an_edit_of_a_module_or_call(planner: Run, seen: Seen, edit: str, applied: bool) -> None:
    file, old, new, how = CALL_EDITS[edit]
    files = {"main.tf": CALLS, "m/main.tf": INNER, "n/main.tf": INNER}
    put(files)
    planner("init")
    if applied:
        assert planner("apply", "-auto-approve").code == 0
    for words in (["-refresh=false"], []):
        put(files)
        compared(planner, seen, *words)
        assert files[file].count(old) == 1
        put({file: files[file].replace(old, new)})
        compared(planner, seen, *words)
        # reads of objects are reported in the order of the graph of the module
        assert (words == [] and applied) or seen.how == how


@pytest.mark.parametrize("first", range(0, examples(60), 15))
def test_random_edits_give_the_plan_that_is_made_anew(planner: Run, seen: Seen, first: int) -> None:
    hows = random_plans(planner, seen, range(first, first + 15))
    assert {"whole", "in part"} <= hows


@pytest.mark.parametrize("first", range(0, examples(40), 10))
def test_random_edits_of_much_of_the_language(planner: Run, seen: Seen, first: int) -> None:
    hows = random_plans(planner, seen, range(first, first + 10), random_language)
    assert {"whole", "in part"} <= hows


@pytest.mark.parametrize("first", range(0, examples(40), 10))
def test_random_edits_of_modules_and_calls(planner: Run, seen: Seen, first: int) -> None:
    hows = random_plans(planner, seen, range(first, first + 10), random_modules)
    assert {"whole", "in part"} <= hows


@pytest.mark.parametrize("first", range(0, examples(120), 30))
def test_random_edits_around_data_sources(planner: Run, seen: Seen, first: int) -> None:
    hows = random_plans(planner, seen, range(first, first + 30), random_data)
    assert {"whole", "in part"} <= hows


@pytest.mark.slow
@pytest.mark.parametrize("language", [random_edits, random_language, random_modules, random_data])
def test_many_random_edits(planner: Run, seen: Seen, language: ModuleType) -> None:
    random_plans(planner, seen, range(1000, 1600), language)


def random_plans(planner: Run, seen: Seen, seeds: range, language: ModuleType = random_edits) -> set[str]:
    hows = set()
    for seed in seeds:
        r = random.Random(seed)
        Path(f"{seed}").mkdir()
        os.chdir(f"{seed}")
        files = language.configuration(r)
        put({**files, "text": "one", "a.txt": ""})
        if language in (random_modules, random_data):
            planner("init")
        words = ["-refresh=false"] if r.random() < 0.3 else []
        if r.random() < 0.5:
            planner("apply", "-auto-approve")
        planner("plan", *words)
        for _ in range(4):
            changed = language.edited(r, files)
            put(changed)
            compared(planner, seen, *words)
            hows.add(seen.how)
            files = changed if r.random() < 0.5 else files
            put(files)
        os.chdir("..")
    return hows


# ---------------------------------------------------------------- what is not kept, and what makes it void


POLICY = 'warn("p", A, "look") :- acts(A, "create").\n'
ENCRYPTION = (
    'key_provider "pbkdf2" "k" {\n  passphrase = "long enough passphrase"\n}\n'
    'method "aes_gcm" "m" {\n  keys = key_provider.pbkdf2.k\n}\nstate {\n  method = method.aes_gcm.m\n}\n'
)
NOT_KEPT = {
    "plugins": ({"main.tf": 'resource "null_resource" "a" {}'}, ()),
    "time": ({"main.tf": 'resource "terraform_data" "a" {\n  input = plantimestamp()\n}'}, ()),
    "a policy about the time": (
        {"main.tf": CHAIN, ".planner/policies/p.dl": 'warn("p", A, T) :- acts(A, "create"), plan_time(T).'},
        (),
    ),
    "a policy in Python": (
        {
            "main.tf": CHAIN,
            "p.py": 'from planner.policy import warn\n\n\n@warn("p")\ndef p(plan):\n    yield "a", "x"\n',
        },
        ("-policy=p.py",),
    ),
    "an override": ({"main.tf": CHAIN, "p.dl": POLICY}, ("-policy=p.dl", "-policy-override=p", "-override-reason=x")),
    "errors": ({"main.tf": 'resource "terraform_data" "a" {\n  input = nowhere()\n}'}, ()),
    "encryption": ({"main.tf": CHAIN + "terraform {\n  encryption {}\n}\n"}, ()),
    "an encrypted state": ({"main.tf": CHAIN}, ()),
    "a plan file": ({"main.tf": CHAIN}, ("-out=p",)),
    "a limit": ({"main.tf": CHAIN}, ("-target=terraform_data.a",)),
    "another kind": ({"main.tf": CHAIN}, ("-destroy",)),
    "JSON": ({"main.tf": CHAIN}, ("-json",)),
    "a service": ({"main.tf": CHAIN + 'terraform {\n  backend "inmem" {}\n}\n'}, ()),
}


@pytest.mark.parametrize("why", NOT_KEPT)
def test_what_rests_on_more_than_files_is_not_kept(
    planner: Run, seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    files, words = NOT_KEPT[why]
    put(files)
    if why == "a service":
        planner("init")
    if why == "an encrypted state":
        monkeypatch.setenv("TF_ENCRYPTION", ENCRYPTION)
    planner("plan", *words)
    assert not list((tmp_path / "cache" / "planner").glob("plans/*"))


ONLY_WHOLE = {
    "checks with data": 'check "c" {\n  data "terraform_remote_state" "s" {\n    backend = "local"\n'
    '    config  = { path = "s" }\n  }\n'
    '  assert {\n    condition     = var.prefix == "x"\n    error_message = "no"\n  }\n}\n',
    "moved": "moved {\n  from = terraform_data.x\n  to = terraform_data.c\n}\n",
    "import": 'import {\n  to = terraform_data.a\n  id = "x"\n}\n',
    "an override": "",
    "JSON": "",
    "an order": 'resource "terraform_data" "e" {\n  lifecycle {\n    create_before_destroy = true\n  }\n}\n',
    "rules": "",
    "policies": "",
}
STATE = {"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "x", "outputs": {}, "resources": []}
BESIDE = {
    "checks with data": {"s": json.dumps(STATE)},
    "an override": {"b_override.tf": 'resource "terraform_data" "a" {\n  input = 9\n}\n'},
    "JSON": {"more.tf.json": '{"output": {"j": {"value": 1}}}'},
    "rules": {".planner/rules/r.dl": "// none\n"},
    "policies": {".planner/policies/p.dl": POLICY},
}


def test_a_part_between_moved_objects(planner: Run, seen: Seen) -> None:
    put({"main.tf": CHAIN.replace("  count = 2\n", "").replace("c[0]", "c").replace("c[*]", "c")})
    planner("apply", "-auto-approve")
    put({"main.tf": CHAIN.replace("count = 2", "count = 1")})  # terraform_data.c is c[0] now
    compared(planner, seen)
    put({"main.tf": CHAIN.replace("count = 2", "count = 1") + 'output "more" {\n  value = 1\n}\n'})
    assert "has moved to" in compared(planner, seen, "-refresh=false").out
    put({"main.tf": CHAIN.replace("count = 2", "count = 1") + 'output "more" {\n  value = 2\n}\n'})
    assert "has moved to" in compared(planner, seen, "-refresh=false").out
    assert seen.how == "in part"


@pytest.mark.parametrize("why", ONLY_WHOLE)
def test_where_an_edit_reaches_far_the_whole_is_planned(planner: Run, seen: Seen, why: str) -> None:
    text = CHAIN + ONLY_WHOLE[why]
    put({"main.tf": text, **BESIDE.get(why, {})})
    planner("init")
    compared(planner, seen)
    compared(planner, seen)
    assert seen.how == "told again"
    put({"main.tf": text.replace("local.all", "concat(local.all, [1])", 1)})
    compared(planner, seen)
    assert seen.how == "whole"


READS = (
    CHAIN
    + """
output "read" {
  value = [fileexists("there"), try(file("text"), "none"), fileset(path.module, "*.txt")]
}
"""
)


def test_everything_that_a_plan_rests_on_is_compared(
    planner: Run, seen: Seen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put({"main.tf": READS, "text": "one"})

    def differs() -> None:
        compared(planner, seen)
        assert seen.how == "whole"
        compared(planner, seen)
        assert seen.how == "told again"

    differs()
    Path("there").touch()
    differs()
    Path("text").write_text("two")
    differs()
    Path("a.txt").touch()
    differs()
    Path("other.tf").write_text('output "other" {\n  value = 1\n}\n')
    differs()
    Path("x.auto.tfvars").write_text('prefix = "from a file"\n')
    differs()
    monkeypatch.setenv("TF_VAR_prefix", "not this")
    differs()
    Path("x.auto.tfvars").unlink()
    differs()
    Path(".planner/policies").mkdir(parents=True)
    Path(".planner/policies/p.dl").write_text(POLICY)
    differs()
    assert "look" in planner("plan").out
    Path(".planner/policies/p.dl").write_text(POLICY.replace("look", "look twice"))
    differs()
    Path(".planner/waivers.toml").write_text(
        '[[waiver]]\ncode = "p"\naddress = "terraform_data.a"\nowner = "ops"\nreason = "old"\nexpires = 2100-01-01\n'
    )
    differs()
    assert seen.how == "told again"
    with monkeypatch.context() as patched:  # the day on which the waiver expires
        patched.setattr("planner.workflows.batch.files_read.time.time_ns", lambda: 4_102_531_200 * 10**9)
        compared(planner, seen)
        assert seen.how == "whole"
    Path(".planner/waivers.toml").unlink()
    Path(".planner/policies/p.dl").unlink()
    Path(".planner/policies").rmdir()
    planner("apply", "-auto-approve")
    differs()
    planner("state", "rm", "terraform_data.a")
    differs()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ('file("/proc/self/comm")', ()),
        ('fileexists("/proc/self/comm")', ()),
        ('fileset("/proc/sys", "none*")', ()),
        ("var.prefix", ("-var-file=/dev/stdin",)),
    ],
)
def test_what_would_not_be_compared_is_not_kept(
    planner: Run, seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, words: tuple[str, ...]
) -> None:
    put({"main.tf": f'{CHAIN}output "read" {{\n  value = {value}\n}}\n'})
    read, write = os.pipe()
    os.write(write, b'prefix = "y"\n')
    os.close(write)
    kept = os.dup(0)
    os.dup2(read, 0)
    try:
        assert planner("plan", *words).code == 0
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(read)
    assert not list((tmp_path / "cache" / "planner").glob("plans/*"))


def test_a_folder_that_is_not_compared(
    planner: Run, seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RECORDER, "_ignored", (*RECORDER._ignored, f"{tmp_path}/"))
    put({"main.tf": CHAIN})
    assert planner("plan").code == 0
    assert not list((tmp_path / "cache" / "planner").glob("plans/*"))


def test_policies_of_the_organisation_are_asked_when_they_come(
    planner: Run, seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put({"main.tf": CHAIN})
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(tmp_path / "cli"))
    (tmp_path / "cli").touch()
    compared(planner, seen)
    (tmp_path / "org").mkdir()
    (tmp_path / "org" / "p.dl").write_text('deny("p", A, "look") :- acts(A, "create").\n')
    (tmp_path / "cli").write_text(f'policies {{\n  plans = ["{tmp_path}/org"]\n}}\n')
    assert planner("plan").code == 1


def test_a_state_that_is_locked_cannot_be_planned_from(planner: Run, seen: Seen) -> None:
    put({"main.tf": CHAIN})
    planner("plan")
    lock = FileLock("terraform.tfstate")
    assert not lock.acquire("OperationTypeApply", 0.0)
    try:
        refused = planner("plan")
    finally:
        lock.release()
    assert refused.code == 1
    assert "lock" in refused.err
    assert planner("plan", "-lock=false").code == 0
    compared(planner, seen)
    assert seen.how == "told again"
    assert not Path(".terraform.tfstate.lock.info").exists()


def test_the_exit_code_and_the_looks_are_those_that_were_asked_for(planner: Run, seen: Seen) -> None:
    put({"main.tf": CHAIN})
    assert planner("plan", "-detailed-exitcode").code == planner("plan", "-detailed-exitcode").code == 2
    assert "\x1b[" in planner("plan", terminal=True).out
    assert "\x1b[" not in planner("plan").out
    planner("plan", "-no-color", terminal=True)
    assert "\x1b[" not in planner("plan", "-no-color", terminal=True).out
    planner("apply", "-auto-approve")
    assert planner("plan", "-detailed-exitcode").code == planner("plan", "-detailed-exitcode").code == 0
    put({"main.tf": CHAIN.replace("count = 2", "count = 2\n  input = 1").replace("input = local.all\n", "")})
    assert planner("plan", "-detailed-exitcode").code == 2


def test_what_is_damaged_or_forged_is_not_there(planner: Run, seen: Seen, tmp_path: Path) -> None:
    put({"main.tf": CHAIN})
    whole = planner("plan").out
    (entry,) = (tmp_path / "cache" / "planner").glob("plans/*")
    data = entry.read_bytes()
    for bad in (b"", data[:100], data[:-1], data[:60] + b"\0" * 20 + data[80:], data.replace(b"create", b"delete")):
        entry.write_bytes(bad)
        seen.how = "whole"
        assert planner("plan").out == whole
        assert seen.how == "whole"
    assert planner("plan").out == whole
    assert seen.how == "told again"


def test_small_configurations_are_not_looked_up(
    planner: Run, seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "LARGE", 1 << 18)
    put({"main.tf": CHAIN})
    planner("plan")
    assert not (tmp_path / "cache" / "planner" / "plans").exists()


def test_a_log_has_the_steps_of_a_plan(
    planner: Run, seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put({"main.tf": CHAIN})
    monkeypatch.setenv("TF_LOG", "debug")
    for _ in range(2):
        planner("plan")
        assert seen.how == "whole" and not (tmp_path / "cache" / "planner" / "plans").exists()
