"""Packs: names that do not collide, parameters and data as relations, and what is wrong with a pack, with its place."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from planner.answers.policy.data_files import read_data
from planner.answers.policy.manifest import parameter_type, read_manifest
from planner.answers.policy.program import Policies, load_policies
from planner.answers.policy.settings import read_config, read_waivers
from planner.answers.policy.sources import policy_files
from planner.answers.policy.strict_toml import TomlFile
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.span import Source
from planner.logic.datalog.engine.fact_base import FactBase

KEPT = """/// kept(addr): it stays. Example: kept("a")
.decl kept(addr: instance)
kept(A) :- change(A, _, _, _, _, "managed"){more}.
deny("{code}", A, "is kept") :- kept(A).
"""
PACK = 'name = "{name}"\nversion = "1.0.0"\n'


def pack(name: str, rules: str, manifest: str = "") -> tuple[tuple[str, str], ...]:
    return ((f"{name}/pack.toml", PACK.format(name=name) + manifest), (f"{name}/rules.dl", rules))


def loaded(*files: tuple[str, str], **more) -> Policies:
    policies, problems = load_policies(tuple(files), **more)
    assert policies is not None, problems
    return policies


def refused(*files: tuple[str, str], **more) -> list[str]:
    """Where, and what."""
    policies, problems = load_policies(tuple(files), **more)
    assert policies is None
    return [f"{d.subject}: {d.detail}" for d in problems if d.is_error]


def test_two_packs_with_a_helper_of_one_name_combine() -> None:
    one = pack("acme.a", KEPT.format(more="", code="a"))
    other = pack("acme.b", KEPT.format(more=', not acts(A, "delete")', code="b"))
    policies = loaded(*one, *other)
    assert {"acme.a.kept", "acme.b.kept"} <= set(policies.program.predicates)
    names = [rule.name for rule in policies.program.rules if not rule.is_core]
    assert names == ["acme.a/rules.1", "acme.a/rules.2", "acme.b/rules.1", "acme.b/rules.2"]


BASE = """/// open_one(a): x. Example: open_one("a")
.decl open_one(addr: instance)
/// closed_one(a): x. Example: closed_one("a")
.decl closed_one(addr: instance)
.export open_one
open_one(A) :- closed_one(A).
closed_one(A) :- acts(A, "create").
"""


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ('deny("x", A, "m") :- b.closed_one(A).', "closed_one is private to acme.base, which exports open_one."),
        (
            'deny("x", A, "m") :- b.open_on(A).',
            "acme.base has no predicate open_on. Did you mean open_one(addr: instance)?",
        ),
        ('deny("x", A, "m") :- c.open_one(A).', "Nothing is imported as c. Add import PACK as NAME"),
        ('deny("x", A, "m") :- open_one(A), b.open_one(A).', "open_one is a predicate of acme.base. Add import"),
        ('deny("x", A, "m") :- closed_one(A), b.open_one(A).', "closed_one is private to acme.base"),
        (
            'deny("x", A, "m") :- b.open_one(A), loose(A).',
            "loose is declared in loose.dl, which is not part of acme.user.",
        ),
        ('b.open_one(A) :- acts(A, "delete").', "open_one belongs to acme.base and is not open to other rules."),
    ],
)
def test_what_is_private_is_told(rule: str, said: str) -> None:
    loose = ("loose.dl", '/// loose(a): x.\n.decl loose(a: instance)\n.output loose\nloose(A) :- acts(A, "read").\n')
    user = pack("acme.user", f"import acme.base as b\n{rule}\n")
    problems = refused(*pack("acme.base", BASE), *user, loose)
    assert any(said in problem and problem.startswith("acme.user/rules.dl:2") for problem in problems), problems


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import acme.bas as b\n", "There is no pack acme.bas. Did you mean acme.base?"),
        ("import acme.base as b\nimport acme.user as b\n", "Names of the same pack need no import"),
        ("import acme.base\n", "Write an import as: import acme.tags as t"),
        ("import acme.base is b\n", "Write the import like this: import acme.base as base"),
    ],
)
def test_imports_that_are_wrong(text: str, said: str) -> None:
    problems = refused(*pack("acme.base", BASE), *pack("acme.user", text))
    assert any(said in problem for problem in problems), problems


def test_files_outside_of_packs_name_what_one_pack_exports_and_none_of_two() -> None:
    mine = ("mine.dl", 'deny("mine", A, "m") :- open_one(A).\n')
    assert "acme.base.open_one" in loaded(*pack("acme.base", BASE), mine).program.rules[-1].text
    assert "acme.base and of acme.more" in refused(*pack("acme.base", BASE), *pack("acme.more", BASE), mine)[0]
    assert "Only files of a pack can export" in refused(("mine.dl", ".export x\n"))[0]


TAGS = """[parameters.tag]
type = "list(string)"
default = ["Owner"]
description = "tags"
"""
READS = 'deny("tag", "", T) :- tag(T).\n'


def rows(policies: Policies, relation: str) -> set[tuple[object, ...]]:
    return set(policies.given.relation(relation))


def test_what_is_set_takes_the_place_of_a_default_wherever_it_is_set() -> None:
    files = pack("acme.t", READS, TAGS)
    assert rows(loaded(*files), "acme.t.tag") == {("Owner",)}
    config = (".planner/policy.toml", '[packs."acme.t".parameters]\ntag = ["Team", "Cost"]\n')
    policies = loaded(*files, config)
    assert rows(policies, "acme.t.tag") == {("Team",), ("Cost",)}
    source = policies.given.source("acme.t.tag", ("Cost",))
    assert source is not None and str(source) == ".planner/policy.toml:2" and source.text == '"Cost"'
    assert rows(loaded(*files, ("loose.dl", 'tag("Team").\n')), "acme.t.tag") == set()
    workspace = (config[0], config[1] + '[workspace.prod.packs."acme.t".parameters]\ntag = ["Prod"]\n')
    assert rows(loaded(*files, workspace, workspace="prod"), "acme.t.tag") == {("Prod",)}
    assert rows(loaded(*files, workspace, workspace="dev"), "acme.t.tag") == {("Team",), ("Cost",)}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('"Owner"', "p.toml:2: tag is of the type list(string), but a string is not a list."),
        ('["a",\n 5]', "p.toml:3: tag is of the type string, but the number 5 is not a string."),
        ("[true]", "p.toml:2: tag is of the type string, but true is not a string."),
        ("[2026-01-01]", "p.toml:2: tag is of the type string, but a time is not a string."),
    ],
)
def test_a_parameter_of_another_type_is_an_error_with_its_place(value: str, said: str) -> None:
    config = ("p.toml", f'[packs."acme.t".parameters]\ntag = {value}\n')
    assert refused(*pack("acme.t", READS, TAGS), config) == [said]


def test_parameters_that_there_are_not_and_those_that_are_missing() -> None:
    config = ("p.toml", '[packs."acme.t".parameters]\ntags = ["a"]\n')
    (said,) = refused(*pack("acme.t", READS, TAGS), config)
    assert said == 'p.toml:2: acme.t has no parameter tags. Did you mean "tag"? The parameters are tag.'
    (said,) = refused(*pack("acme.t", READS, TAGS.replace('default = ["Owner"]\n', "")))
    assert "acme.t needs tag: tags. Set it in .planner/policy.toml" in said


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("string", [("value", "symbol")]),
        ("list(number)", [("value", "number")]),
        ("map(bool)", [("key", "symbol"), ("value", "any")]),
        ("map(list(string))", [("key", "symbol"), ("value", "symbol")]),
        ("list(object({type = string, size = number}))", [("type", "symbol"), ("size", "number")]),
        ("list(list(string))", None),
        ("tuple(string)", None),
        ("object({a = string})", None),
        ("list(object({a = list(string)}))", None),
        ("list(", None),
    ],
)
def test_types_of_parameters(text: str, columns: list[tuple[str, str]] | None) -> None:
    type_ = parameter_type(text)
    assert (list(type_.columns) if type_ is not None else None) == columns


def test_what_the_organisation_sets_is_final() -> None:
    files = pack("acme.t", READS, TAGS)
    theirs = ("/etc/p.toml", '[packs."acme.t".parameters]\ntag = ["Owner"]\n')
    ours = (".planner/policy.toml", '[packs."acme.t".parameters]\ntag = ["Nothing"]\n')
    closed = frozenset(("/etc/p.toml", *(name for name, _ in files)))
    (said,) = refused(*files, theirs, ours, closed=closed)
    assert said.startswith(".planner/policy.toml:2: ") and "/etc/p.toml:2" in said
    (said,) = refused(*files, ("/etc/p.toml", '[packs."acme.t"]\n'), ours, closed=closed)
    assert "/etc/p.toml:1" in said
    settable = ("/etc/p.toml", '[packs."acme.t"]\nsettable = ["tag"]\n')
    assert rows(loaded(*files, settable, ours, closed=closed), "acme.t.tag") == {("Nothing",)}
    (said,) = refused(*files, theirs, ("loose.dl", 'tag("Nothing").\n'), closed=closed)
    assert "belongs to the organisation's policies" in said


# ---------------------------------------------------------------- hostile and careless input


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "The key name is required."),
        ('name = "Acme"\n', '"Acme" is not a valid name of a pack'),
        ('name = "a"\nversion = "one"\n', '"one" is not a valid version'),
        ("name = 5\n", "name is the number 5; it must be a string."),
        ('name = "a"\nparamters = {}\n', 'paramters is not valid here. Did you mean "parameters"?'),
        ('name = "a"\n[policies.x]\nlevel = "hard"\n', 'level must be one of deny, soft, warn, info, not "hard".'),
        ('name = "a"\n[policies.x]\nlevl = "deny"\n', 'Did you mean "level"?'),
        ('name = "a"\n[policies.x]\noverride = ["g"]\n', "Only denials of policies with level soft can be overridden"),
        ('name = "a"\n[policies.x]\nlinks = ["javascript:alert(1)"]\n', "is not a valid link"),
        ('name = "a"\n[policies]\nx = "deny"\n', "x is a string; it must be a table."),
        ('name = "a"\n[parameters."a.b"]\ntype = "string"\n', '"a.b" is not a valid name of a relation'),
        ('name = "a"\n[parameters.p]\ntype = "sting"\ndescription = ""\n', "There is no parameter type sting."),
        (
            'name = "a"\n[parameters.p]\ntype = "number"\ndefault = inf\ndescription = "x"\n',
            "inf cannot be used as a number: it must be finite",
        ),
        ('name = "a"\n[data.d]\nfile = "../../etc/passwd"\n', "is not a file of the pack"),
        ('name = "a"\n[data.d]\nfile = "/etc/passwd.csv"\n', "is not a file of the pack"),
        ('name = "a"\n[data.d]\nfile = ".git/x.csv"\n', "is not a file of the pack"),
        ('name = "a"\n[data.d]\nfile = "x.txt"\n', "is not in a supported format"),
        ('name = "a\\u0007"\n', "name contains a control character."),
        ("a = " + "[" * 3000, "brackets nested"),
        (".".join(["a"] * 20_000) + " = 1\n", "A key has more than 40 names."),
        ("x = {y = 1, " + " . ".join(["'a'"] * 50) + " = 1}\n", "A key has more than 40 names."),
        ('name = "a"\nname = "b"\n', "Cannot overwrite a value"),
        ('name = "a\n', "The file is not valid TOML"),
    ],
)
def test_what_is_wrong_with_a_pack(text: str, said: str) -> None:
    with pytest.raises(Failure) as caught:
        read_manifest("p/pack.toml", text)
    assert any(said in d.detail for d in caught.value.diagnostics), caught.value.diagnostics


def test_a_syntax_error_points_to_its_line() -> None:
    with pytest.raises(Failure) as caught:
        read_manifest("p/pack.toml", 'name = "a"\nversion = \n')
    (problem,) = caught.value.diagnostics
    assert str(problem.subject) == "p/pack.toml:2"


def test_every_key_has_its_place() -> None:
    text = 'a."b c" = [1, {x = "]#"}] # "\n[[w]]\nk = """\n[x]\n"""\n[[w]]\n[w.in]\n"k" = \'#\'\n'
    file = TomlFile(Source("p.toml", text), "a file", "x")
    places = {
        ("a", "b c"): 1,
        ("a", "b c", 1, "x"): 1,
        ("w", 0): 2,
        ("w", 0, "k"): 3,
        ("w", 1): 6,
        ("w", 1, "in"): 7,
        ("w", 1, "in", "k"): 8,
        ("w", 1, "in", "k", "none"): 8,
    }
    assert {path: file.span(path).line for path in places} == places
    assert file.span(("a", "b c", 1, "x")).text == 'x = "]#"'


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("d.csv", 'name,size\n=1+1,5\n"a\nb",6\n', [("=1+1", 5), ("a\nb", 6)]),
        ("d.csv", "\ufeffName,size\r\nx,7\r\n", [("x", 7)]),
        ("d.json", '{"a": [1, null, true], "b.c": 1.5}', [("a[0]", 1), ("a[2]", True), ('["b.c"]', "1.5")]),
        ("d.yaml", "a:\n- x\n- 2026-01-01\nb: 5\n", [("a[0]", "x"), ("a[1]", "2026-01-01"), ("b", 5)]),
        ("d.yaml", "", []),
        ("d.csv", "size\n3.0\n4.50\n", [(3,), ("4.50",)]),
        ("d.json", '{"a": 3.0, "b": 3e2}', [("a", 3), ("b", 300)]),
        ("d.yaml", "a: 3.0\n", [("a", 3)]),
    ],
)
def test_data(name: str, text: str, found: list[tuple[object, ...]]) -> None:
    types = {"size": "number"} if name == "d.csv" else {}
    _, given = read_data(name, text, types)
    assert not any(isinstance(v, Decimal) and v == int(v) for row, _ in given for v in row)
    assert [tuple(str(v) if type(v).__name__ == "Decimal" else v for v in row) for row, _ in given] == found


TABLE = {"name": "string", "size": "number"}


@pytest.mark.parametrize(
    ("name", "text", "types", "found"),
    [
        ("d.yaml", "python3.8: {size: 1, more: [x]}\nb c: {size: 2}\n", TABLE, [("python3.8", 1), ("b c", 2)]),
        ("d.json", '{"python3.8": 1, "b": 2}', TABLE, [("python3.8", 1), ("b", 2)]),
        ("d.json", '[{"size": 1, "name": "x"}, {"name": "y", "size": 2, "z": {}}]', TABLE, [("x", 1), ("y", 2)]),
        ("d.yaml", "- {at: 12:30, on: true}\n", {"at": "string", "on": "bool"}, [("12:30", True)]),
        ("d.yaml", "- a\n- b\n", {}, [("[0]", "a"), ("[1]", "b")]),
        ("d.json", "{}", TABLE, []),
        ("d.yaml", "", TABLE, []),
    ],
)
def test_tables(name: str, text: str, types: dict[str, str], found: list[tuple[object, ...]]) -> None:
    columns, given = read_data(name, text, types)
    assert [row for row, _ in given] == found
    assert [column for column, _ in columns] == (list(types) or ["path", "value"])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("d.yaml", "a: {size: 1}\nb: {}\n", "d.yaml:2: The entry has no size."),
        ("d.yaml", "a: {size: 1}\nb: {size: null}\n", "d.yaml:2: The entry has no size."),
        ("d.json", '[{"name": "a", "size": 1},\n{}]', "d.json:2: The entry has no name."),
        ("d.json", '[{"name": "a", "size": "1"}]', 'd.json:1: size must be a number, not "1".'),
        ("d.json", '[{"name": "a", "size": true}]', 'd.json:1: size must be a number, not "True".'),
        ("d.json", '[{"name": ["a"], "size": 1}]', "d.json:1: name is not a string, number or boolean."),
        ("d.json", '[{"name": [], "size": 1}]', "d.json:1: name is not a string, number or boolean."),
        ("d.json", '["a"]', "d.json:1: Expected an object with the keys name and size."),
        ("d.json", '"a"', "d.json:1: A file with columns must be a list of objects, or an object."),
    ],
)
def test_what_is_no_table_is_an_error_with_its_line(name: str, text: str, said: str) -> None:
    with pytest.raises(Failure) as caught:
        read_data(name, text, TABLE)
    (problem,) = caught.value.diagnostics
    assert said in f"{problem.subject}: {problem.detail}"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("d.csv", "a,b\n1,2\n1\n", "d.csv:3: The line has 1 fields, but the first line names 2."),
        ("d.csv", "a,b\n1,2,3\n", "d.csv:2: The line has 3 fields"),
        ("d.csv", "a,a\n", "d.csv:1: There are two columns a."),
        ("d.csv", ",".join(f"a{i}" for i in range(251)) + "\n", "d.csv:1: A data file has at most 250 columns."),
        ("d.csv", "a b\n", 'd.csv:1: "a b" in the first line is not a valid name of a column'),
        ("d.csv", "size\nmany\n", 'd.csv:2: size must be a number, not "many".'),
        ("d.csv", "", "The file is empty."),
        ("d.csv", 'a\n"x\n', "d.csv:2: This is not CSV"),
        ("d.csv", "a\nx\x07\n", "d.csv:2: The file contains a control character"),
        ("d.json", '{"a": 1,\n"a": 2}', 'd.json:2: The key "a" occurs twice.'),
        ("d.json", '{"a": NaN}', "NaN is not a valid number"),
        ("d.json", '{"a": 1e999999999}', "1e999999999 cannot be used as a number: it must be finite"),
        ("d.json", "[" * 5000 + "]" * 5000, "nested more than"),
        ("d.json", "{", "This is not JSON"),
        ("d.yaml", "a: &x 1\nb: *x\n", "d.yaml:2: The file has aliases"),
        ("d.yaml", "a: 1\na: 2\n", "d.yaml:2: The key"),
        ("d.yaml", "[" * 200 + "]" * 200, "nested more than"),
        ("d.yaml", "a: !!python/object:os.system x\n", "cannot be read"),
        ("d.yaml", "a: 1\n---\nb: 2\n", "several documents"),
        ("d.yaml", "a: [\n", "This is not YAML"),
    ],
)
def test_data_that_cannot_be_read_is_an_error_with_its_line(name: str, text: str, said: str) -> None:
    with pytest.raises(Failure) as caught:
        read_data(name, text, {"size": "number"} if "size" in text else {})
    (problem,) = caught.value.diagnostics
    assert said in f"{problem.subject}: {problem.detail}"


def test_data_files_are_relations_with_sources() -> None:
    manifest = '[data.owner]\nfile = "owners.csv"\ncolumns = {floor = "number"}\n'
    rules = 'deny("x", "", T) :- owner(T, F), F > 3.\n'
    files = (*pack("acme.d", rules, manifest), ("acme.d/owners.csv", "team,floor\nweb,3\nops,4\n"))
    policies = loaded(*files)
    assert rows(policies, "acme.d.owner") == {("web", 3), ("ops", 4)}
    assert str(policies.given.source("acme.d.owner", ("ops", 4))) == "acme.d/owners.csv:3"
    assert "There is no file owners.csv in the pack." in refused(*files[:2])[0]


def test_links_out_of_a_pack_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\nsecret\n")
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "pack.toml").write_text('name = "p"\n[data.d]\nfile = "d.csv"\n')
    (tmp_path / "p" / "r.dl").write_text('deny("x", "", A) :- d(A).\n')
    (tmp_path / "p" / "d.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(Failure) as caught:
        policy_files([str(tmp_path / "p")])
    assert "is outside the directory" in caught.value.diagnostics[0].detail


def test_dependencies_that_are_missing_or_of_another_version() -> None:
    base = pack("acme.base", BASE)
    near = '[dependencies."acme.base"]\nsource = "../acme.base"\nversion = "~> {version}"\n'
    loaded(*base, *pack("acme.a", "", near.format(version="1.0")))
    (alone,) = refused(*pack("acme.a", "", near.format(version="1.0")))
    assert (
        "which is not installed. acme.base does not contain it. List a pack from another source in .planner/policy.toml"
        in alone
    )
    said = refused(*base, *pack("acme.a", "", near.format(version="2.0")))
    assert said[0].endswith("acme.a imports from acme.base ~> 2.0, but 1.0.0 is installed.")
    far = '[dependencies."acme.base"]\nsource = "git::https://example.com/base.git?ref=v1"\n'
    assert "with the source git::https://example.com/base.git?ref=v1" in refused(*pack("acme.a", "", far))[0]


def test_two_packs_of_one_name_and_two_policies_of_one_code() -> None:
    one, other = pack("acme.a", "", "[policies.x]\n"), pack("acme.b", "", "[policies.x]\n")
    assert "also has a policy with the code x" in refused(*one, *other)[0]
    again = tuple((name.replace("acme.a", "again"), text) for name, text in one)
    assert "is also named acme.a" in refused(*one, *again)[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[packs."planner.nothing"]\n', "planner has no pack planner.nothing."),
        ('[packs."planner.tag"]\n', 'Did you mean "tags"?'),
        ('[packs."planner.tags"]\npolicies = ["max_deletes"]\n', "planner.tags has no policy max_deletes."),
        ('[packs."acme.none"]\n', "There is no pack acme.none here. Set the source of the pack"),
        ('[packs."acme.none"]\nsource = "./none"\n', "should be in none, but there is no pack.toml"),
    ],
)
def test_packs_that_there_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text(text)
    try:
        problems = load_policies(policy_files(["policy.toml"]))[1]
    except Failure as failure:
        problems = failure.diagnostics
    assert [(said in d.detail, str(d.subject)) for d in problems] == [(True, "policy.toml:1")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[groups]\na = ['b']\n", "Only the policy file of an organisation can set groups"),
        ('[packs."planner.tags"]\nsource = "x"\n', "comes with planner and cannot have another source"),
        ('[packs."acme.t"]\npolicies = ["x"]\n', "Policies can be chosen only from packs that come with planner"),
        ('[packs."acme.t"]\nsource = "git::x"\nversion = "so"\n', "is not a valid version constraint"),
        ("[policies.x]\nwaivable = false\n", "Only the policy file of an organisation may restrict waivers"),
        ('[waivers]\nnotice_days = "soon"\n', "notice_days is a string"),
        ("[workspace.prod.policie]\n", "policie is not valid here"),
    ],
)
def test_what_is_wrong_with_a_policy_file(text: str, said: str) -> None:
    with pytest.raises(Failure) as caught:
        read_config("policy.toml", text, "default", False)
    assert any(said in d.detail for d in caught.value.diagnostics), caught.value.diagnostics


WAIVER = '[[waiver]]\ncode = "a"\naddress = "x"\nowner = "o"\nreason = "r"\nexpires = {}\n'


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("2026-01-01", 1767312000), ('"2026-01-01"', 1767312000), ("2026-01-01T00:00:00Z", 1767225600)],
)
def test_a_waiver_holds_to_the_end_of_its_day(written: str, seconds: int) -> None:
    assert [w.expires for w in read_waivers("w", WAIVER.format(written))] == [seconds]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WAIVER.format("2026-01-01T00:00:00"), "A time needs its offset"),
        (WAIVER.format('"never"'), '"never" is not a valid day'),
        (WAIVER.format("5"), "is not a valid day"),
        (WAIVER.replace("expires = {}\n", ""), "A waiver needs an expiry date"),
        (WAIVER.format("2026-01-01") + 'until = "x"\n', "until is not valid here"),
        (WAIVER.format("2026-01-01").replace('"r"', '" "'), "A waiver needs a reason"),
        (WAIVER.format("2026-01-01").replace("[[waiver]]", "[waiver]"), "it must be an array of tables"),
        ("[[waivers]]\n", 'Did you mean "waiver"?'),
    ],
)
def test_what_is_wrong_with_waivers(text: str, said: str) -> None:
    with pytest.raises(Failure) as caught:
        read_waivers("waivers.toml", text)
    assert any(said in d.detail for d in caught.value.diagnostics), caught.value.diagnostics


def test_parameters_count_for_what_is_read_of_a_plan() -> None:
    rules = 'deny("x", A, P) :- path(P), planned(A, P, true).\n'
    manifest = '[parameters.path]\ntype = "list(string)"\ndefault = ["encrypted"]\ndescription = "paths"\n'
    policies = loaded(*pack("acme.p", rules, manifest))
    assert policies.reads.attributes(None) == frozenset(("encrypted",))
    assert policies.packs.with_defaults(FactBase({}, {}), policies.program).relation("acme.p.path") == {("encrypted",)}


def test_whole_numbers_of_parameters_are_whole() -> None:
    manifest = '[parameters.limit]\ntype = "number"\ndefault = 3.0\ndescription = "x"\n'
    policies = loaded(*pack("acme.a", 'deny("x", A, "m") :- acts(A, "create"), limit(3).', manifest))
    assert {type(row[0]) for row in policies.given.rows("acme.a.limit")} == {int}
