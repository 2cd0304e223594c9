"""`planner.batch.hcl`: the units of a fleet, in the syntax of the configuration language.

    locals { regions = ["eu", "us"] }
    unit "app" {
      for_each   = toset(local.regions)        # app/eu and app/us; each.key, each.value
      template   = "service"                   # defaults of the unit
      path       = "live/app"                  # the default is the label
      tags       = ["web"]
      variables  = { region = each.key }
      var_files  = ["eu.tfvars"]               # relative to the unit
      inputs     = { db_url = unit.db[each.key].url }    # expressions over the outputs of other units
      depends_on = [unit.network]              # only for the order
      workspace  = each.key
    }
    template "service" { time_limit = "10m" }
    units "live/*" { tags = ["live"] }         # every root module that matches, named by its path
    group "eu" { units = ["app/eu"]  variables = { region = "eu" }  inputs = { vpc = unit.network.id } }
    removed "old" { action = "destroy" }       # or "forget": a unit that is no longer declared
    include "teams/*.batch.hcl" {}             # more blocks, from files below this directory

A unit's own settings take precedence over its template, the template over its groups, and a `unit` block over a `units`
block. Inputs of a group apply only to units that declare the variable. file_recipe.py reads the other settings: hooks,
retries, limits, credentials and generated files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from planner.foundation.values.expression_text import expression_text
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr
from planner.language.config.reading import ExpressionPiece, Problems, constant, elements, expr_of, pairs, piece, read
from planner.language.syntax.body import Attribute, Block, Content
from planner.language.syntax.nodes import Literal
from planner.workflows.batch.file_parts import (
    GROUP,
    REMOVED,
    UNIT,
    UNITS,
    BatchFileParts,
    deployed,
    gathered,
    refuse_values,
    stack_of,
    warn_of_group,
    write_files,
)
from planner.workflows.batch.file_recipe import AroundReader, GeneratedFile, UnitRecipe
from planner.workflows.batch.file_scope import FleetScope, Mention, check_patterns, mentions
from planner.workflows.batch.model import FileLocation, Fleet, Input, RemovedUnit, Unit
from planner.workflows.batch.root_modules import FolderMemory, StackFolder, root_modules

ACTIONS = ("destroy", "forget")
"""the values of the argument `action` in a block `removed`"""


@frozen
class _Group:
    name: str
    patterns: tuple[str, ...]
    tags: tuple[str, ...]
    variables: dict[str, str]
    var_files: tuple[str, ...]
    inputs: dict[str, ExpressionPiece]
    around: UnitRecipe
    scope: FleetScope
    span: Span


@frozen
class _Draft:
    """A unit before its references to other units are resolved. `inputs`: {variable: expression}. `after`: the entries
    of `depends_on`. `offers`: {variable: (expression, scope)}, the inputs from the unit's groups."""

    unit: Unit
    scope: FleetScope
    inputs: dict[str, ExpressionPiece]
    after: tuple[Expr, ...]
    around: UnitRecipe
    offers: dict[str, tuple[ExpressionPiece, FleetScope]] = field(factory=dict)


def read_batch_file(path: str, memory: Callable[[str], FolderMemory], is_read_only: bool = False) -> Fleet:
    """The fleet in a file; its `diagnostics` contain the problems. `memory`: a function from the root of a fleet to the
    cached data about the fleet's directories. `is_read_only`: do not write generated files."""
    root = os.path.dirname(os.path.abspath(path))
    problems = Problems()
    parts = gathered(path, root, problems)
    if parts is None or problems.has_errors:
        return Fleet(root, {}, path, tuple(problems))
    reader = _BatchFileReader(root, problems, memory(root), parts)
    units = reader.units_of()
    if not problems.has_errors and not is_read_only:
        write_files(root, reader.files, problems)
    text = "\0".join([parts.text, *map(repr, units.values())])
    fleet = Fleet(root, units, path, tuple(problems), text, tuple(reader.removals), parts.also)
    return fleet if problems.has_errors or not reader.removals else _with_removals(fleet)


def _with_removals(fleet: Fleet) -> Fleet:
    from planner.workflows.batch.removals import with_removals

    units, diagnostics = with_removals(fleet)
    both = fleet.units | units
    text = "\0".join([fleet.text, *map(repr, units.values())])
    return evolve(
        fleet,
        units={name: both[name] for name in sorted(both)},
        diagnostics=(*fleet.diagnostics, *diagnostics),
        text=text,
    )


class _BatchFileReader:
    def __init__(self, root: str, problems: Problems, memory: FolderMemory, parts: BatchFileParts) -> None:
        self.root, self.problems, self.memory, self.parts = root, problems, memory, parts
        self.scope = FleetScope(parts.locals, root)
        self.drafts: dict[str, _Draft] = {}
        self.found: dict[str, _Draft] = {}
        self.groups: list[_Group] = []
        self.repeated: dict[str, list[str]] = {}
        self.files: dict[str, GeneratedFile] = {}
        self.removals: list[RemovedUnit] = []
        self.templates: dict[str, Content] = {}

    def units_of(self) -> dict[str, Unit]:
        for block in self.parts.blocks:
            if block.type == "template":
                name = block.labels[0].value
                if name in self.templates:
                    self._duplicate("template", name, block.header_span)
                self.templates[name] = read(block.body, UNIT, self.problems)
        for block in self.parts.blocks:
            label = block.labels[0].value
            if block.type == "group":
                self._group(block, label)
            elif block.type == "units":
                self._pattern(block, label)
            elif block.type == "unit":
                self._unit(block, label)
            elif block.type == "removed":
                self._read_removed(block, label)
        taken = {os.path.normpath(d.unit.folder) for d in self.drafts.values() if not d.unit.workspace}
        drafts = {n: d for n, d in self.found.items() if n not in self.drafts and d.unit.folder not in taken}
        for draft in drafts.values():
            if draft.unit.called:
                self.repeated.setdefault(draft.unit.called[0], []).append(draft.unit.called[1])
        drafts |= self.drafts
        for removal in self.removals:
            if removal.unit in drafts:
                place = drafts[removal.unit].unit.place
                detail = (
                    f"{removal.unit} is still a unit of the fleet ({place}): delete the unit or the `removed` block"
                )
                self.problems.error("removed", "Removed unit still exists", f"{detail} ({removal.place})")
        for group in self.groups:
            check_patterns(group.patterns, group.name, group.span, drafts, self.repeated, self.problems)
        grouped = {name: self._with_groups(drafts[name]) for name in sorted(drafts)}
        return {name: self._finished(draft, grouped) for name, draft in grouped.items()}

    # ------------------------------------------------------------ blocks

    def _duplicate(self, kind: str, name: str, span: Span, place: object = None) -> None:
        where = f" is already declared at {place}" if place is not None else " is already declared here"
        self.problems.error(f"duplicate_{kind}", f"Duplicate {kind}", f"The {kind} {name}{where}.", span)

    def _unit(self, block: Block, name: str) -> None:
        content = read(block.body, UNIT, self.problems)
        layers = [*self._template(content), content]
        if name in self.drafts or name in self.repeated:
            known = self.drafts.get(name)
            self._duplicate("unit", name, block.header_span, known.unit.place if known else None)
            return
        each = next((c.attributes["for_each"] for c in reversed(layers) if "for_each" in c.attributes), None)
        if each is None:
            draft = self._draft(name, name, layers, self.scope, block.header_span)
            result = self._deployments(draft, stack_of(self.root, draft.unit.folder), block.header_span)
            self.drafts |= result
            keys = [one.unit.deployment for one in result.values() if one.unit.deployment]
            if keys:
                self.repeated[name] = keys
            return
        self.repeated[name] = []
        for key, value in self.scope.items(each, self.problems).items():
            self.repeated[name].append(key)
            inner = f"{name}/{key}"
            if inner in self.drafts:
                self._duplicate("unit", inner, block.header_span, self.drafts[inner].unit.place)
                continue
            draft = self._draft(inner, f"{name}/{key}", layers, self.scope.repeated(key, value), block.header_span)
            if stack_of(self.root, draft.unit.folder) is not None:
                detail = "A stack becomes one unit for each of its deployments: omit for_each."
                self.problems.error("stack_for_each", "Stack with for_each", detail, each.expr_span)
            self.drafts[inner] = evolve(draft, unit=evolve(draft.unit, called=(name, key)))

    def _template(self, content: Content) -> list[Content]:
        attribute = content.attributes.get("template")
        if attribute is None:
            return []
        name = self.scope.text(expr_of(attribute, self.problems), self.problems)
        if name is not None and name not in self.templates:
            detail = f"There is no template {name}.{did_you_mean(name, self.templates)}"
            self.problems.error("unknown_template", "Unknown template", detail, attribute.expr_span)
        return [self.templates[name]] if name in self.templates else []

    def _draft(self, name: str, path: str, layers: list[Content], scope: FleetScope, span: Span) -> _Draft:
        table = {key: attribute for content in layers for key, attribute in content.attributes.items()}
        folder = self._text(table.get("path"), scope) or path
        normal = os.path.relpath(os.path.join(self.root, folder), self.root)
        if not os.path.isdir(os.path.join(self.root, folder)):
            detail = f"The directory {folder} of the unit {name} does not exist."
            self.problems.error("no_unit_folder", "Unit without a directory", detail, span)
        variables: dict[str, str] = {}
        inputs: dict[str, ExpressionPiece] = {}
        after: list[Expr] = []
        around = UnitRecipe()
        for content in layers:
            variables |= self._variables(content.attributes.get("variables"), scope)
            inputs |= dict(self._entries(content.attributes.get("inputs")))
            if "depends_on" in content.attributes:
                items = elements(piece(content.attributes["depends_on"]), self.problems) or ()
                after += [Expr(item.node, item.source) for item in items]
            around = around.under(AroundReader(scope, self.problems).read(content))
        unit = Unit(
            name,
            normal,
            self._texts(table.get("tags"), scope),
            variables=tuple(sorted(variables.items())),
            var_files=self._texts(table.get("var_files"), scope),
            workspace=self._text(table.get("workspace"), scope),
            place=FileLocation.of(span),
        )
        return _Draft(unit, scope, inputs, tuple(after), around)

    def _pattern(self, block: Block, pattern: str) -> None:
        content = read(block.body, UNITS, self.problems)
        stacks: dict[str, StackFolder] = {}
        folders = root_modules(self.root, self.memory, pattern, stacks=stacks)
        stacks = {folder: stack for folder, stack in stacks.items() if stack.deployments}
        if not (folders or stacks):
            detail = f"None of the directories that match {pattern} is a root module or a stack with deployments."
            self.problems.warning("no_units", "Pattern without units", detail, block.header_span)
        first: _Draft | None = None
        for folder in (*folders, *sorted(stacks)):
            if first is None:
                first = self._draft(folder, folder, [content], self.scope, block.header_span)
            draft = evolve(first, unit=evolve(first.unit, name=folder, folder=folder))
            self.found |= self._deployments(draft, stacks.get(folder), block.header_span)

    def _deployments(self, draft: _Draft, stack: StackFolder | None, span: Span) -> dict[str, _Draft]:
        if stack is None:
            return {draft.unit.name: draft}
        if draft.inputs:
            refuse_values(draft.unit.name, span, self.problems)
        return {unit.name: evolve(draft, unit=unit) for unit in deployed(draft.unit, stack, span, self.problems)}

    def _read_removed(self, block: Block, name: str) -> None:
        content = read(block.body, REMOVED, self.problems)
        attribute = content.attributes.get("action")
        action = self._text(attribute, self.scope)
        if attribute is not None and action not in ACTIONS:
            detail = f"action must be one of {', '.join(ACTIONS)}, not {action}.{did_you_mean(action, ACTIONS)}"
            self.problems.error("unknown_word", "Unknown word", detail, attribute.expr_span)
        if any(removal.unit == name for removal in self.removals):
            self._duplicate("removed", name, block.header_span)
            return
        self.removals.append(RemovedUnit(name, action, FileLocation.of(block.header_span)))

    def _group(self, block: Block, name: str) -> None:
        content = read(block.body, GROUP, self.problems)
        each = content.attributes.get("for_each")
        if each is None:
            self.groups.append(self._one_group(block, name, content, self.scope))
            return
        for key, value in self.scope.items(each, self.problems).items():
            self.groups.append(self._one_group(block, f"{name}/{key}", content, self.scope.repeated(key, value)))

    def _one_group(self, block: Block, name: str, content: Content, scope: FleetScope) -> _Group:
        result = content.attributes
        return _Group(
            name,
            self._texts(result.get("units"), scope),
            self._texts(result.get("tags"), scope),
            self._variables(result.get("variables"), scope),
            self._texts(result.get("var_files"), scope),
            dict(self._entries(result.get("inputs"))),
            AroundReader(scope, self.problems).read(content),
            scope,
            result["units"].expr_span if "units" in result else block.header_span,
        )

    def _with_groups(self, draft: _Draft) -> _Draft:
        unit = draft.unit
        mine = [g for g in self.groups if any(fnmatchcase(unit.name, pattern) for pattern in g.patterns)]
        if not mine:
            return draft
        variables: dict[str, str] = {}
        offers: dict[str, tuple[ExpressionPiece, FleetScope]] = {}
        around = UnitRecipe()
        for group in mine:
            variables |= group.variables
            offers |= {variable: (value, group.scope) for variable, value in group.inputs.items()}
            around = around.under(group.around)
        if unit.deployment is not None and (variables or any(group.var_files for group in mine)):
            warn_of_group(unit.name, mine[0].span, self.problems)
            variables, mine = {}, [evolve(group, var_files=()) for group in mine]
        own = dict(unit.variables)
        return evolve(
            draft,
            unit=evolve(
                unit,
                groups=tuple(sorted({g.name for g in mine})),
                tags=tuple(sorted({*unit.tags, *(tag for group in mine for tag in group.tags)})),
                variables=tuple(sorted({**variables, **own}.items())),
                var_files=(*(file for group in mine for file in group.var_files), *unit.var_files),
            ),
            offers={n: p for n, p in offers.items() if n not in draft.inputs and n not in own},
            around=around.under(draft.around),
        )

    # ------------------------------------------------------------ references

    def _finished(self, draft: _Draft, drafts: Mapping[str, _Draft]) -> Unit:
        """The unit with its references resolved to existing units. Adds the files that the unit generates to
        `self.files`, and reports problems."""
        unit, scope = draft.unit, draft.scope
        folder = os.path.join(self.root, unit.folder)
        for file in draft.around.files.values():
            path = os.path.join(unit.folder, file.name)
            if path in self.files and self.files[path] != file:
                detail = f"Two units generate the file {path} with different content."
                self.problems.error("generated", "Duplicate file name", detail, file.span)
            self.files[path] = file
        after = []
        for expr in draft.after:
            item, _ = mentions(expr, scope, self.repeated)
            if len(item) != 1 or item[0].output or item[0].span != expr.span:
                detail = 'References to units have the form unit.NAME or unit["NAME"].'
                self.problems.error("unit_required", "Not a unit", detail, expr.span)
                continue
            after += [(name, FileLocation.of(item[0].span)) for name in self._meant(item[0], drafts)]
        names: tuple[tuple[str, str], ...] = ()
        offers = []
        try:
            names = scope.names_in(Expr(value.node, value.source) for value in draft.inputs.values())
            for name, (value, other) in draft.offers.items():
                offered = self._input(name, value, other, drafts)
                offers.append(evolve(offered, text=other.filled(Expr(value.node, value.source))))
        except (Failure, ValueError) as problem:
            self.problems.extend(getattr(problem, "diagnostics", ()))
        return evolve(
            unit,
            inputs=tuple(self._input(name, value, scope, drafts) for name, value in draft.inputs.items()),
            offers=tuple(offers),
            after=tuple(after),
            names=names,
            recipe=draft.around.recipe(folder),
        )

    def _input(self, name: str, value: ExpressionPiece, scope: FleetScope, drafts: Mapping[str, _Draft]) -> Input:
        item, wrong = mentions(Expr(value.node, value.source), scope, self.repeated)
        for span in wrong:
            detail = "Only local, each, and outputs of other units (unit.NAME.OUTPUT) can be used here."
            self.problems.error("unit_required", "Not an output of a unit", detail, span)
        named = tuple((unit, m.output, FileLocation.of(m.span)) for m in item for unit in self._meant(m, drafts))
        return Input(name, value.span.text, FileLocation.of(value.span), named)

    def _meant(self, mention: Mention, drafts: Mapping[str, _Draft]) -> list[str]:
        """The names of the units to which a reference refers. Reports an invalid reference and returns no names for
        it."""
        name = mention.name
        if name in self.repeated:
            keys = self.repeated[name]
            if mention.key is None:
                return [f"{name}/{key}" for key in keys]
            if mention.key in keys:
                return [f"{name}/{mention.key}"]
            detail = f'unit.{name} has no "{mention.key}".{did_you_mean(mention.key, keys)}'
            self.problems.error("unknown_unit", "Unknown unit", detail, mention.span)
            return []
        if name in drafts:
            return [name]
        detail = f"There is no unit {name}.{did_you_mean(name, [*drafts, *self.repeated])}"
        self.problems.error("unknown_unit", "Unknown unit", detail, mention.span)
        return []

    # ------------------------------------------------------------ arguments

    def _text(self, attribute: Attribute | None, scope: FleetScope) -> str:
        if attribute is None:
            return ""
        return scope.text(expr_of(attribute, self.problems), self.problems) or ""

    def _texts(self, attribute: Attribute | None, scope: FleetScope) -> tuple[str, ...]:
        return scope.texts(expr_of(attribute, self.problems), self.problems) if attribute is not None else ()

    def _entries(self, attribute: Attribute | None) -> list[tuple[str, ExpressionPiece]]:
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
                self.problems.error("name_required", "Invalid name", "Expected the name of a variable.", key.span)
        return named

    def _variables(self, attribute: Attribute | None, scope: FleetScope) -> dict[str, str]:
        """The values of the argument `variables`, as {variable: expression}; the expression is a string as in `-var
        NAME=EXPRESSION`."""
        variables: dict[str, str] = {}
        for name, value in self._entries(attribute) if attribute is None or _is_written(attribute) else ():
            if isinstance(value.node, Literal):
                variables[name] = value.span.text
                continue
            result = scope.value(Expr(value.node, value.source), self.problems)
            if result is not None:
                variables[name] = expression_text(result)
        if attribute is not None and not _is_written(attribute):
            result = scope.value(expr_of(attribute, self.problems), self.problems)
            entries = getattr(result, "items", None) if result.__class__ is not dict else result
            if isinstance(entries, dict):
                return {name: expression_text(item) for name, item in sorted(entries.items())}
            if result is not None:
                detail = "An object is required here: { name = value }."
                self.problems.error("object_required", "Invalid expression", detail, attribute.expr_span)
        return variables


def _is_written(attribute: Attribute) -> bool:
    """Whether the value is an object literal, `{ name = value }`."""
    return pairs(piece(attribute)) is not None
