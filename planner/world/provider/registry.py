"""Creates providers by address: the built-in one, and providers that run as plugins."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Mapping
from typing import TYPE_CHECKING, Any

from planner.foundation.values.json_codec import CodecError, from_json
from planner.foundation.values.operations import same_value
from planner.foundation.values.schema import implied_type
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Null, Value
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.provider_address import BUILTIN, is_builtin
from planner.language.functions.protocol import unknown_function
from planner.world.provider import interface
from planner.world.provider.conformity import without_removed
from planner.world.provider.propose import planned_unknown_object
from planner.world.state.encryption_seal import Seal

if TYPE_CHECKING:
    from planner.world.provider.locate import Located
    from planner.world.provider.plugin.kept_answers import KeptAnswers
    from planner.world.provider.plugin.provider import PluginProvider


def start_provider(
    address: str,
    locate: Callable[[str], Located] | None = None,
    seal_of: Callable[[str], Seal] | None = None,
    deferral_allowed: bool = False,
    extensions: Collection[str] = (),
    kept: Callable[[PluginProvider], KeptAnswers | None] = lambda plugin: None,
) -> interface.Provider:
    """The provider with this source address; its process is started on first use. `locate` locates the plugin.
    `seal_of`: returns the encryption of the state that a data source reads, given the data source's address.
    `deferral_allowed`: whether the provider may defer objects. `extensions`: blocks of the built-in provider that
    OpenTofu does not have. `kept`: returns the cached responses of a plugin. Raises Failure."""
    if address == BUILTIN:
        from planner.world.provider.builtin import BuiltinProvider

        return BuiltinProvider(seal_of, extensions)
    plugin = _running(address) if os.environ.get("TF_REATTACH_PROVIDERS") else None
    if plugin is None:
        if locate is None or is_builtin(address):
            raise Failure(unavailable(address))
        plugin = _plugin(address, locate(address).binary)
    plugin.deferral_allowed = deferral_allowed
    plugin.kept = kept(plugin)
    return plugin


def _plugin(address: str, binary: str) -> PluginProvider:
    from planner.world.provider.plugin.provider import PluginProvider

    return PluginProvider(address, [binary], binary)


def _running(address: str) -> PluginProvider | None:
    """The provider if it already runs outside of planner, otherwise None. Raises Failure."""
    from planner.world.provider.plugin.process import attachments
    from planner.world.provider.plugin.provider import PluginProvider

    running = attachments(os.environ).get(address)
    return PluginProvider(address, (), attachment=running) if running is not None else None


def unavailable(address: str) -> Diagnostic:
    if is_builtin(address):
        detail = f"There is no builtin provider {address}; the only one is {BUILTIN}."
        return error("provider.unknown_builtin", "Provider not found", detail)
    detail = f"{address} runs as a plugin, which cannot be found without a working directory."
    return error("provider.not_found", "Provider not found", detail)


def versions_of_builtin(constraints: Mapping[str, object]) -> list[Diagnostic]:
    """An error if there are constraints (by provider) on versions of the built-in provider, because it has no
    versions."""
    if not constraints.get(BUILTIN):
        return []
    detail = f"{BUILTIN} cannot be selected: it comes with this program and has no versions."
    return [error("install.builtin", "Invalid dependency on built-in provider", detail)]


# A provider that replaces another one and uses only its schema. It assumes as little as possible: objects are as
# recorded, computed values are unknown, and rules determine which changes need the provider (rules/plan/undecided.dl).


class OfflineProvider(interface.StandIn):
    """Replaces another provider, and uses only its schema. It cannot apply anything."""

    def validate_resource(self, mode: str, type: str, config: Value) -> list[interface.AttributeDiagnostic]:
        return []

    def upgrade(
        self, type: str, version: int, attributes: dict[str, Any], flat: bool = False
    ) -> tuple[Value, list[interface.AttributeDiagnostic]]:
        wanted = implied_type(self.schema().resources[type].block)
        try:
            if flat:
                raise CodecError("it has the format of very old states")
            return from_json(without_removed(attributes, wanted), wanted), []
        except CodecError as problem:
            detail = f"Only the provider can upgrade the recorded object: {problem}. Plan without -offline."
            return Null(wanted), [_refusal(detail)]

    def upgrade_identity(
        self, type: str, version: int, identity: dict[str, Any]
    ) -> tuple[Value, list[interface.AttributeDiagnostic]]:
        return None, []

    def move(self, request: interface.MoveRequest) -> interface.MoveAnswer:
        detail = f"Only the provider can convert a {request.source_type} to a {request.target}. Plan without -offline."
        return interface.MoveAnswer(Null(DYNAMIC), diagnostics=(_refusal(detail),))

    def plan(self, request: interface.PlanRequest) -> interface.PlanAnswer:
        """An object that is unchanged or deleted is planned as proposed. In a new or changed object, computed values
        that are not configured are unknown."""
        prior, proposed = request.prior, request.proposed
        unchanged = prior.__class__ is not Null and same_value(prior, proposed)
        if proposed.__class__ is Null or unchanged:
            return interface.PlanAnswer(proposed, private=request.prior_private, identity=request.prior_identity)
        planned = planned_unknown_object(self.schema().resources[request.type].block, request.config)
        return interface.PlanAnswer(planned, private=request.prior_private)

    def apply(self, request: interface.ApplyRequest) -> interface.ApplyAnswer:
        return interface.ApplyAnswer(
            request.prior, diagnostics=(_refusal("A change can only be applied by the provider of the object."),)
        )

    def import_object(
        self, type: str, id: str, identity: Value = None
    ) -> tuple[list[interface.ImportedObject], list[interface.AttributeDiagnostic]]:
        return [], [_refusal("An object can only be imported by its provider.")]

    def read_data(self, type: str, config: Value, meta: Value = None, address: str = "") -> interface.ReadAnswer:
        return interface.ReadAnswer(
            Null(DYNAMIC), diagnostics=(_refusal("A data source can only be read by its provider."),)
        )

    def open(self, type: str, config: Value) -> interface.OpenedEphemeral:
        return interface.OpenedEphemeral(
            Null(DYNAMIC), diagnostics=(_refusal("An ephemeral resource can only be opened by its provider."),)
        )

    def invoke_action(
        self, type: str, config: Value, progress: Callable[[str], None]
    ) -> list[interface.AttributeDiagnostic]:
        return [_refusal("An action can only be invoked by its provider.")]

    def list_objects(self, request: interface.ListRequest) -> Generator[interface.Finding, None, None]:
        yield _refusal("Only a provider can search for its objects.")

    def function(self, name: str) -> Any:
        """A function in the schema. Functions that only a configured provider registers have unknown results."""
        return self.schema().functions.get(name) or unknown_function(name)

    def close(self) -> None:
        """Close the provider, which may be running because its schema was read."""
        self.of.close()


def _refusal(detail: str) -> interface.AttributeDiagnostic:
    return interface.AttributeDiagnostic("error", "Provider needed", detail, None)
