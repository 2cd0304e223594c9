"""Plan files: everything comes back exactly; whatever is damaged gives a diagnostic."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import attrs
import gmpy2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.answers.documents.encoding import decode, encode
from planner.answers.documents.kind import is_plan_file
from planner.answers.documents.plan_file import (
    RECORDS,
    SUM,
    _sum,
    plan_bytes,
    read_plan,
    stale,
    unpack_sources,
    write_plan,
)
from planner.foundation.values.numbers import CONTEXT, parse_number
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, ObjectType
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, List, Map, Marked, Null, Refinement, Set, Unknown
from planner.logic.model.plan import CheckResult, Importing, OutputChange, Plan, ResourceChange
from planner.world.state.file import same_content
from planner.world.state.model import InstanceState, ObjectState, ResourceState, State

PROVIDER = 'provider["terraform.io/builtin/terraform"]'


def third() -> Any:
    with gmpy2.context(CONTEXT):
        return gmpy2.mpfr(1) / 3


NUMBERS = [
    0,
    -1,
    2**63,
    -(2**63),
    10**200,
    third(),
    parse_number("0.1"),
    parse_number("1e-300"),
    gmpy2.mpfr("inf", 512),
    gmpy2.mpfr("-inf", 512),
]
TYPES = st.sampled_from([STRING, NUMBER, BOOL, DYNAMIC, ListType(STRING), ObjectType({"a": NUMBER})])
REFINEMENTS = st.builds(
    Refinement,
    st.booleans(),
    st.text(max_size=2),
    st.none() | st.tuples(st.sampled_from(NUMBERS[:6]), st.booleans()),
    st.none() | st.tuples(st.integers(), st.booleans()),
    st.none() | st.integers(0, 9),
    st.none() | st.integers(0, 9),
)
LEAVES = (
    st.text(max_size=3)
    | st.booleans()
    | st.sampled_from(NUMBERS)
    | st.builds(Null, TYPES)
    | st.builds(Unknown, TYPES, st.none() | REFINEMENTS)
)
MARKS = st.sampled_from([frozenset({SENSITIVE}), frozenset({EPHEMERAL}), frozenset({SENSITIVE, EPHEMERAL})])


def plain(value: Any) -> Any:
    return value.value if isinstance(value, Marked) else value


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.text(max_size=2)
    return (
        st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(keys, inner, max_size=3)
        | st.builds(lambda t, v: List(t, tuple(v)), TYPES, st.lists(inner, max_size=3))
        | st.builds(lambda t, v: Set(t, tuple(v)), TYPES, st.lists(inner, max_size=3))
        | st.builds(Map, TYPES, st.dictionaries(keys, inner, max_size=3))
        | st.builds(lambda v, m: Marked(plain(v), m), inner, MARKS)
        | st.builds(lambda v, r: Unknown(STRING, r, v), inner, st.none() | REFINEMENTS)
    )


VALUES = st.recursive(LEAVES, containers, max_leaves=8)


def shape(value: Any) -> Any:
    """Classes and values: 1 and True and 1.0 are different."""
    if isinstance(value, tuple):
        return tuple(map(shape, value))
    if isinstance(value, dict):
        return {k: shape(v) for k, v in value.items()}
    if isinstance(value, List | Set):
        return (type(value), value.element, tuple(map(shape, value.items)))
    if isinstance(value, Map):
        return (Map, value.element, {k: shape(v) for k, v in value.items.items()})
    if isinstance(value, Marked):
        return (Marked, value.marks, shape(value.value))
    if isinstance(value, Unknown):
        return (Unknown, str(value), shape(value.document))
    return (type(value), value, str(value), getattr(value, "precision", 0))


@settings(max_examples=examples(200))
@given(VALUES)
def test_values_come_back(value: Any) -> None:
    text = json.dumps(encode(value, RECORDS))
    assert shape(decode(json.loads(text), RECORDS)) == shape(value)


def test_negative_zero() -> None:
    back = decode(encode(gmpy2.mpfr("-0", 512), RECORDS), RECORDS)
    assert gmpy2.is_zero(back)
    assert gmpy2.is_signed(back)
    assert back.precision == 512


def state(id: str, serial: int = 3) -> State:
    instance = InstanceState(None, ObjectState({"id": id}, dependencies=("t.other",)))
    return State({"t.n": ResourceState("", "managed", "t", "n", PROVIDER, {None: instance})}, {}, serial, "line")


def plan(**changes: Any) -> Plan:
    change = ResourceChange(
        address="t.n[0]",
        previous_address="t.old",
        module="",
        mode="managed",
        type="t",
        name="n",
        key=0,
        deposed="",
        provider=PROVIDER,
        action="update",
        reason="replace_by_request",
        before={"id": "a", "secret": Marked("x", frozenset({SENSITIVE}))},
        after={"id": Unknown(STRING, Refinement(not_null=True)), "secret": Null(STRING)},
        replace_paths=((("attr", "id"), ("index", 0)),),
        importing=Importing("id-1"),
        private="cHJpdmF0ZQ==",
        facts=(("exists", "t.n"),),
    )
    base = Plan(
        mode="normal",
        changes=(change,),
        drift=(),
        outputs=(OutputChange("o", "create", Null(), Unknown(), True),),
        prior_state=state("a"),
        previous_state=state("b"),
        planned_state=None,
        variables={"v": List(STRING, ("x",)), "secret": None},
        checks=(CheckResult("check", "check.c", "check.c", "fail", ("No.",)),),
        relevant_attributes=(("t.n", (("attr", "id"),)),),
        backend={"type": "local", "workspace": "default"},
    )
    return attrs.evolve(base, **changes)


SOURCES = {"main.tf": b"# \xff\x00", "m/../odd name.tf": b""}


def test_a_plan_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "p.tfplan"
    assert write_plan(str(path), plan(), SOURCES) == []
    assert is_plan_file(str(path))
    back, sources, diagnostics = read_plan(str(path))
    assert diagnostics == []
    assert back is not None
    assert sources == SOURCES
    assert same_content(back.prior_state, plan().prior_state)
    assert same_content(back.previous_state, plan().previous_state)
    for field in attrs.fields(Plan):
        if not field.name.endswith("_state"):
            assert repr(getattr(back, field.name)) == repr(getattr(plan(), field.name))
    assert [p.name for p in tmp_path.iterdir()] == ["p.tfplan"]


def test_same_plan_same_bytes() -> None:
    assert plan_bytes(plan(), SOURCES) == plan_bytes(plan(), dict(reversed(SOURCES.items())))


def test_a_plan_of_much_that_is_the_same(tmp_path: Path) -> None:
    """It would look like an archive that was made to fill memories."""
    sources = {"main.tf": b"# the same\n" * 500_000}
    path = tmp_path / "p"
    assert write_plan(str(path), plan(), sources) == []
    _, found, problems = read_plan(str(path))
    assert (found, problems) == (sources, [])


def test_states_that_are_one_are_stored_once(tmp_path: Path) -> None:
    one = state("a")
    path = tmp_path / "p"
    write_plan(str(path), plan(prior_state=one, previous_state=one, planned_state=state("c"), errored=True), {})
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["tfplan", "tfstate", "tfstate-planned", "sha256"]
    back, _, _ = read_plan(str(path))
    assert back is not None
    assert back.errored
    assert back.previous_state is back.prior_state


def archive(**members: Any) -> bytes:
    """A good plan file with some members replaced (None: left out), with their right sum."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(plan_bytes(plan(), SOURCES))) as good:
        found = {name: members.get(name.replace("/", "_"), good.read(name)) for name in good.namelist() if name != SUM}
    kept = [(name, data) for name, data in found.items() if data is not None]
    with zipfile.ZipFile(out, "w") as bad:
        for name, data in [*kept, (SUM, _sum(kept))]:
            bad.writestr(name, data)
    return out.getvalue()


def test_another_content_than_was_saved_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p"
    other = archive(tfplan=head(mode="destroy"))
    with zipfile.ZipFile(io.BytesIO(plan_bytes(plan(), SOURCES))) as good, zipfile.ZipFile(path, "w") as bad:
        for name in good.namelist():
            data = zipfile.ZipFile(io.BytesIO(other)).read(name) if name == "tfplan" else good.read(name)
            bad.writestr(name, data)
    back, _, (problem,) = read_plan(str(path))
    assert back is None and problem.code == "plan_file.invalid" and "changed after it was saved" in problem.detail


def head(**changes: Any) -> bytes:
    with zipfile.ZipFile(io.BytesIO(plan_bytes(plan(), SOURCES))) as good:
        raw = json.loads(good.read("tfplan"))
    for key, value in changes.items():
        if key in raw["plan"]:
            raw["plan"][key] = value
        else:
            raw[key] = value
    return json.dumps(raw).encode()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "plan_file.invalid"),
        (b"{}", "plan_file.invalid"),
        (b"PK\x03\x04 and nothing else", "plan_file.invalid"),
        (archive(tfplan=None), "plan_file.invalid"),
        (archive(tfplan=b"\x08\x03\x12"), "plan_file.invalid"),
        (archive(tfplan=b"[]"), "plan_file.invalid"),
        (archive(tfplan=head(format="else")), "plan_file.invalid"),
        (archive(tfplan=head(version=99)), "plan_file.version"),
        (archive(tfplan=head(planner_version="0.0.1")), "plan_file.version"),
        (archive(tfstate=None), "plan_file.invalid"),
        (archive(tfstate=b"{"), "state.unsupported_format"),
        (archive(config_0=None), "plan_file.invalid"),
        (archive(tfplan=head(sources=None)), "plan_file.invalid"),
        (archive(tfplan=head(mode="odd")), "plan_file.invalid"),
        (archive(tfplan=head(changes={"t": [3]})), "plan_file.invalid"),
        (archive(tfplan=head(changes={"t": [{"c": "ResourceChange", "f": {}}]})), "plan_file.invalid"),
        (archive(tfplan=head(changes={"t": [{"c": "Plan", "f": {}}]})), "plan_file.invalid"),
        (archive(tfplan=head(variables={"u": "no type"})), "plan_file.invalid"),
        (archive(tfplan=head(variables={"m": ["odd"], "v": 1})), "plan_file.invalid"),
        (archive(tfplan=head(variables={"f": ["0x1", 1 << 60, 512]})), "plan_file.invalid"),
        (archive(tfplan=head(surprise={"t": []}, backend=None)), "plan_file.invalid"),
    ],
)
def test_damage_gives_diagnostics(tmp_path: Path, data: bytes, code: str) -> None:
    path = tmp_path / "p"
    path.write_bytes(data)
    back, sources, diagnostics = read_plan(str(path))
    assert back is None
    assert sources == {}
    assert [d.code for d in diagnostics] == [code]


@settings(max_examples=examples(60))
@given(draw=st.data())
def test_any_flipped_byte_is_survived(draw: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    good = bytearray(plan_bytes(plan(), SOURCES))
    at = draw.draw(st.integers(0, len(good) - 1))
    good[at] ^= draw.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("flip") / "p"
    path.write_bytes(good[: draw.draw(st.integers(at, len(good)))])
    back, _, diagnostics = read_plan(str(path))
    assert (back is None) == bool(diagnostics)


def test_missing_file_and_unwritable_place(tmp_path: Path) -> None:
    assert [d.code for d in read_plan(str(tmp_path / "none"))[2]] == ["plan_file.read"]
    assert [d.code for d in read_plan(str(tmp_path))[2]] == ["plan_file.read"]
    assert [d.code for d in write_plan(str(tmp_path / "no" / "p"), plan(), {})] == ["plan_file.write"]
    assert not is_plan_file(str(tmp_path / "none"))


def test_stale() -> None:
    made = plan()
    assert stale(made, None) == []
    assert stale(made, state("anything", serial=3)) == []
    for current in (state("b", serial=4), attrs.evolve(state("b"), lineage="other")):
        assert [d.code for d in stale(made, current)] == ["plan_file.stale"]
    fresh = plan(previous_state=State(), prior_state=State())
    assert stale(fresh, None) == []
    assert [d.code for d in stale(fresh, state("b"))] == ["plan_file.stale"]


def test_sources_unpack_around_the_root_module(tmp_path: Path) -> None:
    files = {"main.tf": b"1", "m/a.tf": b"2", "../../shared/b.tf": b"3", ".terraform/modules/modules.json": b"{}"}
    root, problems = unpack_sources(files, str(tmp_path / "x"))
    assert problems == []
    for name, data in files.items():
        assert (Path(root) / name).resolve().read_bytes() == data
        assert (tmp_path / "x") in (Path(root) / name).resolve().parents


@pytest.mark.parametrize("name", ["/etc/x", "a\0b", "../" * 200 + "x"])
def test_sources_never_leave_the_folder(tmp_path: Path, name: str) -> None:
    _, problems = unpack_sources({name: b""}, str(tmp_path / "x"))
    assert [d.code for d in problems] == ["plan_file.source_name"]
