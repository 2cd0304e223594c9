"""Rule files to a Program: the steps in their order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.language.syntax.rule_parse import parse_rules
from planner.language.syntax.rule_syntax import RuleFile
from planner.logic.datalog.engine.compile import compile_program
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language import checks
from planner.logic.datalog.language.link import Linker, with_reason
from planner.logic.datalog.language.spaces import Spaces, resolve
from planner.logic.datalog.language.strata import stratify
from planner.logic.datalog.language.types import column_types


def build_program(
    files: Sequence[tuple[str, str]],
    core: Collection[str] | None,
    made: Sequence[RuleFile] = (),
    beside: Sequence[tuple[str, str]] = (),
    spaces: Spaces | None = None,
) -> tuple[RuleProgram | None, list[Diagnostic]]:
    """See load_program."""
    diagnostics: list[Diagnostic] = []
    linker = Linker(core, spaces)
    given = {file.source.filename: file for file in made}
    parsed = []
    for name, text in files:
        if name in given:
            parsed.append(given[name])
            continue
        file, problems = (_parse_core if core is not None and name in core else parse_rules)(name, text)
        parsed.append(file)
        diagnostics += problems
    parsed, problems = resolve(parsed, spaces or {}, core)
    diagnostics += problems
    if has_errors(problems):
        return None, _in_order(diagnostics)  # what follows relies on names
    linker.link(parsed)
    predicates = linker.predicates
    rules = [with_reason(rule, predicates) for rule in linker.rules]
    diagnostics += linker.diagnostics
    diagnostics += checks.declared_elsewhere(predicates, beside)
    diagnostics += checks.unknown_predicates(rules, predicates)
    diagnostics += checks.arity(rules, predicates)
    diagnostics += checks.form(rules, checks.MOST_LITERALS_MADE if made else checks.MOST_LITERALS)
    diagnostics += checks.rule_names(rules)
    diagnostics += checks.reasons(rules)
    diagnostics += checks.check_derivations(rules, predicates)
    if has_errors(diagnostics):
        return None, _in_order(diagnostics)  # what follows relies on rules that are well formed
    diagnostics += checks.unsafe(rules)
    diagnostics += column_types(rules, predicates)
    strata, problems = stratify(list(predicates.values()), rules)
    diagnostics += problems
    if not has_errors(diagnostics):
        diagnostics += checks.computed_recursion(rules, strata)
    if has_errors(diagnostics):
        return None, _in_order(diagnostics)
    diagnostics += checks.single_use(rules)
    diagnostics += checks.unknown_words(rules, predicates)
    diagnostics += checks.whole_decimals(rules)
    diagnostics += checks.unread(rules, predicates)
    diagnostics += checks.unproduced(rules, predicates)
    compiled = compile_program(predicates, rules, strata)
    code = compile(compiled.source, "<rules>", "exec")
    return RuleProgram(predicates, strata, compiled, code, lambda: rules), _in_order(diagnostics)


_parse_core = lru_cache(64)(parse_rules)
"""The product's files are the same in each program of a process, and their syntax is never changed."""


def _in_order(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """By file, then by place; each once."""

    def place(d: Diagnostic) -> tuple[str, int, str]:
        return (d.subject.filename, d.subject.start, d.code) if d.subject else ("", 0, d.code)

    unique = {(d.code, d.detail, place(d)): d for d in diagnostics}
    return sorted(unique.values(), key=place)
