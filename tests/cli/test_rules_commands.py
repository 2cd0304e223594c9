"""The commands about rules: the product's rules as a book, users' rules checked and tested."""

from __future__ import annotations

import json
import os
import re

import pytest
from thinned import thinned

from planner.answers.policy import rule_files, rulebook
from planner.logic.datalog.engine.compile import build_program
from planner.operations import rule_tests

MINE = """/// deny(code, address, message): the plan is refused.
.decl deny(code: word, address: address, message: text)
.output deny
@name("no_data") @reason("{O} reads something")
deny("D1", O, "no data sources") :- resource(O, _, "data", _).
"""
DENIED = """.case "data"
resource("data.a.b", "", "data", "a").
.want deny("D1", "data.a.b", "no data sources").
"""
ALLOWED = """.case "managed"
resource("a.b", "", "managed", "a").
.want none deny.
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, **files):
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")


# ---------------------------------------------------------------- the book


def test_family(planner):
    ran = planner("rules")
    assert ran.code == 1
    assert all(f"  {name} " in ran.out for name in ("check", "doc", "graph", "list", "stats", "test"))


def test_list_has_every_rule_of_every_program(planner):
    document = json.loads(planner("rules", "list", "-json").out)
    assert document["format_version"] == "1.0"
    wanted = [rule.name for name in rulebook.PROGRAMS for rule in rulebook.program(name).rules]
    listed = [rule["name"] for rule in document["rules"]]
    assert set(listed) == set(wanted)
    places = [(rule["file"], rule["line"], rule["text"]) for rule in document["rules"]]
    assert len(set(places)) == len(places)  # a file of two programs is listed once
    for rule in document["rules"]:
        assert set(rule) == {"name", "text", "reason", "predicate", "file", "line", "program"}
        assert rule["text"].startswith(rule["predicate"] + "(") and rule["text"].endswith(".")


def test_list_says_where_rules_stand(planner):
    """The line that is given has the head of the rule."""
    from planner.foundation.support.assets import rules_path

    for rule in json.loads(planner("rules", "list", "-json").out)["rules"]:
        lines = (rules_path() / rule["file"]).read_text(encoding="utf-8").splitlines()
        assert f"{rule['predicate']}(" in lines[rule["line"] - 1]


def test_list_for_people(planner):
    lines = planner("rules", "list").out.splitlines()
    assert len(lines) == 2 * len(json.loads(planner("rules", "list", "-json").out)["rules"])
    at = next(i for i, line in enumerate(lines) if line.startswith("graph/closing.edge "))
    assert re.fullmatch(r"graph/closing\.edge  edge\(A, B\)  graph/closing\.dl:\d+", lines[at])
    assert lines[at + 1].startswith("    ") and lines[at + 1].strip()


def test_doc_of_a_predicate(planner):
    out = planner("rules", "doc", "edge").out
    assert out.startswith("edge(dependent: node, dependency: node)\n  shared/edges.dl:")
    assert "`dependent` may start only after `dependency` is done" in out
    assert "node: The name of a vertex of a graph" in out
    assert 'edge("root", N) :- inner_node(N, _, _, _), not inner_edge(_, N).' in out
    assert "reduced_edge (native)" in out and "Derived by rules, except in policy, where its facts are provided." in out
    assert "Input: its facts are provided" in planner("rules", "doc", "walk").out
    assert "Native: computed as reduction(edge)." in planner("rules", "doc", "reduced_edge").out


def test_doc_of_a_name_that_several_programs_have(planner):
    (edge,) = json.loads(planner("rules", "doc", "-json", "edge").out)["predicates"]
    assert (edge["program"], edge["programs"]) == ("graph", ["graph", "policy", "batch", "deployments"])
    assert {"graph/closing.edge", "batch/edges.declared"} <= {rule["name"] for rule in edge["rules"]}


def test_doc_index(planner):
    document = json.loads(planner("rules", "doc", "-json").out)
    names = [p["name"] for p in document["predicates"]]
    assert names == sorted(names)
    assert set(names) == {p for name in rulebook.PROGRAMS for p in rulebook.program(name).predicates}
    edge = next(p for p in document["predicates"] if p["name"] == "reduced_edge")
    assert edge["columns"][0] == {"name": "dependent", "type": "node", "base": "symbol"}
    assert edge["native"] == {"operator": "reduction", "inputs": ["edge"]} and edge["output"] and not edge["input"]
    lines = planner("rules", "doc").out.splitlines()
    assert len(lines) == 2 * (len(names) + len(document["built_in"]))
    assert all(line.strip() for line in lines)


def test_every_predicate_has_a_meaning():
    for entry in rulebook.entries():
        assert entry.meaning and "(" not in entry.meaning.split(" ")[0], entry.predicate.name


def test_doc_of_an_unknown_predicate(planner):
    ran = planner("rules", "doc", "reduced_egde")
    assert ran.code == 1
    assert "Did you mean reduced_edge?" in ran.err


def test_doc_of_policies_of_yours(planner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        pack = tmp_path / ".planner" / "policies" / name
        pack.mkdir(parents=True)
        (pack / "pack.toml").write_text(f'name = "acme.{name}"\n')
        rules = '/// both(a): it is so. Example: both("a")\n.decl both(a: instance)\nboth(A) :- action(A, "delete").\n'
        (pack / "r.dl").write_text(
            f'{rules.replace("both", name)}{rules}deny("x{name}", A, "m") :- both(A), {name}(A).\n'
        )
    ran = planner("rules", "doc", "two")
    assert ran.code == 0 and "acme.two.two(a: instance)" in ran.out and "policies/two/r.dl:2" in ran.out
    assert "acme.two/r.3" in ran.out and "Your rules" not in ran.out
    assert "acme.one.one(a: instance)" in planner("rules", "doc", "acme.one.one").out
    ran = planner("rules", "doc", "both")
    assert ran.code == 1 and "acme.one.both and acme.two.both" in ran.err
    assert "Did you mean acme.one.one?" in planner("rules", "doc", "acme.one.onne").err


def test_doc_markdown_is_alone(planner):
    assert planner("rules", "doc", "-markdown", "edge").code == 1
    assert "| `edge(dependent: node, dependency: node)` | " in planner("rules", "doc", "-markdown").out


def test_graph(planner):
    document = json.loads(planner("rules", "graph", "-json").out)
    assert [p["name"] for p in document["programs"]] == list(rulebook.PROGRAMS)
    for program in document["programs"]:
        levels = {p["name"]: p["level"] for p in program["predicates"]}
        for read in program["reads"]:
            # a complete relation lies on a lower level, others on none higher
            assert levels[read["read"]] + (read["how"] != "positive") <= levels[read["reader"]]
    out = planner("rules", "graph", "reduced_edge").out
    assert out.startswith("digraph {") and '"graph: reduced_edge" -> "graph: edge" [color = "darkgreen"' in out
    assert out == planner("rules", "graph", "-dot", "reduced_edge").out
    assert out.count("{") == out.count("}")
    assert "moves:" not in out
    assert planner("rules", "graph", "no_such").code == 1
    assert planner("rules", "graph", "-dot", "-json").code == 1


def test_stats(planner, here):
    write(here, main__tf='resource "terraform_data" "a" {}\noutput "o" {\n  value = terraform_data.a.id\n}\n')
    document = json.loads(planner("rules", "stats", "-json").out)
    costs = {p["name"]: p for p in document["predicates"]}
    assert costs["resource"]["tuples"] == 1 and costs["resource"]["seconds"] == 0
    assert costs["edge"]["tuples"] > 3 and costs["edge"]["seconds"] > 0
    assert any(p["rounds"] > 1 for p in document["predicates"])
    seconds = [p["seconds"] for p in document["predicates"]]
    assert seconds == sorted(seconds, reverse=True)
    assert document["tuples"] == sum(p["tuples"] for p in document["predicates"])
    out = planner("rules", "stats").out
    assert out.splitlines()[0].split() == ["predicate", "tuples", "rounds", "ms"]
    assert re.search(rf"^edge +{costs['edge']['tuples']} ", out, re.M)
    (here / "inner").mkdir()
    (here / "main.tf").rename(here / "inner" / "main.tf")
    assert re.search(r"^resource +1 ", planner("rules", "stats", "inner").out, re.M)
    assert planner("rules", "stats", "-type=odd").code == 1


def test_stats_of_a_broken_configuration(planner, here):
    write(here, main__tf='resource "terraform_data" {}\n')
    ran = planner("rules", "stats")
    assert ran.code == 1 and ran.out == "" and "Error: " in ran.err


# ---------------------------------------------------------------- checking


def test_check_says_that_all_is_right(planner, here):
    write(here, mine__dl=MINE)
    ran = planner("rules", "check", "mine.dl")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "1 file is valid, checked together with the rules of graph.\n"


def test_check_shows_every_mistake_with_a_caret(planner, here):
    text = MINE + 'deny("D2", O, "x") :- resorce(O, _, _).\n\tedge(A, B) :- resource(A, B, _, _), A = "b\n'
    write(here, mine__dl=text)
    ran = planner("rules", "check", "mine.dl")
    assert ran.code == 1 and ran.out == ""
    assert ran.err == (
        "mine.dl:6:23: error: Unknown predicate [rules.unknown_predicate]\n"
        '  | deny("D2", O, "x") :- resorce(O, _, _).\n'
        "  |                       ^^^^^^^^^^^^^^^^\n"
        "  There is no predicate resorce. Did you mean resource(object: object, module: module, mode: word, "
        "type: word)? Declare it with .decl.\n"
        "\n"
        "mine.dl:7:42: error: Unfinished string [rules.syntax]\n"
        '  | \tedge(A, B) :- resource(A, B, _, _), A = "b\n'
        "  | \t                                        ^\n"
        "  A string must end with a double quote on the line on which it begins. Write a line break as \\n.\n"
        "\n"
    )


def test_check_shows_warnings_and_goes_on(planner, here):
    write(here, mine__dl=MINE + 'deny("D2", O, "x") :- resource(O, M, _, _).\n')
    ran = planner("rules", "check", ".")
    assert ran.code == 0 and "mine.dl:6:35: warning: Variable used once [rules.single_use]\n" in ran.out


def test_check_json(planner, here):
    write(here, mine__dl="edge(A, B) :- resource(A, B, _, _).\n")
    ran = planner("rules", "check", "-json")
    document = json.loads(ran.out)
    assert ran.code == 1 and not document["valid"] and document["error_count"] == 1
    (diagnostic,) = document["diagnostics"]
    assert diagnostic["code"] == "rules.core_predicate"
    assert diagnostic["range"]["start"] == {"line": 1, "column": 1, "byte": 0}
    assert diagnostic["snippet"]["code"] == "edge(A, B) :- resource(A, B, _, _)."


def test_files_of_a_folder_belong_together_and_those_of_hidden_folders_do_not(planner, here):
    (here / "sub").mkdir()
    (here / ".hidden").mkdir()
    write(here, a__dl='deny("D2", O, "x") :- output_value(O, _, _).\n')
    write(here / "sub", b__dl=MINE)
    write(here / ".hidden", c__dl="broken")
    assert "2 files are valid" in planner("rules", "check").out
    (here / ".planner" / "rules").mkdir(parents=True)
    write(here / ".planner" / "rules", own__dl=MINE)
    assert "1 file is valid" in planner("rules", "check").out


def test_a_file_called_like_one_of_the_product_is_no_part_of_it(planner, here):
    (here / "graph").mkdir()
    write(here / "graph", closing__dl="edge(A, B) :- resource(A, B, _, _).\n")
    ran = planner("rules", "check", "graph/closing.dl")
    assert (
        ran.code == 1
        and "./graph/closing.dl:1:1: error: " in ran.err
        and "is a predicate of planner's own rules" in " ".join(ran.err.split())
    )


def test_rules_are_checked_beside_the_program_that_they_mention(planner, here):
    text = "/// own(a): own.\n.decl own(a: any)\n.output own\nown(A) :- {}.\n"
    write(here, a__dl=text.format("differs(A, _)"))
    assert "together with the rules of decisions" in planner("rules", "check", "a.dl").out
    write(here, a__dl=text.format("moved(A, _)"))
    assert "together with the rules of moves" in planner("rules", "check", "a.dl").out
    ran = planner("rules", "check", "a.dl", "-program=graph")
    assert ran.code == 1 and "There is no predicate moved" in ran.err
    ran = planner("rules", "check", "a.dl", "-program=odd")
    assert ran.code == 1 and "The programs are: graph, decisions, moves, causes, policy" in ran.err


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("missing.dl", "No such file"),
        ("latin.dl", "not valid UTF-8"),
        ("pipe.dl", "not a regular file"),
        ("empty", "no file with the ending .dl"),
        ("huge.dl", "must not exceed 4 MiB"),
        ("wide.dl", "Line 2 has more than 100000 characters"),
        ("a\0b.dl", "null"),
    ],
)
@pytest.mark.parametrize("command", ["check", "test"])
def test_what_cannot_be_read(planner, here, command, word, reason):
    (here / "latin.dl").write_bytes(b"// \xe9\n")
    (here / "empty").mkdir()
    (here / "huge.dl").write_bytes(b"x" * (rule_files.MOST_BYTES + 1))
    (here / "wide.dl").write_text("\n" + "x" * 100_001)
    os.mkfifo(here / "pipe.dl")
    if command == "test":
        reason = reason.replace(".dl", ".case or .dl")
    ran = planner("rules", command, word)
    assert ran.code == 1 and reason in ran.err


# ---------------------------------------------------------------- testing


def test_cases(planner, here):
    write(here, mine__dl=MINE, mine__case=DENIED + ALLOWED)
    ran = planner("rules", "test")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "mine.case\n  ok   data\n  ok   managed\n2 cases: 2 passed, 0 failed.\n"
    for word in ("mine.case", "./mine.case", ".", str(here)):
        assert planner("rules", "test", word).code == 0, word


def test_a_case_that_fails(planner, here):
    write(here, mine__dl=MINE, mine__case=DENIED + ALLOWED.replace('"managed", "a")', '"data", "a")'))
    ran = planner("rules", "test")
    assert ran.code == 1
    assert ran.out == (
        "mine.case\n"
        "  ok   data\n"
        "  FAIL managed\n"
        "         deny, mine.case:4:\n"
        '           unexpected  deny("D1", "a.b", "no data sources")\n'
        "2 cases: 1 passed, 1 failed.\n"
    )
    document = json.loads(planner("rules", "test", "-json").out)
    assert not document["passed"]
    (file,) = document["files"]
    good, bad = file["cases"]
    assert file["file"] == "mine.case" and good["passed"] and good["mismatches"] == []
    assert (bad["name"], bad["line"]) == ("managed", 4)
    assert bad["mismatches"] == [
        {
            "predicate": "deny",
            "missing": [],
            "missing_count": 0,
            "unexpected": [["D1", "a.b", "no data sources"]],
            "unexpected_count": 1,
        }
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cases", "summary"),
    [
        (DENIED, "No case without this deny"),
        (ALLOWED, "No case expects this deny"),
    ],
)
def test_a_denial_needs_its_twin(planner, here, cases, summary):
    write(here, mine__dl=MINE, mine__case=cases)
    ran = planner("rules", "test")
    assert ran.code == 1 and "1 passed, 0 failed" in ran.out
    assert f"mine.dl:5:1: error: {summary} [rules.untested]\n" in ran.err
    assert 'deny("D1", O, "no data sources") :- resource(O, _, "data", _).\n  | ^^^^' in ran.err
    document = json.loads(planner("rules", "test", "-json").out)
    assert not document["passed"] and document["diagnostics"][0]["code"] == "rules.untested"


@pytest.mark.slow
def test_the_twin_stands_in_the_same_file(planner, here):
    write(here, mine__dl=MINE, a__case=DENIED, b__case=ALLOWED)
    assert planner("rules", "test").code == 1
    write(here, b__case=ALLOWED + DENIED)
    assert planner("rules", "test").code == 0


@pytest.mark.slow
def test_cases_are_about_their_namesake_and_what_it_reads(planner, here):
    """Two files that deny would disturb each other's cases; a helper in a third file is needed by one."""
    other = MINE.split("@name")[1].replace("no_data", "no_outputs").replace("D1", "D2")
    other = "@name" + other.replace('resource(O, _, "data", _)', "plain_output(O)")
    helper = "/// plain_output(o): o.\n.decl plain_output(o: object)\nplain_output(O) :- output_value(O, _, _).\n"
    write(
        here,
        mine__dl=MINE,
        mine__case=(DENIED + ALLOWED).replace('resource("', 'output_value("output.o", "", "o"). resource("'),
        other__dl=other,
        other__case='.case "d"\nresource("data.a.b", "", "data", "a"). output_value("output.o", "", "o").\n'
        '.want deny("D2", "output.o", "no data sources").\n.case "n"\n.want none deny.\n',
        helper__dl=helper,
    )
    ran = planner("rules", "test")
    assert "D1" not in ran.err and ran.code == 1
    assert "FAIL d" in ran.out and "ok   data" in ran.out  # other.dl reads the declaration of deny in mine.dl
    write(here, other__dl=MINE.split("@name")[0].replace("deny", "warn") + other.replace("deny(", "warn("))
    write(here, other__case=(here / "other.case").read_text().replace("deny", "warn"))
    ran = planner("rules", "test")
    assert (ran.code, ran.err) == (0, ""), ran.out
    assert ran.out.endswith("4 cases: 4 passed, 0 failed.\n")


@pytest.mark.slow
def test_a_named_file_of_cases_asks_nothing_of_other_files(planner, here):
    denies = '@reason("x")\ndeny("{0}", A, "m") :- helps{0}(A).\n'
    helps = '/// helps{0}(a): does. Example: helps{0}("a")\n.decl helps{0}(a: address)\n'
    helps += 'helps{0}(A) :- planned(A, "{0}", 1).\n'
    other = '@reason("x")\ndeny("other", A, "m") :- planned(A, "other", 1).\n'
    cases = '.case "a"\nplanned("a", "q", 1).\n.want deny("q", "a", "m").\n'
    cases += '.case "b"\nplanned("a", "q", 2).\n.want none deny.\n'
    write(here, q__dl=denies.format("q"), q__case=cases, helper__dl=helps.format("q") + other)
    write(here, untested__dl=denies.format("p") + helps.format("p"))
    assert planner("rules", "test", "q.case").code == 0
    assert planner("rules", "test", "q.case", "q.dl").code == 0
    ran = planner("rules", "test", "q.case", "untested.dl")
    assert ran.code == 1 and "untested.dl:2" in ran.err and "helper.dl" not in ran.err
    ran = planner("rules", "test")
    assert ran.code == 1 and "untested.dl:2" in ran.err and "helper.dl" in ran.err


def test_the_files_that_a_file_of_cases_is_about():
    rules = [
        ("a.dl", "/// a.\n.decl a(x: b_type)\na(X) :- b(X), not c(X).\n"),
        ("b.dl", "/// b.\n.decl b(x: any)\n.input b\n"),
        ("c.dl", "/// c.\n.decl c(x: any)\nc(X) :- N = count : { d(X, N) }, X = N.\n"),
        ("d.dl", "/// d.\n.decl d(x: any, y: any)\nd(X, X) :- a(X).\n"),
        ("types.dl", ".type b_type <: symbol\n"),
        ("unused.dl", "/// e.\n.decl e(x: any)\ne(X) :- a(X).\na(X) :- e(X).\n"),
        ("f.dl", "/// f.\n.decl f(x: any)\n.input f\n"),
    ]

    def names(case, text=""):
        return [name for name, _text in rule_files.about((case, text), rules)]

    assert names("a.case") == ["a.dl", "b.dl", "c.dl", "d.dl", "types.dl"]
    assert names("a.case", "f(1).\n") == ["a.dl", "b.dl", "c.dl", "d.dl", "types.dl", "f.dl"]
    assert names("f.case") == ["f.dl"]
    assert names("z.case") == [name for name, _text in rules]


def test_rules_without_cases(planner, here):
    write(here, mine__dl=MINE)
    ran = planner("rules", "test")
    assert ran.code == 1 and "No case expects this deny" in ran.err
    write(here, mine__dl=MINE.replace("deny", "refuse"))
    ran = planner("rules", "test")
    assert ran.code == 1 and "No cases" in ran.err
    write(here, mine__case='resource("a.b", "", "data", "a").\n')
    ran = planner("rules", "test")
    assert ran.code == 1 and "No case in mine.case" in ran.err


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"mine__dl": MINE + "deny(A)", "mine__case": DENIED + ALLOWED}, "mine.dl:6:7: error: Missing full stop"),
        ({"mine__dl": MINE, "mine__case": DENIED + ALLOWED + "odd(1).\n"}, "mine.case:7:1: error: Unknown predicate"),
        ({"mine__dl": MINE, "mine__case": DENIED + ALLOWED + ".case 1\n"}, "mine.case:7:7: error: Syntax error"),
    ],
)
def test_broken_input_is_reported_once(planner, here, files, message):
    write(here, **files)
    ran = planner("rules", "test")
    assert ran.code == 1 and message in ran.err
    assert ran.err.count("error:") == 1


@pytest.mark.slow
def test_cases_of_the_product_hold(planner):
    from pathlib import Path

    cases = Path(__file__).parents[1] / "rules"
    ran = planner("rules", "test", str(cases))
    assert ran.code == 0, ran.out + ran.err
    assert ran.out.count("\n  ok ") > 150


# ---------------------------------------------------------------- nothing runs away

_E = "/// e(a): e.\n.decl e(a: number)\n.input e\n"
_T = "/// t(a): t.\n.decl t(a: symbol)\n.input t\n"
_ALL = "/// all(a, b): all.\n.decl all(a: any, b: any)\n.output all\n"
_NUMBERS = " ".join(f"e({n})." for n in range(500)) + "\n"
_NONE = '.case "c"\n.want none all.\n'
_CHAIN = "".join(
    f"/// d{n}(a): d.\n.decl d{n}(a: any)\nd{n}(B) :- d{n - 1}(A), is_{{kind}}(A), B = A {{join}} A.\n"
    for n in range(1, 60)
)
_GROWING = "/// d0(a): d.\n.decl d0(a: any)\nd0({value}).\n" + _CHAIN + _ALL + "all(A, A) :- d59(A).\n"
EXPLOSIONS = {
    "cartesian": (_E + _ALL + "all(A, D) :- e(A), e(B), e(C), e(D), A != B, B != C, C != D.\n", _NUMBERS, "time"),
    "joins": (_E + _ALL + f"all(A1, A40) :- {', '.join(f'e(A{n})' for n in range(1, 41))}.\n", _NUMBERS, "time"),
    "recursion": (
        _E + _ALL + "all(A, B) :- e(A), e(B), A < B.\nall(A, C) :- all(A, B), all(B, C).\n",
        _NUMBERS + " ".join(f"e({n})." for n in range(500, 3000)),
        "time",
    ),
    "aggregate": (_E + _ALL + "all(A, N) :- e(A), N = count : { e(B), e(C), e(D), B < C, C < D }.\n", _NUMBERS, "time"),
    "text": (_GROWING.format(value='"ab"', kind="symbol", join="++"), "", "limit"),
    "number": (_GROWING.format(value="10", kind="number", join="*"), "", "limit"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPLOSIONS)
def test_a_case_without_end_is_ended(planner, here, monkeypatch, name):
    rules, facts, code = EXPLOSIONS[name]
    monkeypatch.setattr(rule_tests, "CASE_SECONDS", 0.5)
    write(here, mine__dl=rules, mine__case=facts + "\n" + _NONE)
    ran = planner("rules", "test", "-json")
    document = json.loads(ran.out)
    assert ran.code == 1
    assert [d["code"] for d in document["files"][0]["cases"][0]["diagnostics"]] == [f"rules.{code}"]


@pytest.mark.slow
def test_a_case_that_needs_all_memory_is_ended(planner, here, monkeypatch):
    from planner.logic.datalog.ask import limit

    monkeypatch.setattr(limit, "MAX_MEMORY", 100 << 20)
    monkeypatch.setattr(rule_tests, "CASE_SECONDS", 60.0)
    wide = "/// all(a, b, c, d): all.\n.decl all(a: any, b: any, c: any, d: any)\n.output all\n"
    write(here, mine__dl=_E + wide + "all(A, B, C, D) :- e(A), e(B), e(C), e(D).\n", mine__case=_NUMBERS + _NONE)
    ran = planner("rules", "test")
    assert ran.code == 1 and "The case needs too much memory" in ran.out


def test_patterns_do_not_backtrack(planner, here):
    patterns = ", ".join(f'matches(A, "{p}")' for p in ("^(a+)+$", "^(a|aa)*b", "(.*)(.*)(.*)(.*)x"))
    write(here, mine__dl=f"{_T}{_ALL}all(A, A) :- t(A), {patterns}.\n", mine__case=f't("{"a" * 90_000}!").\n{_NONE}')
    assert planner("rules", "test").code == 0


HOSTILE = {
    "a name of a megabyte": _ALL + "all(1, 2) :- " + "a" * 1_000_000 + "(1).\n",
    "a long name": _ALL + "all(1, 2) :- " + "a" * 90_000 + "(1).\n",
    "two of them": _ALL + "/// x: x.\n.decl " + "a" * 89_999 + "(x: any)\nall(1, 2) :- " + "a" * 90_000 + "(1).\n",
    "a long variable": _E + _ALL + "all(A, " + "B" * 90_000 + ") :- e(A).\n",
    "a long number": _ALL + f"all({'9' * 90_000}, 2).\n",
    "null characters": "\0" * 90_000,
    "quotes": '"' * 90_000,
    "comments that begin": "/*" * 45_000,
    "full stops": "." * 90_000,
    "brackets": _ALL + "all(1, X) :- X = " + "(" * 50_000 + ".\n",
    "calls": _ALL + "all(1, X) :- X = " + "lower(" * 12_000 + '"a"' + ")" * 12_000 + ".\n",
    "sums": _ALL + "all(1, X) :- X = 1" + " + 1" * 20_000 + ".\n",
    "aggregates": _E + _ALL + "all(A, N) :- e(A), " + "N = count : { " * 5_000 + "e(A)" + " }" * 5_000 + ".\n",
    "annotations": _ALL + '@name("a")' * 5_000 + " all(1, 2).\n",
    "literals": _E + _ALL + "all(A, A) :- " + ", ".join(["e(A)"] * 15_000) + ".\n",
    "a huge repetition": _T + _ALL + 'all(A, A) :- t(A), matches(A, "((a{1,1000}){1,1000}){1,1000}").\n',
    "types in a circle": "".join(f".type t{n} <: t{(n + 1) % 500}\n" for n in range(500)),
}


@pytest.mark.parametrize("name", thinned(sorted(HOSTILE), 3))
def test_hostile_rules_get_diagnostics(planner, here, name):
    write(here, mine__dl=HOSTILE[name])
    ran = planner("rules", "check", "mine.dl")
    assert ran.code == 1 and "error: " in ran.err
    assert "Internal error" not in ran.err and len(ran.err) < 200_000
    assert not re.search("[\0-\b\x0b-\x1f]", ran.err)


def test_checking_is_ended_when_it_takes_too_long(planner, here, monkeypatch):
    monkeypatch.setattr(rule_files, "LOAD_SECONDS", 0.3)
    write(here, mine__dl="".join(f".type t{n} <: t{n + 1}\n" for n in range(15_000)) + ".type t15000 <: symbol\n")
    ran = planner("rules", "check", "mine.dl")
    assert ran.code == 1 and "Rules too large [rules.time]" in ran.err


@pytest.mark.slow
def test_checking_is_ended_when_it_needs_too_much_memory(planner, here, monkeypatch):
    from planner.logic.datalog.ask import limit

    monkeypatch.setattr(limit, "MAX_MEMORY", 60 << 20)
    write(here, mine__dl=_ALL + "all(1, 2).\n" * 50_000)
    ran = planner("rules", "check", "mine.dl")
    assert ran.code == 1 and "Rules too large [rules.memory]" in ran.err


CODE = "__import__('pathlib').Path('pwned').write_text('x')"
INJECTIONS = [
    f'@name("{CODE}") @reason("{CODE}") all("{CODE}", "\\"; {CODE} #").',
    f'all(A, B) :- t(A), B = A ++ "{CODE}", matches(A, "(?P<x>{CODE[:10]})").',
    f'all(1, 2).\n"""\n{CODE}\n"""\n',
    f"all({CODE}, 2).",
    "all(A, __import__) :- t(A), __import__ = A.",
    "all(A, E) :- t(A), E = A.",
    "all(f0, R) :- t(R).",
    "all(A, B) :- t(A), B = open(A).",
    "all(A, B) :- t(A), B = __import__(A).",
    '.include "/etc/passwd"\n',
]


@pytest.mark.parametrize("text", thinned(INJECTIONS, 3))
def test_no_rule_file_runs_code_or_reads_files(planner, here, monkeypatch, text):
    """Whatever a rule file says, checking and testing it opens no file that is not a rule file and runs none of it."""
    write(here, mine__dl=_T + _ALL + text + "\n", mine__case=f't("/etc/passwd"). t("{CODE}").\n' + _NONE)
    ran = planner("rules", "test")
    assert "Internal error" not in ran.err and "Traceback" not in ran.err
    assert "root:" not in ran.out + ran.err
    assert not (here / "pwned").exists()


def test_names_of_the_generated_code_are_only_values(planner, here):
    """Words that the compiled form or Python use are strings and variables like others."""
    words = ["R", "I", "D", "E", "ONE", "None", "True", "print", "f0", "x0", "lambda", "__class__", "import"]
    variables = [word for word in words if word[0].isupper() or word[0] == "_"]
    rules = _T + _ALL + "".join(f"all({v}, {v}) :- t({v}).\n" for v in variables)
    facts = " ".join(f't("{word}").' for word in words)
    wanted = "".join(f'.want all("{word}", "{word}").\n' for word in words)
    write(here, mine__dl=rules, mine__case=f'{facts}\n.case "words"\n{wanted}')
    ran = planner("rules", "test")
    assert ran.code == 0, ran.out + ran.err


def test_the_compiled_form_holds_no_text_of_the_file():
    """Constants are data of the program: its code has only names that the compiler chose."""
    program, _problems = build_program([("x.dl", _T + _ALL + 'all(Secret, "hidden") :- t(Secret).\n')], None)
    assert program is not None and "def f0(" in program.compiled.source
    assert "Secret" not in program.compiled.source
