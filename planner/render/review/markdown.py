"""A review document as Markdown, for a comment on a pull request: decisions, causes with effects, and folded changes.
The Markdown is at most as long as a comment can be. Omitted parts are counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from planner.engine.apply.outcomes import DONE, LEFT, TAINTED, UNMET
from planner.logic.programs.actions import NO_OP, words_for
from planner.render.alike import alike, numbered
from planner.render.review.attributes import FATES, HIDDEN, OPEN, UNKNOWN, remark, shortened
from planner.render.review.decisions import GRAVE as GRAVE_KINDS
from planner.render.review.links import REMOVED_BLOCK
from planner.render.review.literal import address, code, line, prose, tag_text
from planner.render.review.results import effects_title, error_texts, result_text
from planner.render.review.verdicts import (
    MOST_NAMED,
    findings_text,
    inline_findings,
    name_list,
    other_findings,
    place_link,
    places_of,
    verdict_text,
)

MOST = 65_000
"""maximum length in characters; GitHub accepts 65,536"""
_RESERVED = 400
"""characters reserved for counts of omitted parts"""
_MOST_READERS = 4
_MOST_ROWS = 60
"""maximum number of attributes in a change's table"""
_LONGEST_VALUE = 160  # characters
_MOST_VALUES = 3
"""maximum number of different values of an attribute in similar objects"""
Piece: TypeAlias = tuple[int, Callable[[], str]]
"""lines to show or omit together: (number of items that they describe, function that returns the lines as text)"""
GRAVE, REMOVES, CHANGES, ADDS = "\U0001f534", "\U0001f7e0", "\U0001f7e1", "\U0001f7e2"
"""red, orange, yellow and green circles"""
_KEYS = re.compile(r'\["(?:[^"\\]|\\.)*"\]|\[[0-9]+\]')
_VERBS = {
    "replace": "replaces",
    "delete": "destroys",
    "update": "changes",
    "create": "adds",
    "read": "reads",
    "forget": "forgets",
}


_BREAK = "  \n"
_MOST_LINES = 12
"""maximum number of lines of a problem's detail"""
SECTIONS = ("problems", "causes", "warnings", "objects", "notes", "outputs", "verdicts", "policies", "changes", "hops")


def markdown(document: Mapping[str, Any], most: int = MOST) -> str:
    """The review document as Markdown, with at most `most` characters."""
    lines = [f"### {prose(document['title'])}", "", *where_lines(document), *decisions(document)]
    foot = foot_lines(document)
    room = most - _RESERVED - _size(lines) - _size(foot)
    return "\n".join([*lines, *sections(document, room), *foot]).rstrip("\n") + "\n"


def sections(document: Mapping[str, Any], room: int, names: Container[str] = SECTIONS) -> list[str]:
    """The parts of the report with these names, with at most `room` characters apart from the lines about omitted
    items."""
    lines: list[str] = []
    readers = {_output_address(one): one["read_by"] for one in document["outputs"]}
    verdicts = {one["address"]: one["kind"] for one in document["policies"]["findings"][::-1]}
    above = {text for one in document["causes"] for text in (one["what"], _line_of(one))}
    errors = [one for one in document["diagnostics"] if one["severity"] == "error"]
    for name, head, pieces, share in (
        ("problems", [], ((1, partial(_problem, one)) for one in errors), 0.3),
        (
            "causes",
            [f"| | cause | {effects_title(document)} |", "| --- | --- | --- |"],
            ((1, partial(_cause_row, one, readers, verdicts)) for one in document["causes"]),
            0.5,
        ),
        ("warnings", [], ((1, partial(_problem, one)) for one in _warnings(document)), 0.3),
        ("objects", [], ((len(one["changes"]), partial(_uncaused, one)) for one in document["uncaused"]), 0.5),
        ("notes", [], ((1, partial(_note, one)) for one in document["notes"]), 0.5),
        ("outputs", [], ((1, partial(_output, one)) for one in document["outputs"]), 0.5),
        ("verdicts", [], ((len(group), partial(verdict_text, group)) for group in other_findings(document)), 0.5),
        ("policies", [], ((1, partial(_line, one)) for one in document["policies"]["judged"]), 0.5),
        ("changes", [], ((len(group), partial(_fold, group, above)) for group in _groups(document["changes"])), 0.9),
        ("hops", [], _hops(document), 1.0),
    ):
        if name not in names:
            continue
        shown, hidden = _fitted(pieces, int(room * share) - _size(head))
        if name == "problems":
            above.update(error_texts(errors[: len(shown)]))
        if shown:
            lines += [*head, *shown, ""]
            room -= _size(head) + _size(shown) + 1
        if hidden:
            lines += [f"**{hidden:,} more {name}** {_elsewhere(document)}.", ""]
    return lines


def _line_of(one: Mapping[str, Any]) -> str:
    return f"{one['file']}:{one['line']}" if one.get("file") else ""


def _output_address(one: Mapping[str, Any]) -> str:
    return f"{one['unit']}: output.{one['name']}" if one.get("unit") else f"output.{one['name']}"


def _size(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _fitted(pieces: Iterable[Piece], room: int) -> tuple[list[str], int]:
    """The first pieces that fit into `room` characters, and the number of items in the remaining pieces."""
    shown: list[str] = []
    hidden = 0
    for number, write in pieces:
        text = "" if hidden else write()
        if hidden or len(text) + 1 > room:
            hidden += number
            continue
        room -= len(text) + 1
        shown.append(text)
    return shown, hidden


def _elsewhere(document: Mapping[str, Any]) -> str:
    return f"are on [the page]({address(document['page'])})" if document.get("page") else "do not fit here"


# ---------------------------------------------------------------- the head


def where_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The line about the place: `Directory network, workspace prod.`"""
    if words := [word + (f" {code(name)}" if name else "") for word, name in places_of(document)]:
        yield f"{', '.join(words)}."
        yield ""


def decisions(document: Mapping[str, Any]) -> Iterator[str]:
    """The lines about decisions. If a kind has only a few verdicts, each of them has its own line."""
    inline = inline_findings(document)
    for one in document["decisions"]:
        number = len(one["objects"])
        text = f"{_decision_sign(one['kind'])} **{number:,} {prose(one['text'])}**"
        if one["kind"] not in inline:
            yield f"{text}: {name_list(one['objects'])}  "
            continue
        groups = inline[one["kind"]]
        yield from (
            [f"{text}: {findings_text(groups[0])}"] if len(groups) == 1 else [f"{text}:  ", *map(findings_text, groups)]
        )
    if not document["decisions"] and (document["changes"] or document["outputs"]) and document["mode"] == "normal":
        yield f"{ADDS} Nothing is destroyed or replaced."
    yield from _renames(document["changes"])
    yield ""


def _decision_sign(kind: str) -> str:
    if kind in GRAVE_KINDS:
        return GRAVE
    return ADDS if kind == "result_done" else REMOVES


def _renames(changes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A line about imported objects, and a line about moved objects."""
    imported = [one["address"] for one in changes if one["imported"]]
    moved = [(one["previous_address"], one["address"]) for one in changes if one["previous_address"]]
    if imported:
        yield f"imported: {name_list(imported)}  "
    if moved:
        shown = ", ".join(f"{code(old)} → {code(new)}" for old, new in moved[:MOST_NAMED])
        left = len(moved) - MOST_NAMED
        yield f"moved: {shown}{f' and {left:,} more' if left > 0 else ''}  "


def _warnings(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in document["diagnostics"] if one["severity"] != "error"]


def _problem(one: Mapping[str, Any]) -> str:
    """A diagnostic as Markdown. Warnings with details are folded."""
    place = place_link(one)
    snippet = f"  \n{code(one['snippet'])}" if one.get("snippet") else ""
    lines = [line(text) for text in one["detail"].splitlines() if text.strip()]
    if one["severity"] == "error":
        shown = ": " + _BREAK.join(lines[:_MOST_LINES]) if lines else ""
        return f"{GRAVE} **Error**{place} {prose(one['summary'])}{shown}{snippet}  "
    if not lines and not snippet:
        return f"**Warning**{place} {prose(one['summary'])}  "
    head = f"<details><summary>Warning: {tag_text(one['summary'])}</summary>"
    inner = _BREAK.join(filter(None, [place.strip(), *lines[:_MOST_LINES]]))
    return f"{head}\n\n{inner}{snippet}\n</details>"


# ---------------------------------------------------------------- causes


def _cause_row(cause: Mapping[str, Any], readers: Mapping[str, Sequence[str]], verdicts: Mapping[str, str]) -> str:
    return f"| {_sign(cause, verdicts)} | {_cause(cause)} | {_effects(cause, readers)} |"


def _sign(cause: Mapping[str, Any], verdicts: Mapping[str, str]) -> str:
    """The sign of a cause's worst effect. `verdicts`: {address: kind of the policies' verdict}."""
    verbs = cause["sets_off"].keys()
    kinds = {verdicts[one["address"]] for one in cause["changes"] if one["address"] in verdicts}
    if cause["stateful"] or kinds & {"deny", "broken"}:
        return GRAVE
    if verbs & {"delete", "replace", "forget"} or kinds & {"undecided", "warn"}:
        return REMOVES
    return ADDS if verbs <= {"create", "read"} else CHANGES


def _cause(cause: Mapping[str, Any]) -> str:
    if cause["kind"] == REMOVED_BLOCK:
        cause = {**cause, "what": f"block {cause['what']} removed"}
    what = cause.get("label") or (f"{cause['unit']}: {cause['what']}" if cause.get("unit") else cause["what"])
    name = code(what, in_table=True)
    if cause.get("link"):
        name = f"[{name}]({address(cause['link'])})"
    where = f"{cause['file']}:{cause['line']}" if cause.get("file") else cause.get("place", "")
    place = f" ({code(where, in_table=True)})" if where else ""
    note = f", {prose(cause['note'])}" if cause["note"] else ""
    if where and cause["kind"] == "variable":
        origin = cause["note"].removesuffix(f"{cause['file']}:{cause['line']}" if cause.get("file") else where)
        origin, note = origin.rstrip(", "), ""
        origin = "" if "." in origin else origin
        place = f" ({f'{prose(origin)}, ' if origin else ''}{code(where, in_table=True)})"
    if cause["kind"] == REMOVED_BLOCK and where:
        commit = f"at {code(cause['commit'][:10])}" if cause.get("commit") else "at the last apply"
        place = f" (was {'' if cause.get('file') else 'in '}{code(where, in_table=True)} {commit})"
    candidate = "" if cause["certain"] else " (a candidate)"
    values = _difference(cause["before"], cause["after"], in_table=True, is_list=bool(cause.get("elements")))
    return f"[{cause['number']}] {name}{values}{note}{place}{candidate}"


def _difference(before: str, after: str, in_table: bool = False, is_list: bool = False) -> str:
    """The former and the present value: ` `1` → `2``; for lists whose elements differ, `: added `"d"``."""
    if not before and not after:
        return ""
    if is_list:
        sides = (("added", after), ("removed", before))
        shown = (f"{word} {code(shortened(side, side, _LONGEST_VALUE)[0], in_table)}" for word, side in sides if side)
        return f": {', '.join(shown)}"
    before, after = shortened(before, after, _LONGEST_VALUE)
    return f" {' → '.join(code(side, in_table) if side else '(none)' for side in (before, after))}"


def _effects(cause: Mapping[str, Any], readers: Mapping[str, Sequence[str]]) -> str:
    """The effects of a cause as Markdown: `**replaces 2** (1 holds data), changes 8, 1 output, read by svc5`."""
    parts = []
    for verb, number in cause["sets_off"].items():
        if verb == "output":
            read = [units for one in cause["changes"] if (units := readers.get(one["address"]))]
            named, left = _readers(dict.fromkeys(unit for units in read for unit in units), in_table=True)
            some = f", {len(read):,} of them" if len(read) < number else ""
            parts.append(
                f"{number:,} output{'s' if number > 1 else ''}{f'{some}, read by {named}{left}' if read else ''}"
            )
            continue
        held = cause["stateful"].get(verb, 0)
        words = f"{_VERBS.get(verb, verb)} {number:,}"
        data = f" ({held:,} hold{'s' if held == 1 else ''} data)" if held else ""
        parts.append(f"**{words}**{data}" if verb in ("replace", "delete") else words)
    unsettled = ", ".join(f"[{number}]" for number in cause.get("unsettles") or ())
    makes = f"makes the value of {unsettled} unknown" if unsettled else ""
    return "; ".join(filter(None, (", ".join(parts), makes)))


def _uncaused(group: Mapping[str, Any]) -> str:
    return f"{prose(group['text'])}: {name_list(one['address'] for one in group['changes'])}  "


def _note(note: str) -> str:
    return f"Note: {prose(note)}  "


def _hops(document: Mapping[str, Any]) -> Iterator[Piece]:
    """A folded section with the values and objects between each cause and its changes."""
    lines = [tag_text(f"[{one['number']}] {hop}") for one in document["causes"] for hop in _telling(one)]
    if lines:
        text = "\n".join(lines)
        head = "<details><summary>How the causes reach the changes</summary>"
        yield len(lines), lambda: f"{head}\n<pre>{text}</pre>\n</details>"


def _telling(cause: Mapping[str, Any]) -> Sequence[str]:
    """The hops between a cause and its changes; empty if they only repeat the changes."""
    again = tuple(f"-> {one.text} " for one in alike(change["address"] for change in cause["changes"]))
    hops: Sequence[str] = cause["hops"]
    return (
        [] if again and all(f"{hop.rpartition(': ->')[2] and hop}".lstrip().startswith(again) for hop in hops) else hops
    )


# ---------------------------------------------------------------- the rest


def output_text(one: Mapping[str, Any], in_table: bool = False) -> str:
    """The change of an output: `output port 5432 → 5433, read by svc5`."""
    named, left = _readers(one["read_by"], in_table)
    read = f", read by {named}{left}" if named else ""
    return f"output {code(one['name'], in_table)}{_difference(one['before'], one['after'], in_table)}{read}"


def _readers(units: Iterable[str], in_table: bool) -> tuple[str, str]:
    """The names of the first units, and ` and 3 more` ("" if all are named). Units with successive numbers are
    combined."""
    items = numbered(units)
    shown = (f"{code(i.text, in_table)}{f' ({i.number:,})' if i.number > 1 else ''}" for i in items[:_MOST_READERS])
    left = sum(item.number for item in items[_MOST_READERS:])
    return ", ".join(shown), f" and {left:,} more" if left else ""


def _output(one: Mapping[str, Any]) -> str:
    return f"O{output_text(one)[1:]}  "


def _line(text: str) -> str:
    return f"{prose(text)}  "


def _groups(changes: Iterable[Mapping[str, Any]]) -> Iterable[list[Mapping[str, Any]]]:
    """Groups of similar changes: their addresses differ only in keys, and the same attributes change because of the
    same causes."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for one in changes:
        drift = remark(one) if "drift" in one else ""
        result = (*one["result"].values(),) if "result" in one else ()
        same = (_KEYS.sub("[]", one["address"]), one["action"], one["stateful"], one["reason"], drift, *one["causes"])
        paths = tuple((item["path"], item["forces_replacement"], item.get("outcome")) for item in one["attributes"])
        groups.setdefault((same, result, paths, bool(one["previous_address"])), []).append(one)
    return groups.values()


def _fold(group: Sequence[Mapping[str, Any]], above: Container[str] = ()) -> str:
    """A folded section about similar changes. `above`: strings that are not repeated because they are already shown
    above the section, such as errors and names of causes with their lines."""
    first = group[0]
    names = alike(one["address"] for one in group)
    shown = ", ".join(f"<code>{tag_text(item.text)}</code>" for item in names[:MOST_NAMED])
    number = f" ({len(group):,})" if len(group) > 1 else ""
    because = f" because of {', '.join(f'[{n}]' for n in first['causes'])}" if first["causes"] else ""
    held = ", holds data" if first["stateful"] else ""
    if len(group) == 1 and first["previous_address"]:
        held += f", was <code>{tag_text(first['previous_address'])}</code>"
    if len(group) == 1 and first.get("import_id"):
        held += f", by the id <code>{tag_text(first['import_id'])}</code>"
    head = f"{shown}{number} {_verb(first)}{because}{held}"
    return f"<details><summary>{head}</summary>\n\n{_body(group, above)}\n</details>"


def _verb(change: Mapping[str, Any]) -> str:
    if "drift" in change:
        return tag_text(remark(change))
    if change["is_drift"]:
        return "destroyed outside planner" if change["action"] == "delete" else "changed outside planner"
    if text := result_text(change):
        return text
    if change["action"] != NO_OP:
        return tag_text(words_for(change["verb"]).done)
    return "moved" if change["previous_address"] else "imported" if change["imported"] else "unchanged"


def _body(group: Sequence[Mapping[str, Any]], above: Container[str]) -> str:
    first = group[0]
    lines = []
    if len(group) > 1 and first["previous_address"]:
        lines += [f"They were {name_list(one['previous_address'] for one in group)}.", ""]
    if first["action"] == NO_OP and (first["imported"] or first["previous_address"]):
        lines += ["No attribute changes.", ""]
    result = first.get("result") or {"outcome": DONE, "error": ""}
    if result["error"] and result["error"] not in above:
        lines += [f"{GRAVE} {prose(result['error'])}", ""]
    if first.get("file") and _line_of(first) not in above:
        keep = first["is_drift"] and first["action"] != "delete"
        files = len({one["file"] for one in group if one.get("file")})
        more = f", the same in {files:,} files" if files > 1 else ""
        place = f"{place_link(first, '')}{more}"
        lines += [f"To keep this, write it in {place}; to undo it, apply." if keep else place, ""]
    later = [
        one["path"]
        for one in first["attributes"]
        if one["after"] == UNKNOWN
        and not one["forces_replacement"]
        and not one.get("expression")
        and f"{first['address']}.{one['path']}" not in above
    ]
    rows = [row for row in zip(*(one["attributes"] for one in group), strict=True) if row[0]["path"] not in later]
    if first["is_drift"]:
        rows = [row for row in rows if any(side != HIDDEN for i in row for side in (i["before"], i["after"]) if side)]
    sides = [side for side in ("before", "after") if any(item[side] for row in rows for item in row)]
    forces = any(row[0]["forces_replacement"] for row in rows)
    fates = any("outcome" in row[0] for row in rows)
    if rows:
        is_made = result["outcome"] in (DONE, UNMET, TAINTED, LEFT)
        words = {"before": "before", "after": "after" if is_made else "planned"}
        words = {"before": "last applied", "after": "now"} if fates else words
        titles = [
            "attribute",
            *(map(words.__getitem__, sides) if len(sides) == 2 else ["value"] * len(sides)),
            *[""] * forces,
            *["after an apply"] * fates,
        ]
        lines += [f"| {' | '.join(titles)} |", f"|{' --- |' * len(titles)}"]
    for row in rows[:_MOST_ROWS]:
        pairs = [
            dict(zip(("before", "after"), shortened(i["before"], _after(i), _LONGEST_VALUE), strict=True)) for i in row
        ]
        cells = [code(row[0]["path"], in_table=True), *(_values([pair[side] for pair in pairs]) for side in sides)]
        cells += ["forces replacement" if row[0]["forces_replacement"] else ""] if forces else []
        cells += [_fate(row)] if fates else []
        lines.append(f"| {' | '.join(cells)} |")
    left = len(rows[_MOST_ROWS:]) + first["attributes_left_out"]
    if left:
        lines += ["", f"and {left:,} more attributes"]
    if later and "result" not in first:
        lines += ["" for _ in lines[-1:] if _]
        lines += [f"Known after apply: {', '.join(code(path) for path in later[:_MOST_ROWS])}"]
    return "\n".join(lines) or "No attribute changes."


def _fate(items: Sequence[Mapping[str, Any]]) -> str:
    """The value of a drifted attribute after an apply, with its kind (restored, kept or changed). If the value is
    unknown, the effect of an apply in words, or ""."""
    outcome = items[0].get("outcome", "")
    if outcome == OPEN or "expected" not in items[0]:
        return FATES.get(outcome, "")
    return f"{_values([item['expected'] for item in items]) or '(none)'} ({outcome})"


def _after(item: Mapping[str, Any]) -> str:
    """The value of the attribute after the change; if the value is unknown, its expression."""
    return f"{item['expression']} {UNKNOWN}" if item.get("expression") else str(item["after"])


def _values(values: Sequence[str]) -> str:
    """The different values of an attribute in similar objects."""
    different = list(dict.fromkeys(values))
    shown = ", ".join(code(value, in_table=True) if value else "(none)" for value in different[:_MOST_VALUES])
    left = len(different) - _MOST_VALUES
    return "" if different == [""] else shown + (f" and {left:,} more" if left > 0 else "")


def foot_lines(document: Mapping[str, Any]) -> list[str]:
    about = document["about"]
    parts = []
    if document.get("page"):
        parts.append(f"[page]({address(document['page'])})")
    if about.get("plan_file"):
        parts.append(f"plan file {code(about['plan_file'])} {code('sha256:' + about['plan_digest'])}")
    if about.get("since"):
        commit = about.get("since_commit", "")[:10]
        parts.append(f"compared with {code(about['since'])}" + (f" @ {code(commit)}" if commit else ""))
    if about.get("revision"):
        parts.append(f"revision {code(about['revision'][:10])}")
    return [f"<sub>{' · '.join(parts)}</sub>"] if parts else []
