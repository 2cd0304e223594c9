"""Signed plans, and applies that demand them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import evolve
from planner.operations import approvals, signature_check
from planner.operations.apply import Applied, apply
from planner.operations.approvals import sign
from planner.operations.options import OperationOptions, Requirement
from planner.operations.plan import plan, release
from planner.operations.plan_files import save_plan
from planner.operations.signature_check import ENDING

from .test_keys import needs_openssh, ssh_key

pytestmark = needs_openssh


class World:
    """A directory with keys, and a saved plan `p`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("alice", "bob", "eve"):
            ssh_key(folder, name=name)
        (folder / "main.tf").write_text(
            'variable "a" {\n  default = 1\n}\nresource "terraform_data" "a" {\n  input = var.a\n}\n'
        )
        self.plan()

    def plan(self, name: str = "p") -> None:
        planned = plan(OperationOptions(), Hooks())
        assert planned.complete is not None
        assert not save_plan(planned.complete, name)
        release(planned)

    def sign(self, who: str, name: str = "p", expires: float = 0.0) -> None:
        sign(OperationOptions(), name, str(self.folder / who), expires)

    def apply(self, *keys: str, number: int = 1, name: str = "p") -> Applied:
        paths = tuple(str(self.folder / f"{key}.pub") for key in keys)
        return apply(OperationOptions(signatures=(Requirement(paths, number),)), name, Hooks())

    def refusal(self, *keys: str, number: int = 1, name: str = "p") -> str:
        applied = self.apply(*keys, number=number, name=name)
        assert applied.state is None
        (problem,) = applied.diagnostics
        return " ".join(problem.detail.split())


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.chdir(tmp_path)
    return World(tmp_path)


def test_a_plan_that_was_signed_is_applied_and_recorded(world: World) -> None:
    assert "There are no signatures in p.intoto.jsonl" in world.refusal("alice")
    world.sign("alice")
    applied = world.apply("alice")
    assert not applied.diagnostics and applied.state is not None
    record = next(world.folder.glob("*.tfstate.*applied*")).read_bytes()
    (run,) = json.loads(record)["runs"].values()
    assert run["approval"]["plan"].startswith("sha256:") and any(key.startswith("SHA256:") for key in run["approval"])


def test_what_is_signed(world: World) -> None:
    world.sign("alice")
    import base64

    statement = json.loads(base64.b64decode(json.loads((world.folder / f"p{ENDING}").read_bytes())["payload"]))
    assert statement["subject"][0]["name"] == "p"
    predicate = statement["predicate"]
    assert predicate["workspace"] == "default" and predicate["changes"] == {"terraform_data.a": "create"}
    assert set(predicate["configuration"]) == {"main.tf"} and predicate["state"]["backend"] == "local"


def test_thresholds_and_keys(world: World) -> None:
    world.sign("alice")
    world.sign("alice")  # twice is not two
    assert "requires 2 signatures" in world.refusal("alice", "bob", number=2)
    assert "a signature was not made with any of these keys" in world.refusal("bob")
    world.sign("eve")
    assert "1 of them is valid" in world.refusal("alice", "bob", number=2)
    world.sign("bob")
    assert world.apply("alice", "bob", number=2).state is not None


def test_signatures_of_something_else(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.sign("alice")
    shutil.copy("p", "q")
    shutil.copy(f"p{ENDING}", f"q{ENDING}")
    assert "it is for p, but the file is called q" in world.refusal("alice", name="q")
    data = bytearray((world.folder / "p").read_bytes())
    data[len(data) // 2] ^= 1
    (world.folder / "p").write_bytes(bytes(data))
    assert "another plan, or the plan was changed" in world.refusal("alice")
    (world.folder / "main.tf").write_text("# another\n")
    world.plan()
    assert "another plan, or the plan was changed" in world.refusal("alice")
    world.sign("alice")
    monkeypatch.setenv("TF_WORKSPACE", "other")
    assert "for the workspace default, but this one is other" in world.refusal("alice")


def test_expired(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_900_000_000.0
    monkeypatch.setattr(signature_check.time, "time", lambda: now)
    world.sign("alice", expires=3600)
    monkeypatch.setattr(signature_check.time, "time", lambda: now + 3601)
    assert "it expired at 2030-03-17T18:46:40Z" in world.refusal("alice")
    monkeypatch.setattr(signature_check.time, "time", lambda: now - 3600)
    assert "which is in the future" in world.refusal("alice")
    monkeypatch.setattr(signature_check.time, "time", lambda: now + 3599)
    assert world.apply("alice").state is not None


def test_a_stale_plan(world: World) -> None:
    world.sign("alice")
    assert apply(OperationOptions(), "p", Hooks()).state is not None
    assert "has all changes of this plan" in world.refusal("alice")


def test_an_organisation_demands_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    (world.folder / "rc").write_text('signatures {\n  keys = ["alice.pub"]\n}\n')
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(world.folder / "rc"))
    applied = apply(OperationOptions(), "p", Hooks())
    assert applied.state is None and "the organisation requires a signature" in applied.diagnostics[0].detail
    planned = plan(OperationOptions(), Hooks(), to_apply=True)
    applied = apply(OperationOptions(), planned, Hooks())
    release(planned)
    assert applied.state is None and "requires signed plans" in applied.diagnostics[0].detail
    world.sign("alice")
    assert apply(OperationOptions(), "p", Hooks()).state is not None


@pytest.mark.parametrize(
    "block", ["keys = []", 'keys = ["a"]\n required = 0', 'keys = ["a"]\n required = 1.5', "other = 1"]
)
def test_wrong_settings(world: World, monkeypatch: pytest.MonkeyPatch, block: str) -> None:
    (world.folder / "rc").write_text(f"signatures {{\n{block}\n}}\n")
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(world.folder / "rc"))
    applied = apply(OperationOptions(), "p", Hooks())
    assert applied.state is None and "signatures" in applied.diagnostics[0].detail


def test_plans_that_failed_are_not_signed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = approvals.open_plan

    def failed(*given: Any, **named: Any) -> Any:
        made = opened(*given, **named)
        return evolve(made, plan=evolve(made.plan, errored=True))

    monkeypatch.setattr(approvals, "open_plan", failed)
    with pytest.raises(Failure, match="Nothing to sign"):
        world.sign("alice")


def test_statements_that_are_none(world: World) -> None:
    from planner.foundation.signatures.envelope import STATEMENT, envelope
    from planner.foundation.signatures.keys import load_signer

    signer = load_signer(str(world.folder / "alice"))
    whole = {"_type": STATEMENT, "subject": [], "predicateType": signature_check.PREDICATE, "predicate": {}}
    for statement in (whole, {**whole, "predicateType": "x"}, {**whole, "subject": [{"digest": 1}]}):
        (world.folder / f"p{ENDING}").write_bytes(envelope(statement, signer))
        assert "not an approval made by planner" in world.refusal("alice"), statement


def test_the_commands(world: World, planner: Any) -> None:
    ran = planner("apply", "-require-signature=alice.pub")
    assert ran.code == 1 and "Only saved plans are signed" in ran.err
    ran = planner("sign", "p", "-key=alice", "-expires=1h")
    assert ran.code == 0 and "Signed p with the key SHA256:" in ran.out
    assert planner("sign", "p", "-require-signature=bob.pub").code == 1
    assert planner("apply", "-require-signature=bob.pub", "p").code == 1
    assert planner("apply", "-require-signature=alice.pub", "-signatures=2", "p").code == 1
    ran = planner("sign", "-json", "p", "-require-signature=alice.pub", "-require-signature=bob.pub")
    said = json.loads(ran.out.splitlines()[-1])
    assert ran.code == 0 and len(said["signers"]) == 1 and said["plan"].startswith("sha256:")
    ran = planner("apply", "-require-signature=alice.pub", "p")
    assert ran.code == 0 and "1 added" in ran.out
    for words in (("sign", "p"), ("sign", "p", "-key=alice", "-require-signature=bob.pub"), ("sign", "-key=alice")):
        assert planner(*words).code == 1, words
    for words in (("-signatures=2",), ("-require-signature=alice.pub", "-signatures=0")):
        assert planner("apply", *words, "p").code == 1, words
    ran = planner("sign", "p", "-key=main.tf")
    assert ran.code == 1 and "Unusable key" in ran.err
    ran = planner("sign", "missing", "-key=alice")
    assert ran.code == 1 and "Cannot read the plan file" in ran.err


def test_plans_of_a_fleet(world: World, planner: Any) -> None:
    for unit in ("a", "b"):
        (world.folder / "fleet" / unit).mkdir(parents=True)
        shutil.copy("main.tf", f"fleet/{unit}/main.tf")
        (world.folder / "fleet" / unit / ".planner-unit").write_text("")
    keys = (f"-require-signature={world.folder}/alice.pub",)
    assert planner("batch", "plan", "-out=out", "fleet").code == 0
    ran = planner("batch", "apply", *keys, "out")
    assert ran.code == 1 and "There are no signatures in" in " ".join(ran.err.split())
    assert planner("sign", "out", "-key=alice").code == 0
    assert planner("sign", "out", *keys).code == 0
    (plan, *_) = sorted((world.folder / "out" / "plans").iterdir())
    whole = plan.read_bytes()
    plan.write_bytes(whole + b"x")
    assert planner("batch", "apply", *keys, "out").code == 1
    plan.write_bytes(whole)
    ran = planner("batch", "apply", *keys, "out")
    assert ran.code == 0, ran.err
    assert planner("batch", "plan", "-out=out", "fleet").code == 0  # another plan, beside the signature of the first
    ran = planner("batch", "apply", *keys, "out")
    assert ran.code == 1 and "it is for another plan" in " ".join(ran.err.split())
    ran = planner("batch", "apply", *keys, "-auto-approve", "fleet")
    assert ran.code == 1 and "Only saved plans are signed" in ran.err
