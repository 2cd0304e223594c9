"""`backend "remote"`: states in workspaces of Terraform Enterprise or a compatible server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from planner.foundation.values.schema import BlockSchema, NestedBlock
from planner.world.state.backend import DEFAULT_WORKSPACE
from planner.world.state.encryption_seal import Seal
from planner.world.state.remote.tfe import NO_DEFAULT, Organization, TfeBackend, TfeClient, WorkspaceSettings
from planner.world.state.settings import SettingsReading, text

SCHEMA = BlockSchema(
    {
        "hostname": text("The remote backend hostname to connect to."),
        "organization": text("The name of the organization containing the targeted workspace(s).", required=True),
        "token": text(
            "The token used to authenticate with the remote backend. Without it, the credentials of the CLI "
            "configuration are used."
        ),
    },
    {
        "workspaces": NestedBlock(
            BlockSchema(
                {
                    "name": text("The only workspace, which is used as the default one."),
                    "prefix": text(
                        "The prefix of the names of workspaces on the server. The names in planner have no prefix."
                    ),
                }
            ),
            "single",
        )
    },
)


class NamedBackend(TfeBackend):
    """One named workspace, or all workspaces with a common prefix."""

    type = "remote"

    def __init__(
        self, settings: Mapping[str, Any], seal: Seal, organization: Organization, name: str, prefix: str
    ) -> None:
        super().__init__(settings, seal, organization)
        self._name, self._prefix = name, prefix

    @property
    def has_workspaces(self) -> bool:  # type: ignore[override]
        return bool(self._prefix)

    def client(self, workspace: str) -> TfeClient:
        if workspace == DEFAULT_WORKSPACE:
            return TfeClient(self.organization, self._name, WorkspaceSettings(), "" if self._name else NO_DEFAULT)
        refused = "" if self._prefix else "workspaces not supported"
        name = workspace if workspace.startswith(self._prefix) else f"{self._prefix}{workspace}"
        return TfeClient(self.organization, name, WorkspaceSettings(), refused)

    def workspaces(self) -> list[str]:
        return sorted(self.names()) if self._prefix else [DEFAULT_WORKSPACE]

    def names(self) -> list[str]:
        result = self.list_names(**{"search[name]": self._prefix})
        return [name.removeprefix(self._prefix) for name in result if name.startswith(self._prefix)]


def open(read: SettingsReading, seal: Seal) -> NamedBackend:
    if not read.text("organization"):
        read.wrong("Invalid organization value", 'The "organization" attribute value must not be empty.')
    block = read.settings.get("workspaces") or {}
    name, prefix = str(block.get("name") or ""), str(block.get("prefix") or "")
    if not name and not prefix:
        read.wrong("Invalid workspaces configuration", 'Either workspace "name" or "prefix" is required.')
    if name and prefix:
        read.wrong("Invalid workspaces configuration", 'Only one of workspace "name" or "prefix" is allowed.')
    read.finish_check()
    if not read.text("hostname"):
        read.wrong(
            "Hostname is required for the remote backend",
            'OpenTofu does not provide a default "hostname" attribute, so it must be set to the hostname of the remote '
            "backend.",
        )
    read.check()
    services = ("state.v2",) if os.environ.get("TF_FORCE_LOCAL_BACKEND") else ("tfe.v2.1",)
    organization = Organization(
        "remote", read.text("hostname"), read.text("organization"), read.text("token"), services
    )
    return NamedBackend(read.settings, seal, organization, name, prefix)


def identity(settings: Mapping[str, Any], workspace: str, directory: str) -> str:
    """The identity of the state: the workspace in the organization, equal to the identity for the `cloud` block."""
    block = settings.get("workspaces") or {}
    name = block.get("name") or ""
    if workspace != DEFAULT_WORKSPACE or not name:
        prefix = str(block.get("prefix") or "")
        name = workspace if workspace.startswith(prefix) else f"{prefix}{workspace}"
    return f"tfe:{settings.get('hostname') or ''}/{settings.get('organization') or ''}/{name}"
