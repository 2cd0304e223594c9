"""The records of batch runs: a unit, a fleet, requests to workers and their results. All are frozen; requests and
results contain only plain data, so that they can be sent to other processes and machines, and written to files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

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
"""outcomes that make a batch end with exit code 1"""
Reads: TypeAlias = list[list[Any]]
"""the files and directories that were read, in the form of files_read.py"""
NO_OPTIONS = OperationOptions()


@frozen
class FileLocation:
    """A place in a file, with the text of its line, as proofs and reports show it."""

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
        """A place in a file, with the path relative to another directory."""
        return cls.of(span, os.path.normpath(os.path.join(folder, span.filename)))

    def to_json(self) -> dict[str, Any]:
        return attrs.asdict(self)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@frozen
class Input:
    """A variable of a unit that comes from other units: an expression over `unit`, as text, and the outputs of units
    that it mentions, as (unit, output, place)."""

    variable: str
    text: str
    place: FileLocation
    mentions: tuple[tuple[str, str, FileLocation], ...] = ()


@frozen
class Unit:
    """A root module that runs on its own. `folder` is relative to the fleet's root, `working` is the directory in which
    the unit runs, if it is a different directory; `variables` are constant expressions as text."""

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
    """(label, unit, place) of the units whose outputs a `dependency` block names"""
    paths: tuple[tuple[str, FileLocation], ...] = ()
    """the units that a `dependencies` block names"""
    files: tuple[str, ...] = ()
    """files that belong to the unit, in addition to its configuration"""
    excludes: tuple[tuple[str, bool, FileLocation], ...] = ()
    """commands from which an `exclude` block excludes the unit, and whether its dependencies are excluded too"""
    called: tuple[str, ...] = ()
    """a unit of a repeated block: the block's name and the key"""
    offers: tuple[Input, ...] = ()
    """the inputs that its groups set; they are used if the unit declares the variable"""
    names: tuple[tuple[str, str], ...] = ()
    """the values of `each` and `local` in its inputs, as encoded objects"""
    stood_on: tuple[str, ...] = ()
    """the units for which a removed unit waited"""
    is_removed: bool = False
    """whether the unit exists only as a `removed` block in the fleet's file"""
    is_outside: bool = False
    """whether the unit is included only because another unit waits for it"""
    deployment: str | None = None
    """the deployment of the stack in the directory; "" if the deployments are unknown, None for a root module"""

    def directory(self, root: str) -> str:
        """The directory where the unit runs, in a fleet with this root."""
        return self.working or f"{root}/{self.folder}"


@frozen
class RemovedUnit:
    """A `removed` block in the fleet's file. `action`: destroy or forget."""

    unit: str
    action: str
    place: FileLocation


@frozen(eq=False)
class Fleet:
    """The units below a root directory, sorted by name. `file` is the fleet's file, if there is one, and `text` its
    text. `looked` are the directories that were searched for units; `left` are directories that have a state but are
    not units, as (directory, state file)."""

    root: str
    units: dict[str, Unit]
    file: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    text: str = ""
    removals: tuple[RemovedUnit, ...] = ()
    """the `removed` blocks in the fleet's file"""
    also: tuple[str, ...] = ()
    """files that the fleet's file includes"""
    looked: tuple[str, ...] = (".",)
    left: tuple[tuple[str, str], ...] = ()


@frozen
class RemoteRead:
    """A terraform_remote_state block: the state that it reads ("" if the configuration alone does not determine it)."""

    object: str
    state: str
    place: FileLocation


@frozen
class PublishedRead:
    """`upstream_input.INPUT.OUTPUT` in the inputs of a deployment, or in an output that its stack publishes
    (`published`). `stack` is the real path of the directory that is read; `output` is "" if all outputs are used."""

    input: str
    stack: str
    output: str
    place: FileLocation
    published: str = ""


@frozen
class Published:
    """A published output of a stack that uses outputs of a deployment."""

    output: str
    place: FileLocation


@frozen
class Linked:
    """The links of a deployment to other deployments: `folder` is the real path of its stack, `reads` are the outputs
    of other deployments that it and its stack read, `published` are the outputs of its stack that use its values. In
    the names of its components' states, `before` and `after` are the text around the name of an instance; `components`
    are its components."""

    folder: str
    before: str
    after: str
    components: tuple[str, ...] = ()
    reads: tuple[PublishedRead, ...] = ()
    published: tuple[Published, ...] = ()


@frozen
class Survey:
    """The survey of a unit's configuration without planning it: the state that it writes, the states that it reads, and
    its files."""

    unit: str
    state: str
    remote: tuple[RemoteRead, ...] = ()
    files: tuple[str, ...] = ()
    problems: tuple[dict[str, Any], ...] = ()
    state_place: FileLocation | None = None
    """the backend block, if there is one"""
    outputs: tuple[str, ...] | None = None
    """the declared root outputs; None if the configuration cannot be read"""
    variables: tuple[str, ...] | None = None
    """the declared root variables; None if the configuration cannot be read"""
    reads: Reads = field(factory=list, eq=False)
    stack: Linked | None = None
    """the links of a deployment to others"""


@frozen
class Upstream:
    """A unit whose outputs another unit reads: the name of its state as in `planner.world.state.backend`, and its
    directory and workspace, which identify a state that is not in a file. `seen` is a name for its planned outputs, if
    its plan is not applied yet ("": its state is read); `planned` contains these outputs, encoded."""

    unit: str
    state: str
    seen: str = ""
    directory: str = ""
    workspace: str = ""
    planned: dict[str, Any] = field(factory=dict, eq=False)
    called: tuple[str, ...] = ()
    """a unit of a repeated block: the block's name and the key"""
    deployment: str | None = None
    parts: tuple[tuple[str, str], ...] = ()
    """states of components of a deployment: (state, component)"""


@frozen
class Request:
    """One unit's work. `upstream` are the units whose outputs it uses as inputs, and the units whose planned outputs it
    reads instead of their states; `facts` are the requested relations of its plan.

    The fields that are compared (here, and in `options`, `upstream` and `recipe`) are the key of a result in the cache:
    a result may be used again for an equal request. A field with `eq=False` has no influence on the result."""

    unit: str = field(eq=False)
    directory: str
    command: str
    workspace: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    var_files: tuple[str, ...] = ()
    inputs: tuple[tuple[str, str], ...] = ()
    state: str = ""
    """the state that the unit writes"""
    upstream: tuple[Upstream, ...] = ()
    foreign_states: tuple[str, ...] = field(default=(), eq=False)
    """states of other units of which this unit reads only the outputs"""
    environment: tuple[tuple[str, str], ...] = ()
    options: OperationOptions = NO_OPTIONS
    """the options of the command line for the plan of this unit; the worker adds the options of the unit itself"""
    plan_file: str = field(default="", eq=False)
    """the file for the plan; for the command `apply_plan`, the plan to apply"""
    facts: tuple[str, ...] = field(default=(), eq=False)
    text: bool = field(default=False, eq=False)
    """whether the plan is requested as text"""
    spares_tainted: bool = field(default=False, eq=False)
    """whether a plan that replaces tainted objects is refused, because it was not reviewed"""
    is_read: bool = field(default=False, eq=False)
    """whether other units read the outputs, so that their planned values are needed"""
    recipe: Recipe | None = None
    names: tuple[tuple[str, str], ...] = ()
    """the values of names in `inputs`, as encoded objects"""
    given: Mapping[str, Any] = field(factory=dict, eq=False, repr=False)
    """values of variables that are determined by the worker"""
    json_file: str = field(default="", eq=False)
    """the file to which plan JSON is written"""
    keeps_incomplete: bool = field(default=False, eq=False)
    """whether an incomplete plan is also stored"""
    approved_file: str = field(default="", eq=False)
    """the approved, incomplete plan with which the new plan is compared"""
    deployment: str | None = None
    """the deployment, as in Unit"""
    review: bool = field(default=False, eq=False)
    """whether the review of the plan is requested"""
    around: tuple[tuple[str, str, str], ...] = ()
    """replacements of services for stacks: (token, name, file), (upstream, address, path), (varsets, "", path)"""
    fleet_policies: tuple[str, ...] = ()
    """policies of the fleet's directory (absolute paths); settings of the unit's own policies come later and take
    precedence"""


IDENTITIES = "identities"
"""the key for managed objects in the facts about a unit's state"""


@frozen
class UnitResult:
    """The result of the work on one unit. `result` is a word of rules/batch/running.dl; `changes` are (address, action,
    reason) of all changes but no-ops; `seconds` is the time that the work took, `cpu` its processor time, `memory` the
    peak memory of the process in bytes."""

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
    """whether the result depends on responses of plugins"""
    asks_services: bool = False
    """whether the result depends on states that services store"""
    made_at: float = 0.0
    """the time at which its real objects were read, in seconds since 1970"""
    state_at: float = 0.0
    """the time at which the state was written, if its objects were not read again (-refresh=false); 0 if unknown or
    irrelevant"""
    facts: dict[str, list[list[Any]]] = field(factory=dict)
    reads: Reads = field(factory=list, eq=False)
    is_secret: bool = False
    """whether the unit is encrypted, so that its values must not be stored"""
    changed: tuple[str, ...] = ()
    """the outputs that the plan changes or removes (passed_outputs.py)"""
    unknown: tuple[tuple[str, str], ...] = ()
    """(output, path) of the unknown parts of these outputs"""
    rests_on: tuple[tuple[str, str, str, str], ...] = ()
    """(user, unit, output, path): unknown parts of other units' outputs on which the plan depends"""
    planned: dict[str, Any] = field(factory=dict, eq=False)
    """the encoded values of all outputs, if any output changes; never stored in a record"""
    is_planned_secret: bool = False
    """whether a changed output is sensitive, so that the values must not be written to a file"""
    digests: tuple[tuple[str, str], ...] = ()
    """(output, digest) of the planned values; the digests are made with the user's key"""
    planned_file: str = ""
    """the file with the planned values, if they may be written to a file"""
    lineage: str = ""
    serial: int = 0
    """the lineage and serial of the state from which the plan was made"""
    differs: tuple[tuple[str, str], ...] = ()
    """(address, action) of the differences from the approved plan (rules/batch/approved.dl)"""
    is_partial: bool = False
    """whether parts of the unit are deferred until the rest is applied"""
    approved_by: tuple[str, ...] = ()
    """the rules of a deployment's group that approve its plan"""
    refusals: tuple[str, ...] = ()
    """the reasons against approval, a sentence for each failed check"""
    review: dict[str, Any] = field(factory=dict, eq=False)
    """the requested review of the plan, without sensitive values; never stored in a record"""
    outcomes: tuple[tuple[str, str, str], ...] = field(default=(), eq=False)
    """(change, outcome, error) of an apply that failed"""
    stuck: tuple[dict[str, Any], ...] = ()
    """the instances that wait for other instances, if parts are deferred and there is nothing to apply"""


@frozen
class FinishedUnit:
    """A unit at the end of a batch: its outcome, the unit that caused it, and whether an earlier result was reused."""

    unit: str
    outcome: str
    because: str = ""
    reused: bool = False
    result: UnitResult | None = None
    attempts: int = 1

    @property
    def causes(self) -> tuple[str, ...]:
        """All units that caused the outcome. For an incomplete plan, these are the units for which it waits."""
        awaited = {unit for _, unit, _, _ in self.result.rests_on} if self.result is not None else set[str]()
        return tuple(sorted(awaited)) if self.because in awaited else (self.because,) if self.because else ()

    @property
    def seen_at(self) -> float:
        """The time at which a reused result read objects, if these may have changed since; 0 if that is irrelevant."""
        result = self.result
        return result.made_at if self.reused and result and (result.asks_plugins or result.asks_services) else 0.0


MOST_CAUSES = 3
"""the maximum number of units that a line names as causes"""


def units_text(names: Sequence[str]) -> str:
    """`because of dns, network and 2 more`."""
    shown = names if len(names) <= MOST_CAUSES + 1 else names[:MOST_CAUSES]
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return f"because of {', '.join(shown)}{more}"


@frozen(eq=False)
class Share:
    """The work of a job: the shard `number` (from 1) of `count` shards, its units, and the units that the job plans
    only for their values."""

    number: int
    count: int
    units: frozenset[str]
    beside: frozenset[str]


@frozen(eq=False)
class ShardSummary:
    """The data of a shard for joining: `total` units were distributed, `fleet` is a digest of these units and their
    files, `beside` are the results of units that were only planned for their values."""

    number: int
    count: int
    total: int
    fleet: str
    beside: dict[str, FinishedUnit] = field(factory=dict)
    before: dict[str, tuple[str, ...]] = field(factory=dict)


def to_json(record: Any) -> dict[str, Any]:
    """A record of this module as plain data. Values other than records must already be plain data."""
    if isinstance(record, Limits):
        return record.to_json()
    if isinstance(record, OperationOptions):
        return _options_to_json(record)
    return {field.name: _plain(getattr(record, field.name)) for field in attrs.fields(type(record))}


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is Counts:
        return tuple(value)
    if kind is tuple and value and hasattr(value[0], "__attrs_attrs__"):
        return [to_json(item) for item in value]
    return to_json(value) if hasattr(kind, "__attrs_attrs__") else value


def from_json(kind: Any, data: dict[str, Any]) -> Any:
    """A record of this module from plain data. Raises an exception of cattrs for data that does not fit."""
    return _converter().structure(data, kind)


@cache
def _converter() -> Converter:
    from cattrs import Converter

    converter = Converter()
    converter.register_structure_hook(Counts, lambda data, _: Counts._make(map(int, data)))
    converter.register_structure_hook(Limits, lambda data, _: Limits.from_json(data))
    converter.register_structure_hook_func(
        lambda kind: kind is OperationOptions, lambda data, _: _options_from_json(data)
    )  # some of its types are not imported
    return converter


def _options_to_json(options: OperationOptions) -> dict[str, Any]:
    """The options that differ from their defaults. Raises TypeError for a value that is not plain data."""
    given = {}
    for one in fields(OperationOptions):
        value, default = getattr(options, one.name), getattr(NO_OPTIONS, one.name)
        if value != default:
            if not isinstance(value, str | bool | int | float | tuple | Limits):
                raise TypeError(f"the option {one.name} cannot be sent to another process")
            given[one.name] = _plain(value)
    return given


def _options_from_json(data: dict[str, Any]) -> OperationOptions:
    """Raises AttributeError for an unknown option and TypeError for a value of another type."""
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


# Diagnostics as plain data: the form in which a worker sends them.


def diagnostics_json(problems: Iterable[Diagnostic]) -> tuple[dict[str, Any], ...]:
    """Diagnostics in the form of `validate -json`, without duplicates."""
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
