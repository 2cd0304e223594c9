"""`planner.batch.hcl`: the units of a fleet, written down in the syntax of the configuration language.

    unit "app" {
      path       = "live/app"                  # the label, when it is not given
      tags       = ["web"]
      variables  = { region = "eu" }           # constants
      var_files  = ["eu.tfvars"]               # as seen from the unit
      inputs     = { db_url = unit.db.url }    # expressions over the outputs of other units
      depends_on = [unit.network]              # order alone
      workspace  = "blue"
    }
    units "live/*" { tags = ["live"] }         # every root module that the pattern finds, called by its path
    group "eu" { units = ["live/eu-*"]  variables = { region = "eu" } }

What a unit says wins over its groups, and a `unit` over `units`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from fnmatch import fnmatchcase

from attrs import evolve, frozen

from planner.batch.model import Fleet, Input, Place, Unit
from planner.batch.root_modules import Memory, root_modules
from planner.config.reading import (
    Piece,
    Problems,
    constant,
    constant_string,
    elements,
    pairs,
    piece,
    read,
    references,
)
from planner.syntax.body import Attribute, Block, BlockSchema, BodySchema
from planner.syntax.nodes import Literal, Traversal
from planner.vocabulary.nearest import did_you_mean
from planner.vocabulary.span import Span

NAME = "planner.batch.hcl"
_FILE = BodySchema(
    {}, (BlockSchema("unit", ("name",)), BlockSchema("units", ("pattern",)), BlockSchema("group", ("name",)))
)
_COMMON = {"tags": False, "variables": False, "var_files": False, "workspace": False}
_UNIT = BodySchema({**_COMMON, "path": False, "inputs": False, "depends_on": False})
_UNITS = BodySchema(_COMMON)
_GROUP = BodySchema({"units": True, "tags": False, "variables": False, "var_files": False})


@frozen
class _Group:
    name: str
    patterns: tuple[str, ...]
    tags: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    var_files: tuple[str, ...]


def read_batch_file(path: str, memory: Callable[[str], Memory]) -> Fleet:
    """The fleet that a file describes; what is wrong is in its diagnostics. `memory` as for find_fleet."""
    from planner.syntax.files import load_file

    root = os.path.dirname(os.path.abspath(path))
    shown = os.path.relpath(path)
    body, source, diagnostics = load_file(path, shown)
    problems = Problems(diagnostics)
    if body is None or problems.has_errors:
        return Fleet(root, {}, path, tuple(problems))
    reader = _Reader(root, problems, memory(root))
    for block in read(body, _FILE, problems).blocks:
        reader.block(block)
    return Fleet(root, reader.finish(), path, tuple(problems), source.text)


class _Reader:
    def __init__(self, root: str, problems: Problems, memory: Memory) -> None:
        self.root, self.problems, self.memory = root, problems, memory
        self.units: dict[str, Unit] = {}
        self.found: dict[str, Unit] = {}
        self.groups: list[_Group] = []
        self.mentions: list[tuple[str, Span]] = []

    def block(self, block: Block) -> None:
        label = block.labels[0].value
        if block.type == "group":
            self._group(block, label)
        elif block.type == "units":
            self._pattern(block, label)
        else:
            self._unit(block, label)

    def finish(self) -> dict[str, Unit]:
        taken = {os.path.normpath(u.folder) for u in self.units.values() if not u.workspace}
        units = {n: u for n, u in self.found.items() if n not in self.units and u.folder not in taken} | self.units
        units = {name: self._with_groups(units[name]) for name in sorted(units)}
        for name, span in self.mentions:
            if name not in units:
                detail = f"There is no unit {name}.{did_you_mean(name, units)}"
                self.problems.error("unknown_unit", "Unknown unit", detail, span)
        return units

    # ------------------------------------------------------------ blocks

    def _unit(self, block: Block, name: str) -> None:
        content = read(block.body, _UNIT, self.problems)
        attributes = content.attributes
        if name in self.units:
            detail = f"The unit {name} stands at {self.units[name].place} already."
            self.problems.error("duplicate_unit", "Duplicate unit", detail, block.header_span)
            return
        folder = self._text(attributes.get("path")) or name
        if not os.path.isdir(os.path.join(self.root, folder)):
            detail = f"The unit {name} should stand in {folder}, but there is no such folder."
            self.problems.error("no_unit_folder", "Unit without a folder", detail, block.header_span)
        self.units[name] = Unit(
            name,
            os.path.normpath(folder),
            self._texts(attributes.get("tags")),
            (),
            self._variables(attributes.get("variables")),
            self._texts(attributes.get("var_files")),
            self._inputs(attributes.get("inputs")),
            self._after(attributes.get("depends_on")),
            self._text(attributes.get("workspace")),
            self._place(block.header_span),
        )

    def _pattern(self, block: Block, pattern: str) -> None:
        attributes = read(block.body, _UNITS, self.problems).attributes
        folders = root_modules(self.root, self.memory, pattern)
        if not folders:
            detail = f"No folder that {pattern} matches is a root module."
            self.problems.warning("no_units", "Pattern without units", detail, block.header_span)
        tags, variables = self._texts(attributes.get("tags")), self._variables(attributes.get("variables"))
        var_files, workspace = self._texts(attributes.get("var_files")), self._text(attributes.get("workspace"))
        place = self._place(block.header_span)
        for folder in folders:
            self.found[folder] = Unit(
                folder, folder, tags, variables=variables, var_files=var_files, workspace=workspace, place=place
            )

    def _group(self, block: Block, name: str) -> None:
        attributes = read(block.body, _GROUP, self.problems).attributes
        self.groups.append(
            _Group(
                name,
                self._texts(attributes.get("units")),
                self._texts(attributes.get("tags")),
                self._variables(attributes.get("variables")),
                self._texts(attributes.get("var_files")),
            )
        )

    def _with_groups(self, unit: Unit) -> Unit:
        mine = [g for g in self.groups if any(fnmatchcase(unit.name, pattern) for pattern in g.patterns)]
        if not mine:
            return unit
        variables = dict(pair for group in mine for pair in group.variables)
        return evolve(
            unit,
            groups=tuple(sorted({g.name for g in mine})),
            tags=tuple(sorted({*unit.tags, *(tag for group in mine for tag in group.tags)})),
            variables=tuple(sorted({**variables, **dict(unit.variables)}.items())),
            var_files=(*(file for group in mine for file in group.var_files), *unit.var_files),
        )

    # ------------------------------------------------------------ arguments

    def _text(self, attribute: Attribute | None) -> str:
        return (constant_string(attribute, self.problems) or "") if attribute is not None else ""

    def _texts(self, attribute: Attribute | None) -> tuple[str, ...]:
        if attribute is None:
            return ()
        texts = []
        for item in elements(piece(attribute), self.problems) or ():
            value = constant(item, self.problems)
            if isinstance(value, str):
                texts.append(value)
            elif value is not None:
                self.problems.error("text_required", "Invalid expression", "Texts are required here.", item.span)
        return tuple(texts)

    def _entries(self, attribute: Attribute | None) -> list[tuple[str, Piece]]:
        if attribute is None:
            return []
        items = pairs(piece(attribute))
        if items is None:
            detail = "An object is required here: { name = value }."
            self.problems.error("object_required", "Invalid expression", detail, piece(attribute).start_span)
            return []
        named = []
        for key, value, _ in items:
            name = constant(key, self.problems) if isinstance(key.node, Literal) else None
            if isinstance(name, str):
                named.append((name, value))
            else:
                self.problems.error("name_required", "Invalid name", "Names of variables stand here.", key.span)
        return named

    def _variables(self, attribute: Attribute | None) -> tuple[tuple[str, str], ...]:
        """Names with constant expressions, as text: their values go to other processes."""
        variables = []
        for name, value in self._entries(attribute):
            if constant(value, self.problems) is not None:
                variables.append((name, value.span.text))
        return tuple(variables)

    def _inputs(self, attribute: Attribute | None) -> tuple[Input, ...]:
        from planner.syntax.references import variables

        inputs = []
        for name, value in self._entries(attribute):
            mentions = []
            for node in variables(value.node):
                span = Span(value.source, node.start, node.end)
                steps = node.steps if isinstance(node, Traversal) and node.root == "unit" else ()
                if not steps:
                    detail = "Only outputs of other units can be named here: unit.NAME.OUTPUT."
                    self.problems.error("unit_required", "Not an output of a unit", detail, span)
                    continue
                words = [str(getattr(step, "name", getattr(step, "key", ""))) for step in steps[:2]]
                self.mentions.append((words[0], span))
                mentions.append((words[0], words[1] if len(words) > 1 else "", self._place(span)))
            inputs.append(Input(name, value.span.text, self._place(value.span), tuple(mentions)))
        return tuple(inputs)

    def _after(self, attribute: Attribute | None) -> tuple[tuple[str, Place], ...]:
        if attribute is None:
            return ()
        places = []
        for reference in references(attribute, self.problems):
            node = reference.node
            if not isinstance(node, Traversal) or node.root != "unit" or len(node.steps) != 1:
                detail = 'Units are named like this: unit.NAME or unit["NAME"].'
                self.problems.error("unit_required", "Not a unit", detail, reference.span)
                continue
            name = str(getattr(node.steps[0], "name", getattr(node.steps[0], "key", "")))
            self.mentions.append((name, reference.span))
            places.append((name, self._place(reference.span)))
        return tuple(places)

    def _place(self, span: Span) -> Place:
        return Place.of(span)
