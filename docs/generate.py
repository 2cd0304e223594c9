"""A hook of MkDocs that adds the pages generated from the program and from files elsewhere in the repository, and turns
links between files of the repository into links between pages."""

from __future__ import annotations

import inspect
import os
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import planner  # noqa: E402
from planner.cli import reference  # noqa: E402

INCLUDED = {
    "index.md": "README.md",
    "security.md": "SECURITY.md",
    "guides/policy-tutorial.md": "rules/POLICIES.md",
    "reference/rule-language.md": "rules/README.md",
    "reference/relations.md": "rules/README.md",
    "reference/fleet-file.md": "planner/workflows/batch/README.md",
    "reference/stack-files.md": "planner/workflows/stacks/README.md",
    **{
        f"examples/{path.parent.name}.md": f"examples/{path.parent.name}/README.md"
        for path in sorted(ROOT.glob("examples/*/README.md"))
    },
}
"""pages that are files elsewhere in the repository"""
MADE = {
    "reference/commands.md": reference.commands,
    "reference/functions.md": reference.functions,
    "reference/formats.md": reference.formats,
    "reference/policies.md": reference.policy_library,
    "reference/diagnostics.md": reference.diagnostics,
    "reference/licences.md": reference.licences,
}
"""pages that are generated from the program"""
RELATIONS = "\n## Predicates\n"
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.M)
_TARGETS = {path: page for page, path in INCLUDED.items() if page != "reference/relations.md"}


PICTURES = ("growth.svg", "history.svg")
"""pictures of tests/bench on how/performance.md"""


def on_config(config: Any) -> Any:
    """Add the examples to the navigation."""
    config.nav.insert(3, {"Examples": [page for page in INCLUDED if page.startswith("examples/")]})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not files of docs/pages."""
    pages = {page: _included(page) for page in INCLUDED}
    pages |= {page: make() for page, make in MADE.items()} | {"reference/python.md": library()}
    for page, text in pages.items():
        files.append(File.generated(config, page, content=text))
    for name in PICTURES:
        files.append(File.generated(config, f"how/{name}", content=(ROOT / "tests/bench" / name).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn links to files of the repository into links to their pages, or into plain text if there is no page."""
    uri = page.file.src_uri
    base = posixpath.dirname(INCLUDED.get(uri, f"docs/pages/{uri}"))

    def replaced(match: re.Match[str]) -> str:
        text, target = match[1], match[2]
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path, _, anchor = target.partition("#")
        file = posixpath.normpath(posixpath.join(base, path)) if path else INCLUDED.get(uri, f"docs/pages/{uri}")
        found = _page(file, anchor, files)
        if found is None:
            return text if (ROOT / file).exists() else match[0]
        if found == uri and not path:
            return match[0]
        return f"[{text}]({posixpath.relpath(found, posixpath.dirname(uri) or '.')}{f'#{anchor}' if anchor else ''})"

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.S | re.M)  # code has no links
    return "".join(part if part.startswith("```") else LINK.sub(replaced, part) for part in parts)


def _page(file: str, anchor: str, files: Files) -> str | None:
    """The page of a file of the repository."""
    if file == "rules/README.md" and anchor in _anchors():
        return "reference/relations.md"
    if posixpath.basename(file) in PICTURES:
        return f"how/{posixpath.basename(file)}"
    page = _TARGETS.get(file) or _TARGETS.get(f"{file}/README.md")
    if page is None and file.startswith("docs/pages/"):
        page = file.removeprefix("docs/pages/")
    return page if page is not None and files.get_file_from_path(page) is not None else None


def _anchors() -> set[str]:
    """The anchors of the second page of rules/README.md."""
    text = (ROOT / "rules/README.md").read_text("utf-8").partition(RELATIONS)[2]
    slugs = {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in HEADING.findall(text)}
    return {"predicates", *slugs}


def _included(page: str) -> str:
    text = (ROOT / INCLUDED[page]).read_text("utf-8")
    if page == "reference/rule-language.md":
        return text.partition(RELATIONS)[0].replace("# Rules", "# The rule language", 1) + "\n"
    if page == "reference/relations.md":
        return (
            f"# Relations\n\nAll relations, by the file that declares them.\n{RELATIONS}{text.partition(RELATIONS)[2]}"
        )
    return text


def library() -> str:
    """The names that `import planner` offers, with their docstrings."""
    lines = [
        "# Python library",
        "",
        "The public names of `import planner`. [The library](../guides/python.md) is the guide.",
        "",
    ]
    names = sorted(planner._EXPORTS)
    for name in [n for n in names if n[0].islower()] + [n for n in names if n[0].isupper()]:
        lines += _object(name, getattr(planner, name))
    return "\n".join(lines)


def _object(name: str, thing: Any) -> list[str]:
    if not inspect.isclass(thing):
        about = inspect.getdoc(thing) if inspect.isfunction(thing) else "A value that is known only after apply."
        signature = f"({_signature(thing)}" if inspect.isfunction(thing) else ""
        return [f"## planner.{name}", "", *_code(f"planner.{name}{signature}"), _text(about), ""]
    lines = [f"## planner.{name}", "", _text(inspect.getdoc(thing)), ""]
    for member, value in inspect.getmembers(thing):
        if member.startswith("_") or member in ("args", "with_traceback", "add_note"):
            continue
        if isinstance(value, property):
            lines += [f"### {name}.{member}", "", _text(inspect.getdoc(value)), ""]
        elif callable(value) and inspect.getdoc(value):
            raw = inspect.getattr_static(thing, member)
            lines += [
                f"### {name}.{member}",
                "",
                *_code(f"{member}({_signature(value, not isinstance(raw, staticmethod))}"),
            ]
            lines += [_text(inspect.getdoc(value)), ""]
    return lines


def _signature(function: Any, is_method: bool = False) -> str:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return "...)"
    parameters = [p for p in signature.parameters.values() if not (is_method and p.name == "self")]
    return str(signature.replace(parameters=parameters))[1:].replace("'", "")


def _code(text: str) -> list[str]:
    return ["```python", text, "```", ""]


def _text(doc: str | None) -> str:
    return (doc or "").replace("<", "&lt;").replace("*", "\\*").strip()


if __name__ == "__main__":  # the site, in docs/site
    from mkdocs.__main__ import cli

    os.chdir(ROOT)
    cli(["build", "-f", "docs/mkdocs.yml"])
