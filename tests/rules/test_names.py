"""The names of the product's rules: proofs, `rules list` and people refer to them, so they stay.

`python tests/rules/test_names.py` writes names.txt anew.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from planner.answers.policy.rulebook import PROGRAMS, program
from planner.foundation.support.assets import rules_path
from planner.language.syntax.rule_parse import parse_rules
from planner.language.syntax.rule_syntax import RuleSyntax
from planner.logic.datalog.engine.cache import load_program

RECORDED = Path(__file__).parent / "names.txt"


def given() -> dict[str, list[str]]:
    """File name without `.dl` -> the names of its rules, from the text; "" for a rule that has none."""
    names: dict[str, list[str]] = {}
    root = rules_path()
    for path in sorted(root.rglob("*.dl")):
        stem = str(path.relative_to(root)).removesuffix(".dl")
        is_pack = stem.startswith("packs/")  # names of packs begin with the pack's, `planner.tags/required_tags.deny`
        before = f"planner.{path.parent.name}/" if is_pack else ""
        stem = f"{before}{path.stem}" if is_pack else stem
        names[stem] = []
        for statement in parse_rules(path.name, path.read_text(encoding="utf-8"))[0].statements:
            if isinstance(statement, RuleSyntax):
                named = [str(value.value) for key, value in statement.annotations if key.text == "name"]
                by_text = f"{stem}.{statement.head}" if not statement.body else ""
                names[stem].append(f"{before}{named[0]}" if named else by_text)
    return names


def test_every_rule_has_a_name_of_its_own_that_begins_with_its_file() -> None:
    every = given()
    assert [stem for stem, names in every.items() if not all(name.startswith(f"{stem}.") for name in names)] == []
    names = sorted(name for names in every.values() for name in names)
    assert [one for one, other in pairwise(names) if one == other] == []


def test_names_stay() -> None:
    """A rule that comes or goes changes its own line only; people may have written a name down."""
    assert sorted(name for names in given().values() for name in names) == RECORDED.read_text("utf-8").splitlines()


def test_programs_know_their_rules_by_these_names() -> None:
    recorded = set(RECORDED.read_text("utf-8").splitlines())
    assert {rule.name for name in PROGRAMS for rule in program(name).rules} <= recorded


def test_a_fact_of_the_product_is_called_after_its_text_and_other_rules_after_their_place() -> None:
    text = '/// a(x): a.\n.decl a(x: any)\n.output a\na(1). a(1). a(X) :- a(X), X = 2.\na("b"). @name("mine") a(3).\n'
    product, _ = load_program([("house.dl", text)], core=["house.dl"])
    own, _ = load_program([("house.dl", text)], core=[])
    assert product is not None and own is not None
    assert [rule.name for rule in product.rules] == ["house.a(1)", "house.2", "house.3", 'house.a("b")', "mine"]
    assert [rule.name for rule in own.rules] == ["house.1", "house.2", "house.3", "house.4", "mine"]


if __name__ == "__main__":
    lines = sorted(name for names in given().values() for name in names)
    RECORDED.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
