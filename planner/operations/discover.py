"""Searches for existing objects with the list blocks in query files, and writes configuration for the results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from planner.answers.policy.combined_plans import policy_files, three_valued, verdict_of
from planner.answers.policy.model import diagnostic
from planner.engine.plan.generation import check_output
from planner.engine.plan.make_plan import make_plan
from planner.engine.walk.hooks import FoundResource, HookGroup, Hooks
from planner.foundation.support.disk import on_disk
from planner.foundation.values.json_codec import to_json
from planner.foundation.values.value import type_of
from planner.foundation.vocabulary.address import ROOT, ResourceAddress, format_key, join, sort_key
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error, warning
from planner.foundation.vocabulary.limits import Limits
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.records import evolve
from planner.language.config.file_content import QUERIES
from planner.language.config.for_each import constant, for_each_items, module_scopes
from planner.language.config.model import ImportDecl
from planner.language.config.reading import Problems
from planner.language.config.static import StaticScope
from planner.language.config.variables import given_values
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.facts.managed import KnownObject, add_found, add_known, identity_text
from planner.logic.model.graph import source_json
from planner.operations import graphs
from planner.operations.options import OperationOptions
from planner.operations.plan import plan_options
from planner.operations.providers_needed import selection_problems
from planner.operations.state_access import Stored, load_with_values
from planner.world.state.model import State

HEADER = "# __generated__ by planner"
REQUEST = "# Please review these resources and move them into your main configuration files."


def discover(
    options: OperationOptions,
    hooks: Hooks,
    is_streamed: bool = False,
    others: Iterable[KnownObject] = (),
    covers: bool = False,
    policies: tuple[str, ...] = (),
) -> list[Diagnostic]:
    """Run the list blocks in a directory's query files in the order of their references, and pass the results to
    `hooks`. `is_streamed`: whether to pass generated configuration to the hooks instead of writing it to a file.
    `others`: the objects that other units of a fleet manage. `covers`: whether to also pass the result of `coverage` to
    the hooks. `policies`: files and directories of policies about managed and unmanaged objects. Returns diagnostics,
    which include an error if there are no list blocks."""
    diagnostics = Diagnostics()
    path = options.generate_config_out or ""
    with diagnostics.until_an_error():
        if path and not is_streamed:
            diagnostics.check(check_output(path, "normal"))
        start, variables = load_with_values(evolve(options, queries=True), diagnostics)
        root = start.config.root.resources
        searches = [decl for _, decl in sorted(root.items()) if decl.mode == "list"]
        if not searches:
            raise Failure(_nothing(options.directory))
        diagnostics.check(selection_problems(start.config, options.directory))
        diagnostics.check()
        limits = Limits(tuple(ResourceAddress(ROOT, "list", decl.type, decl.name) for decl in searches))
        start = evolve(start, options=evolve(start.options, limits=limits))
        own = policy_files(
            policies, "Packs check plans, not objects. Name rule files, for example with rules that read `unmanaged`."
        )
        modal, program, problems = three_valued(own, frozenset(), "discover")
        diagnostics += problems
        known = (*known_objects(start), *others)
        texts, results, ordered = _Blocks(), _Results(), _InOrder()
        _, problems = make_plan(
            start.config,
            start.state,
            variables,
            start.schemas,
            evolve(plan_options(start), describes_found=bool(path), refresh=False, known_objects=known),
            lambda walk, state: graphs.build(walk, start, state, limits),
            HookGroup((texts, results, _SearchEvents(hooks) if is_streamed else ordered)),
        )
        ordered.show(hooks)
        diagnostics += [problem for problem in problems if problem.code != "plan.targeting"]
        database = evaluate(program, results.facts(known), (*_RELATIONS, *modal.verdicts))
        diagnostics += [_twice(*row) for row in database.sorted("managed_twice")]
        if covers:
            hooks.discovered(coverage(database))
        findings = verdict_of(modal, program, database, source_json).findings
        diagnostics += [evolve(diagnostic(finding), address=None) for finding in findings]
        if path and not is_streamed:
            diagnostics += texts.write(path)
    return diagnostics


_RELATIONS = ("managed_twice", "coverage")


def coverage(database: Database) -> dict[str, dict[str, int]]:
    """{resource type: {"found" or "managed" or "pending" or "unmanaged" or "uncertain": number of objects}}."""
    counts: dict[str, dict[str, int]] = {}
    for type, kind, number in database.sorted("coverage"):
        counts.setdefault(str(type), {})[str(kind)] = int(number)
    return counts


def _twice(type: str, identity: str, instance: str, other: str) -> Diagnostic:
    detail = (
        f"{instance} and {other} are the same {type} ({identity}), so each apply may undo the changes of the other."
    )
    return warning("plan.managed_twice", "Object managed twice", detail)


# Managed objects: the objects in a state, and the objects that import blocks will import.


def recorded_objects(state: State, place: str = "") -> list[KnownObject]:
    """The current objects of managed resources in a state. `place` is the first part of the objects' names: the unit of
    a fleet or, for a deployment of a stack, `UNIT: COMPONENT`."""
    prefix = f"{place}: " if place else ""
    known = []
    for resource, instance in state.instances():
        record = instance.current
        if record is None or resource.mode != "managed":
            continue
        source = parse_provider_configuration(resource.provider).source
        name, version = prefix + resource.address + format_key(instance.key), record.identity_schema_version or 0
        id = (record.attributes or {}).get("id")
        known.append(
            KnownObject(name, resource.type, source, record.identity, version, id=id if isinstance(id, str) else "")
        )
    return known


def known_objects(stored: Stored[Any], unit: str = "") -> list[KnownObject]:
    """The objects in a directory's state, and the objects that its import blocks will import. `unit` is the first part
    of the objects' names: the name of the directory in a fleet."""
    prefix = f"{unit}: " if unit else ""
    known = recorded_objects(stored.state, unit)
    present = {one.instance for one in known}
    for path, module, scope in module_scopes(stored.config.root, given_values(stored.given), stored.workspace):
        for declared in module.imports:
            target = declared.instance or declared.target
            name = f"{prefix}{join(path, str(target))}"
            if target is not None and name not in present:
                for id, identity in _pending(declared, scope):
                    known.append(KnownObject(name, target.type, "", identity, is_pending=True, id=id))
    return known


def _pending(declared: ImportDecl, scope: StaticScope) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """(ID, identity) of each object that an import block names. The ID is "" and the identity is None if they cannot be
    determined without a plan. If for_each cannot be determined without a plan, nothing is returned."""
    problems = Problems()
    scopes = [scope]
    if declared.for_each is not None:
        value = constant(scope, declared.for_each, problems)
        items = for_each_items(value, declared.for_each, problems) if value is not None else None
        repeated = ({"each": {"key": key, "value": item}} for key, item in (items or {}).items())
        scopes = [scope.repeated(repetition) for repetition in repeated]
    for one in scopes:
        id = constant(one, declared.id, problems) if declared.id is not None else None
        identity = constant(one, declared.identity, problems) if declared.identity is not None else None
        parts = to_json(identity, type_of(identity)) if isinstance(identity, dict) else None
        yield id if isinstance(id, str) else "", parts


class _Results(Hooks):
    """Collects the results of all searches."""

    def __init__(self) -> None:
        self._results: list[tuple[str, FoundResource]] = []

    def list_found(self, address: str, result: FoundResource) -> None:
        self._results.append((address, result))

    def facts(self, known: Iterable[KnownObject]) -> FactBase:
        """Facts about the results and about the objects that are already managed."""
        facts = FactBuilder()
        for number, (address, one) in enumerate(self._results):
            add_found(facts, address, number, one.type, one.identity, one.id)
        for type, source, version in sorted({(one.type, one.source, one.identity_version) for _, one in self._results}):
            add_known(facts, known, type, source, version)
        return facts.build()


def _nothing(directory: str) -> Diagnostic:
    detail = f"There is no list block in a file of {directory} whose name ends with {QUERIES}."
    return error("query.nothing", "No resource to query", detail)


class _SearchEvents(Hooks):
    """Hooks that forward only the events of searches to other hooks."""

    def __init__(self, hooks: Hooks) -> None:
        self.list_start, self.list_found = hooks.list_start, hooks.list_found  # type: ignore[method-assign]
        self.list_complete = hooks.list_complete  # type: ignore[method-assign]


class _InOrder(Hooks):
    """Collects the results of concurrent searches, so that they can be shown in the order of addresses."""

    def __init__(self) -> None:
        self._found: dict[str, list[FoundResource]] = {}
        self._complete: list[tuple[str, str, int, int]] = []

    def list_found(self, address: str, result: FoundResource) -> None:
        self._found.setdefault(address, []).append(result)

    def list_complete(self, address: str, type: str, total: int, managed: int = 0) -> None:
        self._complete.append((address, type, total, managed))

    def show(self, hooks: Hooks) -> None:
        """Pass all results to `hooks`, sorted by the address of the list block, including partial results of failed
        searches."""
        complete = {one[0]: one for one in self._complete}
        for address in sorted({*self._found, *complete}, key=sort_key):
            for result in self._found.get(address, ()):
                hooks.list_found(address, result)
            if address in complete:
                hooks.list_complete(*complete[address])


class _Blocks(Hooks):
    """Collects the generated configuration of the results, by the address of the list block."""

    def __init__(self) -> None:
        self._texts: dict[str, list[tuple[str, str]]] = {}
        """{address of the list block: [(object, configuration)]}"""

    def list_found(self, address: str, result: FoundResource) -> None:
        if result.config:
            text = f"\n{HEADER} from {address}\n{result.import_config}\n\n{result.config}\n"
            self._texts.setdefault(address, []).append((f"{result.type} {identity_text(result.identity)}", text))

    def write(self, path: str) -> list[Diagnostic]:
        """Write all generated blocks to a new file; if there are none, no file is written. For an object that several
        searches found, only one block is written. Returns problems."""
        if not self._texts:
            return []
        items = (one for address in sorted(self._texts, key=sort_key) for one in self._texts[address])
        texts: dict[str, str] = {}
        for object, text in items:
            texts.setdefault(object, text)
        try:
            with open(on_disk(path), "x", encoding="utf-8") as file:
                file.write("".join([f"{HEADER}\n{REQUEST}\n", *texts.values()]))
        except OSError as problem:
            detail = f"{path}: {problem.strerror or problem}."
            return [error("plan.generate_write", "Cannot write the generated configuration", detail)]
        return []
