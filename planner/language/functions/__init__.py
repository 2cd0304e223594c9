"""The functions of the language. Each family of functions is a module that is imported when one of its functions is
first looked up.

lookup(name) returns a Function; call(function, arguments, context) returns a value."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from planner.foundation.values.types import type_to_json
from planner.foundation.vocabulary.release import has_next_functions
from planner.language.functions.protocol import CallContext, Function, FunctionError, Param, call

__all__ = ["CallContext", "Function", "FunctionError", "Param", "call", "lookup", "metadata", "names"]

FAMILIES = {
    "assumptions": "assumeequal assumelistlength assumelistlengthmax assumelistlengthmin assumemaplength "
    "assumemaplengthmax assumemaplengthmin assumenotnull assumesetlength assumesetlengthmax assumesetlengthmin "
    "assumestringprefix",
    "collections": "alltrue anytrue coalesce coalescelist contains element index length one",
    "conversion": "can convert ephemeralasnull issensitive list map nonsensitive sensitive tobool tolist tomap "
    "tonumber toset tostring try",
    "crypto": "base64sha256 base64sha512 bcrypt md5 rsadecrypt sha1 sha256 sha512 uuid uuidv5",
    "dates": "formatdate plantimestamp timeadd timecmp timestamp",
    "encoding": "base64decode base64encode base64gunzip base64gzip csvdecode jsondecode jsonencode textdecodebase64 "
    "textencodebase64 urldecode urlencode",
    "filesystem": "abspath basename dirname file filebase64 filebase64sha256 filebase64sha512 fileexists filemd5 "
    "fileset filesha1 filesha256 filesha512 pathexpand",
    "formatting": "format formatlist",
    "lists": "chunklist compact concat distinct flatten matchkeys reverse slice sort",
    "maps": "keys lookup merge transpose values zipmap",
    "network": "cidrcontains cidrhost cidrnetmask cidrsubnet cidrsubnets",
    "numeric": "abs ceil floor log max min parseint pow range signum sum",
    "patterns": "regex regexall replace",
    "sets": "setintersection setproduct setsubtract setunion",
    "strings": "chomp endswith indent join lower split startswith strcontains strrev substr title trim trimprefix "
    "trimspace trimsuffix upper",
    "templates": "templatefile templatestring",
    "yaml": "yamldecode yamlencode",
}
FAMILY_OF = {name: family for family, members in FAMILIES.items() for name in members.split()}
REMOVED = frozenset(("list", "map"))
NEXT = frozenset(("convert", *FAMILIES["assumptions"].split()))  # functions of OpenTofu's next version
CORE = "core::"

_loaded: dict[str, Function] = {}


def lookup(name: str) -> Function | None:
    """The function of this name, which may begin with `core::`; None if the function does not exist, or exists only in
    OpenTofu's next version and this version is not enabled."""
    if name.startswith(CORE):
        name = name[len(CORE) :]
    if name in NEXT and not has_next_functions():
        return None
    function = _loaded.get(name)
    if function is None:
        family = FAMILY_OF.get(name)
        if family is None:
            return None
        _load(family)
        function = _loaded[name]
    return function


def _load(family: str) -> None:
    module = import_module(f"planner.language.functions.{family}")
    _loaded.update((f.name, f) for f in module.FUNCTIONS)


def names() -> list[str]:
    """Sorted names of all functions, with and without `core::`."""
    own = [name for name in FAMILY_OF if name not in NEXT or has_next_functions()]
    return sorted([*own, *(CORE + name for name in own)])


def metadata() -> dict[str, Any]:
    """The signatures of all functions, except the removed `list` and `map`, in the JSON of `metadata functions -json`
    (format 1.0)."""

    signatures = {}
    for name in names():
        function = lookup(name)
        if function is not None and function.name not in REMOVED:
            signatures[name] = signature(function)
    return {"format_version": "1.0", "function_signatures": signatures}


def signature(function: Function) -> dict[str, Any]:
    """The signature as in the JSON of `metadata functions -json`; empty members are left out."""
    out: dict[str, Any] = {"description": function.description, "return_type": type_to_json(function.return_type)}
    if function.params:
        out["parameters"] = [_parameter(p) for p in function.params]
    if function.variadic is not None:
        out["variadic_parameter"] = _parameter(function.variadic)
    return out


def call_signature(function: Function) -> dict[str, Any]:
    """The signature as in the JSON form of diagnostics about calls."""
    name = function.name.rpartition("::")[2]
    out: dict[str, Any] = {"name": name, "params": [_name_and_type(p) for p in function.params]}
    if function.variadic is not None:
        out["variadic_param"] = _name_and_type(function.variadic)
    out["return_type"] = type_to_json(function.return_type)
    return out


def _name_and_type(param: Param) -> dict[str, Any]:
    return {"name": param.name, "type": type_to_json(param.type)}


def _parameter(param: Param) -> dict[str, Any]:
    out: dict[str, Any] = {"name": param.name}
    if param.description:
        out["description"] = param.description
    if param.allow_null:
        out["is_nullable"] = True
    out["type"] = type_to_json(param.type)
    return out
