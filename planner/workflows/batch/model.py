"""Records of batch runs: units, fleets, requests to workers and their results. All are frozen. Requests and results
contain only plain data, so that they can be written to files and sent to other processes and machines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.limits import Limits
from planner.foundation.vocabulary.records import field, fields, frozen
from planner.foundation.vocabulary.span import Span
from planner.logic.programs.actions import Counts
from planner.operations.options import OperationOptions
from planner.workflows.batch.recipe import Recipe

if TYPE_CHECKING:
    from cattrs import Converter

OUTCOMES = (
    "applied",
    "changes",
    "incomplete",
    "unchanged",
    "declined",
    "skipped",
    "stopped",
    "died",
    "denied",
    "failed",
)
BAD = frozenset(("failed", "died", "skipped", "stopped", "declined", "denied"))
"""outcomes for which a batch exits with 1"""
Reads: TypeAlias = list[list[Any]]
"""entries in the form of files_read.py"""
NO_OPTIONS = OperationOptions()


@frozen
class FileLocation:
    """A position in a file, and the text of that line."""

    file: str
    line: int
    column: int
    snippet: str

    @classmethod
    def of(cls, span: Span, file: str = "") -> FileLocation:
        start = span.start_position
        return cls(file or span.filename, start.line, start.column, span.source.line_text(start.line).strip())

    @classmethod
    def below(cls, folder: str, span: Span) -> FileLocation:
        """The position of a span whose file name is relative to `folder`. The path in the result includes `folder`."""
        return cls.of(span, os.path.normpath(os.path.join(folder, span.filename)))

    def to_json(self) -> dict[str, Any]:
        return to_json(self)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@frozen
class Input:
    """A variable whose value comes from other units. `text`: the source of an expression that uses `unit`. `mentions`:
    the outputs that the expression mentions, as (unit, output, place)."""

    variable: str
    text: str
    place: FileLocation
    mentions: tuple[tuple[str, str, FileLocation], ...] = ()


@frozen
class Unit:
    """A member of a fleet with its own plan: a root module, or a deployment of a stack. `folder` is relative to the
    fleet's root. `working`: the directory where the unit runs, if it differs from `folder`. `variables`: (name, source
    of a constant expression)."""

    name: str
    folder: str
    tags: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    var_files: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()
    after: tuple[tuple[str, FileLocation], ...] = ()
    workspace: str = ""
    place: FileLocation | None = None
    working: str = ""
    recipe: Recipe | None = None
    blocks: tuple[tuple[str, str, FileLocation], ...] = ()
    """(label, unit, place) for each `dependency` block"""
    paths: tuple[tuple[str, FileLocation], ...] = ()
    """(unit, place) for each entry of a `dependencies` block"""
    files: tuple[str, ...] = ()
    """files of the unit besides its configuration"""
    excludes: tuple[tuple[str, bool, FileLocation], ...] = ()
    """(command, whether dependencies are excluded too, place) from `exclude` blocks"""
    called: tuple[str, ...] = ()
    """for a block with for_each: (block name, key); for a deployment: (stack name, deployment); otherwise empty"""
    offers: tuple[Input, ...] = ()
    """inputs from groups; only those for variables that the unit declares are used"""
    names: tuple[tuple[str, str], ...] = ()
    """(`each` or `local`, the source of an object with its values), as used in `inputs`"""
    stood_on: tuple[str, ...] = ()
    """for a removed unit: the units for which it waited"""
    is_removed: bool = False
    """whether only a `removed` block describes the unit"""
    is_outside: bool = False
    """whether the unit is outside the searched directories and included only because another unit depends on it"""
    deployment: str | None = None
    """name of the deployment, if the unit is a deployment of a stack; "" if the stack's deployments are unknown; None
    for a root module"""

    def directory(self, root: str) -> str:
        return self.working or f"{root}/{self.folder}"


@frozen
class RemovedUnit:
    """A `removed` block. `action`: destroy or forget."""

    unit: str
    action: str
    place: FileLocation


@frozen(eq=False)
class Fleet:
    """The units below a root directory, sorted by name. `file`: path of the fleet's file, "" if there is none. `text`:
    the content of this file and of the included files, and a representation of the units. `looked`: directories that
    were searched for units. `left`: directories with a state that are not units, as (directory, state file)."""

    root: str
    units: dict[str, Unit]
    file: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    text: str = ""
    removals: tuple[RemovedUnit, ...] = ()
    also: tuple[str, ...] = ()
    """included files"""
    looked: tuple[str, ...] = (".",)
    left: tuple[tuple[str, str], ...] = ()


@frozen
class RemoteRead:
    """A terraform_remote_state block. `state` is "" if its location is not constant."""

    object: str
    state: str
    place: FileLocation


@frozen
class PublishedRead:
    """A use of `upstream_input.INPUT.OUTPUT` in a deployment's inputs, or in the published output `published` of its
    stack. `stack`: real path of the directory that is read. `output`: "" for all outputs."""

    input: str
    stack: str
    output: str
    place: FileLocation
    published: str = ""


@frozen
class Published:
    """An output that a stack publishes and whose value refers to outputs of a deployment."""

    output: str
    place: FileLocation


@frozen
class Linked:
    """The links between a deployment and other deployments. `folder`: real path of its stack. `reads`: outputs of other
    deployments that the deployment and its stack read. `published`: outputs of its stack that depend on the deployment.
    The name of a component instance's state consists of `before`, the encoded name of the instance, and `after`."""

    folder: str
    before: str
    after: str
    components: tuple[str, ...] = ()
    reads: tuple[PublishedRead, ...] = ()
    published: tuple[Published, ...] = ()


@frozen
class Survey:
    """Facts about a unit that come from its configuration without a plan: the state that the unit writes, the states
    that it reads, and its files."""

    unit: str
    state: str
    remote: tuple[RemoteRead, ...] = ()
    files: tuple[str, ...] = ()
    problems: tuple[dict[str, Any], ...] = ()
    state_place: FileLocation | None = None
    """the place of the backend block; None if there is none"""
    outputs: tuple[str, ...] | None = None
    """root outputs; None if the configuration cannot be read"""
    variables: tuple[str, ...] | None = None
    """root variables; None if the configuration cannot be read"""
    reads: Reads = field(factory=list, eq=False)
    stack: Linked | None = None


@frozen
class Upstream:
    """A unit whose outputs another unit reads. `state`: the name of its state as in `planner.world.state.backend`. If
    the state is not a file, `directory` and `workspace` are needed to open it. `planned`: the encoded planned outputs,
    if the unit is not applied yet. `seen`: a digest that identifies these planned outputs; "" means that the outputs
    are read from the state."""

    unit: str
    state: str
    seen: str = ""
    directory: str = ""
    workspace: str = ""
    planned: dict[str, Any] = field(factory=dict, eq=False)
    called: tuple[str, ...] = ()
    """for a block with for_each: (block name, key)"""
    deployment: str | None = None
    parts: tuple[tuple[str, str], ...] = ()
    """for a deployment: (state, component) for each of its components whose state is read"""


@frozen
class Request:
    """The work on one unit. `upstream`: units whose outputs are used, from their states or as planned. `facts`: names
    of the relations about the plan that the result must contain.

    All fields without `eq=False`, also those of `options`, `upstream` and `recipe`, form the key of a cached result. A
    field with `eq=False` has no influence on the result."""

    unit: str = field(eq=False)
    directory: str
    command: str
    workspace: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    var_files: tuple[str, ...] = ()
    inputs: tuple[tuple[str, str], ...] = ()
    state: str = ""
    upstream: tuple[Upstream, ...] = ()
    foreign_states: tuple[str, ...] = field(default=(), eq=False)
    """states of other units from which the unit reads only the outputs"""
    environment: tuple[tuple[str, str], ...] = ()
    options: OperationOptions = NO_OPTIONS
    """options of the command line; the worker adds the unit's own options"""
    plan_file: str = field(default="", eq=False)
    """where to write the plan; for the command `apply_plan`, the plan to apply"""
    facts: tuple[str, ...] = field(default=(), eq=False)
    text: bool = field(default=False, eq=False)
    """whether to return the plan as text"""
    spares_tainted: bool = field(default=False, eq=False)
    """whether to refuse a plan that replaces tainted objects, because the replacements were not reviewed"""
    is_read: bool = field(default=False, eq=False)
    """whether other units read the unit's outputs; then the result contains their planned values"""
    recipe: Recipe | None = None
    names: tuple[tuple[str, str], ...] = ()
    """(`each` or `local`, the source of an object with its values), as used in `inputs`"""
    given: Mapping[str, Any] = field(factory=dict, eq=False, repr=False)
    """{variable: value}, set by the worker"""
    json_file: str = field(default="", eq=False)
    """where to write plan JSON"""
    keeps_incomplete: bool = field(default=False, eq=False)
    """whether to write incomplete plans, too"""
    approved_file: str = field(default="", eq=False)
    """an approved plan. For the command `state`, this is a complete plan, and the result shows whether it was applied.
    For other commands, it is an incomplete plan, with which the new plan is compared"""
    deployment: str | None = None
    """as in Unit"""
    review: bool = field(default=False, eq=False)
    """whether to return the data for a page about the plan (reports/review.py)"""
    around: tuple[tuple[str, str, str], ...] = ()
    """replacements for services of a stack: (token, name, file), (upstream, address, path), (varsets, "", path)"""
    fleet_policies: tuple[str, ...] = ()
    """absolute paths of the fleet's policies; settings of the unit's own policies take precedence"""


IDENTITIES = "identities"
"""name of the relation with the managed objects in a unit's state, in `facts` of a result"""


@frozen
class UnitResult:
    """The result of the work on one unit. `result`: a word such as "changes" or "error"; all words are listed at the
    relation `result` in rules/batch/running.dl. `changes`: (address, action, reason), `outputs`: (name, action), both
    without no-ops. `seconds`, `cpu`: elapsed and processor time in seconds. `memory`: peak memory of the process in
    bytes."""

    unit: str
    result: str
    counts: Counts = Counts()
    changes: tuple[tuple[str, str, str], ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()
    diagnostics: tuple[dict[str, Any], ...] = ()
    seconds: float = 0.0
    cpu: float = 0.0
    memory: int = 0
    text: str = ""
    plan_file: str = ""
    asks_plugins: bool = False
    """whether plugins' responses affect the result"""
    asks_services: bool = False
    """whether states in services affect the result"""
    made_at: float = 0.0
    """when the objects were read from their providers, in seconds since 1970"""
    state_at: float = 0.0
    """when the state was written, if objects were not read (-refresh=false); 0 if unknown or irrelevant"""
    facts: dict[str, list[list[Any]]] = field(factory=dict)
    reads: Reads = field(factory=list, eq=False)
    is_secret: bool = False
    """whether the unit is encrypted, so that its values must not be stored"""
    changed: tuple[str, ...] = ()
    """outputs that the plan changes or removes; contains `passed_outputs.NEW` if the state does not exist yet"""
    unknown: tuple[tuple[str, str], ...] = ()
    """unknown parts of the outputs in `changed`, as (output, path)"""
    rests_on: tuple[tuple[str, str, str, str], ...] = ()
    """unknown parts of other units' outputs on which the plan depends, as (address of the object that uses the part,
    unit, output, path)"""
    planned: dict[str, Any] = field(factory=dict, eq=False)
    """{output: encoded value} of all outputs; for a plan, set only if it has changes or is partial; never stored in a
    record"""
    is_planned_secret: bool = False
    """whether a changed output is sensitive, so that no value may be written to a file"""
    digests: tuple[tuple[str, str], ...] = ()
    """(output, digest of the value); digests use the user's key or the key of a saved plan"""
    planned_file: str = ""
    """file with the planned values, if they may be written"""
    lineage: str = ""
    serial: int = 0
    """lineage and serial of the state: before the plan or, for an applied unit, after the apply"""
    differs: tuple[tuple[str, str], ...] = ()
    """differences from the approved plan (rules/batch/approved.dl), as (address, "action" or "value")"""
    is_partial: bool = False
    """whether some changes are deferred until the other changes are applied"""
    approved_by: tuple[str, ...] = ()
    """for a deployment: the approval rules of its deployment group that approve the plan"""
    refusals: tuple[str, ...] = ()
    """for a deployment: a sentence for each check of the approval rules that is false or cannot be decided"""
    review: dict[str, Any] = field(factory=dict, eq=False)
    """the review of the plan, without sensitive values; never stored in a record"""
    outcomes: tuple[tuple[str, str, str], ...] = field(default=(), eq=False)
    """for a failed apply: the outcome of each change, as (change, outcome, error)"""
    stuck: tuple[dict[str, Any], ...] = ()
    """diagnostics about deferred instances, if there is nothing to apply"""


@frozen
class FinishedUnit:
    """A unit at the end of a batch. `outcome`: one of OUTCOMES. `because`: the unit that caused the outcome, or "".
    `reused`: the result is from an earlier run."""

    unit: str
    outcome: str
    because: str = ""
    reused: bool = False
    result: UnitResult | None = None
    attempts: int = 1

    @property
    def causes(self) -> tuple[str, ...]:
        """The units that caused the outcome, sorted: `because` or, if the plan waits for unknown outputs of `because`,
        all units for whose outputs it waits."""
        awaited = {unit for _, unit, _, _ in self.result.rests_on} if self.result is not None else set[str]()
        return tuple(sorted(awaited)) if self.because in awaited else (self.because,) if self.because else ()

    @property
    def seen_at(self) -> float:
        """The time at which a reused result read objects or states that may have changed since then, in seconds since
        1970; 0 for other results."""
        result = self.result
        return result.made_at if self.reused and result and (result.asks_plugins or result.asks_services) else 0.0


MOST_CAUSES = 3
"""maximum number of units that a line names as causes"""


def units_text(names: Sequence[str]) -> str:
    """The causes of an outcome, for the end of a line: `because of dns, network and 2 more`."""
    shown = names if len(names) <= MOST_CAUSES + 1 else names[:MOST_CAUSES]
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return f"because of {', '.join(shown)}{more}"


@frozen(eq=False)
class Share:
    """The units of one job, which runs shard `number` (from 1) of `count`. `units`: the units of the shard. `beside`:
    units of other shards, which the job plans only to obtain their outputs."""

    number: int
    count: int
    units: frozenset[str]
    beside: frozenset[str]


@frozen(eq=False)
class ShardSummary:
    """The data about a shard for joining it with the other shards. `total`: number of units in all shards. `fleet`:
    digest of the units and their files. `beside`: results of units of other shards that were planned only to obtain
    their outputs."""

    number: int
    count: int
    total: int
    fleet: str
    beside: dict[str, FinishedUnit] = field(factory=dict)
    before: dict[str, tuple[str, ...]] = field(factory=dict)
    """{unit of this shard: units that run before it}"""


def to_json(record: Any) -> dict[str, Any]:
    """A record of this module, or limits or options, as plain data. A field that is not a record must have a plain
    value."""
    if isinstance(record, Limits):
        return record.to_json()
    if isinstance(record, OperationOptions):
        return _options_to_json(record)
    return {field.name: _plain(getattr(record, field.name)) for field in fields(type(record))}


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is Counts:
        return tuple(value)
    if kind is tuple and value and hasattr(value[0], "__record__"):
        return [to_json(item) for item in value]
    return to_json(value) if hasattr(kind, "__record__") else value


def from_json(kind: Any, data: dict[str, Any]) -> Any:
    """A record of this module from plain data. Raises cattrs' exceptions for invalid data."""
    return _converter().structure(data, kind)


@cache
def _converter() -> Converter:
    from cattrs import Converter

    converter = Converter()
    converter.register_structure_hook(Counts, lambda data, _: Counts._make(map(int, data)))
    converter.register_structure_hook(Limits, lambda data, _: Limits.from_json(data))
    converter.register_structure_hook_func(
        lambda kind: kind is OperationOptions, lambda data, _: _options_from_json(data)
    )  # some types are imported only for type checking
    return converter


def _options_to_json(options: OperationOptions) -> dict[str, Any]:
    """The options that differ from their defaults. Raises TypeError if a value is not plain data."""
    given = {}
    for one in fields(OperationOptions):
        value, default = getattr(options, one.name), getattr(NO_OPTIONS, one.name)
        if value != default:
            if not isinstance(value, str | bool | int | float | tuple | Limits):
                raise TypeError(f"the option {one.name} cannot be sent to another process")
            given[one.name] = _plain(value)
    return given


def _options_from_json(data: dict[str, Any]) -> OperationOptions:
    """Options from plain data. Raises AttributeError for an unknown option and TypeError for a value of the wrong
    type."""
    given: dict[str, Any] = {}
    for name, value in data.items():
        default = getattr(NO_OPTIONS, name)
        value = Limits.from_json(value) if name == "limits" else _tupled(value)
        if value.__class__ is not default.__class__:
            raise TypeError(f"the option {name} is a {default.__class__.__name__}")
        given[name] = value
    return OperationOptions(**given)


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


def diagnostics_json(problems: Iterable[Diagnostic]) -> tuple[dict[str, Any], ...]:
    """Diagnostics without duplicates, in the form of `validate -json`, as a worker sends them."""
    if not problems:
        return ()
    return _each_once(problems)


def _each_once(problems: Iterable[Diagnostic]) -> tuple[dict[str, Any], ...]:
    from planner.render.diagnostics_json import diagnostic_json

    documents: list[dict[str, Any]] = []
    for problem in problems:
        data = diagnostic_json(problem)
        if data not in documents:
            documents.append(data)
    return tuple(documents)
