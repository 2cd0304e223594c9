"""The builtin provider: the life of terraform_data, and reading remote states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.foundation.values.json_codec import to_json
from planner.foundation.values.schema import implied_type
from planner.foundation.values.types import DYNAMIC, NUMBER, STRING, ListType, MapType
from planner.foundation.values.value import NOT_NULL, List, Map, Null, Unknown
from planner.foundation.vocabulary.diagnostic import Failure
from planner.world.provider.builtin import SCHEMA, BuiltinProvider
from planner.world.provider.interface import ApplyRequest, PlanAnswer, PlanRequest
from planner.world.provider.propose import planned_unknown_object, proposed_new
from planner.world.provider.registry import start_provider

DATA = SCHEMA.resources["terraform_data"].block
REMOTE = SCHEMA.data_sources["terraform_remote_state"].block
PROVIDER = BuiltinProvider()
NONE = Null(DYNAMIC)


def config(**given: Any) -> dict[str, Any]:
    return {"id": Null(STRING), "input": NONE, "output": NONE, "triggers_replace": NONE, **given}


def plan(prior: Any, **given: Any) -> PlanAnswer:
    wanted = config(**given)
    return PROVIDER.plan(PlanRequest("terraform_data", prior, proposed_new(DATA, prior, wanted), wanted))


def prior(**given: Any) -> dict[str, Any]:
    return {**config(), "id": "id-1", **given}


def test_create() -> None:
    answer = plan(Null(implied_type(DATA)), input="a")
    assert answer.planned == {
        "id": Unknown(STRING, NOT_NULL),
        "input": "a",
        "output": Unknown(STRING),
        "triggers_replace": NONE,
    }
    value = PROVIDER.apply(ApplyRequest("terraform_data", Null(), answer.planned, config(input="a"))).value
    assert value["output"] == "a"
    assert len(value["id"]) == 36


def test_create_without_input_has_a_known_output() -> None:
    assert plan(Null(implied_type(DATA))).planned["output"] == NONE
    assert plan(Null(implied_type(DATA)), input=Null(NUMBER)).planned["output"] == Null(NUMBER)


def test_unknown_input() -> None:
    planned = plan(Null(implied_type(DATA)), input=Unknown(NUMBER)).planned
    assert planned["input"] == Unknown(NUMBER)
    assert planned["output"] == Unknown(NUMBER)


def test_nothing_changes() -> None:
    before = prior(input=(1, True), output=(1, True))
    assert plan(before, input=(1, True)).planned == before


@pytest.mark.parametrize(("old", "new"), [("a", "b"), ((1,), (True,)), ("a", NONE), (NONE, Null(STRING)), (1, "1")])
def test_update_keeps_the_id(old: Any, new: Any) -> None:
    answer = plan(prior(input=old, output=old), input=new)
    assert answer.planned["id"] == "id-1"
    assert answer.planned["output"].__class__ is Unknown
    assert answer.requires_replace == ()


def test_other_trigger_replaces() -> None:
    answer = plan(prior(triggers_replace="v1", input="a", output="a"), triggers_replace="v2", input="a")
    assert answer.requires_replace == ((("attr", "triggers_replace"),),)
    assert answer.planned["id"].__class__ is Unknown
    assert answer.planned["output"] == Unknown(STRING)


def test_delete() -> None:
    gone = Null(implied_type(DATA))
    assert PROVIDER.plan(PlanRequest("terraform_data", prior(), gone, gone)).planned is gone
    assert PROVIDER.apply(ApplyRequest("terraform_data", prior(), gone, gone)).value is gone


def test_read_only_attributes() -> None:
    problems = PROVIDER.validate_resource("managed", "terraform_data", config(id="x", output=Unknown()))
    assert [(p.path, p.detail[:8]) for p in problems] == [(None, '"id" is '), (None, '"output"')]
    assert PROVIDER.validate_resource("managed", "terraform_data", config(input="x")) == []


def test_import() -> None:
    objects, problems = PROVIDER.import_object("terraform_data", "ext-1")
    assert problems == []
    assert [o.value for o in objects] == [config(id="ext-1")]


def test_upgrade_reads_the_recorded_object() -> None:
    value = prior(input=List(STRING, ("a",)), output=Map(NUMBER, {"k": 1}), triggers_replace=Null(STRING))
    recorded = to_json(value, implied_type(DATA))
    assert PROVIDER.upgrade("terraform_data", 0, recorded) == (value, [])
    for broken in ({**recorded, "input": 3}, {**recorded, "extra": 1}):
        assert len(PROVIDER.upgrade("terraform_data", 0, broken)[1]) == 1


def test_unknown_types() -> None:
    assert len(PROVIDER.validate_resource("managed", "odd", {})) == 1
    assert len(PROVIDER.upgrade("odd", 0, {})[1]) == 1
    assert len(PROVIDER.import_object("terraform_remote_state", "x")[1]) == 1
    assert len(PROVIDER.read_data("odd", {}).diagnostics) == 1


def test_registry() -> None:
    assert isinstance(start_provider("terraform.io/builtin/terraform"), BuiltinProvider)
    for address, code in [
        ("registry.opentofu.org/hashicorp/aws", "provider.not_found"),
        ("terraform.io/builtin/odd", "provider.unknown_builtin"),
    ]:
        with pytest.raises(Failure) as failure:
            start_provider(address)
        assert [d.code for d in failure.value.diagnostics] == [code]


# ---------------------------------------------------------------- terraform_remote_state


def remote(path: Path | None = None, **given: Any) -> dict[str, Any]:
    settings = {} if path is None else {"config": {"path": str(path)}}
    empty = {"backend": "local", "config": NONE, "defaults": NONE, "outputs": NONE, "workspace": Null(STRING)}
    return {**empty, **settings, **given}


def write_outputs(path: Path, **outputs: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"version": 4, "serial": 1, "lineage": "l", "outputs": outputs, "resources": []}
    path.write_text(json.dumps(document))
    return path


def test_outputs_as_an_object(tmp_path: Path) -> None:
    state = write_outputs(
        tmp_path / "s",
        net={"value": ["a"], "type": ["list", "string"]},
        secret={"value": "x", "type": "string", "sensitive": True},
    )
    answer = PROVIDER.read_data("terraform_remote_state", remote(state, defaults={"secret": 1, "more": 2}))
    assert answer.diagnostics == ()
    assert answer.value["outputs"] == {"net": List(STRING, ("a",)), "secret": "x", "more": 2}
    assert answer.value["defaults"] == {"secret": 1, "more": 2}
    assert answer.value["workspace"] == Null(STRING)


def test_config_may_be_a_map(tmp_path: Path) -> None:
    state = write_outputs(tmp_path / "s")
    answer = PROVIDER.read_data("terraform_remote_state", remote(config=Map(STRING, {"path": str(state)})))
    assert answer.value["outputs"] == {}


def test_workspace(tmp_path: Path) -> None:
    write_outputs(tmp_path / "w" / "blue" / "terraform.tfstate", o={"value": 1, "type": "number"})
    given = remote(config={"workspace_dir": str(tmp_path / "w")}, workspace="blue")
    assert PROVIDER.read_data("terraform_remote_state", given).value["outputs"] == {"o": 1}


def test_missing_and_broken_states(tmp_path: Path) -> None:
    answer = PROVIDER.read_data("terraform_remote_state", remote(tmp_path / "none"))
    assert [d.path for d in answer.diagnostics] == [None, (("attr", "workspace"),)]
    (tmp_path / "broken").write_text("{")
    assert len(PROVIDER.read_data("terraform_remote_state", remote(tmp_path / "broken")).diagnostics) == 2
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"backend": "nimbus"}, "backend"),
        ({"config": {"path": ""}}, "config"),
        ({"config": {"odd": "x"}}, "config"),
        ({"config": {"path": ("a",)}}, "config"),
        ({"config": "text"}, "config"),
        ({"config": Unknown(STRING)}, "config"),
        ({"defaults": List(STRING, ())}, "defaults"),
    ],
)
def test_validation_of_remote_state(given: dict[str, Any], where: str) -> None:
    problems = PROVIDER.validate_resource("data", "terraform_remote_state", remote(**given))
    assert [p.path for p in problems] == [(("attr", where),)]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"backend": "_local"},
        {"backend": Unknown(STRING)},
        {"config": Unknown()},
        {"config": {"path": Unknown(STRING)}},
    ],
)
def test_what_is_not_known_yet_is_no_mistake(given: dict[str, Any]) -> None:
    assert PROVIDER.validate_resource("data", "terraform_remote_state", remote(**given)) == []
    assert PROVIDER.validate_resource("data", "terraform_remote_state", remote(defaults=Null(MapType(STRING)))) == []
    assert PROVIDER.validate_resource("data", "terraform_remote_state", remote(config=Unknown(ListType(STRING)))) != []


def test_deferred_read() -> None:
    planned = planned_unknown_object(REMOTE, remote(config=Unknown()))
    assert planned["outputs"] == Unknown(DYNAMIC)
    assert planned["backend"] == "local"
