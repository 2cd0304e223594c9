"""Resolves names in namespaces. The names in a namespace are private unless they are exported. A predicate `kept` that
is declared in a file of the namespace acme.tags gets the name `acme.tags.kept`. In files of this namespace, it is
written `kept`. Other files import the namespace (`import acme.tags as t`), and write `t.kept` if the predicate is
exported. Files without a namespace share a common namespace, and may use the name of a predicate without its namespace
if exactly one other namespace exports this name. Types also belong to the namespace in which they are declared, but
cannot be used outside it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from planner.foundation.vocabulary.diagnostic import Diagnostic, error, warning
from planner.foundation.vocabulary.span import Span
from planner.language.syntax import rule_syntax as syntax
from planner.logic.datalog.language.builtins import FUNCTIONS, RELATIONS, TESTS


class FileSpace(NamedTuple):
    """The namespace of a file. `stem`: the name of the file in the namespace, from which the names of rules without a
    name are formed."""

    space: str
    stem: str


Spaces = Mapping[str, FileSpace]  # namespaces by file name; other files have none


def qualified(space: str, name: str) -> str:
    """The full name of a predicate, such as `acme.tags.kept`."""
    return f"{space}.{name}" if space else name


def bare(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition(".")[2]


def resolve(
    files: Sequence[syntax.RuleFile], spaces: Spaces, core: Collection[str] | None
) -> tuple[list[syntax.RuleFile], list[Diagnostic]]:
    if not spaces and not any(
        isinstance(s, syntax.ImportSyntax) or _exports(s) for file in files for s in file.statements
    ):
        return list(files), []
    world = _World(files, spaces, core)
    return [world.resolved(file) for file in files], world.diagnostics


def _exports(statement: syntax.Statement) -> bool:
    return isinstance(statement, syntax.Directive) and statement.kind == "export"


class _World:
    def __init__(self, files: Sequence[syntax.RuleFile], spaces: Spaces, core: Collection[str] | None) -> None:
        self.spaces, self.core = spaces, core
        self.declared: dict[str, syntax.Declaration] = {}
        self.types: set[str] = set()
        self.flagged: dict[str, set[str]] = {"export": set(), "open": set()}
        self.product: set[str] = set()
        self.diagnostics: list[Diagnostic] = []
        for file in files:
            space = self.space(file)
            for s in file.statements:
                if isinstance(s, syntax.Declaration):
                    name = qualified(space, s.name.text) if not file.is_whole else s.name.text
                    self.declared.setdefault(name, s)
                    if self.is_core(file):
                        self.product.add(name)
                elif isinstance(s, syntax.TypeDeclaration):
                    self.types.add(qualified(space, s.name.text))
                elif isinstance(s, syntax.Directive) and s.kind in self.flagged:
                    own = (n.text if file.is_whole else qualified(space, n.text) for n in s.names)
                    self.flagged[s.kind].update(own)
        self.names = sorted({entry.space for entry in spaces.values()})
        self.by_bare: dict[str, list[str]] = {}
        for name in sorted(self.declared):
            if "." in name:
                self.by_bare.setdefault(bare(name), []).append(name)

    def space(self, file: syntax.RuleFile) -> str:
        entry = self.spaces.get(file.source.filename)
        return entry.space if entry is not None else ""

    def is_core(self, file: syntax.RuleFile) -> bool:
        return self.core is not None and file.source.filename in self.core

    def resolved(self, file: syntax.RuleFile) -> syntax.RuleFile:
        if self.is_core(file) or file.is_whole:
            return file
        resolver = _Resolver(self, self.space(file))
        statements = [made for statement in file.statements if (made := resolver.statement(statement)) is not None]
        self.diagnostics += resolver.unused()
        return syntax.RuleFile(file.source, statements)


class _Resolver:
    def __init__(self, world: _World, space: str) -> None:
        self.world, self.own = world, space
        self.imports: dict[str, syntax.ImportSyntax] = {}
        self.used: set[str] = set()

    def _error(self, code: str, summary: str, detail: str, span: Span) -> None:
        self.world.diagnostics.append(error(code, summary, detail, span))

    def unused(self) -> Iterator[Diagnostic]:
        for alias, statement in self.imports.items():
            if alias not in self.used:
                detail = f"The file does not use any name {alias}.NAME."
                yield warning("rules.unused_import", "Unused import", detail, statement.span)

    # -------- statements

    def statement(self, s: syntax.Statement) -> syntax.Statement | None:
        if isinstance(s, syntax.ImportSyntax):
            self._import(s)
            return None
        if isinstance(s, syntax.TypeDeclaration):
            return syntax.TypeDeclaration(self._local_name(s.name), self._type(s.base), s.doc, s.source, s.start, s.end)
        if isinstance(s, syntax.Declaration):
            columns = tuple(syntax.ColumnSyntax(c.name, self._type(c.type), c.start, c.end) for c in s.columns)
            inputs = tuple(syntax.Name(self.name(n.text, s.within(n), n), n.start, n.end) for n in s.inputs)
            return syntax.Declaration(
                self._local_name(s.name), columns, s.operator, inputs, s.doc, s.source, s.start, s.end
            )
        if isinstance(s, syntax.Directive):
            if s.kind == "export" and not self.own:
                detail = "Only files of a pack can export names. The names of other files are visible everywhere."
                self._error("rules.export", "Export without a pack", detail, s.span)
                return None
            names = tuple(map(self._local_name, s.names))
            return syntax.Directive(s.kind, names, s.source, s.start, s.end)
        if isinstance(s, syntax.RuleSyntax):
            head = self._atom(s, s.head)
            self._may_derive(s, s.head, head.predicate)
            body = tuple(requalified(literal, lambda atom: self._atom(s, atom)) for literal in s.body)
            return syntax.RuleSyntax(s.annotations, head, body, s.source, s.start, s.end)
        return s

    def _local_name(self, name: syntax.Name) -> syntax.Name:
        return syntax.Name(qualified(self.own, name.text), name.start, name.end)

    def _type(self, name: syntax.Name) -> syntax.Name:
        own = qualified(self.own, name.text)
        return syntax.Name(own, name.start, name.end) if own in self.world.types else name

    def _import(self, s: syntax.ImportSyntax) -> None:
        space, alias = s.space.text, s.alias.text
        if space not in self.world.names:
            known = f" The packs are {', '.join(self.world.names)}." if self.world.names else " No pack is loaded."
            detail = f"There is no pack {space}.{nearest(space, self.world.names)}{known}"
            self._error("rules.unknown_import", "Unknown import", detail, s.within(s.space))
        elif space == self.own:
            detail = "Names of the same pack need no import: write them without a prefix."
            self._error("rules.unknown_import", "Import of the pack itself", detail, s.span)
        elif alias in self.imports:
            detail = f"{alias} is already the name of {self.imports[alias].space}."
            self._error("rules.duplicate", "Import declared twice", detail, s.within(s.alias))
            return
        self.imports[alias] = s

    def _may_derive(self, s: syntax.RuleSyntax, at: syntax.Atom, name: str) -> None:
        """Report a rule for a predicate that belongs to another namespace and is not open."""
        space = name.rpartition(".")[0]
        if space and space != self.own and name in self.world.declared and name not in self.world.flagged["open"]:
            detail = f"{bare(name)} belongs to {space} and is not open to other rules."
            self._error("rules.foreign_predicate", "Rule for a predicate of another pack", detail, s.within(at))

    # -------- names

    def _atom(self, s: syntax.RuleSyntax, atom: syntax.Atom) -> syntax.Atom:
        at = syntax.Name(atom.predicate, atom.start, atom.start + len(atom.predicate))
        name = self.name(atom.predicate, s.within(atom), at)
        return atom if name == atom.predicate else syntax.Atom(name, atom.arguments, atom.start, atom.end)

    def name(self, text: str, span: Span, node: syntax.RuleNode) -> str:
        """The full name of a predicate. An unknown name is returned unchanged."""
        world = self.world
        if "." in text:
            return self._imported_file(text, span)
        own = qualified(self.own, text)
        if own in world.declared:
            return own
        if text in TESTS or text in FUNCTIONS or text in RELATIONS or text in world.product:
            return text
        elsewhere = world.by_bare.get(text, [])
        exported = [name for name in elsewhere if name in world.flagged["export"]]
        if not self.own and len(exported) == 1:
            return exported[0]
        if exported:
            spaces = [name.rpartition(".")[0] for name in exported]
            detail = f"{text} is a predicate of {' and of '.join(spaces)}."
            detail += f" Add import {spaces[0]} as {bare(spaces[0])}, and write {bare(spaces[0])}.{text}."
            self._error("rules.unknown_predicate", "Predicate of another pack", detail, span)
        elif elsewhere:
            self._private(text, elsewhere[0].rpartition(".")[0], span)
        elif self.own and text in world.declared:
            detail = f"{text} is declared in {world.declared[text].source.filename}, which is not part of {self.own}."
            self._error("rules.unknown_predicate", "Predicate is outside the pack", detail, span)
        elif self.own:
            visible = [bare(name) for name in world.declared if name.rpartition(".")[0] == self.own]
            near = nearest(text, [*visible, *world.product], self._declaration)
            detail = f"There is no predicate {text}.{near} Declare it with .decl."
            self._error("rules.unknown_predicate", "Unknown predicate", detail, span)
        return text

    def _imported_file(self, text: str, span: Span) -> str:
        alias, _, last = text.rpartition(".")
        statement = self.imports.get(alias)
        if statement is None:
            near = nearest(alias, self.imports)
            hint = f"Add import {alias} as {bare(alias)}" if alias in self.world.names else "Add import PACK as NAME"
            detail = f"Nothing is imported as {alias}.{near} {hint} at the top of the file."
            self._error("rules.unknown_import", "Unknown import", detail, span)
            return text
        self.used.add(alias)
        space = statement.space.text
        whole = qualified(space, last)
        if space not in self.world.names:
            return whole  # already reported
        exported = self.world.flagged["export"]
        if whole not in self.world.declared:
            visible = [bare(n) for n in exported if n.rpartition(".")[0] == space]
            detail = f"{space} has no predicate {last}.{nearest(last, visible, lambda n: self._declaration(n, space))}"
            self._error("rules.unknown_predicate", "Unknown predicate", detail, span)
        elif whole not in exported:
            self._private(last, space, span)
        return whole

    def _private(self, name: str, space: str, span: Span) -> None:
        exported = sorted(bare(n) for n in self.world.flagged["export"] if n.rpartition(".")[0] == space)
        shown = f"which exports {', '.join(exported)}" if exported else "which exports nothing"
        detail = f"{name} is private to {space}, {shown}."
        self._error("rules.private", "Private predicate", detail, span)

    def _declaration(self, name: str, space: str | None = None) -> str:
        own = qualified(self.own if space is None else space, name)
        result = self.world.declared.get(own) or self.world.declared[name]
        return f"{name}({', '.join(f'{c.name}: {c.type}' for c in result.columns)})"


def requalified(literal: syntax.Written, to: Callable[[syntax.Atom], syntax.Atom]) -> syntax.Written:
    """The literal, in which `to` has replaced each atom."""
    if isinstance(literal, syntax.Atom):
        return to(literal)
    return literal.mapped(lambda part: requalified(part, to))


def nearest(name: str, known: Iterable[str], shown: Callable[[str], str] = str) -> str:
    """A question with the most similar name, such as " Did you mean edge?"; "" if no name is similar. `shown`: formats
    the name."""
    from difflib import get_close_matches  # imported on first use, because only errors need it

    close = get_close_matches(name, sorted(set(known)), n=1)
    return f" Did you mean {shown(close[0])}?" if close else ""
