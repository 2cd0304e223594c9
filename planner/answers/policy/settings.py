"""Reads `policy.toml` (packs, their parameters and the levels of their policies) and `waivers.toml`.

    [packs."acme.tags"]                       # of .planner/policy.toml
    source = "git::https://example.com/tags.git?ref=v1.2.0"
    version = "~> 1.2"
    [packs."acme.tags".parameters]
    required_tag = ["Owner", "Cost"]
    [policies.acme_tags]
    level = "deny"
    [workspace.prod.packs."planner.changes".parameters]
    delete_limit = 1

The file of an organisation has the same form, with additional settings: groups, parameters that others may set, and
policies that may be waived. Other files cannot change the organisation's settings.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Iterator
from typing import Any

from planner.answers.policy.library import PREFIX, manifest_of
from planner.answers.policy.library import packs as packs_of_library
from planner.answers.policy.manifest import LEVELS, MANIFEST, PACK_NAME, PackManifest, ParameterRows, given_rows
from planner.answers.policy.packs import Packs, Settings
from planner.answers.policy.strict_toml import TomlFile, TomlTable
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.foundation.vocabulary.version_constraints import allowed, parse_constraints
from planner.logic.programs.rule_programs import Files

CONFIG = "policy.toml"
WAIVERS = "waivers.toml"
CODE = "policy.settings"
NOTICE_DAYS = 14
MOST_WAIVERS = 10_000


@frozen(eq=False)
class PackUse:
    """The use of a pack in a policy.toml. `policies`: the policies that are selected from a pack of planner's library
    (None: all policies). `settable`: the parameters of an organisation's pack that others may set."""

    name: str
    source: str
    version: str
    policies: tuple[str, ...] | None
    parameters: TomlTable
    settable: tuple[str, ...]
    span: Span


@frozen
class PolicySetting:
    """The settings for the policy with one code. `level`: "" if it is not set. `override`: the groups whose members may
    override denials. `waivable`: whether findings may be waived; None if this is not set."""

    code: str
    level: str
    override: tuple[str, ...]
    waivable: bool | None
    span: Span


@frozen(eq=False)
class PolicyConfig:
    """The settings of one policy.toml in a workspace; the section `[workspace.NAME]` takes precedence over the rest of
    the file. `wide`: whether waivers are allowed whose pattern names neither a type nor a module."""

    file: TomlFile
    name: str
    is_organisation: bool
    packs: tuple[PackUse, ...]
    policies: tuple[PolicySetting, ...]
    groups: dict[str, tuple[str, ...]]  # members by group
    usual_level: str
    notice_days: int | None
    longest_days: int | None = None
    wide: bool = True


@frozen
class Waiver:
    """A waiver: findings with this code, at addresses that match the pattern `address`, are accepted until the time
    `expires`, in seconds since 1970. `until`: this time as it is written in the file."""

    code: str
    address: str
    owner: str
    expires: int
    until: str
    ticket: str
    reason: str
    span: Span


@frozen(eq=False)
class PolicySettings:
    """The content of all files policy.toml and waivers.toml."""

    configs: tuple[PolicyConfig, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    parameters: Settings = field(factory=dict)

    @property
    def notice(self) -> int:
        """The number of seconds before the expiry of a waiver from which the waiver is reported. It is the longest
        period in the files, or NOTICE_DAYS if no file sets one."""
        days = [config.notice_days for config in self.configs if config.notice_days is not None]
        return 86_400 * (max(days) if days else NOTICE_DAYS)

    @property
    def longest(self) -> int | None:
        """The maximum time until the expiry of a waiver, in seconds. It is the smallest limit in the organisation's
        files; None if there is no limit."""
        days = [config.longest_days for config in self.configs if config.longest_days is not None]
        return 86_400 * min(days) if days else None

    @property
    def is_named_only(self) -> bool:
        """Whether the organisation requires waivers to name a type or module."""
        return any(not config.wide for config in self.configs)


def is_config(name: str) -> bool:
    """Whether a file has the content of a policy.toml; its name may be different. Every .toml file has this content,
    except pack.toml and the files of waivers."""
    base = os.path.basename(name)
    return base.endswith(".toml") and base != MANIFEST and not is_waivers(name)


def is_waivers(name: str) -> bool:
    return os.path.basename(name).endswith(WAIVERS)


def read_settings(files: Files, closed: frozenset[str], workspace: str, packs: Packs) -> PolicySettings:
    """The settings in policy files for a workspace. `closed`: the names of the organisation's files. Raises Failure
    with all problems."""
    configs: list[PolicyConfig] = []
    waivers: list[Waiver] = []
    problems: list[Diagnostic] = []
    for name, text in files:
        try:
            if is_config(name):
                configs.append(read_config(name, text, workspace, name in closed))
            elif is_waivers(name):
                waivers += read_waivers(name, text)
        except Failure as failure:
            problems += failure.diagnostics
    configs.sort(key=lambda config: not config.is_organisation)
    problems += _contradictions(config for config in configs if config.is_organisation)
    if problems:
        raise Failure(problems)
    return PolicySettings(tuple(configs), tuple(waivers), _parameters(configs, packs))


def _contradictions(configs: Iterable[PolicyConfig]) -> Iterator[Diagnostic]:
    """Errors for files of the organisation that set the members of a group, or the groups that may override a code,
    differently. (Different levels of a code are not an error, because the strictest level applies.)"""
    seen: dict[tuple[str, str], tuple[frozenset[str], Span]] = {}
    for config in configs:
        within = config.file.root.table("groups")
        groups = [(("members of the group", g), frozenset(m), within.place(g)) for g, m in config.groups.items()]
        groups += [(("groups that may override", p.code), frozenset(p.override), p.span) for p in config.policies]
        for (what, name), names, span in groups:
            if not names and what != "members of the group":
                continue
            before, place = seen.setdefault((what, name), (names, span))
            if before != names:
                detail = f"Another file of the organisation sets {what} {name} differently ({place})."
                yield error("policy.final", "Contradictory files of the organisation", detail, span)


# ---------------------------------------------------------------- policy.toml


def read_config(name: str, text: str, workspace: str, is_organisation: bool) -> PolicyConfig:
    """The settings of a policy.toml for a workspace. Raises Failure."""
    file = TomlFile(Source(name, text), "a policy file", CODE)

    def make() -> PolicyConfig:
        root = file.root
        sections = [root]
        for other, table in root.tables("workspace"):
            result = list(_uses(table, is_organisation)), list(_policies(table, is_organisation))
            table.done()
            if other == workspace and result:
                sections.insert(0, table)
        packs = {use.name: use for section in reversed(sections) for use in _merge(section, root, is_organisation)}
        policies = {
            p.code: p for section in reversed(sections) for p in _policy_settings(section, root, is_organisation)
        }
        groups = {}
        for key in ("groups", "defaults"):
            if key in root and not is_organisation:
                detail = (
                    f"Only the policy file of an organisation can set {key}; it is named in PLANNER_POLICIES or in the "
                )
                root.problem(key, f"{detail}CLI configuration.", "Setting reserved for the organisation")
        within = root.table("groups")
        for group in within.data:
            groups[group] = within.texts(group)
        defaults = root.table("defaults")
        usual = defaults.word("level", LEVELS, "")
        defaults.done()
        waivers = root.table("waivers")
        notice = waivers.value("notice_days", int, "a whole number", NOTICE_DAYS) if "notice_days" in waivers else None
        if notice is not None and not 0 <= notice <= 3650:
            waivers.problem("notice_days", "notice_days must be a number of days from 0 to 3650.")
        longest = waivers.value("longest_days", int, "a whole number", 0) if "longest_days" in waivers else None
        if longest is not None and not is_organisation:
            detail = "Only the policy file of an organisation may limit the duration of waivers."
            waivers.problem("longest_days", detail, "Setting reserved for the organisation")
        elif longest is not None and not 0 < longest <= 36500:
            waivers.problem("longest_days", "longest_days must be a number of days from 1 to 36500.")
        wide = waivers.value("wide", bool, "true or false", True)
        if "wide" in waivers and not is_organisation:
            detail = "Only the policy file of an organisation may require waivers to name a type or module."
            waivers.problem("wide", detail, "Setting reserved for the organisation")
        waivers.done()
        root.done()
        uses, said = tuple(packs.values()), tuple(policies.values())
        return PolicyConfig(file, name, is_organisation, uses, said, groups, usual, notice, longest, wide)

    return file.finish(make)


def _merge(section: TomlTable, root: TomlTable, is_organisation: bool) -> Iterator[PackUse]:
    """The uses of packs in a section. In the section of a workspace, a pack inherits missing settings (source, version,
    policies, settable) from the pack with the same name at the top level of the file. The parameters of both are
    merged."""
    known = {use.name: use for use in _uses(root, is_organisation)} if section is not root else {}
    for use in _uses(section, is_organisation):
        base = known.get(use.name)
        if base is None:
            yield use
            continue
        data = {**base.parameters.data, **use.parameters.data}
        yield PackUse(
            use.name,
            use.source or base.source,
            use.version or base.version,
            base.policies if use.policies is None else use.policies,
            _Layered(data, use.parameters, base.parameters),
            use.settable or base.settable,
            use.span,
        )


class _Layered(TomlTable):
    """A table in which keys that are missing in `upper` are looked up in `lower`. Each value keeps its place in the
    file."""

    def __init__(self, data: dict[str, Any], upper: TomlTable, lower: TomlTable) -> None:
        super().__init__(data, upper.path, upper.file)
        self.upper, self.lower = upper, lower

    def of(self, key: str) -> TomlTable:
        return self.upper if key in self.upper.data else self.lower


def _uses(section: TomlTable, is_organisation: bool) -> Iterator[PackUse]:
    for name, table in section.tables("packs"):
        if not PACK_NAME.fullmatch(name):
            section.table("packs").problem(name, f'"{name}" is not a valid name of a pack.')
        source, version = table.text("source"), table.text("version")
        policies = table.texts("policies") if "policies" in table else None
        parameters = table.table("parameters")
        settable = table.texts("settable")
        if "settable" in table and not is_organisation:
            table.problem("settable", "Only the policy file of an organisation may restrict the settings of others.")
        if policies is not None and not name.startswith("planner."):
            table.problem("policies", "Policies can be chosen only from packs that come with planner.")
        if source and name.startswith("planner."):
            table.problem("source", f"{name} comes with planner and cannot have another source.")
        if version and not source and not name.startswith("planner."):
            table.problem("version", "A version requires a source.")
        try:
            if version:
                parse_constraints(version)
        except ValueError as problem:
            table.problem("version", f'"{version}" is not a valid version constraint: {problem}.')
        table.done()
        yield PackUse(name, source, version, policies, parameters, settable, table.span)


def _policy_settings(section: TomlTable, root: TomlTable, is_organisation: bool) -> Iterator[PolicySetting]:
    """The settings of each code in a section. In the section of a workspace, a code inherits missing settings from the
    top level of the file."""
    known = {said.code: said for said in _policies(root, is_organisation)} if section is not root else {}
    for said in _policies(section, is_organisation):
        base = known.get(said.code)
        if base is None:
            yield said
            continue
        waivable = base.waivable if said.waivable is None else said.waivable
        yield PolicySetting(said.code, said.level or base.level, said.override or base.override, waivable, said.span)


def _policies(section: TomlTable, is_organisation: bool) -> Iterator[PolicySetting]:
    for code, table in section.tables("policies"):
        level = table.word("level", LEVELS, "")
        override = table.texts("override")
        waivable = table.value("waivable", bool, "true or false", True) if "waivable" in table else None
        if "waivable" in table and not is_organisation:
            table.problem("waivable", "Only the policy file of an organisation may restrict waivers.")
        if override and not is_organisation:
            table.problem("override", "Only the policy file of an organisation may restrict overrides.")
        table.done()
        yield PolicySetting(code, level, override, waivable, table.span)


# ---------------------------------------------------------------- parameters


def _parameters(configs: Iterable[PolicyConfig], packs: Packs) -> Settings:
    """{pack: {parameter: rows of its value}}. Raises Failure for unknown packs and parameters, wrong versions and
    types, and parameters that only the organisation may set."""
    problems: list[Diagnostic] = []
    settings: dict[str, dict[str, ParameterRows]] = {}
    places: dict[tuple[str, str], Span] = {}
    final: dict[str, PackUse] = {}
    settable: dict[str, set[str]] = {}
    for config in configs:
        for use in config.packs:
            pack = packs.packs.get(use.name)
            manifest = pack.manifest if pack is not None else _of_library(use.name)
            if manifest is None:
                detail = f"There is no pack {use.name} here.{did_you_mean(use.name, packs.packs)} "
                detail += "Set the source of the pack: source = ..."
                problems.append(error(CODE, "Unknown pack", detail, use.span))
                continue
            if use.version and not _is_wanted(use, manifest.version):
                version = manifest.version or "none"
                detail = f'{use.name} has the version {version} here, but the constraint is "{use.version}".'
                problems.append(error(CODE, "Wrong pack version", detail, use.span))
            for key in use.parameters.data:
                table = use.parameters.of(key) if isinstance(use.parameters, _Layered) else use.parameters
                place = table.place(key)
                kept = final.get(use.name)
                parameter = manifest.parameters.get(key)
                if parameter is None:
                    known = manifest.parameters
                    detail = f"{use.name} has no parameter {key}.{did_you_mean(key, known)}"
                    detail += f" The parameters are {', '.join(sorted(known))}." if known else ""
                    problems.append(error(CODE, "Unknown parameter", detail, place))
                elif kept is not None and key not in settable[use.name]:
                    where = places.get((use.name, key), kept.span)
                    detail = f"The policy file of the organisation ({where}) fixes the parameters of {use.name}: "
                    detail += f"to change that, add {key} to settable there."
                    problems.append(error("policy.final", "Parameter is set by the organisation", detail, place))
                else:
                    before = len(config.file.problems)
                    rows = given_rows(parameter.type, table, key)
                    problems += config.file.problems[before:]
                    settings.setdefault(use.name, {})[key] = rows
                    places[use.name, key] = place
            if config.is_organisation:
                final.setdefault(use.name, use)
                settable[use.name] = settable.get(use.name, set(use.settable)) & set(use.settable)
            elif use.name in final and use.source and use.source != final[use.name].source:
                detail = f"The organisation has {use.name} from another source ({final[use.name].span})."
                problems.append(error("policy.final", "Pack is set by the organisation", detail, use.span))
    if problems:
        raise Failure(problems)
    return settings


def _is_wanted(use: PackUse, version: str) -> bool:
    return version != "" and allowed(use.version, version)


def _of_library(name: str) -> PackManifest | None:
    """The content of the pack.toml of a pack of planner's library, even if the pack is not used; None for other
    names."""
    pack = name.removeprefix(PREFIX)
    return manifest_of(pack) if name.startswith(PREFIX) and pack in packs_of_library() else None


# ---------------------------------------------------------------- waivers.toml


def read_waivers(name: str, text: str) -> list[Waiver]:
    """The waivers in a waivers.toml. Raises Failure."""
    file = TomlFile(Source(name, text), "a file of waivers", "policy.waivers")

    def make() -> list[Waiver]:
        root = file.root
        made = []
        for table in root.several("waiver"):
            code, address, owner = table.needed("code"), table.needed("address"), table.needed("owner")
            until, expires = _moment(table)
            ticket, reason = table.text("ticket"), table.needed("reason")
            if owner.strip() == "" and "owner" in table.data:
                table.problem("owner", "A waiver needs an owner.")
            if reason.strip() == "" and "reason" in table.data:
                table.problem("reason", "A waiver needs a reason.")
            table.done()
            made.append(Waiver(code, address, owner, expires, until, ticket, reason, table.span))
            if len(made) > MOST_WAIVERS:
                table.problem("code", f"There are more than {MOST_WAIVERS} waivers.")
                break
        root.done()
        return made

    return file.finish(make)


def _moment(table: TomlTable) -> tuple[str, int]:
    """(time of expiry as text, the same time in seconds since 1970). A date means the end of that day in UTC. ("", 0)
    if the time is missing or invalid; then a problem is added."""
    if "expires" not in table:
        table.problem("expires", "A waiver needs an expiry date: expires = 2026-12-31.", "Missing argument")
        return "", 0
    result = table.data["expires"]
    if isinstance(result, str):
        try:
            result = datetime.date.fromisoformat(result)
        except ValueError:
            table.problem("expires", f'"{result[:40]}" is not a valid day. Write one like 2026-12-31.')
            return "", 0
    if isinstance(result, datetime.datetime):
        if result.tzinfo is None:
            table.problem("expires", "A time needs its offset from UTC: 2026-12-31T12:00:00Z. A day needs none.")
            return "", 0
        return result.isoformat(), int(result.timestamp())
    if not isinstance(result, datetime.date):
        table.problem("expires", "expires is not a valid day. Write one like 2026-12-31.")
        return "", 0
    days = (result - datetime.date(1970, 1, 1)).days + 1
    return result.isoformat(), 86_400 * days
