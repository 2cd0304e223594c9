"""`.given "PATH"` in a case of policies: a plan or state written by others, or a configuration, planned."""

from __future__ import annotations

import os

from planner.answers.policy.facts.relations import PolicyFacts, PolicyInputs
from planner.answers.policy.from_json.facts import shown_facts
from planner.answers.policy.manifest import MANIFEST
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.provider_address import BUILTIN
from planner.foundation.vocabulary.span import Span
from planner.language.config.load import load_config
from planner.logic.datalog.tools.cases import Case
from planner.operations.judge_documents import read_document
from planner.operations.load import load_variables
from planner.operations.options import OperationOptions
from planner.operations.plan_files import open_or_make_plan
from planner.operations.policies import facts_of
from planner.operations.providers_needed import needed_providers
from planner.world.state.workspace import data_directory


def given_facts(case: Case, reads: PolicyInputs) -> PolicyFacts | None:
    """The facts of a case for policies; None if it has no `.given`. Raises Failure."""
    if len(case.given) > 1:
        detail = "A case has one plan: set one, and the rest as facts."
        raise Failure(error("rules.case", "Two plans in a case", detail, case.given[1][1]))
    for path, span in case.given:
        return _facts(os.path.join(os.path.dirname(span.filename), path), span, reads)
    return None


def _facts(path: str, span: Span, reads: PolicyInputs) -> PolicyFacts:
    if os.path.isdir(path):
        return _plan_facts(path, span, reads)
    if not os.path.isfile(path):
        raise Failure(error("rules.case", "No such plan", f"There is no file or directory {path}.", span))
    return shown_facts(read_document(path), reads)


def _plan_facts(path: str, span: Span, reads: PolicyInputs) -> PolicyFacts:
    pack = _pack_of(span.filename)
    if pack is not None and (why := _not_in_a_pack(path, pack)):
        detail = f"{path} {why}. Cases of external packs must not start programs or call services."
        raise Failure(error("rules.case", "Not in a case of a pack", detail, span))
    answer = open_or_make_plan(OperationOptions(path, refresh=False, needs_configuration=True))
    if answer.complete is None:
        raise Failure([_of_the_case(path, span), *(d for d in answer.diagnostics if d.is_error)])
    return facts_of(answer.complete, reads)


def _pack_of(file: str) -> str | None:
    """The directory of the pack that a file of cases belongs to."""
    folder = os.path.dirname(os.path.realpath(file))
    while not os.path.isfile(os.path.join(folder, MANIFEST)):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def _not_in_a_pack(path: str, pack: str) -> str:
    """Why a case of a pack may not plan a configuration: the problem of the directory; "" if there is none."""
    if os.path.commonpath((os.path.realpath(path), pack)) != pack:
        return "lies outside of the pack"
    if os.path.lexists(os.path.join(path, data_directory(os.environ))):
        return f"has {data_directory(os.environ)}, where programs may be"
    given, _ = load_variables(OperationOptions(path))
    config, _ = load_config(path, variables=given)
    if config is None:
        return ""  # reported when it is planned
    if config.root.backend is not None or config.root.encryption is not None:
        return "configures where states are stored, or how they are encrypted"
    if any("data.terraform_remote_state." in f"{key}." for module in config.root.walk() for key in module.resources):
        return "reads the states of others"
    others = sorted(name for name in needed_providers(config).all if not name.startswith(BUILTIN))
    return f"needs the provider {others[0]}; give a plan in JSON" if others else ""


def _of_the_case(path: str, span: Span) -> Diagnostic:
    return error("rules.case", "No plan of a configuration", f"The configuration in {path} cannot be planned.", span)
