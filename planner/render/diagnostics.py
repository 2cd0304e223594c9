"""Diagnostics for people: title, place, marked lines of code, explanation.

On a terminal, a vertical line has the colour of the severity; elsewhere the text is plain, so that logs and scripts
find `Error: ` at the start of a line."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from planner.foundation.values.sets import unknown_as_null as as_null
from planner.foundation.vocabulary.diagnostic import Deprecation, Diagnostic
from planner.foundation.vocabulary.records import evolve
from planner.render.diagnostics_json import diagnostic_json, sort_diagnostics
from planner.render.terminal import Paint, Terminal, visible, wrap

USAGE = "cli.usage"
"""the code of the diagnostic for an invalid command line; the help of the command explains it"""
TYPED = "<query>"
"""the source name of text from the command line; places in it are marked with a caret, because an editor cannot open
them"""


def show(diagnostics: Iterable[Diagnostic], terminal: Terminal, is_ordered: bool = False) -> None:
    """Print diagnostics: errors on standard error, warnings on standard output unless programs read it. Similar
    diagnostics are combined, by default only warnings. With -compact-warnings, only titles and places are printed if
    there is no error. `is_ordered`: whether to keep the order of the diagnostics; otherwise they are sorted."""
    ordered = list(diagnostics) if is_ordered else sort_diagnostics(diagnostics)
    shown = _deprecations(ordered, terminal.deprecation)
    groups = consolidate(shown, [severity for severity, wanted in terminal.consolidate.items() if wanted])
    if not groups:
        return
    if terminal.compact_warnings and not any(d.is_error for d in shown):
        terminal.remark(compact(groups, _paint(terminal)))
        return
    for group in groups:
        diagnostic = together(*group)
        paint = terminal.error_paint if diagnostic.is_error else _paint(terminal)
        text = render(diagnostic, paint, terminal.error_width, terminal.boxed)
        (terminal.err if diagnostic.is_error else terminal.remark)(text)


def _deprecations(diagnostics: list[Diagnostic], level: str) -> list[Diagnostic]:
    """The diagnostics without the deprecations that -deprecation excludes. Repeated deprecations are included only
    once."""
    first: dict[Deprecation, Diagnostic] = {}
    shown = []
    for d in diagnostics:
        cause = d.deprecation
        if cause is not None:
            is_wanted = level == "all" or (level == "local" and not cause.is_remote)
            if not is_wanted or first.setdefault(cause, d) is not d:
                continue
        shown.append(d)
    return shown


def _paint(terminal: Terminal) -> Paint:
    """The colours for the stream to which warnings are printed."""
    return terminal.error_paint if terminal.stdout_is_data else terminal.paint


def render(diagnostic: Diagnostic, paint: Paint, width: int, boxed: bool) -> str:
    """A diagnostic as lines, without a final line break. `boxed`: whether a vertical line is in front of the lines."""
    colour = "red" if diagnostic.is_error else "yellow"
    title = "Error" if diagnostic.is_error else "Warning"
    lines = [paint(f"{title}: ", "bold", colour) + paint(visible(diagnostic.summary), "bold"), ""]
    lines += place(diagnostic, paint)
    if diagnostic.detail:
        lines += wrap(visible(diagnostic.detail), width - 3 if boxed else width - 1).split("\n")
    while lines and not lines[-1]:
        lines.pop()
    if not boxed:
        return "\n" + "\n".join(lines)
    if diagnostic.is_error and diagnostic.code != USAGE:
        lines += ["", paint(f"planner explain {diagnostic.code}", "grey")]
    rule = paint("│", colour)
    body = [f"{rule} {line}" if line else rule for line in lines]
    return "\n".join([paint("╷", colour), *body, paint("╵", colour)])


def place(diagnostic: Diagnostic, paint: Paint) -> list[str]:
    """The lines about the place: address, file and line, code, values of operands, their difference and origins."""
    lines = []
    if diagnostic.address:
        lines.append(f"  with {diagnostic.address},")
    if diagnostic.subject is not None:
        answer = diagnostic_json(diagnostic)
        snippet, where = answer["snippet"], answer["range"]
        context = f", in {snippet['context']}" if snippet["context"] else ""
        lines.append(f"  on {visible(where['filename'])} line {where['start']['line']}{context}:")
        marked = [] if diagnostic.subject.source.is_secret else _mark(snippet, paint)
        lines += [f"{number:4}: {line}" for number, line in enumerate(marked, snippet["start_line"])]
        if diagnostic.subject.source.is_secret:
            lines.append("  (source code not available)")
        if where["filename"] == TYPED and where["start"]["line"] == where["end"]["line"]:
            width = max(1, where["end"]["column"] - where["start"]["column"])
            lines.append(" " * (where["start"]["column"] + 5) + paint("^" * width, "bold"))
        call = _call_text(snippet.get("function_call") or {})
        if snippet["values"] or call:
            lines.append(paint("    ├────────────────", "grey"))
            if call:
                lines.append(f"{paint('    │', 'grey')} in the call of {call}")
            for value in snippet["values"]:
                bar = paint("    │", "grey")
                lines.append(f"{bar} {paint(value['traversal'], 'bold')} {visible(value['statement'])}")
        if diagnostic.difference is not None:
            lines += _difference(diagnostic.difference, paint)
        if diagnostic.because:
            lines += _because(diagnostic.because, paint)
    if lines:
        lines.append("")
    return lines


def _difference(difference: tuple[Any, Any], paint: Paint) -> list[str]:
    """The lines about the difference between the two sides of a comparison `==` that is false."""
    from planner.render.diff import diff_dynamic
    from planner.render.diff_model import ValueChange
    from planner.render.diff_text import DiffText, Style

    before, after = difference
    text = DiffText(paint).render(diff_dynamic(ValueChange(as_null(before), after)), 0, Style())
    bar = paint("    │", "grey")
    shown = [f"{bar} {line}" for line in f"    {visible(text)}".split("\n")]
    return [paint("    ├────────────────", "grey"), f"{bar} {paint('Diff: ', 'bold')}", *shown]


def _because(causes: tuple[Any, ...], paint: Paint) -> list[str]:
    """The lines about the sources of values. Each step is below its consequence."""
    bar = paint("    │", "grey")
    lines = [paint("    ├────────────────", "grey"), f"{bar} {paint('Because: ', 'bold')}"]
    for cause in causes:
        place = f" ({cause.span})" if cause.span is not None else ""
        value = f" is {cause.value}" if cause.value else ""
        how = f": {cause.how}" if cause.how else ""
        lines.append(f"{bar} {'  ' * (cause.depth + 2)}{visible(f'{cause.what}{value}{how}{place}')}")
    return lines


def _call_text(call: dict[str, Any]) -> str:
    """The text `name(parameter, ...)` for a called function; "" if the signature of the function is unknown."""
    signature = call.get("signature")
    if signature is None:
        return ""
    names = [param["name"] for param in signature["params"]]
    if "variadic_param" in signature:
        names.append(f"{signature['variadic_param']['name']}...")
    return f"{call['called_as']}({', '.join(names)})"


LONGEST_LINE = 2_000
"""maximum length of a line that is shown in full, in characters"""


def _mark(snippet: dict[str, object], paint: Paint) -> list[str]:
    """The snippet's lines, with the subject underlined."""
    code = str(snippet["code"]).encode("utf-8", "surrogatepass")
    start, end = int(str(snippet["highlight_start_offset"])), int(str(snippet["highlight_end_offset"]))
    before, subject, after = (
        visible(part.decode("utf-8", "replace")) for part in (code[:start], code[start:end], code[end:])
    )
    if max(map(len, code.split(b"\n"))) > LONGEST_LINE:
        *earlier, last = before.split("\n")
        first, *later = after.split("\n")
        before = "\n".join([*map(_shortened, earlier), _shortened(last[::-1])[::-1]])
        subject = "\n".join(map(_shortened, subject.split("\n")))
        after = "\n".join(map(_shortened, (first, *later)))
    marked = "\n".join(paint(line, "underline") for line in subject.split("\n"))
    return (before + marked + after).split("\n")


def _shortened(line: str) -> str:
    """The text; if it is longer than a quarter of LONGEST_LINE, its end is replaced with "..."."""
    return line if len(line) <= LONGEST_LINE // 4 else f"{line[: LONGEST_LINE // 4]}..."


def consolidate(diagnostics: list[Diagnostic], severities: Collection[str]) -> list[list[Diagnostic]]:
    """Groups of similar diagnostics. Diagnostics are similar if they have the same severity (one of `severities`),
    title and `group`, have a place, and are not results of checks. A group is at the position of its first diagnostic.
    Each remaining diagnostic is a group of its own."""
    groups: dict[tuple[str, str, str], list[Diagnostic]] = {}
    out: list[list[Diagnostic]] = []
    for d in diagnostics:
        group: list[Diagnostic] = []
        if d.severity in severities and d.subject is not None and not d.is_check:
            group = groups.setdefault((d.severity, d.summary, d.group), group)
        if not group:
            out.append(group)
        group.append(d)
    return out


def together(first: Diagnostic, *others: Diagnostic) -> Diagnostic:
    """The first of several similar diagnostics, with the number of the others."""
    if not others:
        return first
    count, ending = ("one", "") if len(others) == 1 else (str(len(others)), "s")
    text = f"(and {count} more similar {first.severity}{ending} elsewhere)"
    return evolve(first, detail=f"{first.detail}\n\n{text}" if first.detail else text)


def compact(groups: list[list[Diagnostic]], paint: Paint) -> str:
    """The warnings' titles and places, without explanations."""
    lines = [paint("Warnings:", "bold", "yellow"), ""]
    for first, *others in groups:
        lines.append(f"- {first.summary}")
        if first.subject is not None:
            more = f" (and {len(others)} more)" if others else ""
            lines.append(f"  on {first.subject.filename} line {first.subject.line}{more}")
    lines += ["", "The full text of these warnings is shown without -compact-warnings."]
    return "\n" + "\n".join(lines)
