"""The language server for configuration and rule files (Language Server Protocol). Answers refer to the texts in the
editor, including unsaved edits. This module receives requests and calls the other modules of the package, depending on
the kind of file."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from planner.foundation.vocabulary.diagnostic import Failure
from planner.language.config import load as config_load
from planner.language.syntax.format import format_file
from planner.workflows.editor import actions, completion, hover, navigation, rule_answers, structure
from planner.workflows.editor.checking import Checking
from planner.workflows.editor.plan_actions import FIX, fixes, plan_actions
from planner.workflows.editor.plans import WHY, Plans
from planner.workflows.editor.schedule import DELAY, CheckSchedule
from planner.workflows.editor.texts import Json, TextDocument, path_of
from planner.workflows.editor.transport import EditorServer
from planner.workflows.editor.workspace import Workspace, kind_of

MOST_PARSED = 300
"""number of files whose declarations are cached"""
_SCANNED = 25
"""number of files of the workspace that are read before waiting messages are handled"""
_PAUSE = 0.05
"""seconds between tests of whether a check still reads called modules; until then, files of the workspace are not
read"""

server = EditorServer()
workspace = Workspace()
checking = Checking(workspace)
plans = Plans(workspace)
schedule = CheckSchedule(server, checking)


def serve() -> int:
    """Serve an editor over standard input and output until it exits. Returns the exit code."""
    config_load.keep_files(MOST_PARSED)
    gc.disable()  # garbage is collected between keystrokes instead
    return server.serve()


# ---------------------------------------------------------------- texts


@server.feature(lsp.INITIALIZE)
def _initialize(params: lsp.InitializeParams) -> None:
    uris = [folder.uri for folder in params.workspace_folders or ()] or [params.root_uri or ""]
    workspace.folders = [path_of(uri) for uri in uris if uri]
    options = params.initialization_options
    options = options if isinstance(options, dict) else {}
    mode = options.get("plan")
    plans.mode = mode if mode in ("offline", "full", "off") else "offline"
    server.shows_results = options.get("showsResults") is not True
    edits = params.capabilities.workspace.workspace_edit if params.capabilities.workspace is not None else None
    if edits is not None and edits.document_changes:
        workspace.opened.can_create = lsp.ResourceOperationKind.Create in (edits.resource_operations or ())


@server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
async def _folders(params: lsp.DidChangeWorkspaceFoldersParams) -> None:
    removed = {path_of(folder.uri) for folder in params.event.removed}
    added = [path_of(folder.uri) for folder in params.event.added]
    kept = [folder for folder in workspace.folders if folder not in removed]
    workspace.folders = list(dict.fromkeys((*kept, *added)))
    _look_again()
    schedule.in_background(_scan())


@server.feature(lsp.INITIALIZED)
async def _initialized(params: lsp.InitializedParams) -> None:
    capabilities = server.protocol.client_capabilities.workspace
    watched = capabilities.did_change_watched_files if capabilities is not None else None
    if watched is not None and watched.dynamic_registration:
        names = (
            "**/*.tf",
            "**/*.tofu",
            "**/*.tf.json",
            "**/*.tfvars",
            "**/*.hcl",
            "**/*.dl",
            "**/.terraform/**/*.json",
        )
        options = {"watchers": [{"globPattern": name} for name in names]}
        entry = lsp.Registration("watched", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        server.client_register_capability(lsp.RegistrationParams([entry]))
    schedule.in_background(_scan())


async def _scan() -> None:
    """Read the files of the workspace for references between modules, a few at a time."""
    for number, path in enumerate(workspace.files()):
        workspace.symbols(path)
        if number % _SCANNED == 0:
            await asyncio.sleep(0)
            while schedule.reading:
                await asyncio.sleep(_PAUSE)
    gc.freeze()  # these objects live until the process ends


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
async def _did_open(params: lsp.DidOpenTextDocumentParams) -> None:
    item = params.text_document
    path = workspace.opened.put(item.uri, TextDocument(item.text, item.version))
    schedule.changed_file(path, DELAY)  # runs after the editor's first requests about a new document
    _plan_soon(path, is_first=True)


@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
async def _did_change(params: lsp.DidChangeTextDocumentParams) -> None:
    uri = params.text_document.uri
    document = workspace.opened.documents.get(path_of(uri))
    if document is None:
        raise JsonRpcInvalidParams(f"{uri} is not open.")
    path = workspace.opened.put(uri, document.edited(params.content_changes, params.text_document.version))
    schedule.changed_file(path, DELAY)


@server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
async def _did_save(params: lsp.DidSaveTextDocumentParams) -> None:
    path = path_of(params.text_document.uri)
    checking.forget(path)
    if path in workspace.opened.documents:
        schedule.changed_file(path, 0)
    _plan_soon(path)


@server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
async def _did_close(params: lsp.DidCloseTextDocumentParams) -> None:
    path = path_of(params.text_document.uri)
    subject = checking.subject(path)
    workspace.opened.drop(params.text_document.uri)
    checking.forget(path)
    schedule.check_soon(subject, 0)
    schedule.publish(path, [])


@server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
async def _watched(params: lsp.DidChangeWatchedFilesParams) -> None:
    _look_again()


def _look_again() -> None:
    """Check open files again, because files were changed outside the editor, or because the folders of the workspace
    changed."""
    checking.forget()
    workspace.look_again()
    for path in list(workspace.opened.documents):
        schedule.check_soon(checking.subject(path), DELAY)


# ---------------------------------------------------------------- plans


def _plan_soon(path: str, is_first: bool = False) -> None:
    """Plan the root modules of a saved file in the background. `is_first`: plan only modules without a plan."""
    if kind_of(path) in ("configuration", "values") and plans.mode != "off":
        schedule.in_background(_plan(path, is_first))


async def _plan(path: str, is_first: bool) -> None:
    await asyncio.sleep(DELAY)
    try:
        is_new = await plans.follow(path, is_first, checking.model)
    except Exception as problem:  # a defect of planner: the server continues
        server.log(problem, "plan failed")
        return
    capabilities = server.protocol.client_capabilities.workspace
    lens = capabilities.code_lens if capabilities is not None else None
    if is_new and lens is not None and lens.refresh_support:
        server.protocol.send_request(lsp.WORKSPACE_CODE_LENS_REFRESH, None)


@server.feature(lsp.TEXT_DOCUMENT_CODE_LENS)
def _lenses(params: lsp.CodeLensParams) -> Any:
    path, document = _document_of(params)
    if kind_of(path) == "rules":
        return rule_answers.lenses(params.text_document.uri, path, document.text)
    return plans.lenses(path, document, workspace.symbols(path).symbols)


@server.command(WHY)
def _why(uri: str, key: str = "") -> str:
    """Return the planned actions of a block and their causes as Markdown, and show them in the editor."""
    text = plans.markdown(workspace.directory_of(path_of(uri)), key) or f"The last plan has no actions for {key}."
    server.show_result(lsp.MessageType.Info, text)
    return text


@server.command(FIX)
async def _fix(root: str, address: str) -> list[Json]:
    """Find the sets of edits that avoid the change of an object, and show them in the editor. If the user chooses one,
    it is applied. Returns the sets."""
    result = await fixes(workspace, plans, root, address)
    lines = [fix["text"] for fix in result]
    text = (
        f"To avoid the change of {address}: {'; or '.join(lines)}"
        if lines
        else f"No edit avoids the change of {address}."
    )
    chances = {f"Do {number}": fix["edit"] for number, fix in enumerate(result, 1) if "edit" in fix}
    items = [lsp.MessageActionItem(title) for title in chances]
    request = lsp.ShowMessageRequestParams(lsp.MessageType.Info, text, items)
    choice = await server.window_show_message_request_async(request) if items else None
    if choice is not None and choice.title in chances:
        edit = server.protocol._converter.structure(chances[choice.title], lsp.WorkspaceEdit)
        await server.workspace_apply_edit_async(lsp.ApplyWorkspaceEditParams(edit))
    elif not items:
        server.show_result(lsp.MessageType.Info, text)
    return result


# ---------------------------------------------------------------- requests


def _document_of(params: Any) -> tuple[str, TextDocument]:
    """The path and the text of a request's document. Raises JsonRpcException if it is not open."""
    uri = params.text_document.uri
    path = path_of(uri)
    document = workspace.opened.documents.get(path)
    if document is None:
        raise JsonRpcInvalidParams(f"{uri[:200]} is not open.")
    return path, document


def _at(params: Any) -> tuple[str, TextDocument, int]:
    path, document = _document_of(params)
    return path, document, document.at(params.position)


def _answering(work: Callable[[], Any]) -> Any:
    """The result of `work`. A Failure is converted to an error response."""
    try:
        return work()
    except Failure as failure:
        problem = failure.diagnostics[0]
        raise JsonRpcException(problem.detail or problem.summary, code=-32803) from None


@server.feature(
    lsp.TEXT_DOCUMENT_COMPLETION,
    lsp.CompletionOptions(trigger_characters=['"', ".", "(", "@", "{", "="], resolve_provider=False),
)
def _completion(params: lsp.CompletionParams) -> Any:
    path, document, offset = _at(params)
    kind = kind_of(path)
    if kind == "rules":
        return rule_answers.completion(path, workspace.opened.texts, offset)
    if not kind:
        return {"isIncomplete": False, "items": []}
    text = server.protocol.client_capabilities.text_document
    known = text.completion.completion_item if text is not None and text.completion is not None else None
    has_snippets = bool(known is not None and known.snippet_support)
    items = completion.completions(checking.recent_model(path), path, document.text, offset, has_snippets)
    return {"isIncomplete": False, "items": items}


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
def _hover(params: lsp.HoverParams) -> Any:
    path, _, offset = _at(params)
    if kind_of(path) == "rules":
        return rule_answers.hover(path, workspace.opened.texts, offset)
    return hover.hover(workspace, checking.model, plans.markdown, path, offset) if kind_of(path) else None


@server.feature(lsp.TEXT_DOCUMENT_SIGNATURE_HELP, lsp.SignatureHelpOptions(trigger_characters=["(", ","]))
def _signature(params: lsp.SignatureHelpParams) -> Any:
    path, document, offset = _at(params)
    if kind_of(path) in ("rules", "") or path.endswith(".json"):
        return None
    return hover.signature(checking.model(path), document.text, offset)


@server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
def _inlay_hints(params: lsp.InlayHintParams) -> Any:
    path, document = _document_of(params)
    if kind_of(path) != "configuration":
        return []
    start, end = document.at(params.range.start), document.at(params.range.end)
    return hover.inlay_hints(checking.model(path), path, document, start, end)


@server.feature(
    lsp.TEXT_DOCUMENT_CODE_ACTION,
    lsp.CodeActionOptions(
        code_action_kinds=[
            lsp.CodeActionKind.QuickFix,
            lsp.CodeActionKind.RefactorExtract,
            lsp.CodeActionKind.RefactorRewrite,
        ]
    ),
)
def _code_actions(params: lsp.CodeActionParams) -> Any:
    path, document = _document_of(params)
    if kind_of(path) in ("rules", ""):
        return []
    start, end = sorted((document.at(params.range.start), document.at(params.range.end)))
    problems = params.context.diagnostics
    planned = plan_actions(plans, path, workspace.symbols(path).symbols, start)
    return [*actions.code_actions(workspace, checking.model, path, start, end, problems), *planned]


@server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def _definition(params: lsp.DefinitionParams) -> Any:
    path, _, offset = _at(params)
    if kind_of(path) == "rules":
        return rule_answers.definition(path, workspace.opened.texts, offset)
    return navigation.definition(workspace, path, offset)


@server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
def _references(params: lsp.ReferenceParams) -> Any:
    path, _, offset = _at(params)
    if kind_of(path) == "rules":
        return rule_answers.references(path, workspace.opened.texts, offset)
    return navigation.references(workspace, path, offset, params.context.include_declaration)


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
def _highlights(params: lsp.DocumentHighlightParams) -> Any:
    path, _, offset = _at(params)
    return [] if kind_of(path) == "rules" else navigation.highlights(workspace, path, offset)


@server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
def _prepare_rename(params: lsp.PrepareRenameParams) -> Any:
    path, document, offset = _at(params)
    _, start, end = _answering(lambda: navigation.renamable(workspace, path, offset))
    return document.range(start, end)


@server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
def _rename(params: lsp.RenameParams) -> Any:
    path, _, offset = _at(params)
    return _answering(lambda: navigation.rename(workspace, path, offset, params.new_name))


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def _symbols(params: lsp.DocumentSymbolParams) -> Any:
    path, document = _document_of(params)
    if kind_of(path) == "rules":
        return rule_answers.outline(path, document.text)
    return navigation.outline(workspace, path)


@server.feature(lsp.WORKSPACE_SYMBOL)
def _workspace_symbols(params: lsp.WorkspaceSymbolParams) -> Any:
    return navigation.workspace_symbols(workspace, params.query)


@server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
def _folding(params: lsp.FoldingRangeParams) -> Any:
    path, document = _document_of(params)
    body = None if kind_of(path) == "rules" else workspace.body(path)[0]
    return structure.folding(body, document)


@server.feature(lsp.TEXT_DOCUMENT_SELECTION_RANGE)
def _selection(params: lsp.SelectionRangeParams) -> Any:
    path, document = _document_of(params)
    body = None if kind_of(path) == "rules" else workspace.body(path)[0]
    return [structure.selection(body, document, document.at(position)) for position in params.positions]


@server.feature(
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL,
    lsp.SemanticTokensLegend(list(structure.TOKENS), list(structure.MODIFIERS)),
)
def _semantic_tokens(params: lsp.SemanticTokensParams) -> Any:
    path, document = _document_of(params)
    if kind_of(path) in ("rules", "") or path.endswith(".json"):
        return {"data": []}
    return {"data": structure.semantic_tokens(workspace.body(path)[0], document)}


@server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
def _formatting(params: lsp.DocumentFormattingParams) -> Any:
    path, document = _document_of(params)
    text: str | None = None
    if kind_of(path) == "rules":
        text = rule_answers.formatted(path, document.text)
    elif kind_of(path) and not path.endswith(".json"):
        text = format_file(document.text.encode("utf-8", "surrogatepass"), os.path.basename(path))[0]
    if text is None or text == document.text:
        return []
    return [{"range": document.range(0, len(document.text)), "newText": text}]


@server.command(rule_answers.RUN_CASE)
def _run_case(uri: str, name: str = "") -> Json:
    """Run a case of an open file, or all its cases if `name` is "", and show the results in the editor. Returns
    {"passed": bool, "text": results}."""
    passed, text = rule_answers.ran(path_of(uri), workspace.opened.texts, name)
    kind = lsp.MessageType.Info if passed else lsp.MessageType.Warning
    server.show_result(kind, text)
    return {"passed": passed, "text": text}
