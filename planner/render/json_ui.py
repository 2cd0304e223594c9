"""The machine-readable UI: a JSON object on each line, in the ecosystem's format "1.2", for `-json` and
`-json-into`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TextIO

from planner.engine.walk.hooks import FoundResource, Hooks, ObjectId
from planner.foundation.support.exact_json import dumps
from planner.foundation.vocabulary.address import AddressError, ResourceAddress, parse_address
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.release import COMPATIBLE_VERSION, RELEASE
from planner.logic.model.plan import Invocation, Plan, ResourceChange, change_name
from planner.logic.programs.actions import Counts, does, words_for
from planner.render.diagnostics_json import diagnostic_json, sort_diagnostics
from planner.render.hooks_human import EPHEMERAL, StillRunning, duration_text, identity_text, output_lines
from planner.render.plan import plan_summary
from planner.world.state.model import OutputState

if TYPE_CHECKING:
    from planner.render.cause_summary import Causes

UI_VERSION = "1.2"
OUR_OWN = frozenset(("plan.unmatched_address",))
"""codes of warnings that OpenTofu lacks; they become log lines, because some programs count OpenTofu's diagnostics"""
REASONS = {
    "replace_because_tainted": "tainted",
    "replace_by_request": "requested",
    "replace_by_triggers": "replace_triggered_by",
    "replace_because_cannot_update": "cannot_update",
}
"""{reason in plans: reason in UI messages}, for the reasons that differ"""


def ui_action(action: str) -> str:
    """An action in UI messages: `replace` for replacements, `remove` for forget, and `noop` for no change. As in
    OpenTofu, a replacement that forgets the former object is also `noop`."""
    if not does(action, "changes") or (does(action, "replaces") and does(action, "forgets")):
        return "noop"
    return "replace" if does(action, "replaces") else "remove" if does(action, "forgets") else action


class JsonLines:
    """Writes UI messages to a stream, each immediately."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._about: dict[str, str] = {}

    def about(self, **more: str) -> JsonLines:
        """A copy that adds these keys to all messages."""
        lines = JsonLines(self._stream)
        lines._lock, lines._about = self._lock, {**self._about, **more}
        return lines

    def message(self, text: str, type: str = "", level: str = "info", **more: Any) -> None:
        """Write a message. The key `type` and the additional keys are sorted."""
        more = {**self._about, **more}
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1_000_000):06d}Z"
        line = {"@level": level, "@message": text, "@module": "planner.ui", "@timestamp": stamp}
        if type:
            more["type"] = type
        line.update((key, more[key]) for key in sorted(more))
        self.text(dumps(line, escape_html=False).decode("utf-8"))

    def text(self, line: str) -> None:
        """Write a line that is already JSON."""
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()

    def version(self) -> None:
        """Write the first line: the program, and the version of the format."""
        self.message(f"planner {RELEASE}", "version", planner=RELEASE, tofu=COMPATIBLE_VERSION, ui=UI_VERSION)

    def log(self, text: str) -> None:
        self.message(text, "log")

    def diagnostics(self, diagnostics: Iterable[Diagnostic], **more: Any) -> None:
        for d in sort_diagnostics(diagnostics):
            if d.code in OUR_OWN:
                self.message(f"Warning: {d.summary}: {d.detail}", "log", "warn", **more)
                continue
            level, title = ("error", "Error") if d.is_error else ("warn", "Warning")
            self.message(f"{title}: {d.summary}", "diagnostic", level, diagnostic=diagnostic_json(d), **more)

    def plan(self, plan: Plan, causes: Causes | None = None) -> None:
        """Write drift, planned changes, planned invocations, the summary, and outputs."""
        for change in plan.drift:
            if change.action != "no-op" or plan.mode == "refresh-only":
                data = change_json(change)
                self.message(f"{change.address}: Drift detected ({data['action']})", "resource_drift", change=data)
        shown = (
            change
            for change in plan.changes
            if change.action != "no-op" or change.address != change.previous_address or change.importing is not None
        )
        self.planned_changes(shown, causes)
        for one in plan.invocations:
            self.message(
                f"planned action invocation: {one.address}",
                "planned_action_invocation",
                invocation=invocation_json(one),
            )
        counts = Counts.of_plan(plan)
        self.summary(plan_summary(counts), counts, "plan")
        if plan.outputs:
            outputs = {o.name: {"sensitive": o.sensitive, "action": ui_action(o.action)} for o in plan.outputs}
            self.message(f"Outputs: {len(outputs)}", "outputs", outputs=dict(sorted(outputs.items())))

    def planned_changes(self, changes: Iterable[ResourceChange], causes: Causes | None = None) -> None:
        """Write a line for each of the changes, except for data sources that are only removed from the state."""
        for change in changes:
            if change.mode == "managed" or not does(change.action, "ends"):
                data = change_json(change)
                if causes is not None:
                    data |= causes.json(change_name(change))
                self.message(f"{change.address}: Plan to {data['action']}", "planned_change", change=data)

    def summary(self, text: str, counts: Counts, operation: str) -> None:
        """Write the numbers of changes. `operation`: plan, apply or destroy."""
        changes: dict[str, Any] = {
            "add": counts.add,
            "change": counts.change,
            "import": counts.imports,
            "remove": counts.remove,
            "forget": counts.forget,
        }
        if counts.invoke or counts.failed:
            changes["action_invocation"] = counts.invoke
        if counts.failed:
            changes["action_failed"] = counts.failed
        changes["operation"] = operation
        self.message(text, "change_summary", changes=changes)

    def outputs(self, outputs: Mapping[str, OutputState]) -> None:
        """Write the outputs after an apply. Sensitive outputs have no values."""
        shown = shown_outputs(outputs)
        self.message(f"Outputs: {len(shown)}", "outputs", outputs=shown)


def shown_outputs(outputs: Mapping[str, OutputState]) -> dict[str, Any]:
    """The outputs as they appear in messages. Sensitive outputs have no values."""
    from planner.render.state import output_json

    shown = {}
    for name in sorted(outputs):
        data = output_json(outputs[name])
        if outputs[name].sensitive:
            del data["value"]
        shown[name] = data
    return shown


def invocation_json(one: Invocation) -> dict[str, Any]:
    """The object `invocation` in planned_action_invocation, as documented for Terraform 1.15."""
    address = {
        "addr": one.address,
        "module": one.module,
        "action": one.address.removeprefix(f"{one.module}."),
        "implied_provider": one.type.split("_", 1)[0],
        "action_type": one.type,
        "action_name": one.name,
        "action_key": one.key,
    }
    if not one.event:
        return {"action_addr": address, "action_trigger": {}}
    trigger = {
        "triggering_resource": resource_json(one.caller),
        "triggering_event": "".join(map(str.capitalize, one.event.split("_"))),
        "action_trigger_block_index": one.block,
        "actions_list_index": one.index,
        "on_failure": f"ActionOnFailure{one.on_failure.capitalize()}",
    }
    return {"action_addr": address, "lifecycle_trigger": trigger}


def change_json(change: ResourceChange) -> dict[str, Any]:
    """The object `change` in planned_change and resource_drift."""
    action = ui_action(change.action)
    moved = change.address != change.previous_address
    if action == "noop":
        action = "move" if moved else "import" if change.importing is not None else action
    answer: dict[str, Any] = {"resource": resource_json(change.address)}
    if moved:
        answer["previous_resource"] = resource_json(change.previous_address)
    answer["action"] = action
    if change.reason:
        answer["reason"] = REASONS.get(change.reason, change.reason)
    if change.importing is not None:
        from planner.answers.documents.json_plan import importing_json

        answer["importing"] = importing_json(change.importing)
    if change.undecided:
        answer["undecided"] = list(change.undecided)
    if change.generated_config:
        answer["generated_config"] = change.generated_config
    return answer


class JsonHooks(Hooks):
    """A walk's events, as UI messages."""

    def __init__(self, lines: JsonLines) -> None:
        self.lines = lines
        self._running = StillRunning(self._still)

    def inside(self, component: str) -> Hooks:
        return JsonHooks(self.lines.about(component=component))

    def _hook(self, type: str, text: str, address: str, **more: Any) -> None:
        self.lines.message(f"{address}: {text}", type, hook={"resource": resource_json(address), **more})

    # ---- objects

    def refresh_start(self, address: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        self._hook("refresh_start", f"Refreshing state...{identity_text(identity)}", address, **_identity(identity))

    def refresh_complete(self, address: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        self._hook("refresh_complete", f"Refresh complete{identity_text(identity)}", address, **_identity(identity))

    def apply_start(self, address: str, action: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        if action == "no-op":
            return
        text = f"{_words(action)[0]}...{identity_text(identity)}"
        self._hook("apply_start", text, address, action=ui_action(action), **_identity(identity))
        self._running.start((address, action, deposed))

    def _still(self, key: tuple[str, str, str], elapsed: float) -> None:
        address, action, _ = key
        text = f"Still {_words(action)[1]}... [{duration_text(elapsed)} elapsed]"
        self._hook("apply_progress", text, address, action=ui_action(action), elapsed_seconds=round(elapsed))

    def apply_complete(
        self, address: str, action: str, identity: ObjectId | None = None, elapsed: float = 0.0, deposed: str = ""
    ) -> None:
        self._running.stop((address, action, deposed))
        if action == "no-op":
            return
        text = f"{_words(action)[2]} complete after {duration_text(elapsed)}{identity_text(identity)}"
        more = {"action": ui_action(action), **_identity(identity), "elapsed_seconds": round(elapsed)}
        self._hook("apply_complete", text, address, **more)

    def apply_errored(self, address: str, action: str, elapsed: float = 0.0, deposed: str = "") -> None:
        self._running.stop((address, action, deposed))
        if action == "no-op":
            return
        text = f"{_words(action)[2]} errored after {duration_text(elapsed)}"
        self._hook("apply_errored", text, address, action=ui_action(action), elapsed_seconds=round(elapsed))

    # ---- provisioners and ephemeral resources

    def provision_start(self, address: str, type: str) -> None:
        self._hook("provision_start", f"Provisioning with '{type}'...", address, provisioner=type)

    def provision_progress(self, address: str, type: str, output: str) -> None:
        for line in output_lines(output):
            self._hook("provision_progress", f"({type}): {line}", address, provisioner=type, output=line)

    def provision_complete(self, address: str, type: str) -> None:
        self._hook("provision_complete", f"({type}) Provisioning complete", address, provisioner=type)

    def provision_errored(self, address: str, type: str) -> None:
        self._hook("provision_errored", f"({type}) Provisioning errored", address, provisioner=type)

    # ---- actions

    def _action(self, type: str, text: str, address: str, caller: str, **more: Any) -> None:
        trigger = {"triggering_resource": resource_json(caller)} if caller else {}
        self.lines.message(text, type, hook={"action": {"addr": address}, **trigger, **more})

    def action_start(self, address: str, caller: str) -> None:
        self._action("action_start", f"Action started: {address} (triggered by {caller or 'CLI'})", address, caller)

    def action_progress(self, address: str, caller: str, message: str) -> None:
        for line in output_lines(message):
            self._action(
                "action_progress",
                f"Action {address} (triggered by {caller or 'CLI'}): {line}",
                address,
                caller,
                message=line,
            )

    def action_complete(self, address: str, caller: str) -> None:
        self._action("action_complete", f"Action complete: {address} (triggered by {caller or 'CLI'})", address, caller)

    def action_errored(self, address: str, caller: str) -> None:
        self._action("action_errored", f"Action errored: {address} (triggered by {caller or 'CLI'})", address, caller)

    # ---- searches

    def list_start(self, address: str, type: str, config: dict[str, Any]) -> None:
        data = {"address": address, "resource_type": type, "input_config": config}
        self.lines.message(f"{address}: Starting query...", "list_start", list_start=data)

    def list_found(self, address: str, result: FoundResource) -> None:
        more = {
            "resource_object": result.value,
            "config": result.config,
            "import_config": result.import_config,
            "managed_as": result.managed_as,
            "imported_as": result.imported_as,
        }
        data = {
            "address": address,
            "display_name": result.display_name,
            "identity": result.identity,
            "identity_version": result.identity_version,
            "resource_type": result.type,
            **{name: part for name, part in more.items() if part},
        }
        self.lines.message(f"{address}: Result found", "list_resource_found", list_resource_found=data)

    def list_complete(self, address: str, type: str, total: int, managed: int = 0) -> None:
        data = {"address": address, "resource_type": type, "total": total, **({"managed": managed} if managed else {})}
        self.lines.message(f"{address}: List complete", "list_complete", list_complete=data)

    def discovered(self, coverage: dict[str, dict[str, int]]) -> None:
        types = [{"resource_type": type, **counts} for type, counts in coverage.items()]
        self.lines.message("Coverage", "list_coverage", list_coverage={"types": types})

    def ephemeral_start(self, address: str, phase: str) -> None:
        text = EPHEMERAL[phase][0]
        self._hook("ephemeral_action_started", text, address, Msg=text)

    def ephemeral_complete(self, address: str, phase: str) -> None:
        text = EPHEMERAL[phase][1]
        self._hook("ephemeral_action_complete", text, address, Msg=text)

    # ---- the walk

    def stopping(self) -> None:
        self.lines.log("Interrupt received: waiting for running operations to finish; then the state is saved.")

    def log(self, message: str) -> None:
        self.lines.log(message)


def _words(action: str) -> tuple[str, str, str]:
    """The words for the progress of an action, such as `Creating`, `creating` and `Creation`. JSON messages use
    `Refreshing` instead of `Reading`."""
    return ("Refreshing", "refreshing", "Refresh") if action == "read" else words_for(action).progress


def _identity(identity: ObjectId | None) -> dict[str, str]:
    return {"id_key": identity.key, "id_value": identity.value} if identity and identity.value else {}


# a resource instance in UI messages


@lru_cache(maxsize=1024)
def _parts(address: str) -> tuple[tuple[str, Any], ...]:
    try:
        parsed = parse_address(address)
    except AddressError:
        parsed = None
    if not isinstance(parsed, ResourceAddress):
        return (("addr", address),)
    return (
        ("addr", address),
        ("module", str(parsed.module)),
        ("resource", parsed.relative),
        ("implied_provider", parsed.type.split("_", 1)[0]),
        ("resource_type", parsed.type),
        ("resource_name", parsed.name),
        ("resource_key", parsed.key),
    )


def resource_json(address: str) -> dict[str, Any]:
    """The object `resource` of a UI message."""
    return dict(_parts(address))
