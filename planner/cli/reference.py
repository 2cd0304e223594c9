"""Generates references in Markdown, manual pages, and the list of diagnostics. The titles, causes and remedies of
diagnostics are in diagnostics.toml."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any

from planner.cli import index
from planner.cli.help import GLOBAL, flags_by_purpose, reflow, spelling
from planner.foundation.support.assets import PACKAGE
from planner.foundation.vocabulary.release import RELEASE


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _row(*cells: str) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    return [_row(*head), _row(*("---" for _ in head)), *(_row(*row) for row in rows), ""]


def _prose(text: str) -> str:
    """A help text as Markdown; indented lines become code."""
    lines: list[str] = []
    for line in reflow(text).split("\n"):
        if line.startswith(" ") and lines and lines[-1] and not lines[-1].startswith(" "):
            lines.append("")
        lines.append(f"    {line}" if line.startswith(" ") else line.replace("*", "\\*").replace("<", "&lt;"))
    return "\n".join(lines)


def commands() -> str:
    """The reference of all commands by purpose, with their flags."""
    lines = ["# Commands", "", "Usage: `planner [global options] COMMAND [options]`", ""]
    lines += _table(("global option", "meaning"), [(f"`{name}`", text) for name, text in GLOBAL])
    for purpose, names in index.PURPOSES.items():
        lines += [f"## {purpose}", ""]
        for name in names:
            for command in [name, *(c for c in index.COMMANDS if c.startswith(f"{name} "))]:
                lines += _command(command)
    return "\n".join(lines)


def _command(name: str) -> list[str]:
    command = index.load(name)
    lines = [f"### planner {name}", "", f"{index.COMMANDS[name]}.", ""]
    lines += [f"```text\n{f'planner {name} {command.usage}'.rstrip()}\n```", "", _prose(command.help), ""]
    rows = [
        (f"`{spelling(flag)}`", flag.help, purpose)
        for purpose, flags in flags_by_purpose(command).items()
        for flag in flags
    ]
    return [*lines, *_table(("option", "meaning", "purpose"), rows)]


def functions() -> str:
    """The reference of the configuration language's functions."""
    from planner.language.functions import metadata as signatures

    lines = ["# Functions", "", "Functions of the configuration language. `planner console` evaluates expressions.", ""]
    table = signatures()["function_signatures"]
    names = sorted(name for name in table if not name.startswith("core::"))
    for name in names:
        one = table[name]
        parameters = [f"{p['name']}: {_type(p['type'])}" for p in one.get("parameters", ())]
        rest = one.get("variadic_parameter")
        parameters += [f"{rest['name']}: {_type(rest['type'])}, ..."] if rest else []
        lines += [f"### {name}", "", f"`{name}({', '.join(parameters)})` returns {_type(one['return_type'])}.", ""]
        lines += [one.get("description", ""), ""]
    return "\n".join(lines)


def _type(type: Any) -> str:
    """A type in the language's notation."""
    if isinstance(type, str):
        return "any" if type == "dynamic" else type
    kind, inner = type[0], type[1]
    if isinstance(inner, dict):
        return f"{kind}({{{', '.join(f'{k} = {_type(v)}' for k, v in inner.items())}}})"
    return f"{kind}({_type(inner) if not isinstance(inner, list) or isinstance(inner[0], str) else 'any'})"


def formats() -> str:
    """The reference of the JSON documents that planner prints, with their schemas."""
    from planner.api.schemas import SCHEMAS, schema

    lines = [
        "# Formats",
        "",
        "These are the JSON documents of planner itself. Plans, states, provider schemas and the JSON lines of `plan`",
        "and `apply` have OpenTofu's formats. Within a major version of a format, members may be added, but none is",
        "removed or changed. `planner schema NAME` prints a schema.",
        "",
    ]
    for name in SCHEMAS:
        text = json.dumps(schema(name), indent=2, ensure_ascii=False)
        lines += [f"## {name}", "", f"Printed by {SCHEMAS[name]['description']}.", "", f"```json\n{text}\n```", ""]
    return "\n".join(lines)


def policy_library() -> str:
    """The reference of the policies in the library, by pack."""
    from planner.answers.policy.library import library

    entries = library()
    lines = ["# Policy library", "", f"{len(entries)} policies come with planner. Use one with `-policy=builtin:NAME`,"]
    lines += ["a pack with `-policy=builtin:PACK`; `planner policy list NAME` prints the source.", ""]
    for pack in sorted({entry.info.pack for entry in entries}):
        rows = [(f"`{entry.name}`", entry.summary) for entry in entries if entry.info.pack == pack]
        lines += [f"## {pack.removeprefix('planner.')}", "", *_table(("policy", "requirement"), rows)]
    return "\n".join(lines)


def licences() -> str:
    """The page of licences of the packages that planner requires, directly or indirectly, in the versions installed
    here."""
    lines = ["# Licences", "", "planner is licensed under Apache-2.0. It uses these packages:", ""]
    rows, seen, waiting = list[tuple[str, ...]](), set[str](), _required("planner-iac") or _required("planner")
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            one: Any = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            continue
        rows.append((name, one.get("License-Expression") or _licence(one)))
        waiting += _required(name)
    return "\n".join([*lines, *_table(("package", "licence"), sorted(rows))])


def _required(name: str) -> list[str]:
    try:
        wanted = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []
    return [re.split(r"[^\w.-]", text, maxsplit=1)[0].lower() for text in wanted if "extra ==" not in text]


def _licence(one: Any) -> str:
    named = [c.rpartition(" :: ")[2] for c in one.get_all("Classifier") or () if c.startswith("License ::")]
    return ", ".join(named) or (one.get("License") or "unknown").partition("\n")[0]


def manual_pages() -> dict[str, str]:
    """{file: manual page}: one for the program, and one for each command."""
    pages = {"planner.1": _manual_page("planner", "plans infrastructure, and explains why", "", _overview())}
    for words, text in index.COMMANDS.items():
        command = index.load(words)
        lines = [".SH DESCRIPTION", _roff(reflow(command.help))]
        for purpose, flags in flags_by_purpose(command).items():
            lines.append(f'.SH "{purpose.upper()}"')
            lines += [f".TP\n.B {_roff(spelling(flag))}\n{_roff(flag.help)}" for flag in flags]
        name = f"planner-{words.replace(' ', '-')}"
        pages[f"{name}.1"] = _manual_page(name, text[:1].lower() + text[1:], f"planner {words} {command.usage}", lines)
    return pages


def _overview() -> list[str]:
    lines = list[str]()
    for purpose, names in index.PURPOSES.items():
        lines.append(f'.SH "{purpose.upper()}"')
        lines += [f".TP\n.BR planner\\-{_roff(name)} (1)\n{_roff(index.COMMANDS[name])}" for name in names]
    return [*lines, '.SH "GLOBAL OPTIONS"', *(f".TP\n.B {_roff(name)}\n{_roff(text)}" for name, text in GLOBAL)]


def _manual_page(name: str, about: str, usage: str, lines: list[str]) -> str:
    head = [f'.TH "{name.upper()}" 1 "" "planner {RELEASE}"', ".SH NAME", f"{_roff(name)} \\- {_roff(about)}"]
    head += [".SH SYNOPSIS", _roff(usage or "planner [global options] COMMAND [options]")]
    return "\n".join([*head, *lines, ".SH SEE ALSO", ".BR planner (1)", ""])


def _roff(text: str) -> str:
    """Text of a manual page; paragraphs and indented lines are kept."""
    lines = list[str]()
    for line in text.replace("\\", "\\e").replace("-", "\\-").split("\n"):
        if line.startswith(" "):
            lines.append(f".nf\n{line}\n.fi")
        else:
            lines.append(f"\\&{line}" if line[:1] in (".", "'") else line or ".PP")
    return "\n".join(lines)


def diagnostics() -> str:
    """Errors and warnings by code."""

    lines = [
        "# Diagnostics",
        "",
        "Errors and warnings by code. `planner explain TITLE` or `planner explain CODE` shows one",
    ]
    lines += ["in the terminal. In a title, … replaces the part that differs.", ""]
    pages = diagnostic_pages()
    for group, (cause, cure) in sorted(groups().items()):
        members = [page for page in pages if page.code.partition(".")[0] == group]
        if members:
            lines += [f"## {group}", "", f"{cause} {cure}", ""]
        for page in members:
            if page.is_specific:
                lines += [f"### {page.code}", "", *([f"*{' / '.join(page.titles)}*", ""] if page.titles else [])]
                lines += [f"**Cause.** {page.cause}", "", f"**Cure.** {page.cure}", ""]
        rest = [(f"`{page.code}`", " / ".join(page.titles)) for page in members if not page.is_specific]
        lines += _table(("code", "title"), rest) if rest else []
    return "\n".join(lines)


_FEW = 5
_WORD = re.compile(r"[a-z0-9]+")
_MINOR = {"a", "an", "the", "is", "was", "are", "of", "in", "for", "to", "not"}
_STEM = 4
"""when words are compared, only this number of their first letters counts"""


@dataclass(frozen=True)
class DiagnosticPage:
    """The explanation of a diagnostic. `titles`: headings of messages, with … for varying parts. `is_specific`: whether
    the cause and the remedy belong to the code itself, and not to its group."""

    code: str
    titles: tuple[str, ...]
    cause: str
    cure: str
    is_specific: bool


@cache
def diagnostic_pages() -> tuple[DiagnosticPage, ...]:
    """The explanations of all diagnostics, sorted by code."""
    with open(os.path.join(PACKAGE, "cli", "diagnostics.toml"), "rb") as file:
        tables = tomllib.load(file)
    groups, codes, titles = tables["groups"], tables["codes"], tables["titles"]
    pages = []
    for code in sorted({*codes, *titles}):
        cause, cure, *more = codes.get(code) or groups[code.partition(".")[0]]
        pages.append(DiagnosticPage(code, tuple(titles.get(code) or more), cause, cure, code in codes))
    return tuple(pages)


@cache
def groups() -> dict[str, tuple[str, str]]:
    """{group of diagnostics, the first part of their codes: (cause, remedy)}."""
    with open(os.path.join(PACKAGE, "cli", "diagnostics.toml"), "rb") as file:
        return {name: (cause, cure) for name, (cause, cure) in tomllib.load(file)["groups"].items()}


def find(words: str) -> list[DiagnosticPage]:
    """At most five diagnostics whose code or title matches the words. Equal titles are better matches than parts of
    titles, and only the best matches are returned. Without a match, groups of diagnostics (with the code `NAME.*`)
    whose cause and remedy contain the words are returned."""
    pages, wanted = diagnostic_pages(), words.strip().removeprefix("Error: ").removeprefix("Warning: ").lower()
    typed = {word for word in _WORD.findall(wanted) if word not in _MINOR}
    if not typed:
        return []
    matches: tuple[Callable[[DiagnosticPage], bool], ...] = (
        lambda page: page.code == wanted,
        lambda page: any(title.lower() == wanted for title in page.titles),
        lambda page: any(_fits(title.lower(), wanted) for title in page.titles),
        lambda page: wanted in page.code or any(wanted in title.lower() for title in page.titles),
        lambda page: any(" " in title and title.lower() in wanted for title in page.titles),
        lambda page: _has_words(" ".join((page.code, *page.titles)), typed),
        lambda page: page.is_specific and _has_words(f"{page.code} {page.cause} {page.cure}", typed),
    )
    for is_match in matches:
        if fitting := [page for page in pages if is_match(page)]:
            return sorted(fitting, key=lambda page: not page.is_specific)[:_FEW]
    of_groups = [DiagnosticPage(f"{name}.*", (), *texts, False) for name, texts in groups().items()]
    return [page for page in of_groups if _has_words(f"{page.code} {page.cause} {page.cure}", typed)][:_FEW]


def _has_words(text: str, typed: set[str]) -> bool:
    """Whether a text contains all words. The endings of words are ignored: deny, denies and denied have the same
    beginning."""
    words = set(_WORD.findall(text.lower()))
    return all(any(word[:_STEM] == one[:_STEM] for word in words) for one in typed)


def _fits(title: str, words: str) -> bool:
    """Whether a title with varying parts matches a message."""
    parts = title.split("…")
    begin, *rest = parts
    is_telling = len(_WORD.findall(" ".join(parts))) > 1 or (begin.endswith(": ") and len(begin) > _FEW)
    pattern = ".+".join(map(re.escape, parts))
    return bool(rest) and is_telling and re.fullmatch(pattern, words) is not None
