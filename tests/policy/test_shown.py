"""`policy check` on documents that others wrote: what it takes, what it says without the configuration, and what it
makes of documents that are wrong."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Ran

from planner.answers.policy.facts.relations import PolicyInputs
from planner.answers.policy.from_json.document import parse
from planner.answers.policy.from_json.facts import shown_facts
from planner.foundation.vocabulary.diagnostic import Failure

Run = Callable[..., Ran]
PROVIDER = "registry.opentofu.org/hashicorp/aws"
PLAN: dict[str, Any] = {
    "format_version": "1.2",
    "terraform_version": "1.12.6",
    "timestamp": "2026-03-02T09:30:00Z",
    "variables": {"region": {"value": "eu-west-1"}},
    "resource_changes": [
        {
            "address": "module.net[0].aws_security_group.web",
            "module_address": "module.net[0]",
            "mode": "managed",
            "type": "aws_security_group",
            "name": "web",
            "provider_name": PROVIDER,
            "change": {
                "actions": ["create"],
                "before": None,
                "after": {"name": "web", "ingress": [{"from_port": 22, "cidr_blocks": ["0.0.0.0/0"]}], "price": 1.5},
                "after_unknown": {"id": True, "ingress": [{"cidr_blocks": [False], "security_groups": True}]},
                "before_sensitive": False,
                "after_sensitive": {"name": True},
            },
        },
        {
            "address": "aws_s3_bucket.logs",
            "previous_address": "aws_s3_bucket.old",
            "mode": "managed",
            "type": "aws_s3_bucket",
            "name": "logs",
            "provider_name": PROVIDER,
            "change": {
                "actions": ["delete", "create"],
                "before": {"bucket": "a"},
                "after": {"bucket": "b"},
                "after_unknown": {"arn": True},
                "before_sensitive": {},
                "after_sensitive": {},
                "replace_paths": [["bucket"]],
            },
            "action_reason": "replace_because_cannot_update",
        },
    ],
    "output_changes": {"url": {"actions": ["create"], "before": None, "after": "x", "after_unknown": False}},
    "prior_state": {
        "format_version": "1.0",
        "values": {
            "root_module": {
                "resources": [
                    {
                        "address": "data.aws_ami.base",
                        "mode": "data",
                        "type": "aws_ami",
                        "name": "base",
                        "provider_name": PROVIDER,
                        "values": {"owner_id": "1", "secret": "s"},
                        "sensitive_values": {"secret": True},
                    }
                ]
            }
        },
    },
    "configuration": {
        "provider_config": {
            "aws": {"name": "aws", "full_name": PROVIDER},
            "aws.west": {
                "name": "aws",
                "full_name": PROVIDER,
                "alias": "west",
                "expressions": {
                    "region": {"constant_value": "us-west-2"},
                    "profile": {"references": ["var.region"]},
                    "assume_role": [{"role_arn": {"constant_value": "r"}}],
                },
            },
        },
        "root_module": {
            "variables": {"region": {"default": "eu-west-1"}},
            "resources": [
                {
                    "address": "aws_s3_bucket.logs",
                    "mode": "managed",
                    "type": "aws_s3_bucket",
                    "name": "logs",
                    "provider_config_key": "aws.west",
                    "expressions": {"bucket": {"constant_value": "b"}},
                }
            ],
            "module_calls": {
                "net": {
                    "source": "./net",
                    "module": {
                        "resources": [
                            {
                                "address": "aws_security_group.web",
                                "mode": "managed",
                                "type": "aws_security_group",
                                "name": "web",
                                "provider_config_key": "aws",
                                "expressions": {"name": {"references": ["var.name"]}},
                            }
                        ]
                    },
                }
            },
        },
    },
}
WEB, LOGS = "module.net[0].aws_security_group.web", "aws_s3_bucket.logs"
WEST = f'provider["{PROVIDER}"].west'


def rows(relation: str, document: dict[str, Any] = PLAN) -> set[tuple[Any, ...]]:
    facts = shown_facts(parse(json.dumps(document).encode(), "plan.json"), PolicyInputs(frozenset((relation,))))
    assert not facts.untold
    return set(facts.relation(relation))


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("action", {(WEB, "create"), (LOGS, "delete-then-create")}),
        (
            "change",
            {
                (WEB, "aws_security_group", "web", "module.net[0]", f'provider["{PROVIDER}"]', "managed"),
                (LOGS, "aws_s3_bucket", "logs", "", WEST, "managed"),
            },
        ),
        ("instance_of", {(WEB, "module.net.aws_security_group.web"), (LOGS, LOGS)}),
        ("reason", {(LOGS, "replace_because_cannot_update")}),
        ("replace_path", {(LOGS, "bucket")}),
        ("moved_from", {(LOGS, "aws_s3_bucket.old")}),
        ("prior", {(LOGS, "bucket", "a")}),
        ("configured", {(LOGS, "bucket", "b"), (WEB, "name", "web"), ("var.region", "value", "eu-west-1")}),
        ("unknown_after", {(WEB, "id"), (WEB, "ingress[0].security_groups"), (LOGS, "arn")}),
        ("sensitive_at", {(WEB, "name")}),
        ("variable", {("var.region", "region")}),
        ("output", {("output.url", "url", "create")}),
        ("plan_mode", {("normal",)}),
        ("module_call", {("module.net", "./net", "")}),
        ("plan_time", {("2026-03-02T09:30:00Z",)}),
        ("provider_argument", {(WEST, "region", "us-west-2"), (WEST, "assume_role[0].role_arn", "r")}),
        ("data_value", {("data.aws_ami.base", "owner_id", "1"), ("data.aws_ami.base", "secret", "s")}),
        ("blast", None),
    ],
)
def test_relations(relation: str, expected: set[tuple[Any, ...]] | None) -> None:
    if expected is None:
        facts = shown_facts(parse(json.dumps(PLAN).encode(), "plan.json"), PolicyInputs(frozenset((relation,))))
        assert facts.untold == {relation}
    else:
        assert rows(relation) == expected


def test_values_of_every_kind() -> None:
    planned = {(path, str(value)) for address, path, value in rows("planned") if address == WEB}
    assert planned == {
        ("name", "web"),
        ("ingress[0].from_port", "22"),
        ("ingress[0].cidr_blocks[0]", "0.0.0.0/0"),
        ("price", "1.5"),
    }
    reads = PolicyInputs(frozenset(("maybe", "maybe_open")))
    facts = shown_facts(parse(json.dumps(PLAN).encode(), "plan.json"), reads)
    assert (WEB, "ingress") in set(facts.relation("maybe_open")), "it may be a set"


def test_unknown_arguments_of_providers_are_unknown() -> None:
    reads = PolicyInputs(frozenset(("provider_argument", "maybe_exact", "unknown_after")))
    facts = shown_facts(parse(json.dumps(PLAN).encode(), "plan.json"), reads)
    assert (WEST, "profile") in set(facts.relation("maybe_exact"))
    assert (WEST, "profile") in set(facts.relation("unknown_after"))


@pytest.mark.parametrize(
    ("path", "untold"),
    [
        ("configuration", {"configured", "resource", "variable", "module_call", "provider_instance"}),
        ("configuration.root_module", {"configured", "resource", "variable", "module_call", "provider_instance"}),
        ("configuration.provider_config", {"provider_instance"}),
    ],
)
def test_what_somebody_left_out_of_a_document_is_not_taken_for_absent(path: str, untold: set[str]) -> None:
    names = frozenset(("configured", "resource", "variable", "module_call", "provider_instance", "planned"))
    assert shown_facts(parse(changed(path, ...), "plan.json"), PolicyInputs(names)).untold == untold
    read = PolicyInputs(frozenset(("provider_argument",)))
    assert shown_facts(parse(changed(path, ...), "plan.json"), read).untold == {"provider_argument"}


# ---------------------------------------------------------------- documents that are wrong


def changed(path: str, value: Any) -> bytes:
    """The plan with something else at a path such as `resource_changes.0.change.actions`."""
    document = copy.deepcopy(PLAN)
    at: Any = document
    *steps, last = path.split(".")
    for step in steps:
        at = at[int(step)] if isinstance(at, list) else at[step]
    if value is ...:
        del at[last]
    else:
        at[int(last) if isinstance(at, list) else last] = value
    return json.dumps(document).encode()


FIRST = "resource_changes.0"
PLANNED = b'"planned_values":{"root_module":{"resources":[{"address":"a.b"}]}}'
DEEP = b'{"format_version":"1.2","resource_changes":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not JSON"),
        (b"[]", "not an object"),
        (b'{"a": NaN}', "not JSON"),
        (b'{"format_version": "1.2", "resource_changes": [], "x": "\\ud800"}', "not JSON"),
        (b'{"format_version": "1.2", "resource_changes": [], "n": 1e400, "x": "\\ud800"}', "not JSON"),
        (b'{"format_version": "2.0", "resource_changes": []}', "only 1.x"),
        (b'{"version": 4}', "no format_version"),
        (b'{"@level": "info"}', "show -json PLANFILE"),
        (DEEP, "not JSON"),
        (changed("resource_changes", {}), "resource_changes: a list expected"),
        (changed(FIRST, 1), "resource_changes[0]: an object expected"),
        (changed(f"{FIRST}.address", ...), "resource_changes[0].address: a string expected"),
        (changed(f"{FIRST}.address", "aws_s3_bucket.web"), "is not an instance of"),
        (changed(f"{FIRST}.address", WEB + "x"), "is not an instance of"),
        (changed(f"{FIRST}.mode", "other"), "resource_changes[0].mode"),
        (changed(f"{FIRST}.type", "aws_s3_bucket"), "is not an instance of"),
        (changed(f"{FIRST}.module_address", "module"), "resource_changes[0]"),
        (changed(f"{FIRST}.change", []), "resource_changes[0].change: an object expected"),
        (changed(f"{FIRST}.change.actions", ["destroy"]), "resource_changes[0].change.actions"),
        (changed(f"{FIRST}.change.actions", "create"), "resource_changes[0].change.actions"),
        (changed(f"{FIRST}.change.after", "text"), "an object expected"),
        (changed(f"{FIRST}.change.after_unknown", "all"), "the unknown parts"),
        (changed(f"{FIRST}.change.after_unknown.ingress", {"x": True}), "the unknown parts"),
        (changed(f"{FIRST}.change.after_sensitive.ingress", {"x": True}), "the sensitive parts"),
        (changed(f"{FIRST}.change.replace_paths", [1]), "replace_paths[0]"),
        (changed("resource_changes.1.address", 5), "resource_changes[1].address"),
        (changed("resource_changes", [PLAN["resource_changes"][0]] * 2), "a second entry"),
        (changed("output_changes.url", 1), "output_changes.url"),
        (changed("variables.region", 1), "variables.region"),
        (changed("configuration", 1), "configuration: an object expected"),
        (changed("configuration.root_module.resources.0.address", ...), "resources[0].address"),
        (changed("configuration.provider_config.aws", 1), "configuration.provider_config.aws"),
        (changed("prior_state.values.root_module.resources", 1), "prior_state.values.root_module.resources"),
        (changed("checks", [{"address": 1}]), "checks[0].address"),
        (changed("errored", True), "errored: planning failed"),
        (changed("errored", True).decode().encode("utf-16"), "errored: planning failed"),
        (b"\xff\xfe\x00\xd8", "not UTF-16"),
        (b'{"format_version":"1.2",%b}' % PLANNED, "resource_changes: changes for the objects in planned_values"),
        (b'{"format_version":"1.2","resource_changes":[],%b}' % PLANNED, "resource_changes: changes for the"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(data: bytes, said: str) -> None:
    reads = frozenset(("planned", "sensitive_at", "prior", "data_value", "provider_argument", "check_result"))
    with pytest.raises(Failure) as failure:
        shown_facts(parse(data, "plan.json"), PolicyInputs(reads))
    (problem,) = failure.value.diagnostics
    assert said in problem.detail and "plan.json" in problem.detail


def test_nothing_said_of_what_it_will_be_is_unknown() -> None:
    document = json.loads(changed(f"{FIRST}.change.after", ...))
    del document["resource_changes"][0]["change"]["after_unknown"]
    assert (WEB, "") in rows("unknown_after", document)


# ---------------------------------------------------------------- the command

PORTS = """
@name("ports.open") @reason("{A} opens a port")
deny("ports", A, "opens a port") :- planned(A, P, 22), starts_with(P, "ingress").
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    (tmp_path / "ports.dl").write_text(PORTS)
    return tmp_path


def findings(ran: Ran) -> list[tuple[str, str, str]]:
    return [(f["verdict"], f["code"], f["address"]) for f in json.loads(ran.out)["findings"]]


def test_a_plan_without_its_configuration(folder: Path, planner: Run) -> None:
    ran = planner("policy", "check", "-policy=ports.dl", "-plan=plan.json", "-json")
    assert ran.code == 1 and findings(ran) == [("deny", "ports", WEB)]
    assert "subject" not in json.loads(ran.out)["findings"][0]


def test_a_plan_on_standard_input(folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with (folder / "plan.json").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        ran = planner("policy", "check", "-policy=ports.dl", "-plan=-", "-json")
    assert findings(ran) == [("deny", "ports", WEB)]


NET = 'variable "name" {}\nresource "aws_security_group" "web" {\n  name = var.name\n}\n'
MAIN = (
    'variable "region" { default = "eu-west-1" }\nresource "aws_s3_bucket" "logs" {\n  bucket = "b"\n'
    '  lifecycle {\n    prevent_destroy = true\n  }\n}\nmodule "net" {\n  source = "./net"\n  count  = 1\n}\n'
)
CYCLE = (
    'deny("cycle", O, S) :- lifecycle(O, S, _).\ndeny("ports", A, "opens") :- planned(A, "ingress[0].from_port", 22).\n'
)


def test_a_configuration_at_hand_says_where_and_what_else(folder: Path, planner: Run) -> None:
    (folder / "cycle.dl").write_text(CYCLE)
    judge = ("policy", "check", "-policy=cycle.dl", "-plan=plan.json", "-json")
    assert ("broken", "cycle", "") in findings(planner(*judge))
    (folder / "net").mkdir()
    (folder / "net" / "main.tf").write_text(NET)
    (folder / "main.tf").write_text(MAIN)
    assert planner("get").code == 0
    found = json.loads(planner(*judge).out)["findings"]
    assert [(f["verdict"], f["code"], f["address"]) for f in found] == [("deny", "cycle", LOGS), ("deny", "ports", WEB)]
    assert found[0]["subject"] == {"file": "main.tf", "line": 2}
    assert found[1]["subject"] == {"file": "net/main.tf", "line": 2}
    (folder / "main.tf").write_text(MAIN.replace('"logs"', '"other"'))
    other = json.loads(planner(*judge).out)["findings"]
    assert ("broken", "cycle") in {(f["verdict"], f["code"]) for f in other}
    assert not any("subject" in f for f in other)


NEVER = 'deny("never", A, "is frozen") :- run("workspace", W), frozen_workspace(W), change(A, _, _, _, _, _).\n'
FROZEN = "/// frozen_workspace(name): nothing is changed there.\n.decl frozen_workspace(name: text)\n"
SOME = "frozen_workspace(W) :- some_workspace(W).\n"
SOME += "/// some_workspace(name): a workspace.\n.decl some_workspace(name: text)\n.input some_workspace\n"


@pytest.mark.parametrize(("rows", "kinds"), [("", []), ('frozen_workspace("prod").\n', ["broken"]), (SOME, [])])
def test_what_is_not_told_breaks_no_rule_that_cannot_hold(
    folder: Path, planner: Run, rows: str, kinds: list[str]
) -> None:
    (folder / "never.dl").write_text(FROZEN + rows + NEVER)
    ran = planner("policy", "check", "-policy=never.dl", "-plan=plan.json", "-json")
    assert [kind for kind, _, _ in findings(ran)] == kinds


STORED = (
    'deny("backend", T, "x") :- backend(T), change(_, _, _, _, _, _).\n'
    'deny("locked", S, V) :- locked_provider(S, V, _).\n'
)


def test_a_configuration_at_hand_says_where_the_state_is_and_which_providers_are_locked(
    folder: Path, planner: Run
) -> None:
    (folder / "stored.dl").write_text(STORED)
    judge = ("policy", "check", "-policy=stored.dl", "-plan=plan.json", "-json")
    assert findings(planner(*judge)) == [("broken", "backend", ""), ("broken", "locked", "")]
    (folder / "net").mkdir()
    (folder / "net" / "main.tf").write_text(NET)
    (folder / "main.tf").write_text(MAIN)
    (folder / ".terraform.lock.hcl").write_text(f'provider "{PROVIDER}" {{\n  version = "5.31.0"\n}}\n')
    assert planner("get").code == 0
    assert findings(planner(*judge)) == [("deny", "backend", "local"), ("deny", "locked", PROVIDER)]
    (folder / "backend.tf").write_text('terraform {\n  backend "s3" {}\n}\n')
    assert ("deny", "backend", "s3") in findings(planner(*judge))
    (folder / ".terraform.lock.hcl").write_text("provider {")
    assert "lock" in planner(*judge).err


def test_warnings_that_cannot_be_decided_refuse_nothing(folder: Path, planner: Run) -> None:
    (folder / "w.dl").write_text('warn("w", A, "is targeted") :- targeted(_, A).\n')
    ran = planner("policy", "check", "-policy=w.dl", "-plan=plan.json", "-json")
    assert ran.code == 0 and findings(ran) == [("undecided", "w", "")]


def test_relations_that_rest_on_others_are_broken_too(folder: Path, planner: Run) -> None:
    (folder / "w.dl").write_text(
        '/// kept(object): it is kept. Example: kept("a.b")\n.decl kept(object: object)\n'
        'kept(O) :- lifecycle(O, "prevent_destroy", "true").\n'
        'deny("kept", A, "is not kept") :- action(A, _), instance_of(A, O), not kept(O).\n'
    )
    ran = planner("policy", "check", "-policy=w.dl", "-plan=plan.json", "-json")
    assert ran.code == 1 and ("broken", "kept", "") in findings(ran)
    over = planner(
        *(
            "policy",
            "check",
            "-policy=w.dl",
            "-plan=plan.json",
            "-json",
            "-policy-override=kept",
            "-override-reason=known",
        )
    )
    assert over.code == 0


def test_several_plans_have_a_verdict_each(folder: Path, planner: Run) -> None:
    fine = copy.deepcopy(PLAN)
    fine["resource_changes"] = []
    (folder / "fine.json").write_text(json.dumps(fine))
    ran = planner("policy", "check", "-policy=ports.dl", "-plan=fine.json", "-plan=plan.json", "-json")
    verdicts = json.loads(ran.out)["verdicts"]
    assert ran.code == 1 and [(v["plan"], v["verdict"]) for v in verdicts] == [
        ("fine.json", "pass"),
        ("plan.json", "deny"),
    ]
    table = planner("policy", "check", "-policy=ports.dl", "-plan=fine.json", "-plan=plan.json")
    assert table.code == 1 and table.out.index("fine.json") < table.out.index("plan.json")
    assert (
        planner("policy", "check", "-policy=ports.dl", "-plan=fine.json", "-plan=plan.json", "-format=junit").code == 1
    )


STATE_FILE = {
    "version": 4,
    "terraform_version": "1.12.6",
    "serial": 1,
    "lineage": "x",
    "outputs": {"password": {"value": "hidden", "type": "string", "sensitive": True}},
    "resources": [
        {
            "mode": "managed",
            "type": "aws_security_group",
            "name": "web",
            "module": "module.net[0]",
            "provider": f'provider["{PROVIDER}"]',
            "instances": [
                {
                    "index_key": "a",
                    "schema_version": 0,
                    "attributes": {"ingress": [{"from_port": 22}], "secret": "s3cret"},
                    "sensitive_attributes": [[{"type": "get_attr", "value": "secret"}]],
                }
            ],
        }
    ],
}
SHOWN_STATE = {
    "format_version": "1.0",
    "terraform_version": "1.12.6",
    "values": {
        "outputs": {"password": {"value": "hidden", "sensitive": True}},
        "root_module": {
            "child_modules": [
                {
                    "address": "module.net[0]",
                    "resources": [
                        {
                            "address": 'module.net[0].aws_security_group.web["a"]',
                            "mode": "managed",
                            "type": "aws_security_group",
                            "name": "web",
                            "index": "a",
                            "provider_name": PROVIDER,
                            "values": {"ingress": [{"from_port": 22}], "secret": "s3cret"},
                            "sensitive_values": {"ingress": [{}], "secret": True},
                        }
                    ],
                }
            ]
        },
    },
}


@pytest.mark.parametrize("state", [STATE_FILE, SHOWN_STATE], ids=["file", "shown"])
def test_a_state_is_judged_as_it_stands(folder: Path, planner: Run, state: dict[str, Any]) -> None:
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "s.dl").write_text(
        PORTS
        + 'deny("says", A, "is " ++ V) :- prior(A, "secret", V), action(A, "no-op").\n'
        + 'deny("out", A, "is " ++ V) :- planned(A, "value", V).\n'
    )
    ran = planner("policy", "check", "-policy=s.dl", "-state=state.json", "-json")
    address = 'module.net[0].aws_security_group.web["a"]'
    assert findings(ran) == [("deny", "out", "output.password"), ("deny", "ports", address), ("deny", "says", address)]
    assert "s3cret" not in ran.out and "hidden" not in ran.out
    (folder / "c.dl").write_text('deny("c", A, "is") :- configured(A, _, _).\n')
    assert findings(planner("policy", "check", "-policy=c.dl", "-state=state.json", "-json")) == [("broken", "c", "")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-policy=ports.dl", "-state=plan.json"), "it is a plan, and -state names a state"),
        (("-policy=ports.dl", "-plan=ports.dl"), "it is not JSON"),
        (("-policy=ports.dl", "-plan=none.json"), "none.json"),
        (("-plan=plan.json",), "No policies"),
    ],
)
def test_what_cannot_be_judged_is_an_error(folder: Path, planner: Run, words: tuple[str, ...], said: str) -> None:
    ran = planner("policy", "check", *words)
    assert ran.code == 1 and said in ran.out + ran.err


INNER = """
variable "name" {}
variable "other" { default = "" }
resource "terraform_data" "a" { input = var.name }
resource "terraform_data" "b" {
  count = var.name == "x" ? 1 : 0
  input = terraform_data.a.id
}
resource "terraform_data" "c" { input = local.id }
locals { id = terraform_data.a.id }
resource "terraform_data" "d" { input = var.other }
output "id" { value = terraform_data.a.id }
"""
OUTER = """
module "m" {
  source   = "./inner"
  for_each = toset(["x", "y"])
  name     = each.key
}
module "n" {
  source   = "./inner"
  for_each = toset(["x", "y"])
  name     = each.key
  other    = module.m["x"].id
}
"""
PAIRS = 'deny("pair", A, B) :- depends(A, B), starts_with(B, "module.m").\n'


def test_in_a_module_with_several_instances_each_depends_on_its_own(
    tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("main.tf", OUTER), ("inner/main.tf", INNER), ("pairs.dl", PAIRS)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert planner("init").code == 0 and planner("plan", "-out=plan.bin").code == 0
    (tmp_path / "plan.json").write_text(planner("show", "-json", "plan.bin").out)
    pairs = [
        ('module.m["x"].terraform_data.b[0]', 'module.m["x"].terraform_data.a'),
        *((f'module.m["{k}"].terraform_data.c', f'module.m["{k}"].terraform_data.a') for k in "xy"),
        *((f'module.n["{k}"].terraform_data.d', 'module.m["x"].terraform_data.a') for k in "xy"),
    ]
    for more in ((), ("-plan=plan.json",)):
        found = json.loads(planner("policy", "check", "-policy=pairs.dl", "-json", *more).out)["findings"]
        assert [(f["address"], f["message"]) for f in found] == sorted(pairs), more
