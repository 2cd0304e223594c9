"""Applies levels, overrides and waivers to findings (rules/verdicts)."""

from __future__ import annotations

import os
import pwd
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner.answers.policy.model import Finding, Kind
from planner.answers.policy.program import Policies
from planner.answers.policy.settings import PolicySettings, Waiver
from planner.foundation.support.disk import note_time
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import evolve
from planner.language.syntax.rule_syntax import Constant
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import product_program

WAIVERS = "waivers"
"""code of findings about waivers"""
_SAYS = {
    "too_wide": "matches everything, so it waives nothing: name the objects that it is for",
    "unnamed": "names neither a type nor a module, as the organisation requires, so it waives nothing",
    "wide": "names neither a type nor a module: it waives {findings}",
    "too_long": "ends later ({until}) than the organisation allows, so it waives nothing",
    "of_no_policy": "names a code that does not belong to any policy",
    "forbidden": "is for a policy that the organisation does not allow to be waived",
    "expired": "has expired ({until})",
    "expires_soon": "expires soon ({until})",
    "unused": "matches no finding of this plan: remove it when it is no longer needed",
}


def needs_settling(policies: Policies, overrides: Mapping[str, str]) -> bool:
    """Whether levels, overrides or waivers may change the findings of these policies."""
    settings = policies.settings
    return bool(
        overrides or settings.configs or settings.waivers or any(i.level for i in policies.packs.policies.values())
    )


def settle(
    findings: Sequence[Finding],
    policies: Policies,
    overrides: Mapping[str, str],
    clock: int | None = None,
    is_whole: bool = True,
) -> list[Finding]:
    """The findings with their final kinds, then findings about waivers. `overrides`: {code: reason}. `clock`: the time,
    in seconds since 1970, at which the validity of waivers is checked. `is_whole`: whether `findings` are all findings
    about the plan. Raises Failure if an override is refused, or if a level is less strict than the level that the
    organisation assigns."""
    database = evaluate(product_program("verdicts"), _facts(findings, policies, overrides, clock, is_whole).build())
    problems = [*_loosened(database, policies), *_refused_overrides(database, policies)]
    if problems:
        raise Failure(problems)
    kinds: dict[int, Kind] = {row[0]: row[1] for row in database["verdict"]}
    would = {row[0]: str(row[1]) for row in database["would_be"]}
    waived_by = {row[0]: policies.settings.waivers[int(str(row[1]))] for row in database["waived_by"]}
    settled = []
    for number, finding in enumerate(findings):
        kind = kinds.get(number, finding.kind)
        reason = finding.reason
        waiver = waived_by.get(number)
        if waiver is not None:
            ticket = f" ({waiver.ticket})" if waiver.ticket else ""
            reason = f"{waiver.reason}{ticket}; waived by {waiver.owner} until {waiver.until}"
        elif kind == "overridden":
            reason = overrides[finding.code]
        settled.append(
            evolve(finding, kind=kind, said=finding.kind, reason=reason, would=would.get(number, finding.would))
        )
    return [*settled, *_remarks(database, policies)]


def _facts(
    findings: Sequence[Finding], policies: Policies, overrides: Mapping[str, str], clock: int | None, is_whole: bool
) -> FactBuilder:
    facts = FactBuilder()
    settings = policies.settings
    for number, finding in enumerate(findings):
        facts.add("finding", number, finding.kind, finding.code, finding.address)
        if finding.kind == "undecided":
            facts.add("may_become", number, finding.would)
    codes, is_open = _codes(policies)
    chosen = {p.code for c in settings.configs for p in c.policies if p.override}
    for info in policies.packs.policies.values():
        is_foreign = info.span is not None and info.span.filename not in policies.closed
        by = "directory" if is_foreign and codes[info.code] & policies.closed else "pack"
        if info.level:  # only the organisation's own packs set levels
            facts.add("assigned_level", info.code, by, info.level)
        for group in info.override if info.code not in chosen and by == "pack" else ():
            facts.add("may_override", info.code, group)
    for code, files in codes.items():
        facts.add("given_code", code)
        if files & policies.closed:
            facts.add("of_organisation", code)
    for code in {finding.code for finding in findings if finding.is_organisations}:
        facts.add("of_organisation", code)
    if is_open:
        facts.add("any_code")
    for config in settings.configs:
        by = "organisation" if config.is_organisation else "directory"
        if config.usual_level:
            facts.add("usual_level", config.usual_level)
        for policy in config.policies:
            if policy.level:
                facts.add("assigned_level", policy.code, by, policy.level)
            for group in policy.override:
                facts.add("may_override", policy.code, group)
            if policy.waivable is False:
                facts.add("not_waivable", policy.code)
    for code in overrides:
        facts.add("override_requested", code)
    if overrides:
        for group in _groups(policies):
            facts.add("member", group)
    now = int(time.time()) if clock is None else clock
    facts.add("clock", now)
    facts.add("waiver_notice", settings.notice)
    if settings.is_named_only:
        facts.add("named_only")
    if settings.longest is not None:
        facts.add("longest_waiver", settings.longest)
    if is_whole:
        facts.add("whole_plan")
    if settings.waivers:
        coming = [moment for moment in _moments(settings) if moment > now]
        if coming:
            note_time(min(coming))
        _add_waivers(facts, findings, settings.waivers)
    return facts


def _moments(settings: PolicySettings) -> Iterator[int]:
    """The times, in seconds since 1970, at which the result of rules/verdicts/waivers.dl for a waiver may change."""
    for waiver in settings.waivers:
        yield waiver.expires
        yield waiver.expires - settings.notice
        if settings.longest is not None:
            yield waiver.expires - settings.longest


def _add_waivers(facts: FactBuilder, findings: Sequence[Finding], waivers: Sequence[Waiver]) -> None:
    from planner.logic.graph.verbs import glob

    by_code: dict[str, list[tuple[int, str]]] = {}
    for number, finding in enumerate(findings):
        by_code.setdefault(finding.code, []).append((number, finding.address))
    for number, waiver in enumerate(waivers):
        facts.add("waiver", number, waiver.code, waiver.address)
        facts.add("expires", number, waiver.expires)
        pattern = glob(waiver.address)
        for finding_number, address in by_code.get(waiver.code, ()):
            if address == waiver.address or (pattern is not None and pattern.fullmatch(address)):
                facts.add("waiver_matches", number, finding_number)


def _codes(policies: Policies) -> tuple[dict[str, set[str]], bool]:
    """({code: files of its rules}, whether a rule computes its code)."""
    codes: dict[str, set[str]] = {code: set() for code in policies.packs.policies}
    is_open = False
    for rule in policies.program.rules:
        if rule.head.predicate in ("deny", "warn"):
            code = rule.head.arguments[0]
            if isinstance(code, Constant):
                codes.setdefault(str(code.value), set()).add(rule.file)
            else:
                is_open = True
    return codes, is_open


def _groups(policies: Policies) -> Iterator[str]:
    """The groups of the current user, from the organisation's lists and from the operating system. The user is
    identified by the numeric user ID, because anyone can set a user name in the environment. Empty if the user ID has
    no name."""
    import grp

    try:
        user = pwd.getpwuid(os.getuid())
    except KeyError:
        return
    listed = {name for config in policies.settings.configs if config.is_organisation for name in config.groups}
    for config in policies.settings.configs:
        if config.is_organisation:
            for group, members in config.groups.items():
                if user.pw_name in members:
                    yield group
    for number in {user.pw_gid, *os.getgroups()}:
        try:
            name = grp.getgrgid(number).gr_name
        except KeyError:
            continue
        if name not in listed:  # a group in the organisation's lists has only the members in these lists
            yield name


# ---------------------------------------------------------------- reports


def _remarks(database: Database, policies: Policies) -> Iterator[Finding]:
    met = {row[0]: int(str(row[1])) for row in database["waives"]}
    for number, about in sorted(database["remark"], key=str):
        waiver = policies.settings.waivers[int(str(number))]
        text = f"the waiver of {waiver.code} for {waiver.address or 'nothing'} "
        findings = f"{met.get(number, 0)} finding{'' if met.get(number) == 1 else 's'}"
        text += _SAYS[str(about)].format(until=waiver.until, findings=findings)
        if waiver.ticket:
            text += f" ({waiver.ticket})"
        proof = {"format_version": "1.0", "goal": ["warn", WAIVERS, "", text], "root": "p1", "proofs": {}}
        proof["proofs"] = {"p1": {"tuple": proof["goal"], "input": True}}
        yield Finding("warn", WAIVERS, "", text, f"verdicts/waivers.{about!s}", None, waiver.span, proof)


def _loosened(database: Database, policies: Policies) -> Iterator[Diagnostic]:
    for (code,) in sorted(database["loosened"], key=str):
        ours = [(c, p) for c in policies.settings.configs for p in c.policies if p.code == code and p.level]
        mine = next((p for c, p in ours if not c.is_organisation), None)
        theirs = next((p.span for c, p in ours if c.is_organisation), None)
        info = policies.packs.policies.get(str(code))
        place = theirs or (info.span if info is not None else None)
        kept = next(str(row[1]) for row in database["policy_level"] if row[0] == code)
        detail = f"The organisation has {code} at level {kept}{f' ({place})' if place is not None else ''}, "
        level = mine.level if mine is not None else info.level if info is not None else ""
        span = mine.span if mine is not None else info.span if info is not None else None
        detail += f"and {level} is less strict. It may be made stricter here, but not less strict."
        yield error("policy.final", "Level set by the organisation", detail, span)


def without_policy(policies: Policies, codes: Iterable[str]) -> Iterator[Diagnostic]:
    """Warnings about overridden codes that no policy has. There are no warnings if a rule computes its code."""
    known, is_open = _codes(policies)
    for code in codes if not is_open else ():
        if code not in known:
            yield warning("policy.unknown_override", "Override does not match a policy", _no_policy(code, known))


def _no_policy(code: str, known: Iterable[str]) -> str:
    return f"No active policy has the code {code}.{did_you_mean(code, known)}"


def _refused_overrides(database: Database, policies: Policies) -> Iterator[Diagnostic]:
    known, is_open = _codes(policies)
    for code, why in sorted(database["override_refused"], key=str):
        if code not in known and not is_open:
            detail = _no_policy(str(code), known)
        elif why == "hard":
            detail = (
                f"{code} is at level deny (hard), which cannot be overridden. Fix the cause, or waive it for a time "
            )
            detail += "in .planner/waivers.toml."
        else:
            info = policies.packs.policies.get(str(code))
            allowed = {g for c in policies.settings.configs for p in c.policies if p.code == code for g in p.override}
            groups = sorted({*allowed, *(info.override if info is not None else ())})
            whose = f"members of {' or '.join(groups)}" if groups else "members of groups, and no group is named"
            detail = f"{code} is at level soft. It can be overridden only by {whose}."
        yield error("policy.override_refused", "Override refused", detail)
