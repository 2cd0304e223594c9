"""What `.given "PATH"` gives in a case of policies: a plan or state that others wrote, or a configuration, planned."""

from __future__ import annotations

import os

from planner.datalog.tools.cases import Case
from planner.operations.options import OperationOptions
from planner.operations.plan_files import planned
from planner.policy.facts.relations import PolicyFacts, Reads
from planner.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.vocabulary.span import Span


def given_facts(case: Case, reads: Reads) -> PolicyFacts | None:
    """What policies read of what a case gives; None if it gives nothing. Raises Failure."""
    if len(case.given) > 1:
        detail = "A case is about one plan: give one, and the rest as facts."
        raise Failure(error("rules.case", "Two plans in a case", detail, case.given[1][1]))
    for path, span in case.given:
        return _facts(os.path.join(os.path.dirname(span.filename), path), span, reads)
    return None


def _facts(path: str, span: Span, reads: Reads) -> PolicyFacts:
    if os.path.isdir(path):
        return _planned(path, span, reads)
    if not os.path.isfile(path):
        raise Failure(error("rules.case", "No such plan", f"There is no file or directory {path}.", span))
    return _shown(path, reads)


def _shown(path: str, reads: Reads) -> PolicyFacts:
    from planner.operations.judging import read_document
    from planner.policy.shown.facts import shown_facts

    return shown_facts(read_document(path), reads)


def _planned(path: str, span: Span, reads: Reads) -> PolicyFacts:
    from planner.operations.policies import facts_of

    answer = planned(OperationOptions(path, refresh=False, needs_configuration=True))
    if answer.complete is None:
        raise Failure([_of_the_case(path, span), *(d for d in answer.diagnostics if d.is_error)])
    return facts_of(answer.complete, reads)


def _of_the_case(path: str, span: Span) -> Diagnostic:
    return error("rules.case", "No plan of a configuration", f"The configuration in {path} cannot be planned.", span)
