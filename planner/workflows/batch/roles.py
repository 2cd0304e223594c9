"""Roles of AWS that units take on: keys for the time of one unit's work, which only its environment has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from planner.foundation.clients.aws_settings import aws_of
from planner.foundation.clients.problem import ServiceError
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.workflows.batch.recipe import Role

REGION = "us-east-1"
"""where roles are asked for when the environment names no region"""


def taken_on(unit: str, role: Role, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that say who the unit is from now on. Raises Failure."""
    settings: dict[str, Any] = {"role_arn": role.arn, "session_name": role.session or "planner"}
    if role.seconds:
        settings["duration"] = f"{role.seconds}s"
    kind = "assume_role"
    if role.token:
        kind = "assume_role_with_web_identity"
        is_file = os.path.isfile(role.token)
        settings["web_identity_token_file" if is_file else "web_identity_token"] = role.token
    wrong: list[str] = []
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or REGION
    try:
        aws = aws_of({"region": region, kind: settings}, environment, lambda title, said: wrong.append(said))
        if wrong:
            raise _refused(unit, role, "; ".join(wrong))
        found = aws.chain()
    except (ServiceError, OSError) as problem:
        raise _refused(unit, role, str(problem)) from None
    keys = {"AWS_ACCESS_KEY_ID": found.access_key, "AWS_SECRET_ACCESS_KEY": found.secret_key}
    return {**keys, "AWS_SESSION_TOKEN": found.token}


def _refused(unit: str, role: Role, why: str) -> Failure:
    detail = f"{unit} cannot take on the role {role.arn}: {why}"
    return Failure(error("batch.role", "The role is not taken on", detail))
