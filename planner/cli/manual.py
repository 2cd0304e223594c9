"""The documentation by topic: written pages, and references that are generated from the code."""

from __future__ import annotations

import os
import posixpath
import re
import textwrap
from collections.abc import Callable, Iterator

from planner.foundation.support.assets import PACKAGE, documents_folder, rules_folder

PAGES = {
    "start": ("Ten minutes", "docs/pages/start.md"),
    "install": ("Install", "docs/pages/install.md"),
    "why": ("Why", "docs/pages/guides/why.md"),
    "policies": ("Policies", "docs/pages/guides/policies.md"),
    "policy-tutorial": ("Policies, step by step", "rules/POLICIES.md"),
    "rules": ("Your own rules", "docs/pages/guides/rules.md"),
    "fleets": ("Fleets", "docs/pages/guides/fleets.md"),
    "stacks": ("Stacks", "docs/pages/guides/stacks.md"),
    "actions": ("Actions", "docs/pages/guides/actions.md"),
    "tests": ("Tests of modules", "docs/pages/guides/tests.md"),
    "states": ("Backends and encryption", "docs/pages/guides/states.md"),
    "discover": ("Find existing objects", "docs/pages/guides/discover.md"),
    "deferral": ("Plans in several rounds", "docs/pages/guides/deferral.md"),
    "ci": ("CI and review", "docs/pages/guides/ci.md"),
    "editors": ("Editors", "docs/pages/guides/editors.md"),
    "python": ("The library", "docs/pages/guides/python.md"),
    "from-opentofu": ("Moving from OpenTofu", "docs/pages/guides/from-opentofu.md"),
    "from-terragrunt": ("Moving from Terragrunt", "docs/pages/guides/from-terragrunt.md"),
    "from-opa": ("Moving from OPA and Conftest", "docs/pages/guides/from-opa.md"),
    "rule-language": ("The rule language and all relations", "rules/README.md"),
    "fleet-file": ("Fleet files", "planner/workflows/batch/README.md"),
    "stack-files": ("Stack files", "planner/workflows/stacks/README.md"),
    "settings": ("Settings and environment variables", "docs/pages/reference/settings.md"),
    "exit-codes": ("Exit codes", "docs/pages/reference/exit-codes.md"),
    "how": ("How it works", "docs/pages/how/index.md"),
    "how-rules": ("How rules decide", "docs/pages/how/rules.md"),
    "performance": ("Performance", "docs/pages/how/performance.md"),
    "packages": ("Packages", "docs/pages/how/packages.md"),
    "compared": ("Compared", "docs/pages/compared.md"),
    "terraform": ("Terraform, OpenTofu and planner", "docs/pages/terraform.md"),
    "differences": ("Differences from OpenTofu", "docs/pages/differences.md"),
}
"""written pages: topic -> title and file of the repository"""

MADE = {
    "commands": "All commands and their flags",
    "functions": "Functions of the configuration language",
    "formats": "Documents that planner prints, with their schemas",
    "policy-library": "Policies that come with planner",
    "diagnostics": "Diagnostics by code, with causes and fixes",
    "licences": "Licences of the packages that planner uses",
}
"""references that planner.cli.reference generates: topic -> title"""


def page_file(path: str) -> str:
    """The file of a page, in a checkout or an installed wheel."""
    room, _, rest = path.partition("/")
    folders = {"docs": documents_folder(), "rules": rules_folder(), "planner": PACKAGE}
    return os.path.join(folders[room], rest)


def topic_text(topic: str) -> str:
    """The Markdown of a topic."""
    if topic in MADE:
        from planner.cli import reference

        make: Callable[[], str] = getattr(reference, topic.replace("-", "_"))
        return make()
    with open(page_file(PAGES[topic][1]), encoding="utf-8") as file:
        return file.read()


_TOPICS = {path: topic for topic, (_, path) in PAGES.items()}
_MADE_PAGES = {f"docs/pages/reference/{name}.md": name for name in MADE} | {
    "docs/pages/reference/policies.md": "policy-library",
    "docs/pages/reference/relations.md": "rule-language",
}
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_CODE = re.compile(r"(^```.*?^```$)", re.S | re.M)
_ITEM = re.compile(r"(\s*(?:[-*]|\d+\.)\s+)(.*)", re.S)
_WIDEST = 100
_TOGETHER = "\x00"
"""a non-breaking space"""


def terminal_text(topic: str, width: int) -> str:
    """The text of a topic for a terminal: links are replaced by the command that shows their page, and paragraphs are
    wrapped to the width."""
    parts = _CODE.split(topic_text(topic))
    base = posixpath.dirname(PAGES[topic][1]) if topic in PAGES else "docs/pages/reference"
    return "".join(part if _CODE.match(part) else _prose(part, base, min(width, _WIDEST)) for part in parts)


def _prose(text: str, base: str, width: int) -> str:
    linked = _LINK.sub(lambda match: _link(match[1], match[2], base), text)
    text = "\n\n".join("\n".join(_wrap(block, width)) for block in linked.split("\n\n"))
    return text.replace(_TOGETHER, " ")


def _link(text: str, target: str, base: str) -> str:
    """A link as text, with the command or the address of its target."""
    path = target.partition("#")[0]
    if "://" in target:
        return f"{text} ({target})" if target not in text else text
    file = posixpath.normpath(posixpath.join(base, path)) if path else ""
    topic = _TOPICS.get(file) or _MADE_PAGES.get(file)
    if topic is not None:
        return f"{text} (planner{_TOGETHER}docs{_TOGETHER}{topic})"
    return f"{text} ({file})" if file and file not in text and not file.startswith("docs/") else text


def _wrap(block: str, width: int) -> Iterator[str]:
    """The lines of a paragraph, a list, a heading or a table."""
    if block.lstrip().startswith(("#", "|", "    ", "<")):
        yield from block.split("\n")
        return
    paragraphs: list[list[str]] = []
    for line in block.split("\n"):
        if not line or not paragraphs or _ITEM.fullmatch(line):
            paragraphs.append([line])
        else:
            paragraphs[-1].append(line)
    for paragraph in paragraphs:
        text = " ".join(line.strip() for line in paragraph[1:])
        item = _ITEM.fullmatch(paragraph[0])
        lead, first = (item[1], item[2]) if item else ("", paragraph[0])
        filled = textwrap.wrap(
            f"{first} {text}".rstrip(), width, initial_indent=lead, subsequent_indent=" " * len(lead),
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        yield from filled or [""]
