"""Builds facts from a plan or state in JSON. The relations are the same as for planner's own plans, but only those are
built that the document contains."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from planner.answers.policy.facts.build import relations_of
from planner.answers.policy.facts.changes import Changes
from planner.answers.policy.facts.configuration import ConfigurationFacts
from planner.answers.policy.facts.contents import Contents
from planner.answers.policy.facts.owners import ConfiguredOwners, arguments
from planner.answers.policy.facts.relations import (
    VALUE,
    DeferredResource,
    PolicyFacts,
    PolicyInputs,
    deferred_resources,
)
from planner.answers.policy.from_json.changes import Matters, plan_of
from planner.answers.policy.from_json.configuration import ShownConfiguration
from planner.answers.policy.from_json.dependencies import ShownImpact
from planner.answers.policy.from_json.document import Document, Misshapen, not_usable, objects, table, text
from planner.answers.policy.from_json.rows import ShownRows
from planner.answers.policy.from_json.state import plan_of_state, read_values
from planner.answers.policy.paths_read import Looked
from planner.answers.policy.planned_values import ValueRows, root_of
from planner.answers.policy.values_read import kind_of
from planner.foundation.support.calendar import days_of
from planner.foundation.support.exact_json import JsonError
from planner.foundation.values.value import UNKNOWN, Unknown, Value
from planner.foundation.vocabulary.address import join
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Config, ModuleConfig, OutputDecl, ProviderDecl, ResourceDecl, VariableDecl
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import Scope
from planner.language.functions import CallContext
from planner.language.syntax.body import Attribute
from planner.language.syntax.nodes import GetAttr, Traversal, Variable
from planner.logic.datalog.language.values import Row
from planner.logic.facts.from_state import module_path
from planner.logic.model.plan import OutputChange, Plan, ResourceChange, change_name
from planner.logic.programs.actions import does

_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z$")
OF_CONFIGURATION = frozenset(
    ("lifecycle", "provisioner", "removed_block", "move_block", "required_provider", "uses_provider", "backend")
)
"""relations that documents do not contain, but that can be built from the files of the configuration"""
OF_REFERENCES = frozenset(("depends", "blast", "blast_size"))
"""relations that are derived from the references in the document of a plan"""
UNTOLD = (
    OF_CONFIGURATION
    | OF_REFERENCES
    | {
        *("targeted", "unknown_because", "reference", "node", "edge"),
        *("backend_argument", "module_version", "locked_provider", "variable_origin", "run"),
    }
)
"""relations that a document itself does not contain"""
OF_PLANS = frozenset(
    (
        *("configured", "resource", "variable", "module_call", "provider_instance", "provider_argument"),
        *("check_result", "plan_time", "plan_mode"),
    )
)
"""relations in the document of a plan, but not in the document of a state"""


OF_THE_REST = frozenset(
    (
        *("configured", "variable", "resource", "module_call", "provider_instance", "provider_argument", "data_value"),
        *("check_result", "drifted", "sensitive_at"),
    )
)
"""relations that cannot be built from an excerpt"""


def shown_facts(
    document: Document,
    reads: PolicyInputs,
    config: Config | None = None,
    locked: Callable[[], Iterable[Row]] | None = None,
) -> PolicyFacts:
    """The facts in a document. `config`: the configuration of the working directory, from which the plan may have been
    made. If it was, the configuration is used for source locations and for the relations in OF_CONFIGURATION. `locked`:
    returns the rows of `locked_provider` from the lock file. Raises Failure."""
    try:
        if config is not None or not reads.predicates.isdisjoint(OF_THE_REST):
            document = document.whole
        try:
            read = document.with_configuration if "depends" in reads else document
            return _facts(read, reads, config, locked=locked)
        except JsonError:  # the excerpt has an unexpected form, or contains numbers that may have lost digits
            return _facts(document.whole, reads, config, locked=locked)
    except Misshapen as problem:
        raise not_usable(document.name, str(problem)) from None
    except RecursionError:
        raise not_usable(document.name, "it is nested too deeply") from None


def piece_facts(document: Document, reads: PolicyInputs, seen: set[tuple[str, str]], matters: Matters) -> PolicyFacts:
    """The facts of a chunk. `seen`: the objects of other chunks; the objects of this chunk are added. Objects of kinds
    for which `matters` returns False may be left out. Raises Misshapen, and JsonError if the whole document must be
    read."""
    return _facts(document, reads, None, seen, matters)


def _facts(
    document: Document,
    reads: PolicyInputs,
    config: Config | None,
    seen: set[tuple[str, str]] | None = None,
    matters: Matters | None = None,
    locked: Callable[[], Iterable[Row]] | None = None,
) -> PolicyFacts:
    is_plan = document.kind == "plan"
    configuration = ShownConfiguration(document)
    plan = plan_of(document, configuration, reads, seen, matters) if is_plan else plan_of_state(document, configuration)
    if config is not None and not (is_plan and _is_of(configuration, config)):
        config = None
    owners = ShownOwners(plan, configuration, config)
    check = document.excerpt.check_numbers if document.excerpt is not None else None
    contents = ShownContents(
        plan, owners, reads, configuration.root_variables, lambda structure: ShownRows(structure, check)
    )
    contents.read()
    shown = ShownPlan(document, plan, configuration, contents.after)
    tellers: list[Any] = [shown, Changes(plan, owners.changes)]
    untold = set(UNTOLD)
    if config is not None and owners.configured is not None:
        untold -= OF_CONFIGURATION
        tellers += [ConfigurationFacts(plan, config, owners.configured, reads), _Beside(config, locked)]
        if locked is not None:
            untold.discard("locked_provider")
    if is_plan and reads.predicates & OF_REFERENCES:
        impact = _impact(document, plan, configuration, config)
        if document.excerpt is not None and impact.asks_state:
            raise JsonError("the prior state is required", 0)
        untold -= {"depends"} if not impact.is_exact else OF_REFERENCES
        tellers.append(impact)
    blasts = reads.predicates & {"blast", "blast_size"}
    if blasts and not any(does(change.action, "disturbs") for change in plan.changes):
        untold -= blasts
    asks_why = reads.interest.asks_why_unknown if reads.interest is not None and "unknown_because" in reads else None
    if asks_why is not None and not any(asks_why(kind_of(c)) for c in plan.changes):
        untold.discard("unknown_because")
    if document.root.get("complete") is True:
        untold.discard("targeted")
    if not plan.mode:
        untold.add("plan_mode")
    if not plan.timestamp:
        untold.add("plan_time")
    untold |= configuration.untold if is_plan else OF_PLANS
    relations = relations_of(PolicyInputs(reads.predicates - untold), tellers)
    unknown = {**contents.after.unknown, **contents.elsewhere, **shown.unknown}
    if is_plan and config is not None and owners.configured is not None and unknown and _stands(config, plan):
        unknown |= documents_of(owners.configured, unknown)
    return PolicyFacts(
        {**relations, **contents.relations(shown.unknown_arguments)},
        contents.hidden,
        owners,
        None,
        reads.given,
        frozenset(untold & reads.predicates),
        unknown,
        tuple(_later(document, plan, configuration, config)),
    )


def _later(
    document: Document, plan: Plan, configuration: ShownConfiguration, config: Config | None
) -> Iterator[DeferredResource]:
    """The resources that are deferred to a later plan, in planner's or in Terraform's form of the JSON. Raises
    Misshapen."""
    entries = objects(document.root, "deferred", "")
    deferred = tuple((text(e, "address", "deferred"), text(e, "argument", "deferred", ""), "") for e in entries)
    if deferred:
        blocks = ((address, mode, type_) for address, _, mode, type_ in configuration.resource())
        yield from deferred_resources(
            deferred, blocks, lambda: _impact(document, plan, configuration, config).dependents
        )
        return  # the lines below read Terraform's equivalent form
    for entry in objects(document.root, "deferred_changes", ""):
        change, path = table(entry, "resource_change", "deferred_changes"), "deferred_changes.resource_change"
        address = text(change, "address", path)
        yield DeferredResource(address, text(change, "mode", path), text(change, "type", path), address, "")


def _impact(document: Document, plan: Plan, configuration: ShownConfiguration, config: Config | None) -> ShownImpact:
    return ShownImpact(document, plan, configuration, config)


def _is_of(shown: ShownConfiguration, config: Config) -> bool:
    """Whether a configuration matches the document: it contains the same resources (with at least the arguments in the
    document), module calls and variables. False for a configuration without resources and module calls."""
    here: dict[str, ResourceDecl] = {}
    calls: set[str] = set()
    for module in config.root.walk():
        path = ".".join(f"module.{name}" for name in module.path)
        here |= {join(path, key): decl for key, decl in module.resources.items()}
        calls |= {join(path, f"module.{name}") for name in module.calls}
    if here.keys() != shown.blocks.keys() or calls != shown.calls.keys():
        return False
    if {name for name, _ in shown.root_variables()} != config.root.variables.keys() or not (here or calls):
        return False
    return all(shown.given(object) <= arguments(decl) for object, decl in here.items())


def _stands(config: Config, plan: Plan) -> bool:
    """Whether no file of the configuration was modified after the plan was made, according to the modification times of
    the files; False if this is not known."""
    time = _TIME.match(plan.timestamp)
    if time is None:
        return False
    year, month, day, hour, minute, second = map(int, time.groups())
    made = days_of(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    try:
        return all(os.stat(name).st_mtime < made + 1 for name in config.files)
    except OSError:
        return False


class _Beside:
    """The relations about the context of a plan that are built from the available configuration and its lock file."""

    def __init__(self, config: Config, locked: Callable[[], Iterable[Row]] | None) -> None:
        self.config, self.locked = config, locked

    def backend(self) -> Iterable[Row]:
        backend = self.config.root.backend
        return [("local" if backend is None else backend.type,)]

    def locked_provider(self) -> Iterable[Row]:
        return self.locked() if self.locked is not None else ()


class ShownOwners:
    """Finds the objects to which addresses in a document belong. The source locations of objects are known only if the
    configuration is available."""

    def __init__(self, plan: Plan, configuration: ShownConfiguration, config: Config | None) -> None:
        self.configured = ConfiguredOwners(plan, config) if config is not None else None
        self.changes: dict[str, ResourceChange] = {change_name(c): c for c in plan.changes}
        self._configuration = configuration
        self._known: dict[str, frozenset[str]] = {}

    def about(self, address: str) -> ResourceDecl | OutputDecl | VariableDecl | ProviderDecl | None:
        return self.configured.about(address) if self.configured is not None else None

    def span(self, address: str, path: str = "") -> Span | None:
        return self.configured.span(address, path) if self.configured is not None else None

    def given(self, address: str) -> frozenset[str]:
        if self.configured is not None:
            return self.configured.given(address)
        change = self.changes.get(address)
        if change is None:
            return frozenset()
        object = self._configuration.object(change.module, change.mode, change.type, change.name)
        if object not in self._known:
            self._known[object] = self._configuration.given(object)
        return self._known[object]

    def source(self, predicate: str, row: Row) -> Any | None:
        source = self.configured.source(predicate, row) if self.configured is not None else None
        return source if isinstance(source, Span) else None


class ShownContents(Contents[ShownRows]):
    """The relations about values in JSON. The values in an entry of the plan are triples (see `plan_of`)."""

    def _object(self, rows: ShownRows, address: str, value: Any, looked: Looked) -> None:
        now, unknown, sensitive = value
        rows.add_shown(address, now, unknown, sensitive, looked)

    def _output(self, rows: ShownRows, address: str, output: OutputChange, value: Any) -> None:
        now, unknown, sensitive = value
        if now is None and not unknown:
            return
        rows.walk_shown(address, VALUE, now, unknown, sensitive, VALUE if output.sensitive else None)

    def _variable(self, rows: ShownRows, address: str, value: Any, secret: str | None) -> None:
        rows.walk_shown(address, VALUE, value, None, None, secret)


class ShownPlan:
    """The relations that are built from members of a document."""

    def __init__(self, document: Document, plan: Plan, configuration: ShownConfiguration, rows: ShownRows) -> None:
        self.document, self.plan, self.configuration, self.rows = document, plan, configuration, rows
        self.variable, self.resource = configuration.variable, configuration.resource
        self.module_call, self.provider_instance = configuration.module_call, configuration.provider_instance
        self.unknown: dict[tuple[str, str], Unknown] = {}
        """{(address, path): unknown part} of provider configurations and data sources"""
        self.unknown_arguments: frozenset[tuple[str, str]] = frozenset()
        """(address, path) of unknown parts of provider configurations; complete once provider_argument is built"""

    def plan_time(self) -> Iterable[Row]:
        return [(self.plan.timestamp,)]

    def provider_argument(self) -> Iterable[Row]:
        result = ShownRows(False)
        self.configuration.provider_arguments(result)
        self.unknown_arguments = frozenset(result.unknown)
        return self._kept(result)

    def data_value(self) -> Iterable[Row]:
        result = ShownRows(False)
        for address, value, sensitive in self._data():
            result.add_shown(address, value, None, sensitive)
        for change in self.plan.changes:
            if change.mode == "data":
                now, unknown, sensitive = change.after
                result.add_shown(change.address, now, unknown, sensitive)
        return self._kept(result)

    def _data(self) -> Iterator[tuple[str, Any, Any]]:
        if self.document.kind == "plan":
            later = {change.address for change in self.plan.changes}
            yield from read_values(self.document.root.get("prior_state"), "prior_state", later)

    def _kept(self, rows: ShownRows) -> Iterable[Row]:
        self.rows.hidden.update(rows.hidden)
        self.unknown |= rows.unknown
        self.rows.exact |= rows.exact
        self.rows.open |= rows.open
        return rows.values


# The content of strings that a document shows as unknown, and that the configuration creates with jsonencode.
# In the argument of jsonencode, everything that is not literal is unknown, except local values of the module


_MAKES = "jsonencode"
_IN_LIST = re.compile(r"\[\d")
_DEEPEST = 20
"""maximum depth of local values that refer to other local values"""


def documents_of(owners: ConfiguredOwners, unknown: Collection[tuple[str, str]]) -> dict[tuple[str, str], Unknown]:
    """{(address, path): unknown value with the known parts of its JSON} for the unknown strings that the configuration
    creates with jsonencode. Elements of lists are left out, because a list in a document may be a set, whose elements
    have a different order."""
    wanted: dict[str, set[str]] = {}
    for address, path in unknown:
        if path and not _IN_LIST.search(path):
            wanted.setdefault(address, set()).add(path)
    modules: dict[str, _Written] = {}
    values: dict[tuple[int, str], Value] = {}
    rows = ValueRows(structure=False)
    for address in sorted(wanted):
        change = owners.changes.get(address)
        decl = owners.declaration(change) if change is not None else None
        if change is None or decl is None:
            continue
        attributes = decl.body.just_attributes()[0]
        for name in sorted({root_of(path) for path in wanted[address]} & attributes.keys()):
            if (id(decl), name) not in values:
                path = module_path(change.module)
                if path not in modules:
                    modules[path] = _Written(owners.module(path))
                values[id(decl), name] = modules[path].value(attributes[name])
            rows.walk(address, name, values[id(decl), name])
    return {place: value for place, value in rows.unknown.items() if value.document is not None and place in unknown}


class _Written(Scope):
    """The scope of a module in which only local values are known."""

    def __init__(self, module: ModuleConfig | None) -> None:
        self.module = module
        self._values: dict[str, Value] = {}
        self._depth = 0
        self._context = CallContext(planning=True)

    def value(self, attribute: Attribute) -> Value:
        """The value of an argument, in which everything except literals and local values is unknown. The whole value is
        unknown if the argument uses neither jsonencode nor local values, or if it cannot be evaluated."""
        span = attribute.expr_span
        if _MAKES not in span.text and "local." not in span.text:
            return UNKNOWN
        try:
            value, problems = try_evaluate(attribute.expr, self, attribute.source)
        except Failure:
            return UNKNOWN
        return UNKNOWN if problems else value

    def resolve(self, node: Traversal | Variable, source: Source | None) -> tuple[Value, int]:
        if isinstance(node, Traversal) and node.root == "local" and isinstance(node.steps[0], GetAttr):
            return self._local(node.steps[0].name), 1
        return UNKNOWN, 0

    def _local(self, name: str) -> Value:
        decl = self.module.locals.get(name) if self.module is not None else None
        if decl is None or self._depth > _DEEPEST:
            return UNKNOWN
        if name not in self._values:
            self._values[name] = UNKNOWN  # for a local that refers to itself; cycles are reported elsewhere
            self._depth += 1
            value, problems = try_evaluate(decl.expr.node, self, decl.expr.source)
            self._depth -= 1
            self._values[name] = UNKNOWN if problems else value
        return self._values[name]
