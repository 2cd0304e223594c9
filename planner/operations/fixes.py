"""Implements `why -fix`: finds the smallest sets of edits after which a result, such as an action, does not occur. If
possible, each set is checked by making a plan with its edits."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from planner.answers.explain.changed_inputs import ENTRY, entry_name
from planner.answers.explain.data_files import changed_entries, mixed_file
from planner.answers.explain.fixes import Cause, causes_of, denial_fixes, unknown_fixes
from planner.answers.explain.former_world import FormerWorld
from planner.answers.explain.mixtures import mixed_value
from planner.answers.explain.renames import sure_moves
from planner.answers.explain.why import QuestionSubject
from planner.foundation.support.disk import (
    Entry,
    Tree,
    UnrecordedError,
    absolute_path,
    list_directory,
    read_whole,
    view,
)
from planner.foundation.values.expression_text import short_text
from planner.foundation.values.value import is_wholly_known
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Source
from planner.language.expressions.evaluate import try_evaluate
from planner.language.syntax.parse import parse_expression
from planner.language.syntax.rule_syntax import Atom, Constant
from planner.logic.graph.build import graph_with, user_files
from planner.logic.graph.fixes import MAX_SETS, Fix, Fixes, FixLocation, fact_fixes
from planner.logic.graph.why import prove_wait, read_query, vertices_meant, with_nodes
from planner.logic.model.graph import Graph
from planner.logic.programs.actions import UNKNOWN, does, is_word, words_for
from planner.logic.programs.rule_programs import Files
from planner.operations.advice import try_blocks
from planner.operations.explanations import (
    DEFERRED,
    GRAPH_WORDS,
    changed_actions,
    deferral_ground,
    explainer_of,
    vertex_fact,
)
from planner.operations.graph import graph, with_vertices
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan, plan_words
from planner.operations.plan_files import Unstored, open_or_make_plan
from planner.operations.verdicts import WORDS, judged_for, the_findings
from planner.world.git.revisions import commit_of

Found = tuple["dict[str, Any] | None", list[Diagnostic]]


def fixes(options: OperationOptions, words: tuple[str, ...], kind: str = "", plan_file: str | None = None) -> Found:
    """The JSON document of fixes. `words` are two vertices, a fact of a graph, `unknown VALUE`, a verdict of a policy,
    or an address, which may follow its action. None if planning failed. Raises Failure."""
    if words[0] in WORDS and len(words) > 1:
        return _of_verdict(options, words, plan_file)
    if len(words) == 2 and words[0] == UNKNOWN:
        text = words[1]
        return _document(["unknown", text], unknown_fixes(explainer_of(_make_plan(options, plan_file)), text)), []
    if len(words) == 1 and "(" in words[0].partition('"')[0]:
        return _of_fact(options, words[0], kind, plan_file)
    if len(words) == 2 and words[0] == DEFERRED:
        ground, diagnostics = deferral_ground(options, plan_file)
        if ground is None:
            return None, diagnostics
        return _of_fact_in(ground, vertex_fact(ground, *words), _rules(options, plan_file))
    if len(words) == 2 and words[0] in GRAPH_WORDS:
        target_graph = with_vertices(graph(options, kind or "plan", plan_file, True))
        return _of_fact(options, vertex_fact(target_graph, *words), kind or "plan", plan_file)
    if len(words) == 1 or (len(words) == 2 and is_word(words[0])):
        return _of_change(options, words, plan_file)
    if len(words) == 2:
        return _of_wait(options, words, kind, plan_file)
    detail = "Pass two vertices, one address, a fact, `unknown VALUE`, or a verdict such as `deny CODE ADDRESS`."
    raise Failure(error("why.words", "Nothing to fix", detail))


def _document(goal: list[Any], fixes: Fixes) -> dict[str, Any]:
    notes = {name: text for name, text in (("limit", fixes.limit), ("stuck", fixes.stuck)) if text}
    return {"format_version": "1.0", "goal": goal, "fixes": [fix.json for fix in fixes.fixes], **notes}


# ---------------------------------------------------------------- graphs


def _rules(options: OperationOptions, plan_file: str | None) -> Files:
    """The user's rule files for graphs. For a plan file, these are the rules that the plan file contains, otherwise the
    rules that the options name."""
    if plan_file is None:
        return user_files(options.rules)
    answer = open_or_make_plan(options, plan_file)
    return answer.made.loaded.rules if answer.made is not None else ()


def _of_wait(options: OperationOptions, words: tuple[str, ...], kind: str, plan_file: str | None) -> Found:
    kind = kind or ("apply" if plan_file else "plan")
    target_graph = with_vertices(graph(options, kind, plan_file, True, words[1]))
    (dependent, dependency), notes = vertices_meant(target_graph, words)
    if dependency != words[1]:  # the relation is derived only for pairs with this second argument
        target_graph = with_vertices(graph(options, kind, plan_file, True, dependency))
    pair = (dependent, dependency)
    if pair not in target_graph.database["waits_for"]:
        return prove_wait(target_graph, dependent, dependency, notes)
    result = fact_fixes(target_graph, "waits_for", pair, _rules(options, plan_file))
    return {**_document(["waits_for", *pair], result), **({"notes": notes} if notes else {})}, []


def _of_fact(options: OperationOptions, text: str, kind: str, plan_file: str | None) -> Found:
    target_graph = with_vertices(graph(options, kind or ("apply" if plan_file else "plan"), plan_file, True))
    return _of_fact_in(target_graph, text, _rules(options, plan_file))


def _of_fact_in(target_graph: Graph, text: str, own: Files) -> Found:
    query, problems = read_query(target_graph.program, text)
    query, unknown = with_nodes(target_graph, query)
    (atom, *others) = query.literals
    if others or not isinstance(atom, Atom) or not all(isinstance(a, Constant) for a in atom.arguments):
        raise Failure(error("why.fact", "Not a fact", 'Name one fact without variables, such as edge("a", "b").'))
    row = tuple(a.value for a in atom.arguments if isinstance(a, Constant))
    if atom.predicate not in target_graph.database:
        target_graph = graph_with(target_graph.program, target_graph.database.facts, atom.predicate)
    if row not in target_graph.database[atom.predicate]:
        raise Failure(
            [*unknown, error("why.fails", "It does not hold", f"{atom} does not hold, so there is nothing to fix.")]
        )
    result = fact_fixes(target_graph, atom.predicate, row, own)
    return _document([atom.predicate, *row], result), problems


# ---------------------------------------------------------------- plans


def _make_plan(options: OperationOptions, plan_file: str | None) -> MadePlan[Unstored]:
    answer = open_or_make_plan(options, plan_file)
    if answer.made is None:
        raise Failure(list(answer.diagnostics))
    return answer.made


def _of_verdict(options: OperationOptions, words: tuple[str, ...], plan_file: str | None) -> Found:
    made = _make_plan(options, plan_file)
    verdict, plain = judged_for(options, made)
    documents = []
    for finding in the_findings(verdict, words[0], words[1:]):
        if finding.kind in ("undecided", "broken"):
            pending = "To see the values that it waits for, run: planner why"
            detail = f"{finding.code} is {finding.kind}. {pending} {finding.kind}"
            raise Failure(error("why.no_fix", "Nothing to fix yet", detail))
        if finding.by_cases:
            detail = (
                f"{finding.code} denies the plan whatever the unknown values are. To see its rules: planner why deny"
            )
            raise Failure(error("why.no_fix", "No single result to fix", detail))
        result = denial_fixes(finding, plain, explainer_of(made))
        documents.append(_document([finding.kind, finding.code, finding.address, finding.message], result))
    first, *others = documents
    return {**first, **({"also": others} if others else {})}, []


def _of_change(options: OperationOptions, words: tuple[str, ...], plan_file: str | None) -> Found:
    made = _make_plan(options, plan_file)
    explainer = explainer_of(made)
    verb, what = words if len(words) == 2 else ("", words[0])
    if not verb and is_word(what):
        detail = f"Name an object with this action: planner why -fix {what} ADDRESS"
        raise Failure(error("why.words", "Nothing to fix", detail))
    explainer.action(what, verb)  # raises Failure if there is no such change
    subject = explainer.find(what)
    because = explainer.causes().get(subject.name)
    goal = [subject.predicate, subject.name, subject.action]
    if because is None:
        return _document(goal, Fixes(stuck="There is no cause that could be removed.")), []
    sets = causes_of(because, explainer.what_was(subject))
    tried = list(_moves(options, plan_file, made, subject))
    attempts = [_attempt(options, plan_file, made, subject, causes) for causes in sets[:MAX_SETS]]
    tried += [fix for fix in attempts if fix.checked or not tried]
    limit = f"There are {len(sets) - MAX_SETS} more candidates." if len(sets) > MAX_SETS else ""
    if because.is_guess:
        notes = explainer.worlds.notes if explainer.worlds is not None else []
        limit = " ".join(
            filter(None, (*(notes or ["These are candidates, because their former values are not recorded."]), limit))
        )
    return _document(goal, Fixes(tuple(tried), limit)), []


def _moves(
    options: OperationOptions, plan_file: str | None, made: MadePlan[Unstored], subject: QuestionSubject
) -> Iterator[Fix]:
    """The fixes that add a moved block for an object that looks renamed, tested by a plan."""
    if subject.predicate != "action" or not (does(subject.action, "ends") or subject.action == "create"):
        return
    for trial in try_blocks(options, made, plan_file) if sure_moves(made.plan, made.loaded.config) else ():
        for old in (old for old, new in trial.block.pairs if subject.name in (old, new)):
            block = f"a moved block from {trial.block.from_} to {trial.block.to}"
            text = f"add to {trial.block.file} {block}: planner suggest -write"
            how = "does not change" if old in trial.kept else "is updated in place"
            place = FixLocation("moved", trial.block.to, text)
            yield Fix((place,), True, f"checked: it moves and {how}")


def _attempt(
    options: OperationOptions,
    plan_file: str | None,
    made: MadePlan[Unstored],
    subject: QuestionSubject,
    causes: tuple[Cause, ...],
) -> Fix:
    """The fix that undoes these causes, checked by planning again. The fix is not checked for a saved plan, or if
    planner cannot undo a cause, for example because a former value is not recorded. It also counts as not checked if
    the new plan fails, or if the action remains after a default value replaced a former value that is not recorded."""
    places = tuple(_with_command(cause, options.since) for cause in causes)
    if plan_file is not None:
        return Fix(places, False, "not checked: a saved plan cannot be made again")
    inputs, replace, mode = dict(options.inputs), options.limits.replace, options.mode
    explainer = explainer_of(made)
    former = explainer.worlds.of(subject.changes[0]) if explainer.worlds is not None else None
    files: set[str] = set()
    entries: dict[str, set[Any]] = {}
    defaults: list[str] = []
    for cause in causes:
        what = cause.root.what
        place = explainer.places.read(what) if cause.root.kind == "variable" else None
        known = former.context.given.get(place.name) if former is not None and place is not None else None
        if place is not None and known is not None and place.name in made.variables and is_wholly_known(known.value):
            now = inputs.get(place.name, made.variables[place.name].value)
            inputs[place.name] = mixed_value(now, known.value, (), [place.path])
        elif cause.root.kind == "variable":
            before, value, by_default = _former(made, cause)
            if before is None:
                return Fix(places, False, f"not checked: the former value of {what} is not recorded")
            inputs[what.removeprefix("var.")] = before
            defaults += [f"{what} = {value}"] if by_default else []
        elif cause.root.kind == "text":
            why = "this needs an edit" if cause.before else "its former content is not recorded"
            return Fix(places, False, f"not checked: {why}")
        elif cause.root.kind == "file" and former is not None and _is_recorded(former.tree, what):
            files.add(absolute_path(what.removeprefix("file ")))
        elif cause.root.kind == ENTRY and former is not None:
            known_entry = _entry(former, what)
            if known_entry is None:
                return Fix(places, False, "not checked: planner cannot undo this edit itself")
            entries.setdefault(known_entry[0], set()).add(known_entry[1])
        elif cause.root.kind == "file":
            return Fix(places, False, f"not checked: its former content is not recorded{_git_hint(made, subject)}")
        elif cause.before is None:
            return Fix(places, False, "not checked: planner cannot undo this cause itself")
        elif cause.place.key == "-destroy":
            mode = "normal"
        else:
            replace = tuple(address for address in replace if str(address) != what)
    limits = evolve(options.limits, replace=replace)
    texts = dict(_without_entries(former, entries)) if former is not None else {}
    with view(_FormerFiles(former.tree, files, texts) if (files or texts) and former is not None else None):
        again = open_or_make_plan(evolve(options, inputs=inputs, limits=limits, mode=mode, made=None))
    how = f"with {', '.join(defaults)}" if defaults else "then"
    action = changed_actions(again.complete).get(subject.name, "no-op") if again.complete is not None else None
    if action == "no-op":
        kept = "not created" if subject.action == "create" else "no change"
        return Fix(places, True, f"checked: {how} {kept}")
    if action is not None and action != subject.action:
        return Fix(places, True, f"checked: {how} {words_for(action).is_planned.removeprefix('is ')} instead")
    if defaults:
        return Fix(
            places, False, "not checked: its former value is not recorded, and with the default the change remains"
        )
    if action is None:
        return Fix(places, False, f"not checked: planning {how if defaults else 'with it'} failed")
    return Fix(places, False, f"checked: even {how} {words_for(action).is_planned.removeprefix('is ')}")


def _with_command(cause: Cause, since: str) -> FixLocation:
    """The place of a cause. If the cause is a file, and the plan is compared with a commit (`since`), the command that
    restores the file is added."""
    if cause.root.kind != "file" or not since:
        return cause.place
    source = "" if since == "HEAD" else f"--source={shlex.quote(since)} "
    file = shlex.quote(cause.root.what.removeprefix("file "))
    return evolve(cause.place, text=f"{cause.place.text}: git restore {source}{file}")


def _git_hint(made: MadePlan[Unstored], subject: QuestionSubject) -> str:
    """The end of a message that suggests `planner why -fix -since=HEAD`, which checks the fix with the files of the
    latest commit; "" without a repository or commit."""
    try:
        commit_of(made.loaded.options.directory, "HEAD")
    except Failure:
        return ""
    return f"; to check against git: planner why -fix -since=HEAD {plan_words(made)}{shlex.quote(subject.name)}"


def _is_recorded(tree: Tree, file: str) -> bool:
    """Whether it is known that the file formerly did not exist, or what it contained."""
    with view(tree):
        try:
            read_whole(file.removeprefix("file "))
        except UnrecordedError:
            return False
        except OSError:
            return True
    return True


def _entry(former: FormerWorld, what: str) -> tuple[str, Any] | None:
    """(file, path of the entry) of the changed file entry with the name `what`; None if there is no such entry."""
    for at in (match.end() for match in re.finditer(" in ", what)):
        texts = former.file_texts(what[at:])
        entries = changed_entries(what[at:], *texts) if texts is not None else ()
        for entry in entries:
            if entry_name(what[at:], entry) == what:
                return what[at:], entry
    return None


def _without_entries(former: FormerWorld, entries: Mapping[str, Collection[Any]]) -> Iterator[tuple[str, str]]:
    """(absolute path, content) of each file, in which the given entries have their former values and everything else
    has its current value."""
    for file, undone in entries.items():
        if (texts := former.file_texts(file)) is not None:
            kept = [one for one in changed_entries(file, *texts) if one not in undone]
            yield absolute_path(file), mixed_file(file, *texts, kept)


class _FormerFiles:
    """A file tree with the files on disk, except for two groups: the files in `files` have their contents in the tree
    `former`, and `texts` ({file: content}) contains the contents of others."""

    root = "/"

    def __init__(self, former: Tree, files: Collection[str], texts: Mapping[str, str]) -> None:
        self._former, self._files, self._texts = former, files, texts

    def read(self, name: str) -> bytes:
        """See planner.foundation.support.disk.Tree."""
        if (text := self._texts.get(f"/{name}")) is not None:
            return text.encode()
        with view(self._former if f"/{name}" in self._files else None):
            return read_whole(f"/{name}")

    def entries(self, directory: str) -> Iterable[Entry]:
        """See planner.foundation.support.disk.Tree."""
        entries: dict[str, Entry] = {}
        for tree in (None, self._former):
            with view(tree), suppress(OSError):
                listed = list_directory(f"/{directory}")
                is_former = tree is not None
                entries |= {
                    e.name: e for e in listed if (os.path.join(f"/{directory}", e.name) in self._files) == is_former
                }
        return list(entries.values())


def _former(made: MadePlan[Unstored], cause: Cause) -> tuple[Any, str, bool]:
    """(former value, this value as text, whether it is only the variable's default) for a variable that is a cause. If
    it is only the default, the variable may formerly have had a different value. The value is None if no former value
    is known."""
    name = cause.root.what.removeprefix("var.")
    value = _value(str(cause.before), made) if cause.before is not None else None
    if value is not None:
        return value, str(cause.before), False
    declared = made.loaded.config.root.variables.get(name)
    given = made.variables.get(name)
    if declared is None or declared.default is None or given is None or given.origin == "default":
        return None, "", False
    return declared.default, f"{short_text(declared.default, declared.sensitive)} (its default)", True


def _value(text: str, made: MadePlan[Unstored]) -> Any:
    """The value that was printed as `text`; None if the text is shortened, hides a sensitive value, or cannot be
    parsed."""
    source = Source("<before>", text)
    node, problems = parse_expression(source)
    if node is None or problems or any(sign in text for sign in ("...", "${", "%{", "(sensitive value)")):
        return None
    value, _ = try_evaluate(node, explainer_of(made).places.context.root.scope, source)
    return value
