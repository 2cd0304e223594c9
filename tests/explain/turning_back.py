"""Takes back what the root causes of a change name: variables get the values that they had, texts and files what stood
there. Whether the change is gone then says whether they were its causes."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen
from explain.explaining import explain

from planner.answers.explain.causes import CauseStep
from planner.answers.explain.why import Explainer
from planner.foundation.values.json_codec import to_json
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import type_of, unmark_deep
from planner.foundation.vocabulary.address import format_module, join
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config, Expr
from planner.logic.model.plan import change_name


class CannotTellError(Exception):
    """What something was before is not known here."""


@frozen
class Former:
    """What a configuration was when it was applied: its folder, the values of its variables, and its texts."""

    folder: Path
    variables: dict[str, str]
    texts: dict[str, Span]

    @classmethod
    def of(cls, explained: Explainer, folder: Path) -> Former:
        """What explains a plan of the folder that was applied, with the options of the apply."""
        values = explained.places.context.root.variables
        return cls(folder, {name: written(value) for name, value in values.items()}, dict(texts(explained.config)))


def written(value: Any) -> str:
    plain = unmark_deep(value)[0]
    return json.dumps(to_json(plain, type_of(plain) if plain is not None else DYNAMIC), default=float)


def texts(config: Config) -> Iterator[tuple[str, Span]]:
    """The expressions of a configuration by what they give a value to."""

    def of(name: str, expr: Expr | None) -> Iterator[tuple[str, Span]]:
        if expr is not None:
            yield name, Span(expr.source, expr.node.start, expr.node.end)

    for module in config.root.walk():
        path = format_module((name, None) for name in module.path)
        for local in module.locals.values():
            yield from of(join(path, f"local.{local.name}"), local.expr)
        for output in module.outputs.values():
            yield from of(f"{path}.{output.name}" if path else f"output.{output.name}", output.value)
        blocks = [(join(path, d.key), d, d.body.just_attributes()[0], "") for d in module.resources.values()]
        blocks += [(join(path, f"module.{c.name}"), c, c.inputs, "var.") for c in module.calls.values()]  # type: ignore[misc]
        for name, block, attributes, kind in blocks:
            for argument in ("count", "for_each", "enabled"):
                yield from of(f"{name}.{argument}", getattr(block, argument))
            for attribute in attributes.values():
                try:
                    yield (
                        f"{name}.{kind}{attribute.name}",
                        Span(attribute.source, attribute.expr.start, attribute.expr.end),
                    )
                except Failure:
                    continue


def turn_back(roots: Iterable[CauseStep], former: Former, config: Config) -> list[str]:
    """Take back what the roots name, in the current directory; options that do the rest. Raises CannotTellError."""
    values, edits = {}, []
    now = dict(texts(config))
    for root in roots:
        if root.kind == "variable":
            name = re.split(r"[.\[]", root.what.removeprefix("var."))[0]
            if name not in former.variables:
                raise CannotTellError(root.what)
            values[name] = former.variables[name]
        elif root.kind in ("file", "entry"):
            name = root.what.removeprefix("file ") if root.kind == "file" else root.what.rpartition(" in ")[2]
            if not (former.folder / name).is_file():
                raise CannotTellError(root.what)
            shutil.copy(former.folder / name, name)
        elif root.kind == "text":
            edits.append(edit(root.what.removeprefix("the text of "), former.texts, now))
        else:
            raise CannotTellError(root.what)
    for span, text in sorted(set(edits), key=lambda e: (e[0].filename, -e[0].start)):
        path = Path(span.filename)
        whole = path.read_text(encoding="utf-8")
        path.write_text(whole[: span.start] + text + whole[span.end :], encoding="utf-8")
    Path("back.tfvars.json").write_text(f"{{{', '.join(f'{json.dumps(n)}: {v}' for n, v in values.items())}}}")
    return ["-var-file=back.tfvars.json"]


def edit(what: str, before: dict[str, Span], now: dict[str, Span]) -> tuple[Span, str]:
    """Where an expression stands now, and what stood there."""
    name = re.sub(r'\[("[^"]*"|\d+)\]', "", what)
    known = [key for key in now if name == key or name.startswith(f"{key}.")]
    key = max(known, key=len, default="")
    if key not in before or before[key].text == now[key].text:
        raise CannotTellError(what)
    return now[key], before[key].text


def unexplained(explained: Explainer, former: Former, options: Sequence[str], work: Path) -> tuple[int, list[str]]:
    """How many changes could be checked, and those that stay when all their roots are taken back. `work` is the
    current directory, which is left as it was."""
    checked, wrong, planned = 0, [], actions((explained, []))
    kept = work.with_name("kept")
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(work, kept)
    outcomes: dict[tuple[CauseStep, ...], set[tuple[str, str]] | None] = {}
    for name, because in sorted(explained.causes().items()):
        if because.is_guess:
            continue
        if because.roots not in outcomes:
            try:
                back = turn_back(because.roots, former, explained.config)
                outcomes[because.roots] = actions(explain([*options, *back]))
            except CannotTellError:
                outcomes[because.roots] = None
            for path in work.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            shutil.copytree(kept, work, dirs_exist_ok=True)
        left = outcomes[because.roots]
        if left is None:
            continue
        checked += 1
        if (name, dict(planned)[name]) in left:
            wrong.append(f"{name}: {', '.join(root.what for root in because.roots)}")
    return checked, wrong


def actions(planned: tuple[Explainer | None, Sequence[Diagnostic]]) -> set[tuple[str, str]]:
    """What a plan changes, and how. Raises CannotTellError where planning fails."""
    explained, problems = planned
    if explained is None or any(p.is_error for p in problems):
        raise CannotTellError("planning")
    plan = explained.plan
    changes = {(change_name(c), c.action) for c in plan.changes if c.action != "no-op"}
    return changes | {(f"output.{o.name}", o.action) for o in plan.outputs if o.action != "no-op"}
