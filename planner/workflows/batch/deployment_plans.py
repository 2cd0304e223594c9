"""Plan files of deployments. Such a file is an archive with a plan file for each component that was planned. The file
is only compared, never applied: before the apply, the deployment is planned again, and the new plan must not contain
changes that are not in the file."""

from __future__ import annotations

import io
import os
import tempfile
import zlib
from typing import Any
from zipfile import BadZipFile, LargeZipFile, ZipFile, ZipInfo

from planner.answers.documents.plan_file import read_plan, write_plan
from planner.foundation.support.archive import members
from planner.foundation.support.disk import read_given, replace_file
from planner.foundation.support.exact_json import orjson
from planner.foundation.vocabulary.diagnostic import Failure, InstallError, error
from planner.logic.model.plan import Plan
from planner.operations.plan_files import compared, counted_changes
from planner.workflows.stacks.steps import DeploymentPlan
from planner.world.state.encryption_seal import Seal

FORMAT = "1.0"
_INDEX = "deployment.json"
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)


def save(plan: DeploymentPlan, path: str, seal: Seal) -> None:
    index: list[dict[str, str]] = []
    out = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="planner-") as folder, ZipFile(out, "w") as archive:
        for number, step in enumerate(plan.steps):
            index.append({"component": str(step.name), "what": step.what, "member": ""})
            if step.plan is None:
                continue
            index[-1]["member"] = member = f"{number}.tfplan"
            place = os.path.join(folder, member)
            problems = write_plan(place, step.plan, {}, seal, 0o600)
            if problems:
                raise Failure(problems)
            archive.writestr(ZipInfo(member, _FIXED_TIME), read_given(place))
        document = {"format_version": FORMAT, "deployment": plan.deployment, "mode": plan.mode, "steps": index}
        archive.writestr(ZipInfo(_INDEX, _FIXED_TIME), orjson.dumps(document))
    try:
        replace_file(path, out.getvalue(), 0o600)
    except OSError as problem:
        detail = f"{path}: {problem.strerror or problem}."
        raise Failure(error("plan_file.write", "Cannot write the plan file", detail)) from None


def differences(path: str, now: DeploymentPlan, seal: Seal) -> tuple[tuple[str, str], ...]:
    """The changes of the plan `now` that the plan in a file does not contain, as (address, "action" or "value"). Raises
    Failure if the file cannot be read."""
    approved = _read(path, now.deployment, seal)
    items: list[tuple[str, str]] = []
    for step in now.steps:
        what, plan = approved.get(str(step.name), ("", None))
        if step.what == "forget" and what != "forget":
            items.append((str(step.name), "action"))
        if step.plan is None:
            continue
        if plan is not None and what == step.what:
            items += [(f"{step.name}: {address}", how) for address, how in compared(plan, step.plan)]
        else:
            items += [(f"{step.name}: {change.address}", "action") for change in counted_changes(step.plan)]
    return tuple(items)


def _read(path: str, deployment: str, seal: Seal) -> dict[str, tuple[str, Plan | None]]:
    result: dict[str, tuple[str, Plan | None]] = {}
    try:
        data = read_given(path)
        with tempfile.TemporaryDirectory(prefix="planner-") as folder, ZipFile(io.BytesIO(data)) as archive:
            members(archive, len(data))
            document: Any = orjson.loads(archive.read(_INDEX))
            if document["format_version"] != FORMAT or document["deployment"] != deployment:
                raise _damaged(path, "it belongs to a different deployment, or a different version of planner wrote it")
            for number, step in enumerate(document["steps"]):
                plan = None
                if step["member"]:
                    place = os.path.join(folder, str(number))
                    with open(place, "wb") as file:
                        file.write(archive.read(str(step["member"])))
                    plan, _, problems = read_plan(place, seal)
                    if plan is None:
                        raise Failure(problems)
                result[str(step["component"])] = str(step["what"]), plan
    except OSError as problem:
        raise _damaged(path, str(problem.strerror or problem)) from None
    except (InstallError, BadZipFile, LargeZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError) as problem:
        raise _damaged(path, str(problem)) from None
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise _damaged(path, f"its content is damaged ({type(problem).__name__}: {problem})") from None
    return result


def _damaged(path: str, why: str) -> Failure:
    return Failure(error("plan_file.read", "Cannot read the plan file", f"{path}: {why}."))
