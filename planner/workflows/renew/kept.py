"""The stored data of one plan: all its inputs, its output, and, if edits can be followed, its parts: texts of files,
planned objects, references, and the output for each object.

    index (marshal) | standard output, in UTF-8 | objects of resources, separately

It is stored in the user's cache (planner.foundation.support.store), and is trusted only if this user wrote it."""

from __future__ import annotations

import marshal
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from planner.foundation.support.assets import PACKAGE, rules_folder
from planner.foundation.support.digests import blake2b
from planner.foundation.support.disk import read_whole
from planner.foundation.support.store import Shelf, seal
from planner.foundation.vocabulary.records import field, frozen

_LENGTH = 8


@frozen(eq=False)
class RenewableParts:
    """The data of a plan that can be renewed in part."""

    files: dict[str, str]
    """the texts of the root module's files, by name"""
    modules: dict[str, list[str]]
    """for each file of called modules the calls (`module.name`) in the root module that use it"""
    blocks: dict[str, tuple[str, int, int, str, str]]
    """for each resource, data source and call its file, its beginning and end, its argument (`count`, `for_each` or
    `none`), and its argument `provider`, if it has one"""
    with_data: list[str]
    """the data sources, and the calls of modules that have data sources"""
    moved: list[str]
    """the blocks that `moved` and `removed` blocks name, and the calls of modules that have such blocks"""
    uses: dict[str, list[str]]
    """the references between blocks, as in rules/renew/anew.dl"""
    changes: list[tuple[str, str, str, str, int, int]]
    """each change, in order: address, resource or call, mode, action, and its position in the output (-1: none)"""
    outputs: list[tuple[str, str, str, str]]
    """each root output, by name: action, sign and value as printed"""
    told: int
    """the position in the output where the plan begins"""


@frozen(eq=False)
class KeptPlan:
    """One plan. `reads` are entries of planner.workflows.batch.files_read; `lock` is the file of the state, if it was
    locked."""

    reads: list[list[Any]]
    code: int
    lock: str
    errors: str
    parts: RenewableParts | None
    pieces: Sequence[str]
    """standard output, as it was written"""
    objects: dict[str, tuple[int, int]] = field(factory=dict)
    """the position in `data` of the planned objects of a resource; they are stored together with the objects of other
    resources"""
    data: bytes = b""
    plugins: tuple[Any, ...] | None = None
    """the fields of planner.workflows.renew.plugin_calls.PluginCalls; None if the plan has no plugins"""

    has_secrets: bool = False
    """whether `data` has sensitive values; then it is encrypted in the cache"""
    is_stored: bool = False
    """whether the plan comes from the cache"""

    def values(self) -> bytes | None:
        """The planned objects as data, decrypted; None if that is not possible."""
        return decrypt(self.data, self.reads) if self.has_secrets and self.is_stored else self.data

    @property
    def output(self) -> str:
        return self.pieces[0] if len(self.pieces) == 1 else "".join(self.pieces)


def shelf() -> Shelf:
    """The store of plans: any change of the program's code invalidates them."""
    return Shelf("plans", 48, 1 << 28, made_by=_folders())


def _folders() -> tuple[str, ...]:
    items = []
    for folder, names, _ in os.walk(PACKAGE):
        names[:] = sorted(name for name in names if not name.startswith(("_", ".")))
        items.append(os.path.relpath(folder, PACKAGE))
    return tuple(items)


def rules_stamp() -> str:
    """A stamp that shows whether the rules are unchanged: names, sizes and times of their files."""
    items = []
    for folder, names, files in os.walk(rules_folder()):
        names.sort()
        for name in sorted(name for name in files if not name.endswith(".md")):
            status = os.stat(os.path.join(folder, name))
            items.append((folder, name, status.st_size, status.st_mtime_ns))
    return repr(items)


# Encryption with a key that is not in the cache: it is made from the user's key, the environment, and all files that
# were read except those of the configuration, whose contents may change before the data is used again.


_NONCE = 12
_LARGEST = 1 << 24
"""the size in bytes above which the content of a file is not part of the key"""
_CONFIGURATION = (".tf", ".tofu", ".tf.json", ".tofu.json")


def encrypt(data: bytes, reads: list[list[Any]]) -> bytes | None:
    """The data of a plan that read these files, encrypted; None if the user has no key."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key, nonce = _key(reads), os.urandom(_NONCE)
    return None if key is None else nonce + AESGCM(key).encrypt(nonce, data, None)


def decrypt(data: bytes, reads: list[list[Any]]) -> bytes | None:
    """The encrypted data; None if the environment or the files have changed, or the data is damaged."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key = _key(reads)
    try:
        return None if key is None else AESGCM(key).decrypt(data[:_NONCE], data[_NONCE:], None)
    except (InvalidTag, ValueError):
        return None


def _key(reads: list[list[Any]]) -> bytes | None:
    from planner.world.provider.plugin.kept_answers import UNRELATED

    made = blake2b(digest_size=32)
    for name, value in sorted(os.environ.items()):
        if name not in UNRELATED:
            made.update(os.fsencode(f"{name}={value}\0"))
    for path, kind, *_ in reads:
        data = b""
        if kind == "file" and not path.endswith(_CONFIGURATION):
            with suppress(OSError):
                data = read_whole(path) if os.path.getsize(path) <= _LARGEST else b""
        for part in (os.fsencode(path), data):
            made.update(len(part).to_bytes(8, "little"))
            made.update(part)
    return seal("kept plans", "", made.digest())


def write(to: Shelf, name: str, kept: KeptPlan) -> None:
    """Store a plan if possible."""
    parts = kept.parts
    data = encrypt(kept.data, kept.reads) if kept.has_secrets else kept.data
    if data is None:
        return
    index = marshal.dumps(
        (
            kept.reads,
            kept.code,
            kept.lock,
            kept.errors,
            kept.objects,
            kept.plugins,
            kept.has_secrets,
            None
            if parts is None
            else (
                parts.files,
                parts.modules,
                parts.blocks,
                parts.with_data,
                parts.moved,
                parts.uses,
                parts.changes,
                parts.outputs,
                parts.told,
            ),
        )
    )
    output = b"".join([piece.encode("utf-8", "surrogatepass") for piece in kept.pieces])
    lengths = len(index).to_bytes(_LENGTH, "little") + len(output).to_bytes(_LENGTH, "little")
    to.store_parts(name, (lengths, index, output, data))


def read(at: Shelf, name: str) -> KeptPlan | None:
    """The plan stored under a name."""
    result = at.load(name)
    if result is None:
        return None
    try:
        first, second = (int.from_bytes(result[k : k + _LENGTH], "little") for k in (0, _LENGTH))
        begin = 2 * _LENGTH
        reads, code, lock, errors, objects, plugins, has_secrets, parts = marshal.loads(result[begin : begin + first])
        text = str(result[begin + first : begin + first + second], "utf-8", "surrogatepass")
        return KeptPlan(
            reads,
            code,
            lock,
            errors,
            None if parts is None else RenewableParts(*parts),
            (text,),
            objects,
            result[begin + first + second :],  # type: ignore[arg-type]  # a view is read as bytes are
            plugins,
            has_secrets,
            is_stored=True,
        )
    except (ValueError, TypeError, EOFError):
        return None
