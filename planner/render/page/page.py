"""The page as one HTML file. The page does not send requests to other servers, and its content policy prevents them.
Names are shown as plain text."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from planner.foundation.support.exact_json import dumps
from planner.foundation.values.paths import parts
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, Marked, Value, is_marked_deep, unmark_deep
from planner.logic.model.plan import Plan
from planner.render.page.document import Page, page_json

_FOLDER = Path(__file__).with_name("assets")
STYLES = ("page.css",)
_MARKS = re.compile(r"@(?:policy|title|summary|about|noun|live|below|data)@|/\*(?:style|script)\*/")
_DENIED = re.compile(r"\b[1-9]\d* denied\b")
_UNREAD = re.compile(r"(?m)^ *(?://|/\*\*|\* ).*\n|^ +")
SCRIPTS = (
    *("layout.js", "graph.js", "lines.js", "scene.js", "routes.js", "overview.js", "painting.js", "canvas.js"),
    *("parts.js", "causes.js", "details.js", "lists.js", "markdown.js", "exports.js", "panes.js", "controls.js"),
)


def page_html(page: Page, below: str = "") -> str:
    """The HTML file of a page. `below`: HTML below the page, which can be read even if scripts are disabled."""
    return document_html(page_json(page), below)


def document_html(document: dict[str, Any], below: str = "", is_live: bool = False) -> str:
    """The page of a document. `is_live`: the page is served by `explore -serve` and requests the next plan from it."""
    style, script = _join(STYLES), _join((*SCRIPTS, "live.js") if is_live else SCRIPTS)
    sources = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    sources += "; connect-src 'self'" if is_live else ""
    parts = {
        "@policy@": escape(f"{sources}; base-uri 'none'; form-action 'none'"),
        "@title@": escape(document["title"]),
        "@summary@": "".join(f"<p>{escape(line)}</p>" for line in document["summary"]),
        "@about@": "".join(map(_about, document["about"])),
        "@live@": _asset("live.html") if is_live else "",
        "@noun@": escape(document["noun"]),
        "/*style*/": style,
        "/*script*/": script,
        "@below@": below,
        "@data@": json_in_html(document),
    }
    return _MARKS.sub(lambda mark: parts[mark[0]], _asset("page.html"))


def _about(pair: list[str]) -> str:
    is_denied = ' class="denied"' if _DENIED.search(pair[1]) else ""
    return f"<div><dt>{escape(pair[0])}</dt> <dd{is_denied}>{escape(pair[1])}</dd></div>"


def json_in_html(document: Any) -> str:
    """JSON for a script element. Characters that have a meaning in HTML are escaped."""
    return dumps(document, escape_html=True).decode("utf-8").strip()


@cache
def _asset(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _join(names: tuple[str, ...]) -> str:
    """The assets as one text. Indentation and comment lines are removed; they would be a seventh of the text."""
    return "\n" + _UNREAD.sub("", "".join(map(_asset, names)))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


# Texts of a page without sensitive values. Sensitive strings are replaced everywhere, because an attribute that a
# provider computes may repeat a sensitive value, and pages are passed on to others.


MASK = "(sensitive value)"
SHORTEST = 4
"""the minimum length, in characters, of a sensitive string that is replaced, because shorter strings occur in too many
words"""


def hiding(plan: Plan) -> Callable[[str], str]:
    """A function that returns a text in which the sensitive strings of a plan are replaced."""
    secrets = {text for value in _values(plan) if is_marked_deep(value) for text in _secrets(value, False)}
    secrets |= {line.strip() for text in secrets for line in text.splitlines()}
    secrets |= {text.replace("\\", "\\\\").replace('"', '\\"') for text in secrets}
    known = sorted((text for text in secrets if len(text) >= SHORTEST), key=lambda text: (-len(text), text))
    if not known:
        return lambda text: text
    pattern = re.compile("|".join(map(re.escape, known)))
    return lambda text: pattern.sub(MASK, text)


def _values(plan: Plan) -> Iterator[Value]:
    for change in (*plan.changes, *plan.drift):
        yield from (change.before, change.after)
    for output in plan.outputs:
        if output.sensitive:
            yield from (Marked(unmark_deep(v)[0], frozenset((SENSITIVE,))) for v in (output.before, output.after))
    yield from plan.variables.values()


def _secrets(value: Value, is_secret: bool) -> Iterator[str]:
    """The strings in a value that are marked, or are inside marked parts."""
    if isinstance(value, Marked):
        yield from _secrets(value.value, is_secret or bool(value.marks & {SENSITIVE, EPHEMERAL}))
    elif isinstance(value, str):
        if is_secret:
            yield value
    else:
        for _, inner in parts(value):
            yield from _secrets(inner, is_secret)
