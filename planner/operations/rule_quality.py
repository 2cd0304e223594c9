"""Measures the quality of test cases of rules: which conditions of the rules they cover, and which deliberate mistakes
in the rules (mutants) they detect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.answers.policy.cases import with_plan
from planner.answers.policy.packs import gather
from planner.answers.policy.program import load_policies
from planner.answers.policy.rule_files import choose, load
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, has_errors
from planner.foundation.vocabulary.records import frozen
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.model import Rule
from planner.logic.datalog.tools.cases import Case, run_case
from planner.logic.datalog.tools.coverage import Mutant, RuleCoverage, coverage, mutants
from planner.operations.rule_tests import CaseFile, RuleGroup, cases_of, given_facts, groups, in_three_values


@frozen
class Noticed:
    """A mutant, and whether a case detected it. `case`: the case that detected the mutant; None if the mutant
    survived."""

    mutant: Mutant
    case: str | None


@frozen
class Quality:
    """The quality of the cases of some rules: the coverage of each rule, and the mutants with the cases that detected
    them. `mutants` contains only mutants that are valid rules."""

    coverage: tuple[RuleCoverage, ...] = ()
    mutants: tuple[Noticed, ...] = ()

    @property
    def covered(self) -> tuple[int, int]:
        """(number of outcomes, true or false, of conditions that occurred in a case; number of all possible
        outcomes)."""
        return sum(rule.covered for rule in self.coverage), sum(rule.ways for rule in self.coverage)

    @property
    def score(self) -> tuple[int, int]:
        """(number of detected mutants, number of all mutants)."""
        return sum(one.case is not None for one in self.mutants), len(self.mutants)


def quality(words: Sequence[str], name: str = "", makes_mistakes: bool = False) -> tuple[Quality, list[Diagnostic]]:
    """The quality of the cases in files and directories (see rule_tests.groups), and problems. The caller must have
    checked that all cases pass. `makes_mistakes`: whether to also test which mutants of the rules the cases detect."""
    item, problems = groups(words, name)
    covered: list[RuleCoverage] = []
    tried: list[Noticed] = []
    for group in item:
        problems += group.diagnostics
        if has_errors(problems):
            break
        covered += _coverage(group)
        if makes_mistakes:
            tried += _mutants(group)
    return Quality(tuple(covered), tuple(tried)), problems


def _coverage(group: RuleGroup) -> Iterator[RuleCoverage]:
    """The coverage of each rule by all case files of a group together, sorted by the name of the rule."""
    best: dict[str, RuleCoverage] = {}
    for file in group.files:
        own = {rule.name for rule in group.whole}
        rules = [rule for rule in file.program.rules if rule.name in own]
        for one in coverage(file.program, _known_cases(file, rules), rules):
            known = best.get(one.rule.name)
            best[one.rule.name] = one if known is None else _together(known, one)
    yield from (best[name] for name in sorted(best))


def _together(one: RuleCoverage, other: RuleCoverage) -> RuleCoverage:
    for mine, more in zip(one.literals, other.literals, strict=True):
        mine.held, mine.failed = mine.held or more.held, mine.failed or more.failed
    return one


def _known_cases(file: CaseFile, rules: Sequence[Rule]) -> list[Case]:
    """The cases of a file. A case with `.given` contains the facts of the plan, state or configuration that it names,
    without unknown values. Raises Failure."""
    cases = file.load()[0]
    return _with_plans(file, cases, rules) if any(case.given for case in cases) else list(cases)


def _with_plans(file: CaseFile, cases: Sequence[Case], rules: Sequence[Rule]) -> list[Case]:
    policies, problems = load_policies(tuple(file.rules))
    if policies is None:
        raise Failure(problems)
    names = {rule.head.predicate for rule in rules}
    return [with_plan(policies, case, given_facts, names) if case.given else case for case in cases]


# ---------------------------------------------------------------- mutants


def _mutants(group: RuleGroup) -> Iterator[Noticed]:
    for mutant in mutants(group.whole):
        seen, case = False, None
        for file in group.files:
            if case is None and any(name == mutant.file for name, _ in file.rules):
                is_rule, noticed = _try(file, mutant)
                seen, case = seen or is_rule, noticed
        if seen:
            yield Noticed(mutant, case)


def _try(file: CaseFile, mutant: Mutant) -> tuple[bool, str | None]:
    """(whether a mutant is a valid program, name of a case that detects it). The name is the path of the case file if
    the evaluation of the mutant fails, and None if no case detects the mutant."""
    rules = [(name, mutant.of(text) if name == mutant.file else text) for name, text in file.rules]
    program = _program(rules, file)
    if program is None:
        return False, None
    try:
        cases, problems = cases_of(program, file.path, file.text, gather(tuple(rules)))
        if has_errors(problems):
            return False, None
        for case in cases:
            if _is_plain(case) and run_case(program, case):
                return True, case.name
        derive = in_three_values(rules) if file.derive is not None else None
        others = [case for case in cases if not _is_plain(case)] if derive is not None else []
        for case in others:
            database = derive(program, case) if derive is not None else {}
            if any(database[name] != wanted for name, wanted in case.wanted.items()):
                return True, case.name
    except (Failure, ValueError):  # detected: it does not terminate, or the facts do not fit
        return True, file.path
    return True, None


def _program(rules: list[tuple[str, str]], file: CaseFile) -> RuleProgram | None:
    name = "policy" if file.derive is not None else choose([*file.rules, (file.path, file.text)])
    return load(rules, name)[0]


def _is_plain(case: Case) -> bool:
    return not case.given and "unsettled" not in case.wanted and not case.facts.relation("unknown_after")
