"""Sorts policy files into packs: finds the pack of each rule file, and the declarations and facts of each pack.

A pack is a directory with a pack.toml. Files are given as pairs (name, text). They include rule files and, for packs,
the pack.toml and the data files, so that a plan file with a copy of these texts is complete."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner.answers.policy.data_files import Columns, Rows, read_data
from planner.answers.policy.manifest import (
    MANIFEST,
    DataFile,
    PackManifest,
    Parameter,
    ParameterRows,
    PolicyInfo,
    read_manifest,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Span
from planner.foundation.vocabulary.version_constraints import allowed
from planner.language.syntax import rule_syntax as syntax
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.model import atoms
from planner.logic.datalog.language.spaces import FileSpace, bare, qualified
from planner.logic.programs.rule_programs import Files

Settings = Mapping[str, Mapping[str, ParameterRows]]
"""{pack: {parameter: rows of its value}}"""


@frozen(eq=False)
class Pack:
    """A pack. `folder`: its directory. `rules`: the names of its rule files. `data`: {name: (columns, rows)} of its
    data files."""

    manifest: PackManifest
    folder: str
    rules: tuple[str, ...]
    data: dict[str, tuple[Columns, Rows]]

    @property
    def name(self) -> str:
        return self.manifest.name


@frozen(eq=False)
class Packs:
    """The packs in a set of files. `packs`: {name: pack}. `rules`: all rule files, including those that are not in
    packs. `spaces`: {rule file of a pack: its namespace}."""

    packs: dict[str, Pack] = field(factory=dict)
    rules: Files = ()
    spaces: dict[str, FileSpace] = field(factory=dict)

    @property
    def made(self) -> list[syntax.RuleFile]:
        """The declarations of the relations of parameters and data. Their source locations are in the pack.toml."""
        return [_declarations(pack) for pack in self.packs.values()]

    def space_of(self, file: str) -> str:
        """The name of the pack that contains a file; "" if the file is not in a pack."""
        folders = {pack.folder: name for name, pack in self.packs.items()}
        result = _nearest(file, folders)
        return folders[result] if result is not None else ""

    @property
    def relations(self) -> frozenset[str]:
        """The names of the relations of parameters and data."""
        return frozenset(
            qualified(name, thing)
            for name, pack in self.packs.items()
            for thing in (*pack.manifest.parameters, *pack.data)
        )

    @property
    def policies(self) -> dict[str, PolicyInfo]:
        """{code: metadata} of the policies of all packs."""
        return {code: info for pack in self.packs.values() for code, info in pack.manifest.policies.items()}

    def facts(self, settings: Settings, program: RuleProgram) -> FactBase:
        """The facts of parameters and data files. The default of a parameter is used only if neither the settings nor a
        rule sets the parameter."""
        if not self.packs:
            return FactBase({}, {})
        derived = {rule.head.predicate for rule in program.rules if "." in rule.head.predicate}
        builder = FactBuilder()
        for name, pack in self.packs.items():
            for parameter in pack.manifest.parameters.values():
                relation = qualified(name, parameter.name)
                given = settings.get(name, {}).get(parameter.name)
                if given is None and relation not in derived:
                    given = parameter.default
                for row, span in given.rows if given is not None else ():
                    builder.add(relation, *row, source=span)
            for data, (_, rows) in pack.data.items():
                for row, span in rows:
                    builder.add(qualified(name, data), *row, source=span)
        return builder.build()

    def missing(self, settings: Settings, program: RuleProgram) -> Iterator[Diagnostic]:
        """Errors for required parameters that are not set."""
        derived = {rule.head.predicate for rule in program.rules if "." in rule.head.predicate}
        for name, pack in self.packs.items():
            for parameter in pack.manifest.parameters.values():
                is_set = parameter.name in settings.get(name, {}) or qualified(name, parameter.name) in derived
                if parameter.default is None and not is_set:
                    detail = f"{name} needs {parameter.name}: {parameter.description}. Set it in .planner/policy.toml: "
                    detail += f'[packs."{name}".parameters] {parameter.name} = ...'
                    yield error("policy.parameter", "Parameter not set", detail, parameter.span)

    def with_defaults(self, facts: FactBase, program: RuleProgram) -> FactBase:
        """The facts of a case, with added facts of the parameters and data files for which the case contains no
        facts."""
        given = self.facts({}, program)
        builder = FactBuilder(facts)
        for predicate in given.predicates:
            if not facts.relation(predicate):
                for row in given.sorted(predicate):
                    builder.add(predicate, *row, source=given.source(predicate, row))
        return builder.build()

    def check(self, program: RuleProgram) -> Iterator[Diagnostic]:
        """Warnings about parameters and data that no rule reads, and about metadata of codes that no rule uses."""
        read = {atom.predicate for rule in program.rules for atom, _ in atoms(rule.body)}
        heads = [rule for rule in program.rules if rule.head.predicate in ("deny", "warn") and rule.head.arguments]
        codes = {str(r.head.arguments[0].value) for r in heads if isinstance(r.head.arguments[0], syntax.Constant)}
        is_open = any(not isinstance(rule.head.arguments[0], syntax.Constant) for rule in heads)
        for name, pack in self.packs.items():
            things: list[Parameter | DataFile] = [*pack.manifest.parameters.values(), *pack.manifest.data.values()]
            for thing in things:
                if qualified(name, thing.name) not in read:
                    detail = f"No rule reads {thing.name}."
                    yield warning("policy.unread", "Unused parameter or data", detail, thing.span)
            for code, info in pack.manifest.policies.items():
                if code not in codes and not is_open:
                    detail = f"No rule denies or warns with the code {code}."
                    yield warning("policy.no_code", "Policy has no rule", detail, info.span)


def is_pack_file(name: str) -> bool:
    return os.path.basename(name) == MANIFEST


def gather(files: Files) -> Packs:
    """The packs in a set of files. Raises Failure for problems of a pack.toml or of a data file."""
    texts = dict(files)
    folders = {_folder(name): name for name in texts if is_pack_file(name)}
    rules = tuple(file for file in files if file[0].endswith(".dl"))
    if not folders:
        return Packs({}, rules)
    problems: list[Diagnostic] = []
    manifests: dict[str, PackManifest] = {}
    for folder, name in folders.items():
        try:
            manifests[folder] = read_manifest(name, texts[name])
        except Failure as failure:
            problems += failure.diagnostics
    own: dict[str, list[str]] = {folder: [] for folder in manifests}
    for name, _ in rules:
        pack_folder = _nearest(name, folders)
        if pack_folder is not None and pack_folder in own:
            own[pack_folder].append(name)
    packs: dict[str, Pack] = {}
    spaces: dict[str, FileSpace] = {}
    for folder, manifest in sorted(manifests.items(), key=lambda entry: entry[1].name):
        known = packs.get(manifest.name)
        if known is not None:
            detail = f"The pack in {known.folder or '.'} is also named {manifest.name}."
            problems.append(error("policy.pack", "Duplicate pack name", detail, Span(manifest.source, 0, 1)))
            continue
        data = dict(_data(manifest, folder, texts, problems))
        packs[manifest.name] = Pack(manifest, folder, tuple(own[folder]), data)
        for name in own[folder]:
            stem = os.path.normpath(name).removeprefix(f"{folder}{os.sep}").removesuffix(".dl")
            spaces[name] = FileSpace(manifest.name, stem)
    for pack in packs.values():
        for other in pack.manifest.dependencies.values():
            found = packs.get(other.name)
            if found is None and not problems:
                detail = f"{pack.name} imports from {other.name}, which is not installed."
                if not other.source.startswith(("./", "../")):
                    detail += (
                        f" Name it in .planner/policy.toml with the source {other.source}: only packs listed there are "
                        "installed and locked."
                    )
                else:
                    beside = os.path.normpath(os.path.join(pack.folder, other.source))
                    detail += f" {beside} does not contain it. List a pack from another source in .planner/policy.toml."
                problems.append(error("policy.dependency", "Missing pack", detail, other.span))
            elif found is not None and other.version and not allowed(other.version, found.manifest.version):
                detail = (
                    f"{pack.name} imports from {other.name} {other.version}, but {found.manifest.version} is installed."
                )
                problems.append(error("policy.dependency", "Wrong pack version", detail, other.span))
    problems += _codes_of_two(packs.values())
    if problems:
        raise Failure(problems)
    return Packs(packs, rules, spaces)


def _codes_of_two(packs: Iterable[Pack]) -> Iterator[Diagnostic]:
    seen: dict[str, str] = {}
    for pack in packs:
        for code, info in pack.manifest.policies.items():
            if seen.setdefault(code, pack.name) != pack.name:
                detail = (
                    f"{seen[code]} also has a policy with the code {code}. Codes must be unique, because waivers name "
                    "only the code."
                )
                yield error("policy.pack", "Duplicate policy code", detail, info.span)


def _nearest(name: str, folders: Mapping[str, str]) -> str | None:
    """The innermost directory in `folders` that contains a file; None if there is none."""
    folder = _folder(name)
    while True:
        if folder in folders:
            return folder
        if folder == os.curdir or os.path.dirname(folder) == folder:
            return None
        folder = os.path.dirname(folder) or os.curdir


def _folder(name: str) -> str:
    """The directory of a file; "." for the top directory."""
    return os.path.normpath(os.path.dirname(name) or os.curdir)


def _data(
    manifest: PackManifest, folder: str, texts: Mapping[str, str], problems: list[Diagnostic]
) -> Iterator[tuple[str, tuple[Columns, Rows]]]:
    for data in manifest.data.values():
        name = next((n for n in texts if os.path.normpath(n) == os.path.normpath(os.path.join(folder, data.file))), "")
        if not name:
            detail = f"There is no file {data.file} in the pack."
            problems.append(error("policy.data", "Missing data file", detail, data.span))
            continue
        try:
            yield data.name, read_data(name, texts[name], dict(data.columns))
        except Failure as failure:
            problems += failure.diagnostics


def superseded(recorded: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """{name: text} of the recorded files, without the files of packs that also exist among the current files (`now`),
    even in another directory or with different files."""
    names = {_name_in(text) for name, text in now.items() if is_pack_file(name)} - {""}
    gone = [_folder(name) for name, text in recorded.items() if is_pack_file(name) and _name_in(text) in names]
    return {name: text for name, text in recorded.items() if not any(_is_in(name, folder) for folder in gone)}


def _is_in(name: str, folder: str) -> bool:
    return folder == os.curdir or os.path.normpath(name).startswith(f"{folder}{os.sep}")


def _name_in(text: str) -> str:
    try:
        return read_manifest(MANIFEST, text).name
    except Failure:
        return ""  # this is reported when the pack is read


def data_names(manifest: PackManifest, folder: str) -> list[str]:
    return [os.path.join(folder, data.file) for data in manifest.data.values()]


# ---------------------------------------------------------------- relations


def _declarations(pack: Pack) -> syntax.RuleFile:
    manifest, source = pack.manifest, pack.manifest.source
    statements: list[syntax.Statement] = []
    open_: list[syntax.Name] = []
    for parameter in manifest.parameters.values():
        doc = f"{_declaration_text(parameter.name, parameter.type.columns)}: {parameter.description}."
        statements.append(_declaration(pack, parameter.name, parameter.type.columns, doc, parameter.span))
        open_.append(syntax.Name(qualified(pack.name, parameter.name), parameter.span.start, parameter.span.end))
    given: list[syntax.Name] = []
    for data in manifest.data.values():
        columns = pack.data[data.name][0]
        doc = f"{_declaration_text(data.name, columns)}: {data.description or f'the content of {data.file}'}."
        statements.append(_declaration(pack, data.name, columns, doc, data.span))
        given.append(syntax.Name(qualified(pack.name, data.name), data.span.start, data.span.end))
    for kind, names in (("open", open_), ("export", open_), ("output", open_), ("input", given)):
        if names:
            statements.append(syntax.Directive(kind, tuple(names), source, 0, 1))
    return syntax.RuleFile(source, statements, True)


def _declaration(pack: Pack, name: str, columns: Columns, doc: str, span: Span) -> syntax.Declaration:
    shown = tuple(
        syntax.ColumnSyntax(column, syntax.Name(kind, span.start, span.end), span.start, span.end)
        for column, kind in columns
    )
    whole = syntax.Name(qualified(pack.name, name), span.start, span.end)
    return syntax.Declaration(whole, shown, None, (), doc, span.source, span.start, span.end)


def _declaration_text(name: str, columns: Sequence[tuple[str, str]]) -> str:
    return f"{bare(name)}({', '.join(column for column, _ in columns)})"
