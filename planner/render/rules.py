"""The output of commands about rules: predicates, dependencies, costs, cases, and diagnostics of rule files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from planner.answers.policy.rulebook import PredicateEntry
from planner.foundation.support.exact_json import dumps
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.nearest import enumerate_words
from planner.language.syntax.rule_syntax import quote
from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.language.builtins import BuiltinPredicate
from planner.logic.datalog.language.values import Row, decode
from planner.logic.datalog.tools.describe import PredicateGraph, predicate_statistics, rule_statistics
from planner.render.diagnostics_json import diagnostic_json, sort_diagnostics
from planner.render.terminal import Paint, Terminal, visible

if TYPE_CHECKING:
    from planner.logic.datalog.tools.coverage import LiteralCoverage, RuleCoverage
    from planner.logic.datalog.tools.suite import CaseDifference, CaseResult
    from planner.operations.rule_quality import Noticed, Quality
    from planner.operations.rule_tests import Tested
    from planner.render.terminal import Paint


def document(**content: Any) -> str:
    """A JSON document of format 1.0 with these members."""
    return dumps({"format_version": "1.0", **content}, escape_html=False).decode("utf-8")


# ---------------------------------------------------------------- predicates


def index_text(entry: PredicateEntry, paint: Paint) -> str:
    """The line about a predicate in the list of all predicates."""
    place = paint(f"{entry.predicate.span}", "grey")
    return f"{paint(entry.predicate.declaration, 'bold')}  {place}\n    {entry.meaning}"


def entry_text(entry: PredicateEntry, paint: Paint) -> str:
    """The text of `rules doc` about one predicate."""
    predicate, description = entry.predicate, entry.description
    lines = [
        paint(predicate.declaration, "bold"),
        f"  {predicate.span}, in the rules of {enumerate_words(entry.programs)}",
        "",
    ]
    lines += [f"  {line}".rstrip() for line in predicate.doc.split("\n")]
    types = {c.type.name: c.type for c in predicate.columns if c.type.doc}
    if types:
        lines += ["", "  Types of the columns:"]
        lines += [f"    {t.name}: {' '.join((t.doc or '').split())}" for t in types.values()]
    lines += ["", *(f"  {sentence}" for sentence in _standing(entry))]
    if description.rules:
        lines += ["", "  Derived by:"]
        for rule in description.rules:
            lines += [f"    {paint(rule.name, 'bold')}  {paint(str(rule.span), 'grey')}", f"      {rule.text}"]
    readers = [rule.name for rule in description.readers] + [f"{n} (native)" for n in description.natives]
    lines += ["", "  Read by:" if readers else "  No rule reads it."]
    lines += [f"    {reader}" for reader in readers]
    return "\n".join(lines)


def _standing(entry: PredicateEntry) -> Iterator[str]:
    """The properties of a predicate, one sentence each: input, native or derived, output, and open."""
    predicate = entry.predicate
    if entry.given == entry.programs:
        yield "Input: its facts are provided; no rule derives it."
    elif predicate.operator:
        yield f"Native: computed as {predicate.operator}({', '.join(predicate.inputs)})."
    elif entry.given:
        yield f"Derived by rules, except in {enumerate_words(entry.given)}, where its facts are provided."
    else:
        yield "Derived by rules."
    if predicate.is_output:
        yield "Output: read from outside the rules."
    if predicate.is_open:
        yield "Open: your rules may add to it."
    elif predicate.is_core:
        yield "Your rules may read it, but not add to it."


def built_in_index_text(one: BuiltinPredicate, paint: Paint) -> str:
    """The line about a built-in in the list of all built-ins."""
    return f"{paint(one.declaration, 'bold')}  {paint('built in', 'grey')}\n    {one.meaning}"


def built_in_text(one: BuiltinPredicate, paint: Paint) -> str:
    """The text of `rules doc` about a built-in test, function or relation."""
    kind = "relation" if one.outputs else "function" if one.result else "test"
    lines = [paint(one.declaration, "bold"), f"  a built-in {kind} of {one.family}", "", f"  {one.meaning}."]
    lines.append(f"  Example: {one.example}")
    if one.outputs and one.name != "in":
        names = " and ".join(name for name, _ in one.inputs)
        lines += [
            "",
            f"  Other literals of the rule must determine {names}; the relation then yields the other columns.",
        ]
    if one.failing:
        lines += ["", f"  {one.failing}"]
    lines.append(
        "  If an input is known only after apply, the literal may or may not hold, so the verdict is undecided."
    )
    return "\n".join(lines)


def markdown_index(entries: Iterable[PredicateEntry], built_in: Sequence[BuiltinPredicate]) -> str:
    """All predicates as Markdown: a heading and a table for each file, then the built-ins by family."""
    by_file: dict[str, list[PredicateEntry]] = {}
    for entry in entries:
        by_file.setdefault(entry.predicate.span.filename, []).append(entry)
    lines: list[str] = []
    for name in sorted(by_file):
        lines += [f"### {name}", "", "| predicate | meaning |", "| --- | --- |"]
        for entry in by_file[name]:
            predicate = entry.predicate
            mark = " *input*" if predicate.is_input else " *native*" if predicate.operator else ""
            mark += " *output*" if predicate.is_output else ""
            mark += " *open*" if predicate.is_open else ""
            meaning = entry.meaning.replace("|", "\\|")
            lines.append(f"| `{predicate.declaration}`{mark} | {meaning} |")
        lines.append("")
    for family in dict.fromkeys(one.family for one in built_in):
        lines += [f"### Built in: {family}", "", "| built in | meaning | example |", "| --- | --- | --- |"]
        for one in built_in:
            if one.family == family:
                meaning = f"{one.meaning}. {one.failing}".strip().replace("|", "\\|")
                lines.append(f"| `{one.declaration}` | {meaning} | `{one.example}` |")
        lines.append("")
    return "\n".join(lines).rstrip("\n")


# ---------------------------------------------------------------- dependencies

_EDGES = {
    "positive": "",
    "negation": ' [color = "red", style = "dashed", label = "not"]',
    "aggregate": ' [color = "blue", style = "dashed", label = "all"]',
    "native": ' [color = "darkgreen", style = "bold", label = "native"]',
}


def graphs_dot(graphs: dict[str, PredicateGraph]) -> str:
    """The graphs in DOT: a cluster for each program, with the predicates of each level in a row."""
    lines = ["digraph {", '\tnewrank = "true"', '\tnode [shape = "box"]']
    for program, graph in graphs.items():
        lines += [f'\tsubgraph "cluster_{program}" {{', f'\t\tlabel = "{program}"']
        for name in graph.levels:
            double = ', peripheries = "2"' if name in graph.recursive else ""
            lines.append(f'\t\t"{program}: {name}" [label = "{name}"{double}]')
        for level in sorted(set(graph.levels.values())):
            names = " ".join(f'"{program}: {name}"' for name in graph.levels if graph.levels[name] == level)
            lines.append(f"\t\t{{ rank = same; {names} }}")
        for read in graph.reads:
            lines.append(f'\t\t"{program}: {read.reader}" -> "{program}: {read.read}"{_EDGES[read.how]}')
        lines.append("\t}")
    return "\n".join([*lines, "}"])


def graphs_json(graphs: dict[str, PredicateGraph]) -> str:
    """The graphs as JSON of format 1.0: for each program, its predicates with their levels, and which predicates each
    of them reads, and how."""
    return document(
        programs=[
            {
                "name": name,
                "predicates": [
                    {"name": p, "level": level, "recursive": p in graph.recursive} for p, level in graph.levels.items()
                ],
                "reads": [{"reader": a, "read": b, "how": how} for a, b, how in graph.reads],
            }
            for name, graph in graphs.items()
        ]
    )


# ---------------------------------------------------------------- costs


def costs_text(database: Database) -> str:
    """A line for each evaluated predicate, the most costly first, and a line with the totals."""
    from tabulate import tabulate

    statistics = predicate_statistics(database)
    rows = [(s.name, s.rows, s.rounds or "", f"{s.seconds * 1000:.3f}") for s in statistics]
    total = ("total", sum(s.rows for s in statistics), "", f"{sum(s.seconds for s in statistics) * 1000:.3f}")
    headers = ("predicate", "tuples", "rounds", "ms")
    aligned = ("left", "right", "right", "right")
    return tabulate([*rows, total], headers=headers, disable_numparse=True, colalign=aligned)


def costs_json(database: Database) -> str:
    """The costs as JSON of format 1.0: predicates and rules, the most costly first, with times in seconds."""
    predicates = predicate_statistics(database)
    return document(
        predicates=[
            {"name": s.name, "tuples": s.rows, "rounds": s.rounds, "seconds": round(s.seconds, 9)} for s in predicates
        ],
        rules=[
            {"name": s.rule.name, "produced": s.produced, "seconds": round(s.seconds, 9)}
            for s in rule_statistics(database)
        ],
        tuples=sum(s.rows for s in predicates),
        seconds=round(sum(s.seconds for s in predicates), 9),
    )


# ---------------------------------------------------------------- cases


def tested_text(tested: Tested, paint: Paint) -> str:
    """The cases of each file as a tree, with the differences from expected rows, and the number of cases."""
    lines: list[str] = []
    for path, outcomes in tested.outcomes.items():
        lines.append(visible(path))
        for outcome in outcomes:
            mark = paint("ok  ", "green") if outcome.holds else paint("FAIL", "bold", "red")
            lines.append(f"  {mark} {visible(_clipped(outcome.case.name))}")
            lines += [f"         {line}" for line in _what_differs(outcome)]
    every = [outcome for outcomes in tested.outcomes.values() for outcome in outcomes]
    failed = sum(not outcome.holds for outcome in every)
    count = "1 case" if len(every) == 1 else f"{len(every)} cases"
    lines.append(f"{count}: {len(every) - failed} passed, {failed} failed.")
    return "\n".join(lines)


def _what_differs(outcome: CaseResult) -> Iterator[str]:
    for difference in outcome.differences:
        yield f"{difference.predicate}, {outcome.case.span}:"
        for word, rows, count in (
            ("missing   ", difference.missing, difference.missing_count),
            ("unexpected", difference.unexpected, difference.unexpected_count),
        ):
            yield from (f"  {word}  {_row(difference, row)}" for row in rows)
            if count > len(rows):
                yield f"  {word}  ... and {count - len(rows)} more"
    for problem in outcome.problem:
        yield f"{outcome.case.span}: {problem.summary}. {visible(problem.detail)}"


def _row(difference: CaseDifference, row: Row) -> str:
    values = ", ".join(quote(value) if type(value) is str else repr(value) for value in row)
    return visible(_clipped(f"{difference.predicate}({values})"))


def tested_json(tested: Tested, **more: Any) -> str:
    """The results of cases as JSON of format 1.0. `more`: further members of the document."""
    return document(
        passed=tested.passed,
        files=[
            {"file": path, "cases": [_case_json(outcome) for outcome in outcomes]}
            for path, outcomes in tested.outcomes.items()
        ],
        diagnostics=[diagnostic_json(d) for d in sort_diagnostics(tested.diagnostics)],
        **more,
    )


def _case_json(outcome: CaseResult) -> dict[str, Any]:
    def plain(rows: Iterable[Row]) -> list[list[Any]]:
        return [[decode(value) for value in row] for row in rows]

    return {
        "name": outcome.case.name,
        "line": outcome.case.span.line,
        "passed": outcome.holds,
        "mismatches": [
            {
                "predicate": d.predicate,
                "missing": plain(d.missing),
                "missing_count": d.missing_count,
                "unexpected": plain(d.unexpected),
                "unexpected_count": d.unexpected_count,
            }
            for d in outcome.differences
        ],
        "diagnostics": [diagnostic_json(d) for d in outcome.problem],
    }


# ---------------------------------------------------------------- diagnostics

# maximum length of a line of an explanation, in characters
_MOST_TEXT = 1000
# maximum length of a shown line, in characters, because a file may be a single line of a megabyte
_MOST_WIDTH = 200


def show(diagnostics: Iterable[Diagnostic], terminal: Terminal) -> None:
    """Print diagnostics as compilers do, with carets under the subject. Errors are printed on standard error, warnings
    on standard output."""
    for diagnostic in sort_diagnostics(diagnostics):
        paint = terminal.error_paint if diagnostic.is_error else terminal.paint
        (terminal.err if diagnostic.is_error else terminal.out)(rendered(diagnostic, paint) + "\n")


def rendered(diagnostic: Diagnostic, paint: Paint) -> str:
    """A diagnostic as text: `FILE:LINE:COLUMN: error: SUMMARY [CODE]`, the line with carets, the explanation."""
    colour = "red" if diagnostic.is_error else "yellow"
    title = f"{paint(diagnostic.severity, 'bold', colour)}: {paint(visible(diagnostic.summary), 'bold')}"
    lines = [f"{title} [{diagnostic.code}]"]
    span = diagnostic.subject
    if span is not None:
        start, end = span.start_position, span.end_position
        lines[0] = f"{visible(span.filename)}:{start.line}:{start.column}: {lines[0]}"
        text = span.source.line_text(start.line)
        at = span.start - span.source.line_starts[start.line - 1]
        last = at + (span.end - span.start) if end.line == start.line else len(text)
        skipped = max(0, at - _MOST_WIDTH // 2)
        shown = text[skipped : skipped + _MOST_WIDTH]
        before = "".join("\t" if c == "\t" else " " for c in shown[: at - skipped])
        carets = "^" * max(1, min(last - skipped, len(shown)) - (at - skipped))
        lines += [f"  | {visible(shown)}", f"  | {before}{paint(carets, colour)}"]
    lines += [f"  {visible(_clipped(line))}" for line in diagnostic.detail.splitlines()]
    return "\n".join(line.rstrip() for line in lines)


def _clipped(text: str) -> str:
    """The text, with its middle omitted if it is longer than _MOST_TEXT characters."""
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT // 2]} ... {text[-_MOST_TEXT // 2 :]}"


# quality of rules' cases, as text and JSON


def quality_text(quality: Quality, shows_coverage: bool, paint: Paint) -> str:
    """Rules that no case exercises (only with `shows_coverage`), mistakes that no case detects, and counts of both."""
    lines: list[str] = []
    if shows_coverage:
        for rule in quality.coverage:
            missing = [(one, _missing(one)) for one in rule.literals if one.taken < one.ways]
            if missing:
                lines += ["", f"{rule.rule.name}, {rule.rule.file}:{rule.rule.line}"]
                lines += [f"  {what}  {one.text}" for one, what in missing]
        lines += ["", paint(_covered(quality), "bold")]
    survivors = [one.mutant for one in quality.mutants if one.case is None]
    for mutant in survivors:
        lines += ["", f"{mutant.rule}, {mutant.file}", f"  no case detects {mutant.what}"]
    if quality.mutants:
        noticed, of = quality.score
        lines += ["", paint(f"Mistakes detected: {noticed} of {of} ({percent(noticed, of)}).", "bold")]
    return "\n".join(lines)


def _missing(literal: LiteralCoverage) -> str:
    if not literal.held and not literal.failed:
        return "is never reached"
    return "never holds     " if not literal.held else "never fails     "


def _covered(quality: Quality) -> str:
    covered, of = quality.covered
    fired = sum(rule.fired for rule in quality.coverage)
    return (
        f"Rules that derive something in a case: {fired} of {len(quality.coverage)}. "
        f"Outcomes of literals: {covered} of {of} ({percent(covered, of)})."
    )


def percent(part: int, whole: int) -> str:
    """A share such as `87%`, rounded down, so that only the whole is `100%`."""
    return f"{100 * part // whole}%" if whole else "100%"


def quality_json(quality: Quality | None) -> dict[str, Any]:
    """The members `coverage` and `mutants` of the document; {} if they were not requested."""
    if quality is None:
        return {}
    members: dict[str, Any] = {"coverage": [_rule(rule) for rule in quality.coverage]}
    if quality.mutants:
        members["mutants"] = [_mutant(one) for one in quality.mutants]
    return members


def _rule(rule: RuleCoverage) -> dict[str, Any]:
    literals = [{"text": one.text, "held": one.held, "failed": one.failed} for one in rule.literals]
    return {"rule": rule.rule.name, "file": rule.rule.file, "line": rule.rule.line, "literals": literals}


def _mutant(one: Noticed) -> dict[str, Any]:
    return {"rule": one.mutant.rule, "file": one.mutant.file, "mistake": one.mutant.what, "noticed_by": one.case}
