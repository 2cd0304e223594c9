"""Seals for tests, without a configuration."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from planner.foundation.encryption.envelope import members
from planner.foundation.encryption.key_providers import pbkdf2
from planner.foundation.encryption.keys import MetadataError, ProviderError, decode_metadata
from planner.foundation.encryption.methods import aes_gcm
from planner.foundation.encryption.target import InvalidMethodError, Ready, Target
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.world.state.encrypted_seal import SealedPlan, SealedState, no_plan, no_state

PASSPHRASE = "correct-horse-battery-staple"
ENCRYPTION = """
key_provider "pbkdf2" "k" {
  passphrase = "correct-horse-battery-staple"
  iterations = 200000
}
method "aes_gcm" "m" {
  keys = key_provider.pbkdf2.k
}
state {
  method   = method.aes_gcm.m
  enforced = true
}
plan {
  method   = method.aes_gcm.m
  enforced = true
}
"""
"""what TF_ENCRYPTION may say"""


@frozen
class Passphrase:
    """`aes_gcm` with a key from a passphrase."""

    text: str
    name: str = "key_provider.pbkdf2.k"
    is_unencrypted: bool = False

    def set_up(self, metadata: Mapping[str, bytes]) -> Ready:
        provider = pbkdf2.build({"passphrase": self.text, "iterations": 200_000})
        known = metadata.get(self.name)
        try:
            keys, kept = provider.provide(decode_metadata(known))
            return Ready(aes_gcm.build({"keys": keys}), {self.name: members(kept)})
        except (MetadataError, ProviderError, InvalidMethodError) as bad:
            raise Failure(error("config.key_provider", "No key", str(bad))) from None


@frozen
class Unencrypted:
    is_unencrypted: bool = True

    def set_up(self, metadata: Mapping[str, bytes]) -> Ready:
        raise AssertionError


def state_seal(*candidates: Passphrase | Unencrypted) -> SealedState:
    return SealedState(Target("state", candidates or (Passphrase(PASSPHRASE),), no_state))


def plan_seal(*candidates: Passphrase | Unencrypted) -> SealedPlan:
    return SealedPlan(Target("plan", candidates or (Passphrase(PASSPHRASE),), no_plan))
