"""Random UUIDs say what they are."""

from __future__ import annotations

import uuid

from planner.foundation.support.digests import random_uuid


def test_version_and_variant() -> None:
    made = [uuid.UUID(random_uuid()) for _ in range(200)]
    assert {(one.version, one.variant) for one in made} == {(4, uuid.RFC_4122)} and len(set(made)) == 200
