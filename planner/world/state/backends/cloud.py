"""The `cloud` block: states in workspaces of Terraform Enterprise or a compatible server, selected by name or by
tags."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from planner.foundation.values.schema import BlockSchema, NestedBlock
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.world.state.backend import DEFAULT_WORKSPACE
from planner.world.state.encryption_seal import Seal
from planner.world.state.remote.tfe import (
    NO_DEFAULT,
    Organization,
    TfeBackend,
    TfeClient,
    WorkspaceSettings,
    project_of,
)
from planner.world.state.settings import SettingsReading, text, texts

SCHEMA = BlockSchema(
    {
        "hostname": text("The cloud backend hostname to connect to."),
        "organization": text("The name of the organization containing the targeted workspace(s)."),
        "token": text(
            "The token used to authenticate with the cloud backend. `login` stores it outside of the configuration."
        ),
    },
    {
        "workspaces": NestedBlock(
            BlockSchema(
                {
                    "name": text("The name of a single cloud backend workspace to be used with this configuration."),
                    "project": text("The name of a project that resulting workspace(s) will be created in."),
                    "tags": texts("A set of tags used to select remote cloud backend workspaces.", kind="set"),
                }
            ),
            "single",
        )
    },
)
_HELP = (
    "The 'workspaces' block configures how workspaces of this configuration are mapped to those of an organization: "
    "`tags` selects all workspaces with these tags, `name` a single workspace."
)


class CloudBackend(TfeBackend):
    """One workspace, or all workspaces with certain tags."""

    type = "cloud"

    def __init__(
        self,
        settings: Mapping[str, Any],
        seal: Seal,
        organization: Organization,
        name: str,
        tags: tuple[str, ...],
        project: str,
    ) -> None:
        super().__init__(settings, seal, organization)
        self._name, self._made = name, WorkspaceSettings(tags, project)

    def client(self, workspace: str) -> TfeClient:
        """The client for a workspace's state. If the block names one workspace, this workspace is planner's default
        workspace."""
        name, refused = workspace, ""
        if workspace == DEFAULT_WORKSPACE:
            name, refused = self._name, "" if self._name else NO_DEFAULT
        elif self._name and workspace != self._name:
            refused = "workspaces not supported"
        return TfeClient(self.organization, name, self._made, refused)

    def workspaces(self) -> list[str]:
        return [self._name] if self._name else sorted(self.names())

    def names(self) -> list[str]:
        query = {"search[tags]": ",".join(self._made.tags)}
        if self._made.project:
            result = project_of(self.organization, self._made.project)
            query |= {"filter[project][id]": result} if result else {}
        return self.list_names(**query)

    def delete_workspace(self, workspace: str) -> None:
        if self._name:
            raise ServiceError("workspaces not supported")
        super().delete_workspace(workspace)


def open(read: SettingsReading, seal: Seal) -> CloudBackend:
    """Open the backend. Settings that are not set come from the environment variables TF_CLOUD_* and TF_WORKSPACE."""
    name_of = "Invalid workspaces configuration"
    organization = read.text("organization", "TF_CLOUD_ORGANIZATION")
    if not organization:
        read.wrong(
            "Invalid or missing required argument",
            '"organization" must be set in the cloud configuration or as an environment variable: '
            "TF_CLOUD_ORGANIZATION.",
        )
    block = read.settings.get("workspaces") or {}
    name, tags = str(block.get("name") or ""), tuple(sorted(str(tag) for tag in block.get("tags") or ()))
    selected = os.environ.get("TF_WORKSPACE", "")
    if selected and name and name != selected:
        read.wrong(
            name_of,
            'The workspace defined using the environment variable "TF_WORKSPACE" is not consistent with the workspace '
            f'"name" in the configuration.\n\n{_HELP}',
        )
    if not name and not tags:
        name = selected
    if not name and not tags:
        strategy = 'Missing workspace mapping strategy. Either workspace "tags" or "name" is required.'
        read.wrong(name_of, f"{strategy}\n\n{_HELP}")
    if name and tags:
        read.wrong(name_of, f'Only one of workspace "tags" or "name" is allowed.\n\n{_HELP}')
    host = read.text("hostname", "TF_CLOUD_HOSTNAME")
    read.finish_check()
    if not host:
        read.wrong(
            "Hostname is required for the cloud backend",
            'OpenTofu does not provide a default "hostname" attribute, so it must be set to the hostname of the cloud '
            "backend.",
        )
    read.check()
    project = str(block.get("project") or "") or os.environ.get("TF_CLOUD_PROJECT", "")
    result = Organization("cloud", host, organization, read.text("token"), ("tfe.v2",))
    return CloudBackend(read.settings, seal, result, name, tags, project)


def identity(settings: Mapping[str, Any], workspace: str, directory: str) -> str:
    """The identity of the state: the workspace in the organization, equal to the identity for the `remote` backend."""
    name = (settings.get("workspaces") or {}).get("name") or workspace
    host = settings.get("hostname") or os.environ.get("TF_CLOUD_HOSTNAME") or ""
    return f"tfe:{host}/{settings.get('organization') or os.environ.get('TF_CLOUD_ORGANIZATION') or ''}/{name}"
