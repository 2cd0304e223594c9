"""The reason of a rule that gives none: what its head asserts, in the words of the declaration."""

from __future__ import annotations

import re
from collections.abc import Mapping

from planner.foundation.vocabulary.records import evolve
from planner.language.syntax.rule_syntax import Constant, RuleVariable
from planner.logic.datalog.language.model import Predicate, Rule

_SENTENCE = re.compile(r"^\s*\w+\([^)]*\):\s*(.*?)(?:\.\s|\.$|$)", re.S)


def first_sentence(predicate: Predicate) -> str:
    """What a tuple means: the first sentence of the doc comment, without the pattern before the colon, on one line;
    empty where the comment has another form."""
    match = _SENTENCE.match(predicate.doc)
    return " ".join(match[1].split()) if match else ""


def with_reason(rule: Rule, predicates: Mapping[str, Predicate]) -> Rule:
    """The rule with a reason: its own, or the first sentence of the doc comment of its head's predicate, column names
    (between backquotes) replaced by the head's variables and constants."""
    predicate = predicates.get(rule.head.predicate)
    first = first_sentence(predicate) if predicate and not rule.reason else ""
    if predicate is None or not first or len(rule.head.arguments) != predicate.arity:
        return rule
    meaning = {}
    for column, argument in zip(predicate.columns, rule.head.arguments, strict=True):
        if isinstance(argument, RuleVariable):
            meaning[column.name] = f"{{{argument.name}}}"
        elif isinstance(argument, Constant):
            meaning[column.name] = str(argument.value)
    sentence = first.replace("{", "(").replace("}", ")")
    return evolve(rule, reason=re.sub(r"`(\w+)`", lambda m: meaning.get(m[1], m[1]), sentence))


def has_own_reason(rule: Rule, predicates: Mapping[str, Predicate]) -> bool:
    """Whether the reason of a rule says more than what its head asserts anyway."""
    return bool(rule.reason) and rule.reason != with_reason(evolve(rule, reason=""), predicates).reason
