"""Loads configurations, validates and plans them, and reads their state."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from planner.api.arguments import Paths, absolute, expect, one_of, paths, switches
from planner.api.base import require
from planner.api.changes import output_values
from planner.api.events import Event
from planner.api.installation import Installation, Validation
from planner.api.making import Making, findings_of, judgement
from planner.api.model import Graph
from planner.api.plan import Judged, Plan, limits_of, variable_inputs
from planner.api.policies import all_policies
from planner.api.questions import Questions
from planner.api.session import Stop, session
from planner.api.states import States, Workspaces
from planner.api.values import to_python, without_copies
from planner.engine.walk.hooks import Hooks
from planner.foundation.support.notebook import table_html
from planner.foundation.vocabulary.address import format_key
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.operations.options import OperationOptions
from planner.world.state.model import State as StateModel
from planner.world.state.workspace import valid_workspace_name

if TYPE_CHECKING:
    from planner.api.states import ShownState

Mode = Literal["normal", "destroy", "refresh-only"]


@frozen(eq=False)
class Resource:
    """An object in a state: the current object of a resource instance, or a deposed object (then `deposed` is its key).
    `provider` is the address of its provider configuration. `attributes` are Python data (planner.api.values).
    `dependencies` are the addresses of the resources on which the object depended when it was last created or
    updated."""

    address: str
    type: str = field(repr=False)
    name: str = field(repr=False)
    mode: str = field(repr=False)
    provider: str = field(repr=False)
    deposed: str = field(repr=False)
    tainted: bool = field(repr=False)
    attributes: Any = field(repr=False)
    dependencies: tuple[str, ...] = field(repr=False)


@frozen(eq=False)
class State:
    """A state. `resources` are sorted by the address of the resource. `outputs` contains the root output values by
    name. `serial` grows with each write. `lineage` is the ID that all versions of a state share."""

    resources: tuple[Resource, ...]
    outputs: Mapping[str, Any]
    serial: int
    lineage: str

    def resource(self, address: str) -> Resource:
        """The current object at an address. Raises KeyError if the state has no such object."""
        for resource in self.resources:
            if resource.address == address and not resource.deposed:
                return resource
        raise KeyError(address)

    def _repr_html_(self) -> str:
        return table_html(("object", "provider"), [(r.address, r.provider) for r in self.resources])


class Configuration(Installation, States, Workspaces):
    """A root module in a directory, with values for its variables. Files are read only when a method is called, and
    each call reads them again."""

    @property
    def directory(self) -> str:
        """The absolute path of the root module."""
        return self.options.directory

    def validate(self) -> tuple[Diagnostic, ...]:
        """Errors and warnings about the configuration alone; empty if the configuration is valid. Errors are returned
        like warnings; they do not raise Failure."""
        return tuple(Validation(self.options).problems())

    def plan(
        self,
        *,
        mode: Mode = "normal",
        targets: Sequence[str] = (),
        excludes: Sequence[str] = (),
        replace: Sequence[str] = (),
        refresh: bool = True,
        minimal_refresh: bool = False,
        since: str = "",
        offline: bool = False,
        parallelism: int = 10,
        lock: bool = True,
        lock_timeout: float = 0.0,
        on_event: Callable[[Event], None] | None = None,
        stop: Stop | None = None,
    ) -> Plan:
        """Compare configuration, state and real objects. Nothing is changed.

        `mode`: "normal", "destroy" (destroy all objects) or "refresh-only". `targets`, `excludes` and `replace` are
        addresses, as for the options -target, -exclude and -replace. If `refresh` is false, real objects are not read,
        and the plan is based on the state. With `minimal_refresh`, only objects that are about to change are read. With
        `offline`, no provider is called at all, and the plan cannot be applied. `since` is a git revision; the edits
        since this revision then explain the changes. `parallelism` limits the concurrent operations of providers;
        `lock_timeout` is in seconds. Raises Failure, with all diagnostics, if there is an error. While the plan is
        made, the state is locked, unless `lock` is false. If another operation has locked the state, the call waits up
        to `lock_timeout` seconds for the lock and then fails. If `on_event` raises an exception, planning stops, and
        the call raises this exception."""
        one_of("mode", mode, ("normal", "destroy", "refresh-only"))
        expect("parallelism", parallelism, int, "a whole number")
        expect("lock_timeout", lock_timeout, (int, float), "a number of seconds")
        switches(refresh=refresh, minimal_refresh=minimal_refresh, offline=offline, lock=lock)
        expect("since", since, str, "a string")
        if parallelism < 1:
            raise Failure(error("api.argument", "Invalid argument", "parallelism must be at least 1."))
        limits = limits_of(targets, excludes, replace)

        def work(hooks: Hooks) -> Plan:
            options = evolve(
                self.options,
                mode=mode,
                limits=limits,
                refresh=refresh,
                minimal_refresh=minimal_refresh,
                offline=offline,
                parallelism=parallelism,
                lock=lock,
                lock_timeout=lock_timeout,
                since=self._commit(since),
                keeps_values=True,
                needs_configuration=True,
                **all_policies(self.directory, (), Judged.of),
            )
            return self._plan(options, hooks)

        return self._run(work, on_event, stop)

    def _plan(self, options: OperationOptions, hooks: Hooks) -> Plan:
        planned = Making(options).attempt(hooks)
        made = require(planned.complete, planned.diagnostics)
        if options.judges:
            made, verdict, problems = judgement(made)
            require(verdict, problems)
            problems += [d for d in findings_of(verdict) if not d.is_error]
            return Plan(made, options, (*planned.diagnostics, *problems))
        return Plan(made, options, planned.diagnostics)

    def graph(self, kind: Literal["plan", "apply", "plan-destroy", "plan-refresh-only"] = "plan") -> Graph:
        """The graph that the operation `kind` walks. Raises Failure if the graph cannot be built."""
        one_of("kind", kind, ("plan", "apply", "plan-destroy", "plan-refresh-only"))
        return Graph.of(Questions(self.options).built_graph(kind))

    def state(self) -> State:
        """The state of the workspace; an empty state if there is no state yet. Raises Failure if it cannot be read."""
        return _state(self.stored_state()[0])

    def _commit(self, revision: str) -> str:
        if not revision:
            return ""
        from planner.world.git.revisions import commit_of

        commit_of(self.directory, revision)  # raises Failure
        return revision

    def __repr__(self) -> str:
        return f"<Configuration {os.path.basename(self.directory)}>"


def load(
    directory: str | os.PathLike[str] = ".",
    *,
    variables: Mapping[str, Any] | None = None,
    var_files: Paths = (),
    workspace: str = "",
    rules: Paths = (),
    state: str | os.PathLike[str] = "",
    mocked: bool = False,
) -> Configuration:
    """The configuration in a directory.

    `variables` are values of root variables as Python data, which take precedence over all other values. `var_files`
    are files with values, as for -var-file, relative to the directory. TF_VAR_ variables and automatically loaded files
    are used as on the command line. `workspace` is the name of the workspace; "" means the selected workspace. `rules`
    are directories with your own rules (default: `.planner/rules` in the directory, if it exists). Two arguments are
    for tests: `state` is a state file that replaces the configured state, and with `mocked`, planner generates the
    objects instead of calling the providers' services. `mocked` requires `state`. Raises Failure for a directory that
    does not exist, and for values that the language does not support; errors in files are reported by validate and
    plan."""
    switches(mocked=mocked)
    has_state = state is not None and state != ""
    if mocked and not has_state:
        detail = "Mocked objects must not be written to the real state: name a separate state file."
        raise Failure(error("api.mocked", "Mocked providers need a state", detail))
    expect("workspace", workspace, str, "a string")
    if workspace and not valid_workspace_name(workspace):
        detail = f"workspace is {workspace!r}: names may contain letters, digits and -_.~$&+=:@."
        raise Failure(error("api.argument", "Invalid argument", detail))
    folder = absolute("directory", directory)
    if not os.path.isdir(folder):
        raise Failure(error("api.argument", "Invalid argument", f"There is no directory {folder}."))
    own = os.path.join(folder, ".planner", "rules")
    chosen = tuple(os.path.join(folder, one) for one in paths("rules", rules)) or ((own,) if os.path.isdir(own) else ())
    options = OperationOptions(
        folder,
        tuple(("var-file", os.path.join(folder, one)) for one in paths("var_files", var_files)),
        rules=chosen,
        inputs=variable_inputs(variables),
        workspace=workspace,
        state_path=absolute("state", state) if has_state else None,
        mocked=mocked,
    )
    return Configuration(options)


def read_plan_file(
    file: str | os.PathLike[str],
    directory: str | os.PathLike[str] = ".",
    *,
    variables: Mapping[str, Any] | None = None,
) -> Plan:
    """The plan in a file written by `Plan.save` or `planner plan -out`, to be explained or applied in `directory`.
    `variables` are needed only for ephemeral variables, because a plan file does not contain their values. To read plan
    JSON, use `planner.read_plan`. Raises Failure for a file that is not a plan file."""
    configuration = load(directory, variables=variables)
    with session(configuration.directory):
        options = evolve(configuration.options, **all_policies(configuration.directory, (), Judged.of))
        opened = Making(options).open_file(absolute("path", file))
        made = require(opened.complete, opened.diagnostics)
        return Plan(made, evolve(options, mode=made.plan.mode, limits=made.plan.limits), opened.diagnostics)


def _state(shown: ShownState) -> State:
    from planner.render.diff_block import SchemaLookup

    state = shown.state or StateModel()
    lookup = SchemaLookup(shown.schemas)
    resources = []
    for resource, instance in state.instances():
        address = f"{resource.address}{format_key(instance.key)}"
        objects = [("", instance.current)] if instance.current is not None else []
        for key, obj in (*objects, *sorted(instance.deposed.items())):
            resources.append(
                Resource(
                    address,
                    resource.type,
                    resource.name,
                    resource.mode,
                    resource.provider,
                    key,
                    obj.tainted,
                    without_copies(to_python(lookup.decode(resource, obj)))[0],
                    tuple(obj.dependencies),
                )
            )
    return State(tuple(resources), output_values(state.outputs), state.serial, state.lineage)
