"""Runs test cases of rules: the user's rules, policies (with unknown values), and built-in rules."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from planner.answers.policy.cases import what_holds
from planner.answers.policy.facts.relations import PolicyFacts, PolicyInputs
from planner.answers.policy.from_json.facts import shown_facts
from planner.answers.policy.library import BUILTIN, case_files
from planner.answers.policy.manifest import MANIFEST
from planner.answers.policy.packs import Packs, gather
from planner.answers.policy.program import load_policies
from planner.answers.policy.rule_files import (
    Files,
    about,
    check,
    first,
    is_below,
    limited,
    load,
    pack_files,
    pack_root,
    placed,
    read_files,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.provider_address import BUILTIN as OWN_PROVIDER
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.load import load_config
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.model import Rule
from planner.logic.datalog.tools.cases import Case, load_cases
from planner.logic.datalog.tools.suite import CaseResult, Derive, run, untested
from planner.operations.judge_documents import read_document
from planner.operations.load import load_variables
from planner.operations.options import OperationOptions
from planner.operations.plan_files import open_or_make_plan
from planner.operations.policies import facts_of
from planner.operations.providers_needed import needed_providers
from planner.world.state.workspace import data_directory

CASE_SECONDS = 10.0
"""time limit of a case, in seconds"""


@frozen
class Tested:
    """The results of test cases. `outcomes`: {case file: results of its cases}. `diagnostics`: invalid rules and cases,
    missing cases, and rules for verdicts that lack required cases."""

    outcomes: dict[str, list[CaseResult]] = field(factory=dict)
    diagnostics: list[Diagnostic] = field(factory=list)

    @property
    def passed(self) -> bool:
        return not has_errors(self.diagnostics) and all(o.holds for item in self.outcomes.values() for o in item)


@frozen(eq=False)
class CaseFile:
    """A file of test cases. `rules`: the rule files that it tests. `program`: the rule program of these files and the
    built-in rules. `derive`: for policies, a function that returns the rows that are derived for a case."""

    path: str
    text: str
    rules: Files
    program: RuleProgram
    packs: Packs
    derive: Derive | None = None

    def load(self) -> tuple[list[Case], list[Diagnostic]]:
        """The cases, with defaults of packs, and diagnostics. If one of the cases is invalid, no cases are returned."""
        space = self.packs.space_of(self.path)
        known = [(self.path, self.text)]
        try:
            work = lambda: first(load_cases(self.program, self.path, self.text, space)[1])  # noqa: E731
            problems = placed(limited(work), known)
        except Failure as failure:
            problems = failure.diagnostics
        if has_errors(problems):
            return [], problems
        cases, _ = cases_of(self.program, self.path, self.text, self.packs)
        if self.derive is None:
            problems += [_not_of_policies(span) for case in cases for _, span in case.given[:1]]
        return cases, problems

    def run(self, cases: Sequence[Case]) -> list[CaseResult]:
        return run(self.program, cases, CASE_SECONDS, self.derive)


def cases_of(program: RuleProgram, path: str, text: str, packs: Packs) -> tuple[list[Case], list[Diagnostic]]:
    """The cases in a file, and diagnostics. Parameters and data of packs that a case does not set have their
    defaults."""
    cases, problems = load_cases(program, path, text, packs.space_of(path))
    return [evolve(case, facts=packs.with_defaults(case.facts, program)) for case in cases], problems


def _not_of_policies(span: Span) -> Diagnostic:
    detail = "Only cases of policies can contain plans: in cases of other rules, write the facts."
    return error("rules.case", "Plan in a case of non-policy rules", detail, span)


@frozen(eq=False)
class RuleGroup:
    """Rule files that are tested together, with their case files. `whole`: the rules that the cases must exercise."""

    files: list[CaseFile]
    whole: list[Rule]
    diagnostics: list[Diagnostic]


def groups(words: Sequence[str], name: str = "") -> tuple[list[RuleGroup], list[Diagnostic]]:
    """The case files in these files and directories, grouped with the rule files next to them, and problems. All `.dl`
    files of a directory, or of a pack, form a group. A case file tests the rule file with the same name, and the rules
    that this file reads. If there are no rule files in the directory, the case file tests built-in rules. If `words`
    names single files, only rules in these files, and in rule files with the same name, need a test."""
    files, problems = read_files(words, (".case", ".dl"))
    cases = [file for file in files if not file[0].endswith(".dl")]
    items: list[RuleGroup] = []
    folders = sorted({os.path.dirname(path) for path, _text in files})
    named = [os.path.normpath(word) for word in words if os.path.isdir(word)]
    for folder in folders:
        root = pack_root(folder)
        is_whole = any(at in (".", folder) or folder.startswith(at + os.sep) for at in named)
        beside, more = _beside(folder, files) if root is None else pack_files(root)
        problems = [*problems, *more]
        here = [file for file in cases if os.path.dirname(file[0]) == folder]
        # a case file without rule files next to it tests the product's rules; each such case file may test a different
        # program
        for group in [here] if beside else [[file] for file in here]:
            named_files = None if is_whole else {path for path, _text in files}
            if root is not None and is_whole:
                named_files = {path for path, _text in beside if is_below(path, root)}
            items.append(_group(beside, group, name, named_files))
    if not cases and not has_errors(problems) and not any(has_errors(group.diagnostics) for group in items):
        detail = "The name of a case file ends in .case, and the file is next to the rules that it tests."
        problems = [*problems, error("rules.no_cases", "No cases", detail)]
    return items, problems


def named_cases(policy: str) -> list[str]:
    """The files and directories that contain the rules and the cases of a policy. `policy`: a policy, as for `policy
    check -policy`. Raises Failure."""
    if policy.startswith(BUILTIN):
        return case_files(policy.removeprefix(BUILTIN))
    beside = f"{policy.removesuffix('.dl')}.case"
    return [policy, beside] if policy.endswith(".dl") and os.path.isfile(beside) else [policy]


def run_tests(words: Sequence[str], name: str = "") -> Tested:
    """Run the cases in the files and directories `words` (see `groups`), and return the results."""
    item, problems = groups(words, name)
    tested = Tested({}, problems)
    for group in item:
        tested.diagnostics.extend(group.diagnostics)
        outcomes: dict[str, list[CaseResult]] = {}
        wrong = has_errors(group.diagnostics)
        for file in group.files:
            cases, more = file.load()
            tested.diagnostics.extend(more)
            wrong = wrong or has_errors(more)
            if not cases and not has_errors(more):
                detail = 'Begin a case with .case "what should hold", and list the tuples to derive with .want.'
                tested.diagnostics.append(error("rules.no_cases", f"No case in {file.path}", detail))
                wrong = True
            outcomes[file.path] = file.run(cases)
        tested.outcomes.update(outcomes)
        if not wrong:
            tested.diagnostics.extend(untested(group.whole, list(outcomes.values())))
    return tested


# ---------------------------------------------------------------- related files


def _beside(folder: str, files: Files) -> tuple[Files, list[Diagnostic]]:
    """All rule files of a directory, sorted by path, and problems. `files`: the files that were already read."""
    known = dict(files)
    paths = [os.path.normpath(os.path.join(folder, n)) for n in os.listdir(folder or ".") if n.endswith(".dl")]
    others, problems = read_files([path for path in sorted(paths) if path not in known], (".dl",))
    here = {path: text for path, text in known.items() if path.endswith(".dl") and os.path.dirname(path) == folder}
    return sorted({**here, **dict(others)}.items()), problems


def _group(rules: Files, cases: Files, name: str, named: set[str] | None) -> RuleGroup:
    checked = check(rules, name, cases)
    if has_errors(checked.diagnostics):
        return RuleGroup([], [], checked.diagnostics)
    programs: dict[tuple[str, ...], RuleProgram] = {}
    derives: dict[tuple[str, ...], Derive | None] = {}
    packs = gather(tuple(rules))
    files = []
    for case in cases:
        subject = limited(partial(about, case, rules))
        key = tuple(path for path, _text in subject)
        if key not in programs:
            programs[key] = _loaded(subject, checked.program)
            derives[key] = in_three_values(subject) if checked.program == "policy" else None
        files.append(CaseFile(*case, subject, programs[key], packs, derives[key]))
    wanted = {path for path, _text in rules if path.endswith(".dl")}
    if named is not None:
        wanted &= named | {f"{path.removesuffix('.case')}.dl" for path, _text in cases}
    return RuleGroup(files, _own(_loaded(rules, checked.program), wanted), checked.diagnostics)


def _loaded(rules: Files, name: str) -> RuleProgram:
    """Load rules as a program. This is fast, because `check` has already accepted the rules in this process. Raises
    Failure if the rules are not valid without the other rules of their group."""
    program, diagnostics = load(rules, name)
    if program is None:
        raise Failure(diagnostics)
    return program


def _own(program: RuleProgram, names: set[str]) -> list[Rule]:
    return [rule for rule in program.rules if os.path.normpath(rule.file) in names and not rule.is_core]


# ---------------------------------------------------------------- policies


def in_three_values(rules: Files) -> Derive:
    """A function that returns the rows that policies derive for a case, which may contain unknown values. Raises
    Failure if a policy is invalid."""
    policies, problems = load_policies(tuple(rules))
    if policies is None:
        raise Failure(problems)
    return lambda _, case: what_holds(policies, case, given_facts)


# `.given "PATH"` in a policy case: a plan or state in JSON, or a configuration to be planned.


def given_facts(case: Case, reads: PolicyInputs) -> PolicyFacts | None:
    """The facts of the plan, state or configuration that `.given` in a case names; None if the case has no `.given`.
    Raises Failure, for example if the case has several `.given`."""
    if len(case.given) > 1:
        detail = "A case can have only one plan: write the rest as facts."
        raise Failure(error("rules.case", "Two plans in a case", detail, case.given[1][1]))
    for path, span in case.given:
        return _facts(os.path.join(os.path.dirname(span.filename), path), span, reads)
    return None


def _facts(path: str, span: Span, reads: PolicyInputs) -> PolicyFacts:
    if os.path.isdir(path):
        return _plan_facts(path, span, reads)
    if not os.path.isfile(path):
        raise Failure(error("rules.case", "No such plan", f"There is no file or directory {path}.", span))
    return shown_facts(read_document(path), reads)


def _plan_facts(path: str, span: Span, reads: PolicyInputs) -> PolicyFacts:
    pack = _pack_of(span.filename)
    if pack is not None and (why := _not_in_a_pack(path, pack)):
        detail = f"{path} {why}. Cases of external packs must not start programs or call services."
        raise Failure(error("rules.case", "A case of an external pack cannot plan this configuration", detail, span))
    answer = open_or_make_plan(OperationOptions(path, refresh=False, needs_configuration=True))
    if answer.complete is None:
        raise Failure([_of_the_case(path, span), *(d for d in answer.diagnostics if d.is_error)])
    return facts_of(answer.complete, reads)


def _pack_of(file: str) -> str | None:
    """The directory of the pack that contains the case file; None if the file is not in a pack."""
    folder = os.path.dirname(os.path.realpath(file))
    while not os.path.isfile(os.path.join(folder, MANIFEST)):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def _not_in_a_pack(path: str, pack: str) -> str:
    """Why a case of a pack must not plan the configuration in this directory; "" if it may."""
    if os.path.commonpath((os.path.realpath(path), pack)) != pack:
        return "is outside the pack"
    if os.path.lexists(os.path.join(path, data_directory(os.environ))):
        return f"has {data_directory(os.environ)}, where programs may be"
    given, _ = load_variables(OperationOptions(path))
    config, _ = load_config(path, variables=given)
    if config is None:
        return ""  # the error is reported when the configuration is planned
    if config.root.backend is not None or config.root.encryption is not None:
        return "configures where states are stored, or how they are encrypted"
    if any("data.terraform_remote_state." in f"{key}." for module in config.root.walk() for key in module.resources):
        return "reads states of other configurations"
    others = sorted(name for name in needed_providers(config).all if not name.startswith(OWN_PROVIDER))
    return f"needs the provider {others[0]}; use a plan in JSON" if others else ""


def _of_the_case(path: str, span: Span) -> Diagnostic:
    return error("rules.case", "No plan of a configuration", f"The configuration in {path} cannot be planned.", span)
