"""The functions that Terragrunt adds to the language. They are about paths, files, the environment, programs and AWS.

Results of external lookups (the environment, programs, AWS) are stored in the session. When the unit runs, these
results are used again, so that the unit runs as it was read."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from copy import copy
from functools import partial
from glob import glob
from types import MethodType
from typing import Protocol

from planner.foundation.values.types import BOOL, DYNAMIC, STRING, ListType
from planner.foundation.values.value import List, Map, Unknown, Value, is_null
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.version_constraints import Version, parse_constraints
from planner.language.config.model import Expr
from planner.language.expressions.evaluate import evaluate
from planner.language.expressions.scope import Scope
from planner.language.functions import CallContext, Function, FunctionError, Param, call, lookup
from planner.language.functions.protocol import function
from planner.workflows.batch.terragrunt import NAME, external
from planner.workflows.batch.terragrunt.document import DocumentBlock
from planner.workflows.batch.terragrunt.merge import deep_merge
from planner.workflows.batch.terragrunt.session import UnitSession, question
from planner.workflows.batch.terragrunt.working_directory import working_directory

# Lists of commands that functions return, and the errors after which Terragrunt retries by default.

_VARS = ("apply", "console", "destroy", "import", "plan", "push", "refresh")
_LOCKING = ("apply", "destroy", "import", "init", "plan", "refresh", "taint", "untaint")
NEED = {
    "vars": _VARS,
    "locking": _LOCKING,
    "input": ("apply", "import", "init", "plan", "refresh"),
    "parallelism": ("apply", "plan", "destroy"),
}
RETRYABLE = (
    "(?s).*Failed to load state.*tcp.*timeout.*",
    "(?s).*Failed to load backend.*TLS handshake timeout.*",
    "(?s).*Creating metric alarm failed.*request to update this alarm is in progress.*",
    "(?s).*Error installing provider.*TLS handshake timeout.*",
    "(?s).*Error configuring the backend.*TLS handshake timeout.*",
    "(?s).*Error installing provider.*tcp.*timeout.*",
    "(?s).*Error installing provider.*tcp.*connection reset by peer.*",
    "NoSuchBucket: The specified bucket does not exist",
    "(?s).*Error creating SSM parameter: TooManyUpdates:.*",
    "(?s).*app.terraform.io.*: 429 Too Many Requests.*",
    "(?s).*ssh_exchange_identification.*Connection closed by remote host.*",
    "(?s).*Client\\.Timeout exceeded while awaiting headers.*",
    "(?s).*Could not download module.*The requested URL returned error: 429.*",
    "(?s).*net/http: TLS.*handshake timeout.*",
    "(?s).*could not query provider registry.*context deadline exceeded.*",
    "(?s).*provider.*TLS handshake timeout.*",
    "(?s).*provider.*tcp.*timeout.*",
    "(?s).*provider.*tcp.*connection reset by peer.*",
    "(?s).*provider.*context deadline exceeded.*",
    "(?s).*registry.*context deadline exceeded.*",
    "(?s).*Failed to resolve provider.*timeout.*",
    "(?s).*Failed to resolve provider.*connection reset by peer.*",
    "(?s).*Failed to resolve provider.*context deadline exceeded.*",
    "(?s).*could not connect to registry.*timeout.*",
    "(?s).*could not connect to registry.*connection reset by peer.*",
    "(?s).*could not connect to registry.*context deadline exceeded.*",
    "(?s).*failed to request discovery document.*context deadline exceeded.*",
    "(?s).*Failed to query available provider packages.*timeout.*",
    "(?s).*Failed to query available provider packages.*connection reset by peer.*",
    "(?s).*Failed to query available provider packages.*context deadline exceeded.*",
)
"""regular expressions for the errors after which Terragrunt retries a command by default"""


_TEXTS = ListType(STRING)
DEEPEST = 100
"""maximum length of a chain of files in which each file reads the next"""
_FUNCTIONS: list[Function] = []
_declared = partial(function, result=STRING, into=_FUNCTIONS)
_WORDS = Param("words", STRING)
_ANYTHING = Param("more", DYNAMIC, allow_null=True, allow_unknown=True, allow_dynamic=True)


class Included(Protocol):
    """An include of a file."""

    @property
    def place(self) -> str:
        """The path of the included file."""
        ...


class CallScope(Protocol):
    """The members of a frame (frame.py) that function calls need. Its methods may raise Failure; its properties do
    not."""

    session: UnitSession
    path: str
    depth: int

    @property
    def folder(self) -> str: ...
    @property
    def root(self) -> DocumentBlock: ...
    @property
    def is_included(self) -> bool: ...
    def includes(self) -> Mapping[str, Included]: ...
    def text(self, expr: Expr) -> str: ...
    def evaluate(self, expr: Expr) -> Value: ...
    def config_of(self, path: str) -> dict[str, Value]: ...


class Functions:
    """Terragrunt's functions, bound to the frame of a file. The method `_NAME` implements the function NAME."""

    def __init__(self, frame: CallScope) -> None:
        self.frame, self.session = frame, frame.session
        self._made: dict[str, Function] = {}

    def find(self, name: str) -> Function | None:
        """The function of this name; None if Terragrunt has none."""
        if name in NAMES and name not in self._made:
            self._made[name] = own = copy(NAMES[name])
            own.impl = MethodType(own.impl, self)
        return self._made.get(name)

    # ------------------------------------------------------------ paths

    @_declared(variadic=_WORDS)
    def _find_in_parent_folders(self, *words: str) -> Value:
        wanted = words[0] if words else ""
        key = question("above", self.frame.folder, wanted)
        result: str | None = self.session.ask(key, lambda: self._above(wanted))
        if result is not None:
            return result
        if len(words) > 1:
            return words[1]
        raise FunctionError(f"No directory above {self.frame.folder} has {wanted or NAME}.")

    def _above(self, wanted: str) -> str | None:
        folder = os.path.dirname(self.frame.folder)
        while True:
            for name in (wanted or NAME,):
                if os.path.exists(os.path.join(folder, name)):
                    return os.path.join(folder, name)
            above = os.path.dirname(folder)
            if above == folder:
                return None
            folder = above

    def _include(self, words: tuple[str, ...]) -> Included | None:
        """The include that the argument of a call names or, without an argument, the only include. None if the file has
        no include. Raises FunctionError."""
        known = self.frame.includes()
        if words:
            if words[0] not in known:
                raise FunctionError(f"No include is named {words[0]}.{did_you_mean(words[0], known)}", 0)
            return known[words[0]]
        if len(known) > 1:
            raise FunctionError(f"The include is ambiguous: name one of {', '.join(sorted(known))}.")
        return next(iter(known.values()), None)

    def _include_path(self, words: tuple[str, ...]) -> str:
        """The path of the file that a call is about. This is the included file that the call names (see `_include`). In
        an included file, and in a file without includes, it is the file itself. Raises FunctionError."""
        if self.frame.is_included:
            return self.frame.path
        include = self._include(words)
        return include.place if include is not None else self.frame.path

    @_declared(variadic=Param("name", STRING))
    def _path_relative_to_include(self, *words: str) -> Value:
        return os.path.relpath(self.frame.folder, os.path.dirname(self._include_path(words)))

    @_declared(variadic=Param("name", STRING))
    def _path_relative_from_include(self, *words: str) -> Value:
        return os.path.relpath(os.path.dirname(self._include_path(words)), self.frame.folder)

    @_declared(variadic=_WORDS)
    def _get_parent_terragrunt_dir(self, *words: str) -> Value:
        return os.path.dirname(self._include_path(words))

    @_declared()
    def _get_terragrunt_dir(self) -> Value:
        return self.frame.folder

    @_declared()
    def _get_original_terragrunt_dir(self) -> Value:
        return os.path.dirname(self.session.config)

    @_declared()
    def _get_working_dir(self) -> Value:
        source = self.frame.root.one("terraform")
        text = ""
        if source is not None and "source" in source.attributes:
            text = self.frame.text(source.attributes["source"])
        return working_directory(self.frame.folder, text)

    def _repo_root(self) -> str:
        return str(self.session.ask(question("repo", self.frame.folder), self._repo))

    def _repo(self) -> str:
        folder = self.frame.folder
        while not os.path.exists(os.path.join(folder, ".git")):
            above = os.path.dirname(folder)
            if above == folder:
                raise FunctionError(f"{self.frame.folder} is not in a git repository.")
            folder = above
        return folder

    @_declared()
    def _get_repo_root(self) -> Value:
        return self._repo_root()

    @_declared()
    def _get_path_from_repo_root(self) -> Value:
        return os.path.relpath(self.frame.folder, self._repo_root())

    @_declared()
    def _get_path_to_repo_root(self) -> Value:
        return os.path.relpath(self._repo_root(), self.frame.folder)

    # ------------------------------------------------------------ files

    def _file(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.frame.folder, path))

    @_declared(Param("path", STRING), variadic=_ANYTHING, result=DYNAMIC)
    def _read_terragrunt_config(self, path: str, *default: Value) -> Value:
        file = self._file(path)
        if not self.session.is_file(file):
            if default:
                return default[0]
            raise FunctionError(f"There is no file {file}.", 0)
        if os.path.basename(file).endswith(".stack.hcl"):
            raise FunctionError(f"{file} describes a stack. Stacks cannot be read as values yet.", 0)
        if os.path.basename(file).startswith("terragrunt.values."):
            document = self.session.read(file, None)
            return {name: self.frame.evaluate(expr) for name, expr in sorted(document.root.attributes.items())}
        if file in self.session.reading:
            raise FunctionError(f"{file} reads itself, directly or through other files.", 0)
        if self.frame.depth > DEEPEST:
            raise FunctionError(f"{file} is read through more than {DEEPEST} other files.", 0)
        return self.frame.config_of(file)

    @_declared(Param("path", STRING))
    def _read_tfvars_file(self, path: str) -> Value:
        result = self._file(path)
        if not self.session.is_file(result):
            raise FunctionError(f"There is no file {result}.", 0)
        document = self.session.read(result, None)
        values = {name: evaluate(expr.node, Scope(), expr.source) for name, expr in document.root.attributes.items()}
        encode = lookup("jsonencode")
        assert encode is not None
        return call(encode, [values], CallContext())

    @_declared(Param("path", STRING))
    def _sops_decrypt_file(self, path: str) -> Value:
        result = self._file(path)
        if not self.session.is_file(result):
            raise FunctionError(f"There is no file {result}.", 0)
        self.session.files[result] = None
        return external.decrypted(self.session, result)

    @_declared(Param("path", STRING))
    def _mark_as_read(self, path: str) -> Value:
        self.session.files[self._file(path)] = None
        return path

    @_declared(Param("pattern", STRING), result=_TEXTS)
    def _mark_glob_as_read(self, pattern: str) -> Value:
        items = sorted(glob(self._file(pattern), recursive=True))
        files = [path for path in items if os.path.isfile(path)]
        self.session.files.update(dict.fromkeys(files))
        return List(STRING, tuple(files))

    # ------------------------------------------------------------ the environment

    @_declared(variadic=_WORDS)
    def _get_env(self, *words: str) -> Value:
        if not words:
            raise FunctionError("The function get_env takes the name of a variable.")
        result = self.session.variable(words[0])
        if result is None and len(words) < 2:
            raise FunctionError(f"The environment has no variable {words[0]}, and there is no default.", 0)
        return words[1] if not result and len(words) > 1 else result or ""

    @_declared(variadic=_WORDS)
    def _run_cmd(self, *words: str) -> Value:
        return external.program(self.session, self.frame.folder, words)

    @_declared()
    def _get_platform(self) -> Value:
        return "linux" if sys.platform.startswith("linux") else sys.platform

    @_declared()
    def _get_terraform_command(self) -> Value:
        return self.session.command

    @_declared(result=_TEXTS)
    def _get_terraform_cli_args(self) -> Value:
        return List(STRING, (self.session.command,))

    @_declared(result=_TEXTS)
    def _get_default_retryable_errors(self) -> Value:
        return List(STRING, RETRYABLE)

    @_declared()
    def _get_terragrunt_source_cli_flag(self) -> Value:
        return self.session.variable("TG_SOURCE") or ""

    # ------------------------------------------------------------ values

    @_declared(Param("version", STRING), Param("constraint", STRING), result=BOOL)
    def _constraint_check(self, version: str, constraint: str) -> Value:
        try:
            return parse_constraints(constraint).allows(Version(version))
        except ValueError as problem:
            raise FunctionError(f"{problem}.") from None

    @_declared(variadic=_ANYTHING, result=DYNAMIC)
    def _deep_merge(self, *values: Value) -> Value:
        result: Value = {}
        for index, value in enumerate(values):
            if is_null(value):
                continue
            if value.__class__ is Unknown:
                return Unknown(DYNAMIC)
            if value.__class__ not in (dict, Map):
                raise FunctionError("Expected an object.", index)
            result = deep_merge(result, value)
        return result


def _declare_commands(name: str, words: tuple[str, ...]) -> None:
    _declared(name=name, result=_TEXTS)(lambda functions: List(STRING, words))


def _declare_aws(name: str) -> None:
    _declared(name=name)(lambda functions: external.aws(functions.session, name))


for _what, _words in NEED.items():
    _declare_commands(f"get_terraform_commands_that_need_{_what}", _words)
for _what in ("account_id", "account_alias", "caller_identity_arn", "caller_identity_user_id"):
    _declare_aws(f"get_aws_{_what}")
NAMES = {one.name: one for one in _FUNCTIONS}
"""{name: function of Terragrunt}; Functions.find binds a function to a frame before it is called"""
