"""Words for completion, from the working directory: addresses, files, workspaces, units, policies, relations. To be
fast, this module only searches files with patterns, and does not evaluate them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from planner.foundation.support.assets import rules_path

_BLOCK = re.compile(
    r'^[ \t]*(resource|data|ephemeral|module|variable|output)[ \t]+"([^"\n]+)"(?:[ \t]+"([^"\n]+)")?[ \t]*\{', re.M
)
_SOURCE = re.compile(r'^[ \t]*source[ \t]*=[ \t]*"(\.{1,2}/[^"\n]*)"', re.M)
_RELATION = re.compile(r"^\.decl ([a-z_]\w*)\(", re.M)
_Source: TypeAlias = Callable[[str], Iterable[str]]
_MOST_FILES = 400
_MOST_BYTES = 8 << 20
"""maximum size of a state that is read"""
_MOST_UNITS = 2000
_DEEPEST = 5


def words_for(command: str, placeholder: str, typed: str, before: Sequence[str] = ()) -> list[str]:
    """The words for a placeholder in a usage, for example ADDRESS; empty if the placeholder is unknown. `typed`: the
    beginning of the word. `before`: words between the command and this word."""
    if placeholder == "NAME":
        placeholder = _NAMES.get(command.partition(" ")[0], "")
    if placeholder in ("ADDRESS", "FROM", "TO") and command.partition(" ")[0] in ("state", "taint", "untaint"):
        placeholder = "OBJECT"
    if placeholder in ("WORD", "WORDS", "UNIT", "OTHER") and not command.startswith("batch"):
        return []
    given = [word for word in before if not word.startswith("-")]
    source = _SOURCES.get(placeholder)
    if command == "why" and placeholder in ("THING", "NODE"):
        source = _of_why(given)
    elif command == "query" and placeholder in ("QUESTION", "NODES"):
        source = _of_query(given)
    try:
        return sorted(set(source(typed))) if source else []
    # damaged files are ignored, because shells show no error messages
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return []


WORDS_OF_WHY = (
    *("broken", "create", "deferred", "delete", "deny", "drift", "excluded", "file", "forced", "forget", "moved"),
    *("no-op", "read", "replace", "targeted", "undecided", "unknown", "update", "warn"),
)
_VERDICTS = ("broken", "deny", "undecided", "warn")
_CODE = re.compile(r'\b(?:deny|warn)\(\s*"((?:[^"\\]|\\.)*)"')
_OPERATOR = re.compile(r"(?:.*[\s(,&+])?", re.S)


def _of_why(given: Sequence[str]) -> _Source:
    """A source of the words that can follow `given` in a command line of `why`."""
    if not given:
        return lambda typed: (*WORDS_OF_WHY, *_things(typed))
    if given[0] in _VERDICTS:
        return _codes_of_policies if len(given) == 1 else _addresses
    return _files if given[0] == "file" else _things


def _codes_of_policies(_: str) -> Iterator[str]:
    """Codes of the policies in `.planner/policies`."""
    for path in sorted(Path(".planner", "policies").rglob("*.dl"))[:_MOST_FILES]:
        yield from _CODE.findall(path.read_text("utf-8", "replace"))


def _of_query(given: Sequence[str]) -> _Source:
    """A source of the possible next words of a query: vertices after a verb, otherwise verbs and relations, also within
    an expression."""
    if given:
        return _addresses

    def words(typed: str) -> Iterator[str]:
        from planner.language.syntax.node_sets import VERBS

        lead = _OPERATOR.match(typed)[0]  # type: ignore[index]
        is_set = typed.partition("(")[0] in VERBS
        if not lead:
            yield from VERBS
        elif is_set:
            yield from (f"{lead}{address}" for address in _addresses(""))
        if not lead or is_set:
            yield from (f"{lead}{verb}(" for verb in VERBS)
        if not is_set:
            yield from (f"{lead}{relation}" for relation in _questions(""))

    return words


def _addresses(_: str) -> Iterator[str]:
    """Resources and modules of the configuration, and instances in the local state."""
    yield from _configured("resource")
    yield from _objects("")


def _things(_: str) -> Iterator[str]:
    """Names of everything that `why` can explain."""
    yield from _configured("resource", "variable", "output")
    yield from _objects("")


def _configured(*kinds: str, directory: str = ".", prefix: str = "", depth: int = 0) -> Iterator[str]:
    files = [entry.path for entry in os.scandir(directory) if entry.name.endswith((".tf", ".tofu"))]
    for path in sorted(files)[:_MOST_FILES]:
        text = Path(path).read_text("utf-8", "replace")
        blocks = list(_BLOCK.finditer(text))
        for at, block in enumerate(blocks):
            kind, label, name = block.groups()
            if kind == "module" and "resource" in kinds:
                yield f"{prefix}module.{label}"
                end = blocks[at + 1].start() if at + 1 < len(blocks) else len(text)
                source = _SOURCE.search(text, block.end(), end)
                below = os.path.join(directory, source[1]) if source else ""
                if depth < _DEEPEST and os.path.isdir(below):
                    yield from _configured(
                        "resource", directory=below, prefix=f"{prefix}module.{label}.", depth=depth + 1
                    )
            elif kind in ("resource", "data", "ephemeral") and name and "resource" in kinds:
                yield f"{prefix}{'' if kind == 'resource' else f'{kind}.'}{label}.{name}"
            elif kind in kinds and kind in ("variable", "output"):
                yield f"{_PREFIXES[kind]}.{label}"


_PREFIXES = {"variable": "var", "output": "output"}


def _objects(_: str) -> Iterator[str]:
    """Addresses of the instances in the workspace's local state; empty if there is none, or if it is too large to be
    read quickly."""
    workspace = os.environ.get("TF_WORKSPACE") or _read(
        Path(os.environ.get("TF_DATA_DIR") or ".terraform", "environment")
    )
    folder = Path("terraform.tfstate.d", workspace) if workspace not in ("", "default") else Path()
    state = folder / "terraform.tfstate"
    if not state.is_file() or state.stat().st_size > _MOST_BYTES:
        return
    document: Any = json.loads(state.read_bytes())
    for resource in document.get("resources", ()):
        module = f"{resource['module']}." if resource.get("module") else ""
        mode = "data." if resource.get("mode") == "data" else ""
        address = f"{module}{mode}{resource.get('type')}.{resource.get('name')}"
        for instance in resource.get("instances", ()):
            key = instance.get("index_key")
            yield address if key is None else f"{address}[{json.dumps(key, ensure_ascii=False)}]"


def _read(path: Path) -> str:
    return path.read_text("utf-8", "replace").strip() if path.is_file() else ""


def _variables(_: str) -> Iterator[str]:
    return (name.removeprefix("var.") for name in _configured("variable"))


def _assignments(_: str) -> Iterator[str]:
    return (f"{name}=" for name in _variables(""))


def _outputs(_: str) -> Iterator[str]:
    return (name.removeprefix("output.") for name in _configured("output"))


def _workspaces(_: str) -> list[str]:
    folder = Path("terraform.tfstate.d")
    return (
        ["default", *(entry.name for entry in os.scandir(folder) if entry.is_dir())] if folder.is_dir() else ["default"]
    )


def _files(typed: str) -> Iterator[str]:
    """Entries of the directory that the path typed so far names."""
    directory = typed.rpartition("/")[0] + "/" if "/" in typed else ""
    for entry in os.scandir(directory or "."):
        if not entry.name.startswith(".") or typed.rpartition("/")[2].startswith("."):
            yield f"{directory}{entry.name}{'/' if entry.is_dir() else ''}"


def _directories(typed: str) -> Iterator[str]:
    return (name for name in _files(typed) if name.endswith("/"))


def _units(_: str) -> Iterator[str]:
    """Directories below the working directory that contain a configuration, up to a maximum number."""
    count = 0
    for directory, below, files in os.walk("."):
        below[:] = sorted(name for name in below if not name.startswith("."))
        if directory.count(os.sep) >= _DEEPEST:
            below.clear()
        endings = (".tf", ".tofu", ".tf.json", ".tofu.json")
        is_unit = any(name.endswith(endings) or name == "terragrunt.hcl" for name in files)
        if is_unit and directory != ".":
            yield directory.removeprefix(f".{os.sep}")
            count += 1
        if count == _MOST_UNITS:
            return


def _policies(typed: str) -> Iterator[str]:
    """Packs and policies of the library, and files."""
    for entry in os.scandir(rules_path() / "packs"):
        if entry.is_dir():
            yield f"builtin:{entry.name}"
            yield from (f"builtin:{name[:-3]}" for name in os.listdir(entry) if name.endswith(".dl"))
    yield from _files(typed)


def _library(_: str) -> Iterator[str]:
    return (name.removeprefix("builtin:") for name in _policies("") if name.startswith("builtin:"))


def _relations(_: str) -> Iterator[str]:
    for path in rules_path().rglob("*.dl"):
        if "packs" not in path.parts:
            yield from _RELATION.findall(path.read_text("utf-8"))


def _questions(_: str) -> Iterator[str]:
    return (f"{name}(" for name in _relations(""))


def _topics(_: str) -> Iterable[str]:
    from planner.cli.manual import MADE, PAGES

    return (*PAGES, *MADE)


def _codes(_: str) -> Iterable[str]:
    from planner.cli.reference import diagnostic_pages

    return (page.code for page in diagnostic_pages())


def _schemas(_: str) -> Iterable[str]:
    from planner.api.schemas import SCHEMAS

    return SCHEMAS


def _commands(_: str) -> Iterable[str]:
    from planner.cli.index import COMMANDS

    return (name for name in COMMANDS if " " not in name)


_NAMES = {"workspace": "WORKSPACE", "output": "OUTPUT", "vars": "VARIABLE", "schema": "SCHEMA", "policy": "LIBRARY"}
"""{first word of a command: meaning of the placeholder NAME}"""
_SOURCES: dict[str, _Source] = {
    **dict.fromkeys(("ADDRESS", "NODE", "FROM", "TO"), _addresses),
    "THING": _things,
    "OBJECT": _objects,
    "NAME=VALUE": _assignments,
    "VARIABLE": _variables,
    "OUTPUT": _outputs,
    "WORKSPACE": _workspaces,
    **dict.fromkeys(("FILE", "PLAN", "PATH"), _files),
    **dict.fromkeys(("DIR", "DIRECTORY"), _directories),
    **dict.fromkeys(("UNIT", "WORD", "WORDS", "OTHER"), _units),
    "POLICY": _policies,
    "LIBRARY": _library,
    "PREDICATE": _relations,
    "QUESTION": _questions,
    "TOPIC": _topics,
    "CODE": _codes,
    "SCHEMA": _schemas,
    "COMMAND": _commands,
}
