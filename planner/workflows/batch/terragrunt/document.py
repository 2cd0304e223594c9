"""Parses a Terragrunt file into arguments and blocks, and reports unknown arguments and blocks."""

from __future__ import annotations

from collections.abc import Mapping

from planner.foundation.vocabulary.diagnostic import has_errors
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr
from planner.language.config.reading import Problems, expr_of
from planner.language.syntax.body import Attribute, Block, Body, BodySchema, ExpectedBlock
from planner.language.syntax.files import load_file


@frozen
class Form:
    """The allowed content of a block. `attributes`: {argument: whether it is required}. `blocks`: {type of an inner
    block: its form}. `labels`: names of the block's labels. `many`: whether the block may be repeated."""

    attributes: Mapping[str, bool] = field(factory=dict)
    blocks: Mapping[str, Form] = field(factory=dict)
    labels: tuple[str, ...] = ()
    many: bool = False


def _some(*names: str) -> dict[str, bool]:
    return dict.fromkeys(names, False)


_HOOK = {"commands": True, "execute": True, **_some("working_dir", "run_on_error", "suppress_stdout", "if")}
_HOOK_FORM = Form(_HOOK, labels=("name",), many=True)
_ERROR_HOOK = Form(
    {"commands": True, "execute": True, "on_errors": True, **_some("working_dir", "suppress_stdout")},
    labels=("name",),
    many=True,
)
_EXTRA = Form(
    {"commands": True, **_some("arguments", "env_vars", "required_var_files", "optional_var_files")},
    labels=("name",),
    many=True,
)
_TERRAFORM = Form(
    _some(
        "source",
        "version",
        "include_in_copy",
        "exclude_from_copy",
        "copy_terraform_lock_file",
        "mutable",
        "update_source_with_cas",
        "no_copy",
    ),
    {"extra_arguments": _EXTRA, "before_hook": _HOOK_FORM, "after_hook": _HOOK_FORM, "error_hook": _ERROR_HOOK},
)
_REMOTE = Form(
    {
        "backend": True,
        **_some(
            "config",
            "generate",
            "encryption",
            "disable_init",
            "disable_dependency_optimization",
        ),
    }
)
_GENERATE = Form(
    {
        "path": True,
        "if_exists": True,
        "contents": True,
        **_some("if_disabled", "comment_prefix", "disable_signature", "disable", "hcl_fmt", "mutable"),
    },
    labels=("name",),
    many=True,
)
_DEPENDENCY = Form(
    {
        "config_path": True,
        **_some(
            "enabled",
            "skip_outputs",
            "mock_outputs",
            "mock_outputs_allowed_terraform_commands",
            "mock_outputs_merge_with_state",
            "mock_outputs_merge_strategy_with_state",
        ),
    },
    labels=("name",),
    many=True,
)
_RETRY = {"retryable_errors": True, "max_attempts": True, "sleep_interval_sec": True}
_ERRORS = Form(
    {},
    {
        "retry": Form(_RETRY, labels=("name",), many=True),
        "ignore": Form({"ignorable_errors": True, **_some("message", "signals")}, labels=("name",), many=True),
    },
)
AGAIN = "\0"
"""separator between the name of a repeated hook and its number; hooks may have equal names"""
_REPEATED = ("before_hook", "after_hook", "error_hook")
SCALARS = (
    "inputs",
    "download_dir",
    "prevent_destroy",
    "skip",
    "iam_role",
    "iam_assume_role_duration",
    "iam_assume_role_session_name",
    "iam_web_identity_token",
    "terraform_binary",
    "terraform_version_constraint",
    "terragrunt_version_constraint",
    "retryable_errors",
    "retry_max_attempts",
    "retry_sleep_interval_sec",
)
"""top-level arguments of a Terragrunt file; the last three are from earlier versions of Terragrunt"""
UNIT = Form(
    _some(*SCALARS, "remote_state", "generate"),
    {
        "locals": Form(),
        "include": Form({"path": True, **_some("expose", "merge_strategy")}, labels=("name",), many=True),
        "terraform": _TERRAFORM,
        "remote_state": _REMOTE,
        "generate": _GENERATE,
        "dependency": _DEPENDENCY,
        "dependencies": Form({"paths": True}),
        "feature": Form({"default": True}, labels=("name",), many=True),
        "exclude": Form({"if": True, "actions": True, **_some("no_run", "exclude_dependencies")}),
        "errors": _ERRORS,
        "engine": Form({"source": True, **_some("version", "type", "meta")}),
        "catalog": Form(_some("urls", "default_template", "no_shell", "no_hooks", "discovery", "suggest")),
    },
)
_COMPONENT = {
    "source": True,
    "path": True,
    **_some("values", "no_dot_terragrunt_stack", "no_validation", "enabled", "mutable", "update_source_with_cas"),
}
STACK = Form(
    {},
    {
        "locals": Form(),
        "unit": Form(_COMPONENT, {"autoinclude": UNIT}, ("name",), True),
        "stack": Form(_COMPONENT, labels=("name",), many=True),
    },
)


@frozen(eq=False)
class DocumentBlock:
    """A block of a Terragrunt file. `attributes`: {argument: expression}. `blocks`: {type: inner blocks}. `header`: the
    place of its first line."""

    label: str
    span: Span
    attributes: dict[str, Expr]
    blocks: dict[str, list[DocumentBlock]]
    header: Span

    def one(self, kind: str) -> DocumentBlock | None:
        entry = self.blocks.get(kind)
        return entry[0] if entry else None


@frozen(eq=False)
class UnitDocument:
    """A parsed Terragrunt file. `locals`: the expressions of its local values."""

    path: str
    root: DocumentBlock
    locals: dict[str, Expr]
    problems: tuple[object, ...] = ()


def read_document(path: str, name: str, form: Form | None, problems: Problems) -> UnitDocument | None:
    """Parse a Terragrunt file. If the file has errors, they are added to `problems`, and the result is None. If `form`
    is None, the file may have any arguments, as in terragrunt.values.hcl."""
    body, source, wrong = load_file(path, name)
    problems.extend(wrong)
    if body is None or has_errors(wrong):
        return None
    mine = Problems()
    whole = Span(source, 0, 0)
    if form is None:
        attributes, wrong = body.just_attributes()
        mine.extend(wrong)
        root = DocumentBlock("", whole, _exprs(attributes, mine), {}, whole)
    else:
        root = _part(body, form, "", whole, whole, mine)
    problems.extend(mine)
    if mine.has_errors:
        return None
    local = root.one("locals")
    return UnitDocument(path, root, local.attributes if local is not None else {})


def _part(body: Body, form: Form, label: str, span: Span, header: Span, problems: Problems) -> DocumentBlock:
    schema = _json_schema(body, form) if header.filename.endswith(".json") else _schema(form)
    content = body.content(schema)
    read = list(content.blocks)
    for problem in content.diagnostics:
        if problem.code == "syntax.missing_label" and problem.context and problem.context.text == "include":
            continue  # an include without a name, as in earlier versions
        problems.append(problem)
    if "include" in form.blocks and not header.filename.endswith(".json"):
        bare, _ = body.partial_content(BodySchema({}, (ExpectedBlock("include"),)))
        read = [*bare.blocks, *read]
    blocks: dict[str, list[DocumentBlock]] = {}
    for block in read:
        inner = form.blocks[block.type]
        entry = blocks.setdefault(block.type, [])
        name = block.labels[0].value if block.labels else ""
        if block.type == "locals":
            entry.append(_locals(block, entry, problems))
            continue
        same = sum(other.label.partition(AGAIN)[0] == name for other in entry)
        if same and block.type in _REPEATED:
            name = f"{name}{AGAIN}{same}"
        elif entry and (not inner.many or same):
            detail = f"The block is already declared at {entry[0].header}."
            problems.error("duplicate_block", f"Duplicate block {block.type}", detail, block.header_span)
            continue
        entry.append(_part(block.body, inner, name, block.span, block.header_span, problems))
    return DocumentBlock(label, span, _exprs(content.attributes, problems), blocks, header)


def _schema(form: Form) -> BodySchema:
    return BodySchema(dict(form.attributes), tuple(ExpectedBlock(kind, f.labels) for kind, f in form.blocks.items()))


def _json_schema(body: Body, form: Form) -> BodySchema:
    """The schema of a JSON file. In JSON, a name that could be an argument or a block is read as a block, and an
    include needs no label."""
    blocks = {kind: f.labels for kind, f in form.blocks.items()}
    if "include" in blocks:
        bare = body.partial_content(BodySchema({}, (ExpectedBlock("include"),)))[0].blocks
        words = [block.body.just_attributes()[0].keys() for block in bare]
        if words and all(some and some <= form.blocks["include"].attributes.keys() for some in words):
            blocks["include"] = ()
    attributes = {name: required for name, required in form.attributes.items() if name not in blocks}
    return BodySchema(attributes, tuple(ExpectedBlock(kind, labels) for kind, labels in blocks.items()))


def _locals(block: Block, before: list[DocumentBlock], problems: Problems) -> DocumentBlock:
    attributes, wrong = block.body.just_attributes()
    problems.extend(wrong)
    if before:
        detail = f"The block is already declared at {before[0].header}."
        problems.error("duplicate_block", "Duplicate block locals", detail, block.header_span)
    return DocumentBlock("", block.span, _exprs(attributes, problems), {}, block.header_span)


def _exprs(attributes: Mapping[str, Attribute], problems: Problems) -> dict[str, Expr]:
    return {name: expr_of(attribute, problems) for name, attribute in attributes.items()}
