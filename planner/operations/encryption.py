"""The encryption of a configuration's states and plans."""

from __future__ import annotations

import os
from typing import Protocol

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.language.config.directory import VARIABLE, is_secret_directory
from planner.language.config.load import load_root
from planner.language.config.model import Config
from planner.language.config.variables import RawVariables
from planner.world.state.encryption_seal import PLAIN, Seal


class Encryption(Protocol):
    """The seals of a command, which encrypt and decrypt states and plans. No expression is evaluated before `check`."""

    def check(self) -> list[Diagnostic]:
        """Diagnostics of the encryption configuration; without errors, the seals may be used."""

    @property
    def state(self) -> Seal:
        """The seal of states."""

    @property
    def plan(self) -> Seal:
        """The seal of plan files."""

    def remote_state(self, address: str) -> Seal:
        """The seal of the state that a `terraform_remote_state` data source reads. Raises Failure."""


class Unencrypted:
    """No encryption."""

    def check(self) -> list[Diagnostic]:
        return []

    @property
    def state(self) -> Seal:
        return PLAIN

    @property
    def plan(self) -> Seal:
        return PLAIN

    def remote_state(self, address: str) -> Seal:
        return PLAIN


UNENCRYPTED = Unencrypted()


def encryption_of(config: Config | None, given: RawVariables, workspace: str) -> Encryption:
    """The encryption in a root module (None: no configuration) and TF_ENCRYPTION."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text and (config is None or config.root.encryption is None):
        return UNENCRYPTED
    from planner.operations.encryption_seals import Encrypted

    return Encrypted(config, given, workspace, text)


def encryption_of_directory(directory: str, given: RawVariables, workspace: str) -> Encryption:
    """The encryption of a directory's root module, which is read only if it may configure encryption. Raises
    Failure."""
    if not is_secret_directory(directory):
        return encryption_of(None, given, workspace)
    config, problems = load_root(directory, variables=given, workspace=workspace)
    if config is None:
        raise Failure(problems)
    return encryption_of(config, given, workspace)
