"""A review document as a self-contained HTML file without requests and scripts. Names and values are plain text."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from typing import Any

from planner.logic.programs.actions import NO_OP, words_for
from planner.render.review.attributes import FATES, remark
from planner.render.review.decisions import GRAVE
from planner.render.review.links import REMOVED_BLOCK
from planner.render.review.results import effects_title, error_texts, result_text
from planner.render.review.verdicts import places_of
from planner.render.terminal import visible

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --red: #c22; --green: #183; }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
table { border-collapse: collapse; margin: .6rem 0; }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: left; vertical-align: top; }
th { background: var(--soft); }
summary { cursor: pointer; padding: .2rem 0; }
.grave { color: var(--red); font-weight: 600; }
.before { color: var(--red); } .after { color: var(--green); }
footer { margin-top: 2rem; border-top: 1px solid var(--line); padding-top: .6rem; font-size: .9em; }
"""


def page(document: Mapping[str, Any]) -> str:
    digest = b64encode(sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = _text(document["title"])
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n<h1>{title}</h1>\n{body(document)}</body></html>\n"
    )


def body(document: Mapping[str, Any]) -> str:
    """The HTML of the page below its title."""
    parts = [*_where(document), *_decisions(document), *_problems(document), *_causes(document), *_outputs(document)]
    parts += [*_policies(document), *_changes(document), *_foot(document)]
    return "".join(f"{part}\n" for part in parts)


def _text(text: Any) -> str:
    return escape(visible(str(text)))


def _code(text: Any) -> str:
    return f"<code>{_text(text)}</code>"


def _label(one: Mapping[str, Any], name: str) -> str:
    """The member `name` of a cause, output or change, as HTML. In a report about a fleet, the unit precedes it."""
    return _code(f"{one['unit']}: {one[name]}" if one.get("unit") else one[name])


def _place(one: Mapping[str, Any]) -> str:
    if not one.get("file"):
        return ""
    place = _code(f"{one['file']}:{one['line']}")
    return f' <a href="{escape(one["link"])}" rel="noreferrer">{place}</a>' if one.get("link") else f" {place}"


def _list(title: str, items: Iterable[str]) -> Iterator[str]:
    lines = "".join(f"<li>{item}</li>\n" for item in items)
    if lines:
        yield f"<h2>{_text(title)}</h2>\n<ul>\n{lines}</ul>"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{_text(title)}</th>' for title in titles)
    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{cells}</tbody></table>"


def _where(document: Mapping[str, Any]) -> Iterator[str]:
    words = [_text(word) + (f" {_code(name)}" if name else "") for word, name in places_of(document)]
    if words:
        yield f"<p>{', '.join(words)}.</p>"


def _decisions(document: Mapping[str, Any]) -> Iterator[str]:
    for one in document["decisions"]:
        grave = ' class="grave"' if one["kind"] in GRAVE else ""
        names = "".join(f"<li>{_code(name)}</li>" for name in one["objects"])
        head = f"<summary{grave}>{len(one['objects']):,} {_text(one['text'])}</summary>"
        yield f"<details{' open' if len(one['objects']) < 20 else ''}>{head}<ul>{names}</ul></details>"


def _problems(document: Mapping[str, Any]) -> Iterator[str]:
    yield from _list(
        "Problems",
        (
            f"<strong>{one['severity']}</strong>{_place(one)} {_text(one['summary'])}<pre>{_text(one['detail'])}</pre>"
            for one in document["diagnostics"]
        ),
    )


def _causes(document: Mapping[str, Any]) -> Iterator[str]:
    rows = []
    for one in document["causes"]:
        is_placed = one["kind"] == "variable" and one.get("file")
        note = f", {_text(one['note'])}" if one["note"] and not is_placed else ""
        candidate = "" if one["certain"] else " (a candidate)"
        names = "".join(f"<li>{_text(item['action'])} {_code(item['address'])}</li>" for item in one["changes"])
        hops = f"<pre>{_text(chr(10).join(one['hops']))}</pre>" if one["hops"] else ""
        sets_off = ", ".join(f"{verb} {number:,}" for verb, number in one["sets_off"].items())
        if one.get("unsettles"):
            sets_off += f"; makes the value of {', '.join(f'[{n}]' for n in one['unsettles'])} unknown"
        effects = f"<details><summary>{_text(sets_off)}</summary>{hops}<ul>{names}</ul></details>"
        elements = ": elements removed and added" if one.get("elements") else ""
        if one["kind"] == REMOVED_BLOCK:
            one = {**one, "what": f"block {one['what']} removed"}
            note = f" at {_code(one['commit'][:10])}" if one.get("commit") else ""
            note = f", was in {_code(one['place'])} at the last apply" if one.get("place") else note
        label = _code(one["label"]) if one.get("label") else _label(one, "what")
        cause = f"{label}{elements}{note}{_place(one)}{candidate}"
        rows.append((str(one["number"]), cause, *_sides(one), effects))
    if rows:
        titles = ("", "cause", "before", "after", effects_title(document))
        yield f"<h2>Causes</h2>{_table(titles, rows)}"
    for group in document["uncaused"]:
        yield from _list(group["text"], (_code(one["address"]) for one in group["changes"]))
    yield from _list("Notes", map(_text, document["notes"]))


def _sides(one: Mapping[str, Any]) -> tuple[str, str]:
    before, after = one["before"], one["after"]
    return (
        f'<code class="before">{_text(before)}</code>' if before else "",
        f'<code class="after">{_text(after)}</code>' if after else "",
    )


def _outputs(document: Mapping[str, Any]) -> Iterator[str]:
    rows = [(_label(one, "name"), *_sides(one), ", ".join(map(_code, one["read_by"]))) for one in document["outputs"]]
    if rows:
        yield f"<h2>Outputs</h2>{_table(('output', 'before', 'after', 'read by'), rows)}"


def _policies(document: Mapping[str, Any]) -> Iterator[str]:
    lines = (
        f"<strong>{_text(one['kind'])}</strong> {_code(one['code'])} {_code(one['address'])}{_place(one)}: "
        f"{_text(one['message'])} {_text(one['reason'])}{''.join(map(_wait, one.get('waits_for') or ()))}"
        for one in document["policies"]["findings"]
    )
    yield from _list("Policies", [*lines, *map(_text, document["policies"]["judged"])])


def _wait(one: Mapping[str, Any]) -> str:
    """The HTML about an unknown value on which a verdict depends, and about when it becomes known."""
    path = _code(f"{one['address']}.{one['path']}")
    value = f" = {_code(one['expression'])}" if one["expression"] else ""
    when = {"before": ", before its object is changed", "after": ", after its object is changed"}.get(one["known"], "")
    done = ", ".join(f"{_code(other['address'])} ({_text(other['action'])})" for other in one.get("settled_by") or ())
    return f"<br>depends on {path}{value}, known during the apply{when}{f'; done by then: {done}' if done else ''}"


def _changes(document: Mapping[str, Any]) -> Iterator[str]:
    if document["changes"]:
        yield "<h2>Changes</h2>"
    above = {*error_texts(document["diagnostics"])}
    for one in document["changes"]:
        done = words_for(one["verb"]).done if one["action"] != NO_OP else "moved" if one["previous_address"] else ""
        done = result_text(one) or done
        error = one["result"]["error"] if "result" in one else ""
        because = f" because of {', '.join(f'[{n}]' for n in one['causes'])}" if one["causes"] else ""
        was = f", was {_code(one['previous_address'])}" if one["previous_address"] else ""
        held = ", holds data" if one["stateful"] else ""
        rows = [
            (
                _code(item["path"]),
                *_sides({**item, "after": f"{item['expression']} {item['after']}"} if item.get("expression") else item),
                "forces replacement" if item["forces_replacement"] else _fate(item),
            )
            for item in one["attributes"]
        ]
        table = _table(("attribute", "before", "after", ""), rows) if rows else ""
        failed = f'<p class="grave">{_text(error)}</p>' if error and error not in above else ""
        more = f"<p>and {one['attributes_left_out']:,} more attributes</p>" if one["attributes_left_out"] else ""
        if one["is_drift"]:
            gone = "destroyed outside planner" if one["action"] == "delete" else "changed outside planner"
            done = remark(one) if "drift" in one else gone
        head = f"{_label(one, 'address')} {_text(done)}{because}{held}{was}"
        yield f"<details><summary>{head}{_place(one)}</summary>{failed}{table}{more}</details>"


def _fate(item: Mapping[str, Any]) -> str:
    """The HTML about the effect of an apply on a drifted attribute, with the value after the apply."""
    fate = FATES.get(item.get("outcome", ""), "")
    return f"{fate}: {_code(item['expected'])}" if item.get("expected") else fate


def _foot(document: Mapping[str, Any]) -> Iterator[str]:
    about = document["about"]
    known = [
        ("state serial", about.get("serial")),
        ("revision", about.get("revision")),
        ("compared with", " ".join(filter(None, (about.get("since"), about.get("since_commit"))))),
        ("plan file", about.get("plan_file")),
        ("sha256", about.get("plan_digest")),
    ]
    text = " · ".join(f"{name} {_code(value)}" for name, value in known if value)
    if text:
        yield f"<footer>{text}</footer>"
