"""planner in Python programs: plans, questions, applies, values, fleets, stacks and tests."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from provider.plugins import override

import planner
import planner.aio
from planner import UNKNOWN, Failure, Sensitive, rules
from planner.api.mcp import _summary
from planner.api.session import in_thread

ROOT = """
variable "image" {
  default = "v1"
}

variable "password" {
  default   = "hunter2"
  sensitive = true
}

module "m" {
  source = "./mod"
  image  = var.image
}

resource "terraform_data" "a" {
  input = {
    image    = var.image
    password = var.password
    cwd      = path.cwd
    absolute = abspath("x")
    note     = file("note.txt")
    notes    = fileset(".", "*.txt")
  }
}

resource "terraform_data" "b" {
  input            = terraform_data.a.id
  triggers_replace = [var.image]
}

output "image" {
  value = terraform_data.a.input.image
}

output "secret" {
  value     = var.password
  sensitive = true
}
"""
MODULE = """
variable "image" {}

resource "terraform_data" "c" {
  input = "${var.image} ${file("${path.module}/part.tpl")}"
}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "mod").mkdir(parents=True)
    (folder / "main.tf").write_text(ROOT)
    (folder / "note.txt").write_text("a note")
    (folder / "mod" / "main.tf").write_text(MODULE)
    (folder / "mod" / "part.tpl").write_text("part")
    planner.load(folder).init()
    return folder


def test_a_plan_and_its_apply(root: Path) -> None:
    configuration = planner.load(root)
    assert configuration.validate() == ()
    with configuration.plan() as plan:
        assert [(c.address, c.action) for c in plan.changes] == [
            ("terraform_data.a", "create"),
            ("terraform_data.b", "create"),
            ("module.m.terraform_data.c", "create"),
        ]
        assert plan.counts.add == 3 and not plan.is_empty
        change = plan.change("terraform_data.a")
        assert change.before is None and change.actions == ("create",)
        assert change.after["input"]["cwd"] == str(root) and change.after["input"]["absolute"] == f"{root}/x"
        assert change.after["input"]["note"] == "a note" and change.after["input"]["notes"] == ["note.txt"]
        assert change.after["id"] is UNKNOWN and ("id",) in change.unknown
        assert isinstance(change.after["input"]["password"], Sensitive) and ("input", "password") in change.sensitive
        assert change.after["input"]["password"].reveal() == "hunter2" and "hunter2" not in repr(change.after)
        with pytest.raises(KeyError):
            plan.change("terraform_data.nothing")
        events: list[planner.Event] = []
        result = plan.apply(events.append)
    assert (result.added, result.changed, result.destroyed) == (3, 0, 0)
    assert result.outputs["image"] == "v1" and result.outputs["secret"] == Sensitive("hunter2")
    assert [e.address for e in events if e.name == "apply_complete"].count("terraform_data.a") == 1
    state = configuration.state()
    assert state.serial == result.serial and state.outputs == result.outputs
    assert state.resource("terraform_data.b").attributes["input"] == state.resource("terraform_data.a").attributes["id"]
    assert configuration.plan().is_empty


def test_causes_and_questions(root: Path) -> None:
    planner.load(root).plan().apply()
    plan = planner.load(root, variables={"image": "v2"}).plan()
    change = plan.change("terraform_data.b")
    assert change.action == "delete-then-create" and change.forces_replacement == (("triggers_replace",),)
    (cause,) = change.causes
    assert (cause.what, cause.before, cause.value, cause.file) == ("var.image", '"v1"', '"v2"', "main.tf")
    assert change.explanation.certain and change.explanation.checked
    assert [o.name for o in plan.outputs if o.causes] == ["image"]
    proof = plan.why("terraform_data.b")
    assert proof.goal[:2] == ("explained", "terraform_data.b") and "var.image" in proof.text and proof.rules
    assert plan.why("terraform_data.b", "terraform_data.a").goal[0] in ("edge", "waits_for")
    assert plan.why_not("replace", "terraform_data.a").document["holds"] is False
    (fix,) = plan.fixes("terraform_data.b")
    assert fix.checked and fix.places[0][0] == 'set var.image back to "v1"'
    comparison = plan.what_if({"image": "v1"})
    assert {d.name: (d.before, d.after) for d in comparison.differences}["terraform_data.b"] == (
        "delete-then-create",
        "no-op",
    )
    assert plan.query('action(X, "update")').as_dicts() == [
        {"X": "module.m.terraform_data.c"},
        {"X": "terraform_data.a"},
    ]
    assert plan.query('edge("output.image (expand)", "terraform_data.a (expand)")').rows == ((),)
    assert ("terraform_data.b (expand)",) in plan.query('rdeps("terraform_data.a (expand)")').rows
    assert any("terraform_data.b" in str(row) for row in plan.query("blast", "terraform_data.a"))
    graph = plan.graph()
    assert "terraform_data.a (expand)" in graph.dependencies("terraform_data.b (expand)")
    assert "terraform_data.b (expand)" in graph.dependents("terraform_data.a (expand)")
    for text in (
        plan._repr_html_(),
        proof._repr_html_(),
        graph._repr_html_(),
        plan.query("vertex(X, _, _, _)")._repr_html_(),
    ):
        assert text.startswith("<") and "hunter2" not in text


def test_forms_are_those_of_the_command_line(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plan = planner.load(root).plan()
    plan.save("kept.tfplan")
    assert capfd.readouterr() == ("", "")
    command = [sys.executable, "-m", "planner", f"-chdir={root}"]
    shown = subprocess.run([*command, "show", "-json", "kept.tfplan"], capture_output=True, check=True, text=True)
    document = json.loads(shown.stdout)
    assert json.loads(json.dumps(plan.to_json())) == document
    text = subprocess.run([*command, "plan", "-no-color"], capture_output=True, check=True, text=True).stdout
    assert text.startswith(plan.text(causes=False))
    again = planner.read_plan(root / "kept.tfplan", root)
    assert [c.address for c in again.changes] == [c.address for c in plan.changes]
    assert again.apply().added == 3
    with pytest.raises(Failure, match="already applied"):
        planner.read_plan(root / "kept.tfplan", root).apply()


def test_plans_of_other_programs(root: Path, tmp_path: Path) -> None:
    planner.load(root).plan().apply()
    plan = planner.load(root, variables={"image": "v2"}).plan()
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan.to_json()))
    document = planner.read_plan(file, root)
    assert isinstance(document, planner.PlanDocument)
    for mine, theirs in zip(sorted(plan.objects, key=lambda c: c.address), document.objects, strict=True):
        assert (mine.address, mine.action, mine.reason, mine.before) == (
            theirs.address,
            theirs.action,
            theirs.reason,
            theirs.before,
        )
        assert (mine.after, mine.unknown, mine.sensitive) == (theirs.after, theirs.unknown, theirs.sensitive)
    assert document.counts == plan.counts and not document.is_empty
    assert [(o.name, o.action, o.after) for o in document.outputs] == [
        (o.name, o.action, o.after) for o in plan.outputs
    ]
    assert document.change("terraform_data.b").causes == ()
    assert not document.judge(["builtin:no_provisioners"]).is_denied
    with pytest.raises(Failure, match="Not a plan"):
        planner.read_plan(root / "terraform.tfstate")
    with pytest.raises(Failure):
        planner.read_plan(root / "main.tf")
    with pytest.raises(Failure):
        planner.read_plan(root / "missing")


def test_what_is_wrong_is_raised_with_its_diagnostics(root: Path) -> None:
    with pytest.raises(Failure, match="undeclared") as caught:
        planner.load(root, variables={"imgae": 1}).plan()
    assert [d.code for d in caught.value.diagnostics if d.is_error] == ["config.undeclared_value"]
    with pytest.raises(Failure, match="Invalid value"):
        planner.load(root, variables={"image": object()})
    for value in (b"bytes", {1}, float("nan"), "\ud800"):
        with pytest.raises(Failure, match="Invalid value"):
            planner.load(root, variables={"image": value})
    for wrong in ({"targets": ["not an address"]}, {"mode": "nothing"}, {"parallelism": 0}, {"since": "no-such"}):
        with pytest.raises(Failure):
            planner.load(root).plan(**wrong)
    assert [c.address for c in planner.load(root).plan(targets="terraform_data.a").changes] == ["terraform_data.a"]
    with pytest.raises(Failure, match="No such directory"):
        planner.fleet(root / "nowhere").units()
    with pytest.raises(Failure):
        planner.load(root / "nowhere").plan()
    plan = planner.load(root).plan()
    with pytest.raises(Failure):
        plan.why("terraform_data.missing")
    with pytest.raises(Failure, match="missing"):
        plan.query("missing(X)")
    (root / "main.tf").write_text('resource "terraform_data" "a" {\n  input = var.gone\n}\n')
    (problem,) = planner.load(root).validate()
    assert problem.is_error and problem.subject is not None and problem.subject.filename == "main.tf"
    with pytest.raises(Failure, match=r"main.tf:2"):
        planner.load(root).plan()


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda root: planner.load(5), "directory is 5"),
        (lambda root: planner.load(root, variables=["a"]), "variables is"),
        (lambda root: planner.load(root, workspace=5), "workspace is 5"),
        (lambda root: planner.load(root, var_files=[5]), "one of var_files is 5"),
        (lambda root: planner.load(root, rules=5), "rules is 5"),
        (lambda root: planner.load(root).plan(targets=None), "targets is None"),
        (lambda root: planner.load(root).plan(parallelism="4"), "parallelism is '4'"),
        (lambda root: planner.load(root).plan(lock_timeout="5s"), "lock_timeout is '5s'"),
        (lambda root: planner.load(root).plan(since=5), "since is 5"),
        (lambda root: planner.load(root).plan(on_event=5), "on_event is 5"),
        (lambda root: planner.load(root).plan(stop=5), "stop is 5"),
        (lambda root: planner.load(root).plan().judge(None), "policies is None"),
        (lambda root: planner.load(root).plan().save(None), "path is None"),
        (lambda root: planner.load(root).plan().query("edge(X, Y)", kind="x"), "kind is 'x'"),
        (lambda root: planner.load(root).plan().what_if(["a"]), "variables is"),
        (lambda root: planner.fleet(root).units("-help"), "'-help' does not select units"),
        (lambda root: planner.fleet(root).plan(workers=-1), "workers is -1"),
    ],
)
def test_arguments_of_a_wrong_type_are_named(root: Path, call: Callable[[Path], Any], problem: str) -> None:
    with pytest.raises(planner.Failure, match=re.escape(problem)) as raised:
        call(root)
    assert raised.value.diagnostics[0].code == "api.argument"


def test_paths_may_be_single_and_of_pathlib(root: Path) -> None:
    (root / "x.tfvars").write_text('image = "v9"\n')
    (root / "p.dl").write_text('deny("x", "y", "z").\n')
    plan = planner.load(root, var_files="x.tfvars").plan()
    assert plan.change("terraform_data.a").after["input"]["image"] == "v9"
    assert plan.judge(Path("p.dl")).is_denied and plan.judge([root / "p.dl"]).is_denied


@pytest.mark.parametrize("part", [5, [5], [{"address": "a.b"}], [{"address": "a.b", "change": {"actions": 5}}]])
def test_documents_that_are_not_plans(tmp_path: Path, part: Any) -> None:
    (tmp_path / "p.json").write_text(json.dumps({"format_version": "1.2", "resource_changes": part}))
    with pytest.raises(planner.Failure, match="Not a plan"):
        planner.read_plan(tmp_path / "p.json")


def test_policies_of_the_directory_count(root: Path) -> None:
    (root / ".planner" / "policies").mkdir(parents=True)
    rule = 'deny("image", A, "is old") :- planned(A, "input.image", "v1").\n'
    (root / ".planner" / "policies" / "house.dl").write_text(rule)
    plan = planner.load(root).plan()
    assert [(f.kind, f.address) for f in plan.judge().findings] == [("deny", "terraform_data.a")]
    with pytest.raises(Failure, match="is old"):
        plan.apply()
    assert not planner.load(root, variables={"image": "v2"}).plan().judge().is_denied
    assert planner.load(root).state().resources == ()


def test_workspaces_and_variable_files(root: Path) -> None:
    (root / "other.tfvars").write_text('image = "v7"\n')
    plan = planner.load(root, var_files=["other.tfvars"], workspace="qa").plan()
    plan.apply()
    assert planner.load(root, workspace="qa").state().outputs["image"] == "v7"
    assert planner.load(root).state().resources == () and (root / "terraform.tfstate.d" / "qa").is_dir()


def test_several_at_once_in_threads(tmp_path: Path) -> None:
    results: dict[str, Any] = {}

    def work(name: str) -> None:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "note.txt").write_text(name)
        text = 'resource "terraform_data" "a" {\n  input = [file("note.txt"), path.cwd]\n}\n'
        (folder / "main.tf").write_text(text)
        for _ in range(3):
            plan = planner.load(folder).plan()
            results.setdefault(name, []).append(plan.changes[0].after["input"])

    limit, here = sys.getrecursionlimit(), os.getcwd()
    threads = [threading.Thread(target=work, args=(f"n{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {f"n{n}": [[f"n{n}", str(tmp_path / f"n{n}")]] * 3 for n in range(6)}
    assert (sys.getrecursionlimit(), os.getcwd()) == (limit, here)


def test_a_cancelled_apply_saves_its_state(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(
        dedent("""
        resource "terraform_data" "first" {}
        resource "terraform_data" "slow" {
          depends_on = [terraform_data.first]
          provisioner "local-exec" {
            command = "touch begun; sleep 60"
          }
        }
        resource "terraform_data" "last" {
          depends_on = [terraform_data.slow]
        }
        """)
    )

    async def main() -> None:
        plan = await planner.aio.plan(tmp_path)
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()

        def listen(event: planner.Event) -> None:
            if event.name == "provision_progress":
                loop.call_soon_threadsafe(begun.set)

        task = asyncio.create_task(planner.aio.apply(plan, listen))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    state = planner.load(tmp_path).state()
    assert {r.address: r.tainted for r in state.resources} == {
        "terraform_data.first": False,
        "terraform_data.slow": True,
    }


PAIR = """
resource "terraform_data" "first" {
}

resource "terraform_data" "last" {
  input = terraform_data.first.id
}
"""


@pytest.mark.parametrize("problem", [ValueError("boom"), KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError()])
def test_an_exception_of_a_listener_is_raised_when_the_state_is_saved(tmp_path: Path, problem: BaseException) -> None:
    (tmp_path / "main.tf").write_text(PAIR)

    def listen(event: planner.Event) -> None:
        if event.name == "apply_complete":
            raise problem

    with pytest.raises(type(problem)) as raised:
        planner.load(tmp_path).plan().apply(listen)
    assert raised.value is problem
    assert [r.address for r in planner.load(tmp_path).state().resources] == ["terraform_data.first"]
    rest = planner.load(tmp_path).plan()
    assert [c.address for c in rest.changes] == ["terraform_data.last"]
    assert rest.apply().added == 1

    def refuse(event: planner.Event) -> None:
        raise problem

    with pytest.raises(type(problem)):
        planner.load(tmp_path).plan(on_event=refuse)
    assert planner.load(tmp_path).plan().is_empty


INTERRUPTED = """
import os, signal, sys, planner

def listen(event, texts=[]):
    if event.name == "provision_progress" and not texts:
        texts.append(event.text)  # a second interrupt would be raised before the state is saved
        os.kill(os.getpid(), signal.SIGINT)

try:
    planner.load(sys.argv[1]).plan().apply(listen)
except KeyboardInterrupt:
    state = planner.load(sys.argv[1]).state()
    print({r.address: r.tainted for r in state.resources}, planner.load(sys.argv[1]).plan())
"""


def test_an_interrupted_program_saves_its_state(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(
        dedent("""
        resource "terraform_data" "slow" {
          provisioner "local-exec" {
            command = "echo begun; sleep 60"
          }
        }
        resource "terraform_data" "last" {
          depends_on = [terraform_data.slow]
        }
        """)
    )
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)], capture_output=True, check=False, text=True, timeout=50
    )
    wanted = "{'terraform_data.slow': True} <Plan of " + tmp_path.name + ": 2 to add, 0 to change, 1 to destroy>\n"
    assert (done.stdout, done.stderr) == (wanted, "")


def test_a_cancelled_call_does_not_lose_the_only_copy_of_a_state() -> None:
    lost = planner.UnsavedStateError([], b"{}")

    async def main() -> None:
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()

        def work(stop: planner.Stop) -> None:
            loop.call_soon_threadsafe(begun.set)
            assert stop.signal.wait(30)
            raise lost

        task = asyncio.create_task(in_thread(work))
        await begun.wait()
        task.cancel()
        await task

    with pytest.raises(planner.UnsavedStateError) as raised:
        asyncio.run(main())
    copy = pickle.loads(pickle.dumps(raised.value))
    assert raised.value is lost and copy.state == b"{}"


def test_failures_come_back_from_other_processes(root: Path) -> None:
    with pytest.raises(planner.Failure) as raised:
        planner.load(root, variables={"gone": 1}).plan()
    copy = pickle.loads(pickle.dumps(raised.value))
    assert str(copy) == str(raised.value) and copy.diagnostics == raised.value.diagnostics


def test_wrong_directories_and_stops(tmp_path: Path) -> None:
    with pytest.raises(planner.Failure, match="There is no directory"):
        planner.load(tmp_path / "missing")
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" {}\n')
    plan = asyncio.run(planner.aio.plan(tmp_path, stop=planner.Stop()))
    assert [change.address for change in plan.changes] == ["terraform_data.a"]
    assert repr(planner.Failure([])) == "Failure('')"


def test_public_modules_need_no_import_of_their_own() -> None:
    program = "import planner; planner.aio.plan, planner.policy.deny, planner.rules.compile"
    subprocess.run([sys.executable, "-c", program], check=True)
    assert {"aio", "policy", "rules", "load"} <= set(dir(planner))


ISOLATED = """
import os, re, signal, sys
IN_A_DIRECTORY = re.compile("[0-9a-f]{32}|mod$|modules$|.terraform$")  # opened by the descriptor of a directory
root = sys.argv[1]
relative = []

def hook(event, args):
    if event == "open" and isinstance(args[0], str) and not os.path.isabs(args[0]):
        relative.extend([] if IN_A_DIRECTORY.match(args[0]) else [args[0]])
    if event in ("os.chdir", "os.fork", "os.forkpty"):
        relative.append(event)

import planner
sys.addaudithook(hook)
before = (os.getcwd(), dict(os.environ), [signal.getsignal(n) for n in (2, 15)], sys.getrecursionlimit())
configuration = planner.load(root, variables={"image": "v3"})
configuration.init()
configuration.validate()
plan = configuration.plan()
plan.apply()
plan = planner.load(root, variables={"image": "v4"}).plan()
plan.why("terraform_data.a"), plan.fixes("terraform_data.b"), plan.query("edge(X, Y)"), plan.text(), plan.to_json()
plan.what_if({"image": "v5"}), plan.graph(), plan.judge(["builtin:no_provisioners"]), plan.save("p")
[c.causes for c in plan.changes]
planner.read_plan(os.path.join(root, "p"), root).apply()
configuration.state(), configuration.graph()
planner.load(root).plan(mode="destroy").apply()
assert before == (os.getcwd(), dict(os.environ), [signal.getsignal(n) for n in (2, 15)], sys.getrecursionlimit())
assert not relative, relative
"""


def test_nothing_of_the_process_is_touched(root: Path, tmp_path: Path) -> None:
    """No relative path is opened, so the directory of the process does not matter; and nothing is printed, changed or
    forked."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", ISOLATED, str(root)], cwd=elsewhere, capture_output=True, check=False, text=True
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    assert list(elsewhere.iterdir()) == []


FAMILY = """
/// parent(parent, child): the second is a child of the first. Example: parent("ann", "bob")
.decl parent(parent: symbol, child: symbol)
.input parent
/// ancestor(older, younger): a child, or an ancestor of its parent. Example: ancestor("ann", "cid")
.decl ancestor(older: symbol, younger: symbol)
.output ancestor
@reason("{Y} is a child of {X}")
ancestor(X, Y) :- parent(X, Y).
@reason("{Y}, a child of {X}, is an ancestor of {Z}")
ancestor(X, Z) :- parent(X, Y), ancestor(Y, Z).
"""


def test_the_engine_without_infrastructure() -> None:
    program = rules.compile(FAMILY)
    assert program.predicates == {"ancestor": ("older", "younger"), "parent": ("parent", "child")}
    derived = program.evaluate({"parent": [("ann", "bob"), ("bob", "cid")]})
    assert derived["ancestor"] == (("ann", "bob"), ("ann", "cid"), ("bob", "cid"))
    assert derived.query('ancestor("ann", Who)').rows == (("bob",), ("cid",))
    assert "an ancestor of cid" in derived.prove("ancestor", "ann", "cid").text
    with pytest.raises(Failure, match="is not derived"):
        derived.prove("ancestor", "cid", "ann")
    with pytest.raises(Failure, match="does not declare child"):
        program.evaluate({"child": []})
    with pytest.raises(Failure, match=r"rules\.dl:1"):
        rules.compile("p(X) :- q(X).")
    with pytest.raises(Failure, match="do not match their declaration"):
        program.evaluate({"parent": [("ann",)]})
    for wrong in (
        lambda: program.evaluate({"parent": [("ann", None)]}),
        lambda: derived.prove("parent", "ann"),
        lambda: derived.prove("parent", "ann", None),
    ):
        with pytest.raises(Failure, match="Unsuitable value in a row"):
            wrong()


FLEET = """
unit "net" {
  path = "net"
}

unit "app" {
  path   = "app"
  inputs = { port = unit.net.port }
}
"""


def test_a_fleet(tmp_path: Path) -> None:
    for name, text in (
        ("net", 'variable "port" {\n  default = 80\n}\noutput "port" {\n  value = var.port\n}\n'),
        ("app", 'variable "port" {}\nresource "terraform_data" "a" {\n  input = var.port\n}\n'),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "main.tf").write_text(text)
    (tmp_path / "planner.batch.hcl").write_text(FLEET)
    fleet = planner.fleet(tmp_path)
    assert [(unit.name, unit.waits_for, unit.wave) for unit in fleet.units()] == [("net", (), 0), ("app", ("net",), 1)]
    assert [unit.directory for unit in fleet.units()] == [str(tmp_path / "net"), str(tmp_path / "app")]
    plan = asyncio.run(planner.aio.fleet(tmp_path))
    assert not plan.failed and [(unit.name, unit.outcome) for unit in plan.units] == [
        ("net", "changes"),
        ("app", "changes"),
    ]
    assert plan.unit("app").plan().changes[0].after["input"] == 80
    (tmp_path / "app" / "main.tf").write_text("broken {")
    failed = fleet.plan()
    assert failed.failed and failed.unit("app").outcome == "failed" and failed.unit("app").diagnostics
    with pytest.raises(Failure):
        planner.fleet(tmp_path / "nothing").plan()


def test_test_files(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text('variable "size" {\n  default = 1\n}\noutput "size" {\n  value = var.size\n}\n')
    (tmp_path / "size.tftest.hcl").write_text(
        dedent("""
        run "default" {
          assert {
            condition     = output.size == 1
            error_message = "not 1"
          }
        }
        """)
    )
    report = planner.test(tmp_path)
    assert report.passed and [(r.name, r.status) for r in report.files[0].runs] == [("default", "pass")]
    failed = planner.test(tmp_path, variables={"size": 2})
    assert not failed.passed and "not 1" in failed.files[0].runs[0].diagnostics[0].detail
    with pytest.raises(Failure, match="Unknown test file"):
        planner.test(tmp_path, filters=["other.tftest.hcl"])


def test_copies_of_secrets_are_hidden(tmp_path: Path) -> None:
    variable = 'variable "s" {\n  default = "hush-hush"\n  sensitive = true\n}\n'
    (tmp_path / "main.tf").write_text(f'{variable}resource "terraform_data" "a" {{\n  input = var.s\n}}\n')
    configuration = planner.load(tmp_path)
    configuration.plan().apply()
    plan = configuration.plan(mode="destroy")
    shown = (plan.text(), plan.objects[0].before, configuration.state().resource("terraform_data.a").attributes)
    assert "hush" not in repr(shown) and shown[1]["output"] == Sensitive("hush-hush")


@pytest.mark.parametrize("variables", [{}, {"s": "new-secret"}])
@pytest.mark.parametrize("edit", ["marks", "copy"])
def test_copies_of_secrets_in_an_edited_state_are_hidden(tmp_path: Path, variables: Any, edit: str) -> None:
    """A state that was edited may have lost the marks of sensitive values: those of the configuration count, and the
    values of sensitive variables."""
    (tmp_path / "main.tf").write_text(
        dedent("""
        variable "s" {
          default   = "hush-hush"
          sensitive = true
        }

        resource "terraform_data" "a" {
          input = { s = var.s, plain = "x" }
        }

        resource "terraform_data" "b" {
          triggers_replace = [var.s]
        }
        """)
    )
    planner.load(tmp_path).plan().apply()
    state = json.loads((tmp_path / "terraform.tfstate").read_text())
    for resource in state["resources"]:
        resource["instances"][0]["sensitive_attributes"] = []
        if edit == "copy" and resource["name"] == "a":
            resource["instances"][0]["attributes"]["input"]["value"]["plain"] = "hush-hush"
    (tmp_path / "terraform.tfstate").write_text(json.dumps(state))
    for mode in ("normal", "destroy", "refresh-only"):
        plan = planner.load(tmp_path, variables=variables).plan(mode=mode)
        shown = [(c.before, c.after, c.explanation) for c in (*plan.objects, *plan.drift, *plan.outputs)]
        shown += [
            plan.text(),
            plan._repr_html_(),
            plan.review(),
            plan.to_markdown(),
            list(plan.query("prior(A, P, V)")),
        ]
        for change in plan.changes:
            proof = plan.why(change.address)
            shown += [proof.text, proof.document, proof._repr_html_(), plan.fixes(change.address)]
        shown.append(plan.what_if({"s": "other-secret"}))
        shown.append(_summary(plan, ""))
        assert not any(word in repr(shown) for word in ("hush", "new-secret", "other-secret"))


def test_records_go_to_other_processes(root: Path) -> None:
    plan = planner.load(root).plan(since="")
    changes, rows = pickle.loads(pickle.dumps(((*plan.changes, *plan.outputs), plan.query("edge(X, Y)"))))
    assert repr(changes) == repr((*plan.changes, *plan.outputs)) and list(rows) == list(plan.query("edge(X, Y)"))
    assert [c.causes for c in changes] == [c.causes for c in (*plan.changes, *plan.outputs)]
    with pytest.raises(TypeError, match="save it"):
        pickle.dumps(plan)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_queries_have_a_limit_of_time(root: Path) -> None:
    plan = planner.load(root).plan()
    slow = ", ".join(f"edge(A{n}, B{n}), A{n} != B{n}" for n in range(9))
    with pytest.raises(Failure, match="takes too long"):
        plan.query(f"{slow}, A0 = B1, A1 = B2, A2 = B3, A3 = B4, A4 = A5, A6 = B7", seconds=0.05)
    assert len(plan.query("edge(X, Y)", seconds=5))


def test_policies_of_a_directory_have_their_names_there(root: Path) -> None:
    policies = root / ".planner" / "policies"
    policies.mkdir(parents=True)
    (policies / "house.dl").write_text('warn("seen", A, "is seen") :- change(A, "terraform_data", _, _, _, _).\n')
    finding = planner.load(root).plan().judge().findings[0]
    assert finding.proof["proofs"]["p1"]["rule"].startswith(".planner/policies/house")


FACT = '/// a(x): a fact. Example: a("b")\n.decl a(x: symbol)\n.input a\n'


@pytest.mark.parametrize(
    "call",
    [
        lambda: planner.load("a\0b"),
        lambda: planner.load(".", workspace="not allowed"),
        lambda: planner.load(".", var_files=["a\0b"]),
        lambda: planner.read_plan(5),
        lambda: planner.fleet(None),
        lambda: planner.judge("a\0b"),
        lambda: rules.compile(5),
        lambda: rules.compile(FACT).evaluate(7),
        lambda: rules.compile(FACT).evaluate({"a": 5}),
        lambda: rules.compile(FACT).evaluate({"a": [5]}),
        lambda: planner.load(".").plan(refresh="no"),
        lambda: planner.load(".").taint(5),
        lambda: planner.load(".").move_objects("terraform_data.a", 5),
        lambda: planner.load(".").forget(5),
        lambda: planner.load(".").push_state("text"),
        lambda: planner.load(".").new_workspace(5),
    ],
)
def test_arguments_that_cannot_be_are_named(call: Callable[[], Any]) -> None:
    with pytest.raises(Failure) as caught:
        call()
    assert caught.value.diagnostics[0].code == "api.argument"


def test_the_state_is_edited(root: Path) -> None:
    configuration = planner.load(root)
    configuration.plan().apply()
    configuration.taint("terraform_data.b")
    assert configuration.plan().change("terraform_data.b").action == "delete-then-create"
    configuration.untaint("terraform_data.b")
    assert configuration.move_objects("terraform_data.b", "terraform_data.c")[0]
    assert configuration.forget("terraform_data.c")[0] == ["terraform_data.c"]
    with pytest.raises(Failure):
        configuration.forget("terraform_data.c")
    configuration.new_workspace("other")
    assert configuration.workspaces().selected == "other" and not configuration.state().resources


PLUGIN = """
terraform {
  required_providers {
    test = { source = "example.com/test/test" }
  }
}

variable "image" {}

resource "test_thing" "a" {
  name = "a"
  note = var.image
}

resource "terraform_data" "b" {
  input = test_thing.a.note
}
"""


def test_causes_of_objects_of_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Explaining may start a plugin again, while the former configuration is what is read: the settings that name the
    plugin are those of now."""
    override(monkeypatch, tmp_path)
    (tmp_path / "main.tf").write_text(PLUGIN)
    for number in range(3):
        with planner.load(tmp_path, variables={"image": f"v{number}"}).plan() as plan:
            causes = {str(cause).partition("   main")[0] for change in plan.changes for cause in change.causes}
            assert number == 0 or causes == {f'var.image   "v0" -> "v{number}"'}
            if number != 1:
                plan.apply()


TWICE = """
import os, signal, threading, time
from planner.api.session import Stop, uninterrupted

for number in range(20):
    stop, heard, ended = Stop(), threading.Event(), threading.Event()
    for listener in (*[lambda: time.sleep(0.001)] * 3, heard.set):
        stop.signal.listen(listener)

    def work():
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.0002 * number)
        heard.wait(10)
        ended.set()

    try:
        uninterrupted(work, stop)
    except KeyboardInterrupt:
        while True:
            try:
                ended.wait()
                break
            except KeyboardInterrupt:
                pass
    assert heard.is_set(), number
"""


def test_a_second_interrupt_does_not_cut_off_the_first(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, check=False, text=True, timeout=50)
    assert (done.stdout, done.stderr) == ("", "")
