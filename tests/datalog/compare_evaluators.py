"""Run one random program every way there is and compare. Each function returns how many rows were derived."""

from __future__ import annotations

from itertools import count
from typing import Any

from datalog.naive_evaluator import evaluate_naively
from engine_helpers import program
from proof_checker import check
from random_programs import RandomProgram

from planner.language.syntax.rule_syntax import Atom, Comparison, Negation, RuleVariable
from planner.logic.datalog.ask.question import ask, parse_query
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.interpret import value_of
from planner.logic.datalog.explain.proof import proof_json
from planner.logic.datalog.explain.search import Prover
from planner.logic.datalog.explain.why_not import why_not
from planner.logic.datalog.language.model import Rule
from planner.logic.datalog.language.values import decode

MOST_PROOFS = 4  # of each predicate


def compare_all(seed: int) -> int:
    """Compiled, naive, partial evaluation, proofs, and the bodies of the rules asked as questions."""
    random = RandomProgram(seed)
    loaded = program(random.text)
    facts = FactBase.build(random.facts)
    database = evaluate(loaded, facts)
    assert dict(database) == evaluate_naively(loaded, facts), seed
    last = max(n for n in loaded.predicates if n[0] == "d")
    partial = evaluate(loaded, facts, [last])
    assert partial[last] == database[last], seed
    for name in loaded.predicates:
        sparing = evaluate(loaded, facts, [name], let_go=True)
        assert sparing[name] == database[name], (seed, name)
    assert dict(evaluate(loaded, facts, [last], let_go=True)) == dict(partial), seed
    prover = Prover(loaded, database)
    rules = [{"name": rule.name, "text": rule.text} for rule in loaded.rules]
    plain: dict[str, Any] = {name: [tuple(map(decode, row)) for row in rows] for name, rows in database.items()}
    for name in database:
        for row in database.sorted(name)[:MOST_PROOFS]:
            proof = prover.why(name, row)
            assert proof is not None
            check(rules, proof_json(proof, facts, lambda source: {}), plain.__getitem__)
            assert why_not(prover, name, row) is None
        absent = tuple("absent" for _ in loaded.predicates[name].columns)
        assert absent in database[name] or len(why_not(prover, name, absent) or ()) == len(loaded.rules_for(name))
    for rule in loaded.rules:
        query, _diagnostics = parse_query(loaded, ", ".join(map(str, rule.body)))
        if query is not None:
            heads = [dict(zip(query.columns, row, strict=True)) for row in ask(loaded, database, query).rows]
            found = {tuple(value_of(a, values) for a in rule.head.arguments) for values in heads}
            assert found <= database[rule.head.predicate], (seed, rule.text)
    return sum(len(rows) for name, rows in database.items() if name[0] == "d")


_numbers = count()


def compare_with_pydatalog(seed: int) -> int:
    """An engine that shares nothing with ours, on programs without recursion, aggregates and computed values."""
    from pyDatalog import Logic, pyEngine

    random = RandomProgram(seed, plain=True)
    loaded = program(random.text)
    database = evaluate(loaded, FactBase.build(random.facts))
    Logic()
    prefix = f"s{next(_numbers)}_"
    for name, columns in random.columns.items():
        # A predicate is known to pyDatalog once it had a fact.
        known = pyEngine.Clause(_literal(prefix + name, [pyEngine.Const("nothing") for _ in columns]), [])
        pyEngine.assert_(known)  # noqa: PT009
        pyEngine.retract(known)
        for row in random.facts.get(name, ()):
            pyEngine.assert_(pyEngine.Clause(_literal(prefix + name, map(pyEngine.Const, row)), []))  # noqa: PT009
    for rule in loaded.rules:
        _assert_rule(prefix, rule)
    derived = 0
    for name in [n for n in loaded.predicates if n[0] == "d"]:
        variables = [pyEngine.Var(f"X{i}") for i in range(loaded.predicates[name].arity)]
        goal = _literal(prefix + name, variables)
        found = set(goal.ask() or ())
        assert found == database[name], (seed, name)
        derived += len(found)
    return derived


def _literal(name: str, terms: Any) -> Any:
    from pyDatalog import pyEngine

    return pyEngine.Literal(name, list(terms))


def _assert_rule(prefix: str, rule: Rule) -> None:
    from pyDatalog import pyEngine

    fresh = count()

    def term(node: Any) -> Any:
        if isinstance(node, RuleVariable):
            return pyEngine.Var(node.name)
        if hasattr(node, "value"):
            return pyEngine.Const(node.value)
        return pyEngine.Var(f"W{next(fresh)}")

    def atom(node: Atom, negated: bool = False) -> Any:
        return _literal(("~" if negated else "") + prefix + node.predicate, map(term, node.arguments))

    operators = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
    positive, other = [], []
    for literal in rule.body:
        if isinstance(literal, Atom):
            positive.append(atom(literal))
        elif isinstance(literal, Negation):
            other.append(atom(literal.atom, negated=True))
        else:
            assert isinstance(literal, Comparison)
            other.append(_literal(operators[literal.operator], [term(literal.left), term(literal.right)]))
    pyEngine.assert_(pyEngine.Clause(atom(rule.head), positive + other))  # noqa: PT009
