"""Refactorings: edits of configuration files that change no object. The edits are first applied in memory. They are
written only if the plan with the edits is equal to the plan without them."""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, Protocol

from planner.answers.explain.plan_difference import value_differences
from planner.engine.walk.hooks import Hooks
from planner.foundation.support.disk import read_whole, view
from planner.foundation.values.value import Null
from planner.foundation.vocabulary.address import MODULE_STEP, AddressError, format_key, scan_traversal
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Source
from planner.language.config.directory import manifest_path, manifest_text, read_manifest
from planner.language.config.load import load_tree
from planner.language.config.module_installer import ModuleRecorder
from planner.language.syntax.nodes import Expression
from planner.logic.model.plan import OutputChange, Plan, ResourceChange
from planner.logic.programs.actions import NO_OP, words_for
from planner.logic.programs.actions import actions as all_actions
from planner.operations.load import begin, read_configuration
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan, plan
from planner.render.what_if import MOST_VALUES, value_text
from planner.workflows.editor.key_edits import for_each_edits, refusal, rename_key_edits, strings
from planner.workflows.editor.model import Model
from planner.workflows.editor.navigation import DeclaredObject, Edits, check_renamable, declarations, rename_edits
from planner.workflows.editor.pieces import file_edit
from planner.workflows.editor.texts import TextDocument, uri_of
from planner.workflows.editor.workspace import Workspace, kind_of
from planner.world.state.workspace import data_directory

CHANGES = "refactor.changes"
"""code of the error about a refactoring that would change the plan"""


class ObjectMove(Protocol):
    """A move of objects to the state of another root module, as part of a refactoring that moves their blocks."""

    def carry_out(self, options: OperationOptions) -> None:
        """Move the objects to the other state. Raises Failure."""

    def take_back(self, options: OperationOptions) -> None:
        """Move the objects back, even after an interruption. Raises Failure."""

    def record(self, directory: str) -> dict[str, Any]:
        """The move as plain data for the record of the refactoring, with paths relative to `directory`."""


@frozen(eq=False)
class Refactoring:
    """Edits that were checked and can be written. `texts`: {path: new content}. `former`: {path: former content}. A
    content is None if the file does not exist before or after the refactoring."""

    texts: dict[str, str | None]
    former: dict[str, str | None]
    moved: tuple[tuple[str, str], ...] = ()
    """(former, new) address of each object whose address changes"""
    unread: tuple[str, ...] = ()
    """files that the plan does not read, such as tests and files of other root modules"""
    states: ObjectMove | None = None
    notes: tuple[str, ...] = ()
    """sentences about work that remains for the user"""

    @property
    def shown_paths(self) -> list[str]:
        """The paths of the edited files, sorted, without the manifest of installed modules."""
        return sorted(path for path in self.texts if not path.endswith("modules.json"))

    def diff(self) -> str:
        """The edits as a unified diff, with paths relative to the working directory."""
        names = ((os.path.relpath(path), (self.former[path], self.texts[path])) for path in self.shown_paths)
        return diff_of(dict(names))


def diff_of(texts: Mapping[str, tuple[str | None, str | None]]) -> str:
    """The unified diff of {name: (former, new content)}; None means that the file does not exist."""
    lines: list[str] = []
    for name, pair in texts.items():
        before, after = ((text or "").splitlines(keepends=True) for text in pair)
        old, new = (name if text is not None else os.devnull for text in pair)
        lines += difflib.unified_diff(before, after, old, new)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


# ---------------------------------------------------------------- the edits of each refactoring


def move(options: OperationOptions, old: str, new: str) -> Refactoring:
    """Rename the object at the address `old`. `new`: the new name, or the whole new address. Raises Failure."""
    workspace = workspace_of(options)
    target, module = target_of(workspace, options, old)
    name, other = new, ""
    if "." in new:
        other, _, name = new.rpartition(".")
        if other != (whole := f"{module}{target.key}".rpartition(".")[0]):
            raise refusal(f"{new} is not a name in the same module and of the same type: use {whole}.NAME.")
    check_renamable(workspace, target)
    if target.key.startswith("output.") and not module:
        detail = f"{old} is an output of the root module: its value is stored in the state under its name"
        raise refusal(f"{detail}, so a different name changes the plan. Rename the output in the file, then apply.")
    if name == target.key.rpartition(".")[2]:
        raise refusal(f"{old} has that name already.")
    calls = [(old.rpartition(".")[2], name)] if target.key.startswith("module.") else []
    back = FormerAddresses(module, [(target.key, f"{target.key.rpartition('.')[0]}.{name}")])
    later = options
    if target.key.startswith("var.") and not module:
        given = f"{target.key[4:]}="
        words = ((kind, text.replace(given, f"{name}=", 1) if text.startswith(given) else text)
                 for kind, text in options.var_args)  # fmt: skip
        later = evolve(options, var_args=tuple(words))
    return check(
        workspace,
        options,
        rename_edits(workspace, target, name),
        back,
        calls=renamed_calls(options, target.directory, calls),
        later=later,
    )


def rename_key(options: OperationOptions, address: str, new: str) -> Refactoring:
    """Rename the for_each key of the instance at an address to `new`. Raises Failure."""
    match = re.fullmatch(r'(.+)\[("(?:[^"\\]|\\.)*")\]', address)
    if match is None:
        raise refusal(f'{address} has no key: name the instance, such as terraform_data.web["a"].')
    try:
        old = scan_traversal(f"x[{match[2]}]")[1].value
    except AddressError:
        old = None
    if not isinstance(old, str):
        raise refusal(f"{match[2]} is not a valid key.")
    workspace = workspace_of(options)
    target, module = target_of(workspace, options, match[1])
    if new == old:
        raise refusal(f"{address} has that key already.")
    (edits, renamed), before = rename_key_edits(workspace, target, old, new), plan_or_fail(options)
    taken = re.compile(rf"{_MODULES if module else ''}{re.escape(target.key + format_key(new))}(?:\.|$)")
    if any(taken.match(change.address) and change.action != "delete" for change in before.plan.changes):
        raise refusal(f"{match[1]} has an instance {format_key(new)} already.")
    backs = []
    for one in renamed:
        inside = module if one.directory == target.directory else "module."
        backs.append(FormerAddresses(inside, [(one.key + format_key(old), one.key + format_key(new))]))
    return check(workspace, options, edits, lambda name: reduce(lambda at, back: back(at), backs, name), before)


def count_to_for_each(options: OperationOptions, address: str) -> Refactoring:
    """Replace an object's count with for_each. Raises Failure."""
    workspace = workspace_of(options)
    target, module = target_of(workspace, options, address)
    check_renamable(workspace, target)
    before = plan_or_fail(options)

    def elements_of(path: str, listed: Expression) -> list[str] | None:
        is_root = target.directory == os.path.abspath(options.directory)
        return _strings(workspace, target.directory, path, listed) if is_root else None

    edits, names = for_each_edits(workspace, target, _instances(before.plan, module, target.key), elements_of)
    moves = [(f"{target.key}[{number}]", target.key + format_key(name)) for number, name in enumerate(names)]
    return check(workspace, options, edits, FormerAddresses(module, moves), before)


def _strings(workspace: Workspace, directory: str, path: str, node: Expression) -> list[str] | None:
    return strings(Model(workspace, directory), node, Source(os.path.basename(path), workspace.document(path).text))


def renamed_calls(options: OperationOptions, directory: str, moves: Iterable[tuple[str, str]]) -> dict[str, str]:
    """{former key: new key} for the keys that change in the manifest of installed modules when module calls in a
    directory are renamed. `moves`: the renamed calls as (former path, new path), such as `a.b`, relative to this
    directory."""
    root = os.path.abspath(options.directory)
    records, _ = read_manifest(root, data_directory(os.environ))
    result = {}
    for key in records:
        names = key.split(".") if key else []
        for depth in range(len(names)):
            above = records.get(".".join(names[:depth]))
            folder = os.path.normpath(os.path.join(root, above.directory)) if above is not None else root
            for old, new in moves:
                end = depth + old.count(".") + 1
                if folder == directory and ".".join(names[depth:end]) == old:
                    result[key] = ".".join([*names[:depth], new, *names[end:]])
    return result


def _manifest(options: OperationOptions, renamed: dict[str, str]) -> dict[str, str | None]:
    """The manifest of installed modules, as `init` would write it, as {path: content}; {} if it does not change.
    `renamed`: {former key: new key}."""
    root, data = os.path.abspath(options.directory), data_directory(os.environ)
    records, _ = read_manifest(root, data)
    known = {renamed.get(key, key): evolve(one, key=renamed.get(key, key)) for key, one in records.items()}
    recorder = ModuleRecorder(known, root, None)
    begun, _ = begin(options)
    load_tree(root, variables=begun.given, workspace=begun.workspace, locate=recorder.locate)
    if recorder.manifest == records or (not records and len(recorder.manifest) == 1):
        return {}
    return {manifest_path(root, data): manifest_text(recorder.manifest).decode()}


# ---------------------------------------------------------------- the objects to which addresses refer


def workspace_of(options: OperationOptions) -> Workspace:
    """A workspace with the files of the git repository that contains the root module or, without a repository, with the
    files below the root module."""
    workspace = Workspace()
    folder = root = os.path.abspath(options.directory)
    while not os.path.exists(os.path.join(folder, ".git")) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    is_repository = os.path.exists(os.path.join(folder, ".git"))
    workspace.folders = [folder if is_repository else root]
    paths = (os.path.abspath(name) for kind, name in options.var_args if kind == "var-file")
    workspace.values[root] = [one for one in paths if kind_of(one) == "values" and os.path.dirname(one) != root]
    return workspace


def target_of(workspace: Workspace, options: OperationOptions, address: str) -> tuple[DeclaredObject, str]:
    """The declared object at an address, and the address of its module with a final dot ("" for the root module).
    Raises Failure."""
    if not address:
        raise refusal("The address is empty: name an object, such as terraform_data.web.")
    here, module, rest = os.path.abspath(options.directory), "", address
    while (match := re.match(r"module\.([\w-]+)\.(?=.)", rest)) is not None:
        below = workspace.module_directory(here, match[1])
        if below is None:
            raise refusal(f"There is no module {module}module.{match[1]}, or it is not installed.")
        here, module, rest = below, module + match[0], rest[match.end() :]
    target = DeclaredObject(here, rest)
    if rest.endswith("]") and declarations(workspace, DeclaredObject(here, rest.partition("[")[0])):
        raise refusal(f"{address} is one instance: name the whole block, {module}{rest.partition('[')[0]}.")
    if not declarations(workspace, target):
        read_configuration(options).loaded()  # raises the errors of the files, which then have no declarations
        where = os.path.relpath(here) if module else "this directory"
        names = [f"{module}{key}" for key in workspace.module(here).symbols]
        raise refusal(f"{address} is not declared in {where}.{did_you_mean(address, names)}")
    return target, module


def _instances(made: Plan, module: str, key: str) -> int:
    """The number of instances that the object `key` has because of its count; if its module has several instances, the
    largest of these numbers. 0 if it has none."""
    pattern = re.compile(rf"{_MODULES if module else ''}{re.escape(key)}\[(\d+)\](?:\.|$)")
    hits = (pattern.match(change.address) for change in made.changes)
    return max((int(hit[1]) + 1 for hit in hits if hit is not None), default=0)


_MODULES = rf"(?:{MODULE_STEP})*"
"""regular expression for the module path at the beginning of an address"""


class FormerAddresses:
    """A callable that maps the new address of an object to its former address; other addresses are unchanged. `moves`:
    (former address, new address), relative to a module."""

    def __init__(self, module: str, moves: Iterable[tuple[str, str]]) -> None:
        self._moves = {new: old for old, new in moves}
        path = _MODULES if module else ""
        names = "|".join(map(re.escape, sorted(self._moves, key=len, reverse=True)))
        self._pattern = re.compile(rf"({path})({names})(?=$|[.\[])")

    def __call__(self, address: str) -> str:
        match = self._pattern.match(address) if self._moves else None
        return f"{match[1]}{self._moves[match[2]]}{address[match.end() :]}" if match is not None else address


# ---------------------------------------------------------------- the check


def check(
    workspace: Workspace,
    options: OperationOptions,
    edits: Edits,
    back: Callable[[str], str],
    before: MadePlan[Any] | None = None,
    more: Mapping[str, str | None] | None = None,
    calls: dict[str, str] | None = None,
    gone: re.Pattern[str] | None = None,
    later: OperationOptions | None = None,
) -> Refactoring:
    """Check that the plan with the edits is equal to the plan without them. `back`: a function from the new address of
    an object to its former address. `before`: the plan without the edits, if it is made already. `more`: {path:
    content} for files to create, or None as content for files to remove. `calls`: {former key: new key} in the manifest
    of installed modules. `gone`: a pattern for the names of checks that the edits remove. `later`: the options of the
    plan with the edits. Raises Failure."""
    before = before if before is not None else plan_or_fail(options)
    texts: dict[str, str | None] = dict(more or {})
    former: dict[str, str | None] = {path: _text(path) for path in texts}
    installed = os.path.join(os.path.abspath(options.directory), data_directory(os.environ), "")
    for path, changes in edits.items():
        if path.startswith(installed) or "/.terraform/" in path:
            raise refusal(
                f"{os.path.relpath(path)} belongs to an installed module, and init would replace the edited file."
            )
        text = former[path] = workspace.document(path).text
        if read_whole(path) != text.encode():
            raise refusal(f"{os.path.relpath(path)} is not plain UTF-8 text.")
        if path not in texts:
            texts[path] = file_edit(text, changes)
    for path, new in _with_links(texts, before).items():
        workspace.opened.put(uri_of(path), TextDocument(new or ""))
    try:
        with view(workspace.overlay()):
            listed = _manifest(later or options, calls or {}) if calls is not None else {}
        for path, new in listed.items():
            former[path], texts[path] = _text(path), new
            workspace.opened.put(uri_of(path), TextDocument(new or ""))
        with view(workspace.overlay()):
            after = plan_or_fail(later or options)
    except Failure as failure:
        why = refusal("With the edits, no plan can be made. Nothing was written.")
        raise Failure([*why.diagnostics, *failure.diagnostics]) from None
    all_different = differences(before.plan, after.plan, back)
    different = {name: detail for name, detail in all_different if gone is None or not gone.match(name)}
    if different:
        if unsteady := dict(differences(before.plan, plan_or_fail(options).plan, str)):
            raise refusal(f"Two plans without the edits also differ, in {', '.join(unsteady)}. Nothing was written.")
        raise Failure([error(CHANGES, "The plan would change", detail) for detail in different.values()])
    pending = {(c.previous_address, c.address) for c in before.plan.changes}
    moves = ((c.previous_address, c.address) for c in after.plan.changes if c.previous_address not in ("", c.address))
    moved = tuple(dict.fromkeys(move for move in moves if move not in pending))
    known = {*map(os.path.realpath, (*_files(before), *_files(after), *listed, *(more or ())))}
    unread = (path for path in texts if os.path.realpath(path) not in known and kind_of(path) != "values")
    return Refactoring(texts, former, moved, tuple(sorted(unread)))


def _files(made: MadePlan[Any]) -> Iterator[str]:
    return map(os.path.abspath, made.loaded.config.files)


def _with_links(texts: Mapping[str, str | None], made: MadePlan[Any]) -> dict[str, str | None]:
    """The texts, extended by the paths under which the plan read the same files through symbolic links. None as text
    removes a file. Raises Failure if two paths of the same file have different texts."""
    by_file: dict[str, str | None] = {}
    for path, text in texts.items():
        if by_file.setdefault(os.path.realpath(path), text) != text:
            raise refusal(f"{os.path.relpath(path)} is a link to another file that would be edited in a different way.")
    links = {path: by_file[real] for path in _files(made) if (real := os.path.realpath(path)) in by_file}
    return {**links, **texts}


def plan_or_fail(options: OperationOptions) -> MadePlan[Any]:
    """Make a plan. Raises Failure if the plan has errors."""
    planned = plan(options, Hooks())
    if planned.complete is None:
        raise Failure([one for one in planned.diagnostics if one.is_error])
    return planned.complete


def differences(before: Plan, after: Plan, back: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """The differences between two plans, as (address or name, message). `back`: as in `check`."""
    yield from differences_of(((before, str),), ((after, back),))


def differences_of(*sides: Iterable[tuple[Plan, Callable[[str], str]]]) -> Iterator[tuple[str, str]]:
    """The differences between plans without the edits and plans with the edits, as (address or name, message). `sides`:
    first the plans without the edits, then the plans with the edits. Each is (plan, function from an address to the
    former address)."""
    old, new = ([one for plan in side for one in actions(*plan).items()] for side in sides)
    changes = [{name: one for plan in side for name, one in _by_name(*plan)} for side in sides]
    extra = (Counter(old) - Counter(new)) + (Counter(new) - Counter(old))
    for name in sorted({name for name, _ in extra}):
        was, now = (dict(side).get(name, (NO_OP,))[0] for side in (old, new))
        change = f"{name}: {was} without the edits, {now} with them"
        if was != "invoke" and {was, now} <= {NO_OP, *all_actions()}:
            done = [words_for(action).done or "unchanged" for action in (was, now)]
            change = f"{name} would get different values"
            if was != now:
                change = f"{name} would be {done[1]} (now {done[0]})"
        parts = _values(name, *(some.get(name) for some in changes))
        yield name, f"{change}{f': {parts}' if parts else ''}. Nothing was written."


def _by_name(made: Plan, back: Callable[[str], str]) -> Iterator[tuple[str, ResourceChange | OutputChange]]:
    """The changes of a plan, as (former address of the object, change) or (name of the output, change)."""
    for one in (*made.changes, *(deferred.change for deferred in made.deferred_changes)):
        if not one.deposed:
            yield one.previous_address if one.previous_address not in ("", one.address) else back(one.address), one
    yield from ((f"output.{one.name}", one) for one in made.outputs)


def _values(name: str, old: ResourceChange | OutputChange | None, new: ResourceChange | OutputChange | None) -> str:
    """The differences between the values that an object or output has in two plans, such as `size: 1 -> 2, 3 more`; ""
    if only one of the plans has it."""
    if old is None or new is None or Null in {one.after.__class__ for one in (old, new)}:
        return ""
    parts = [one for one in value_differences(name, old, new) if one.without and one.within]
    more = len(parts) - MOST_VALUES
    return ", ".join([value_text(part, name) for part in parts[:MOST_VALUES]] + ([f"{more} more"] if more > 0 else []))


def actions(made: Plan, back: Callable[[str], str]) -> dict[str, tuple[str, str]]:
    """The effects of a plan, as {name: (action, value)}, for comparing plans. Included are objects and outputs that
    change (with the former address or the name, the action and the planned value), invocations of actions (with
    "invoke" and the configuration), and all checks (with the status and "")."""
    changes = {}
    for c in (*made.changes, *(one.change for one in made.deferred_changes)):
        if c.action != "no-op":
            name = c.previous_address if c.previous_address not in ("", c.address) else back(c.address)
            changes[f"{name} ({c.deposed})" if c.deposed else name] = c.action, repr(c.after)
    for one in made.invocations:
        name = f"{back(one.address)} for {back(one.caller)} ({one.event} {one.block} {one.index})"
        changes[name] = "invoke", repr(one.config)
    changes |= {f"checks of {back(check.address)}": (check.status, "") for check in made.checks}
    return changes | {f"output.{o.name}": (o.action, repr(o.after)) for o in made.outputs if o.action != "no-op"}


def _text(path: str) -> str | None:
    """The content of a file that will be created or removed; None if it does not exist. Raises Failure."""
    try:
        return read_whole(path).decode()
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise refusal(f"{os.path.relpath(path)} cannot be read, or is not plain UTF-8 text.") from None
