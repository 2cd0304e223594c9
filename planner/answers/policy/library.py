"""The policies that come with planner, in packs in rules/packs."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from planner.answers.policy.manifest import MANIFEST, PackManifest, PolicyInfo, read_manifest
from planner.answers.policy.packs import data_names
from planner.foundation.support.assets import rules_path
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import frozen
from planner.logic.programs.rule_programs import Files

BUILTIN = "builtin:"
PREFIX = "planner."
"""prefix of the names of the library's packs"""


@frozen
class LibraryPolicy:
    """A policy of the library. `doc`: the comment of the policy; `summary`: the first sentence of the comment. `info`:
    the policy's metadata in its pack."""

    name: str
    summary: str
    doc: str
    text: str
    info: PolicyInfo


def library() -> list[LibraryPolicy]:
    """All policies of the library, sorted by name."""
    policies = []
    for pack in packs():
        manifest = manifest_of(pack)
        policies += [_entry(rules_path() / "packs" / pack / f"{code}.dl", i) for code, i in manifest.policies.items()]
    return sorted(policies, key=lambda entry: entry.name)


@cache
def packs() -> list[str]:
    """The directory names of the library's packs, sorted."""
    return sorted(path.parent.name for path in (rules_path() / "packs").glob(f"*/{MANIFEST}"))


@cache
def manifest_of(pack: str) -> PackManifest:
    """The pack.toml of a library pack."""
    path = rules_path() / "packs" / pack / MANIFEST
    return read_manifest(_name(path), path.read_text(encoding="utf-8"))


def _name(path: Path) -> str:
    """The name of a library file in messages."""
    return BUILTIN + path.relative_to(rules_path() / "packs").as_posix()


def _entry(path: Path, info: PolicyInfo) -> LibraryPolicy:
    text = path.read_text(encoding="utf-8")
    lines = []
    for line in text.splitlines():
        if not line.startswith("//") or line.startswith("///"):
            break
        lines.append(line.removeprefix("//").removeprefix(" "))
    first = " ".join(lines[: lines.index("")] if "" in lines else lines)
    return LibraryPolicy(path.stem, first.split(". ")[0].rstrip("."), "\n".join(lines), text, info)


def own_files(files: Files) -> list[str]:
    """The names of the files that are not unchanged files of the library."""
    root = rules_path() / "packs"
    return [
        name
        for name, text in files
        if not (name.startswith(BUILTIN) and _is_text(root / name.removeprefix(BUILTIN), text))
    ]


def _is_text(path: Path, text: str) -> bool:
    try:
        return path.read_text(encoding="utf-8") == text
    except (OSError, ValueError):
        return False


def builtin_files(name: str, problems: list[Diagnostic]) -> dict[str, str]:
    """{name: text} of the files of a library pack or policy, or of all packs (name "all"). For a policy, these are its
    own files and those files of its pack that do not belong to a policy. For an unknown name, the result is empty, and
    an error is added to `problems`."""
    root = rules_path() / "packs"
    plain = name.removeprefix(PREFIX)
    folders, only = packs(), ""
    if name != "all":
        folders = [pack for pack in folders if pack == plain]
        if not folders and plain.isidentifier():
            folders, only = [path.parent.name for path in sorted(root.glob(f"*/{plain}.dl"))], plain
            folders = [pack for pack in folders if plain in manifest_of(pack).policies]
    if not folders:
        known = [*packs(), *(code for pack in packs() for code in manifest_of(pack).policies)]
        detail = f'The library has no policy "{name}".{did_you_mean(plain, known)} To list them: planner policy list'
        problems.append(error("policy.unknown", "No such policy", detail))
        return {}
    paths: list[Path] = []
    for pack in folders:
        manifest = manifest_of(pack)
        paths += [path for path in sorted((root / pack).rglob("*.dl")) if not only or _belongs(path, only, manifest)]
        paths += [root / pack / MANIFEST, *map(Path, data_names(manifest, str(root / pack)))]
    return {_name(path): path.read_text(encoding="utf-8") for path in paths}


def case_files(name: str) -> list[str]:
    """The paths of the cases of a library pack or policy: the directories of the packs, or the case file of the policy.
    Raises Failure if the name is unknown."""
    problems: list[Diagnostic] = []
    files = builtin_files(name, problems)
    if problems:
        raise Failure(problems)
    root = rules_path() / "packs"
    folders = sorted({str((root / file.removeprefix(BUILTIN)).parent) for file in files if file.endswith(MANIFEST)})
    own = [str(root / file.removeprefix(BUILTIN)) for file in files if Path(file).stem == name.removeprefix(PREFIX)]
    return [f"{path.removesuffix('.dl')}.case" for path in own] or folders


def _belongs(path: Path, code: str, manifest: PackManifest) -> bool:
    return path.stem == code or path.stem not in manifest.policies
