"""Documents of every kind that planner writes and reads again, with small and large mutations.

    python tests/soak/documents.py [COUNT [SEED [KIND...]]]     100,000 by default, in one process

The seeds are what real commands write in a temporary folder. Each mutated document is read by what reads it in the
product; where a document has sums they are made again for the mutated content, so that it is looked at. Diagnostics,
and the exceptions that a reader is documented to raise, are answers; it fails when anything else is raised, when it
takes longer than two seconds, or when memory grows without end.
"""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZipFile

from mutations import MEGABYTES, SECONDS, Slow, within

from planner.answers.documents.plan_file import SUM, _archive, _sum, read_plan, stale, unpack_sources
from planner.answers.policy.data_files import read_data
from planner.answers.policy.manifest import read_manifest
from planner.answers.policy.packs import gather
from planner.foundation.support.store import folder_path
from planner.foundation.vocabulary.diagnostic import Failure
from planner.language.syntax.rule_parse import parse_rules
from planner.operations.former_world import RecordedTree
from planner.operations.load import encryption_of_directory
from planner.operations.options import OperationOptions
from planner.operations.show import show, shown_json
from planner.operations.state_journal import _summary
from planner.workflows.batch import join, manifest, saved_plan
from planner.workflows.batch.bundles import host, parcel
from planner.workflows.batch.model import Request, UnitResult
from planner.workflows.batch.record import Record
from planner.workflows.renew import kept
from planner.workflows.stacks.states import States, decoded
from planner.world.state.backend import open_backend
from planner.world.state.encryption_seal import PLAIN, Seal
from planner.world.state.file import read_state, read_with_texts, write_state
from planner.world.state.input_record import read_record
from planner.world.state.journal import Journal, differences, journal_in
from planner.world.state.journal_lines import line_of
from planner.world.state.lock import info_path, lock_info_of, new_lock_info
from planner.world.state.model import State
from planner.world.state.recovery import recover
from planner.world.state.workspace import BackendPointer, read_pointer, write_pointer

ROOT = Path(__file__).parents[2]
UNIT = 'resource "terraform_data" "x" {\n  input = "1"\n}\noutput "id" {\n  value = terraform_data.x.id\n}\n'
CONFIGURATION = """
variable "size" { default = 2 }
locals { tags = { owner = "me", list = [1, 0.1, "a", true, null] } }
resource "terraform_data" "n" {
  count = var.size
  input = { i = count.index, tags = local.tags, "ü" = sensitive("geheim") }
}
resource "terraform_data" "k" {
  for_each = { a = 1, "b c" = 2 }
  input    = terraform_data.n[0].id
  lifecycle { create_before_destroy = true }
}
module "m" {
  source = "./m"
  in     = terraform_data.n[1].id
}
output "o" { value = module.m.out }
output "s" {
  value     = terraform_data.n
  sensitive = true
}
check "c" {
  assert {
    condition     = length(terraform_data.n) == 3
    error_message = "no"
  }
}
"""
MODULE = (
    'variable "in" {}\nresource "terraform_data" "x" { input = var.in }\noutput "out" { value = terraform_data.x }\n'
)
ENCRYPTION = """
terraform {
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = "a passphrase for tests"
      iterations = 200000
    }
    method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
    state { method = method.aes_gcm.m }
    plan { method = method.aes_gcm.m }
  }
}
"""
CONTROL = "\x00\x1b[31m\x07\u202e\n"
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 7, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 1.5, -0.0, 1e300, "", "0",
    "x", CONTROL, "\ud800", "a\udfffb", "é" * 3000, "../../../etc/passwd", "/", "//", "a\\b", "module.", "[0]", "a.b[",
    "*", "..", "~", "${x}", "9" * 400, [], {}, [[]], [{}], {"": None}, {"id": []}, [None], [0, "a"],
    "raw:1e999", "raw:-1e-999", "raw:1E+400", "raw:" + "9" * 4500, "raw:NaN", "raw:-Infinity", "raw:0.1000000000000001",
    "raw:" + "[" * 300 + "]" * 300, "raw:" + '{"a":' * 300 + "1" + "}" * 300, "raw:" + "[" * 1100 + "]" * 1100,
    "raw:" + "[" * 200_000,
]  # fmt: skip
BYTES = [b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b"\n", b"\r\n",
         b"0", b"-", b"1e9", b"null", b"\\ud800", b"\\u0000", b"=", b"'", b"#", b".", b" " * 99, b"\x1b[2J", b"%", b"$",
         b"\x1f\x8b", b"PK\x05\x06"]  # fmt: skip


class Kind:
    """Documents of one kind: what they look like, who reads them, and how their parts (JSON or other texts) are taken
    apart and put together again."""

    def __init__(
        self,
        name: str,
        seeds: list[bytes],
        read: Callable[[bytes], Any],
        parts: Callable[[bytes], list[bytes]] = lambda data: [data],
        whole: Callable[[list[bytes]], bytes] = b"".join,
        weight: int = 10,
    ) -> None:
        assert seeds, name
        self.name, self.seeds, self.read, self.parts, self.whole, self.weight = name, seeds, read, parts, whole, weight


# ---------------------------------------------------------------- mutations


def flipped(random: Random, data: bytes, others: list[bytes]) -> bytes:
    """One to six changes of bytes."""
    for _ in range(random.choice([1, 1, 1, 2, 3, 6])):
        at = random.randrange(len(data) + 1)
        end = min(len(data), at + random.choice([0, 1, 1, 2, 5, 20, 100, 2000]))
        change = random.randrange(7)
        if change == 0:
            data = data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]
        elif change == 1:
            data = data[:at] + data[end:]
        elif change == 2:
            data = data[:end] + data[at:end] * random.choice([1, 1, 2, 30]) + data[end:]
        elif change <= 4:
            data = data[:at] + random.choice(BYTES) + data[at:]
        elif change == 5:
            other = random.choice(others)
            cut = random.randrange(len(other) + 1)
            data = data[:at] + other[cut : cut + random.choice([3, 10, 60, 600])] + data[at:]
        else:
            data = data[:at]
    return data


def places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """(container, key) of everything inside."""
    for key in [*value] if value.__class__ is dict else range(len(value)) if value.__class__ is list else ():
        found.append((value, key))
        places(value[key], found)
    return found


def reshaped(random: Random, text: bytes) -> bytes:
    """A JSON text with one to four values replaced, swapped, doubled, renamed or taken away."""
    root = [json.loads(text)]
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        found = places(root, [])
        container, key = random.choice(found)
        value, change = container[key], random.randrange(10)
        if change <= 4:
            container[key] = random.choice(VALUES)
        elif change == 5:
            other, there = random.choice(found)
            copied, container[key] = json.loads(json.dumps(value)), json.loads(json.dumps(other[there]))
            other[there] = copied
        elif change == 6 and container is not root:
            container.pop(key)
        elif change == 7 and container.__class__ is list and container is not root:
            container[key:key] = [value] * random.choice([1, 2, 50])
        elif change == 7 and container.__class__ is dict:
            container[str(random.choice(VALUES))] = container.pop(key)
        elif change == 8 and isinstance(value, int):
            container[key] = value + random.choice([-1, 1, -(2**40), 2**40])
        elif change == 8 and isinstance(value, str):
            at = random.randrange(len(value) + 1)
            container[key] = value[:at] + str(random.choice(VALUES)) + value[at + random.randrange(3) :]
        else:
            container[key] = [value] if random.random() < 0.5 else {"": value}
    is_plain = random.random() < 0.8
    data = json.dumps(root[0], ensure_ascii=is_plain).encode("utf-8", "surrogatepass")
    if b'"raw:' in data:
        pieces = data.split(b'"raw:')
        data = pieces[0] + b"".join(b"".join(piece.split(b'"', 1)) for piece in pieces[1:])
    if random.random() < 0.05:  # a key that stands there twice
        at = data.find(b'"', random.randrange(len(data)))
        end = data.find(b'":', at + 1)
        if at >= 0 and end > 0 and b'"' not in data[at + 1 : end]:
            data = data[:at] + data[at:end] + random.choice([b'":null,', b'":[],', b'":1e99,']) + data[at:]
    return data


def mutated(random: Random, kind: Kind) -> bytes:
    data = random.choice(kind.seeds)
    if random.random() < 0.3:
        return flipped(random, data, kind.seeds)
    parts = kind.parts(data)
    for _ in range(random.choice([1, 1, 1, 3])):
        at = random.randrange(len(parts)) if parts else 0
        change = random.random()
        if not parts or change < 0.1:
            other = kind.parts(random.choice(kind.seeds))
            parts.insert(at, random.choice(other or [b"{}"]))
        elif change < 0.15:
            parts.pop(at)
        elif change < 0.2:
            parts.append(parts.pop(at))
        else:
            try:
                parts[at] = reshaped(random, parts[at])
            except (ValueError, RecursionError):
                parts[at] = flipped(random, parts[at], kind.seeds)
    return kind.whole(parts)


# ---------------------------------------------------------------- the kinds


def run(folder: Path, *words: str) -> None:
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "planner", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, (words, done.stdout, done.stderr)


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def json_parts(data: bytes) -> list[bytes]:
    return [data]


def summed(parts: list[bytes]) -> bytes:
    """A manifest with the sum of what it says now."""
    data = b"".join(parts)
    try:
        document = saved_plan.orjson.loads(data)
        document["sum"] = saved_plan._sum(document)
        return saved_plan.orjson.dumps(document)  # type: ignore[no-any-return]
    except (ValueError, TypeError, AttributeError):
        return data


def zip_parts(data: bytes) -> list[bytes]:
    with ZipFile(io.BytesIO(data)) as archive:
        return [name.encode() + b"\0" + archive.read(name) for name in archive.namelist() if name != SUM]


def zip_whole(parts: list[bytes]) -> bytes:
    members = {}
    for part in parts:
        name, _, content = part.partition(b"\0")
        members[name.decode("utf-8", "replace").replace("\n", "")[:99] or "x"] = content
    pairs = list(members.items())
    return _archive([*pairs, (SUM, _sum(pairs))], 0)


def line_parts(data: bytes) -> list[bytes]:
    return [line.split(b" ", 2)[2] for line in data.splitlines()]


def line_whole(parts: list[bytes]) -> bytes:
    whole, chain = b"", 0
    for part in parts:
        line, chain = line_of(part, chain)
        whole += line
    return whole


def sealed_parts(seal: Seal) -> tuple[Callable[[bytes], list[bytes]], Callable[[list[bytes]], bytes]]:
    from planner.world.state.encrypted_seal import line_seal, new_line_seal

    _, head = new_line_seal(seal)

    def parts(data: bytes) -> list[bytes]:
        first, *rest = [json.loads(text) for text in line_parts(data)]
        opens = line_seal(first, seal)
        assert opens is not None
        return [json.dumps(opens.open_entry(entry)).encode() for entry in rest]

    def whole(parts: list[bytes]) -> bytes:
        opens = line_seal(head, seal)
        assert opens is not None
        texts = [json.dumps(head).encode()]
        for part in parts:
            try:
                texts.append(json.dumps(opens.sealed(json.loads(part))).encode())
            except (ValueError, TypeError, RecursionError):
                texts.append(part)
        return line_whole(texts)

    return parts, whole


def header_parts(data: bytes) -> list[bytes]:
    return [*data.partition(b"\n")[::2]]


def header_whole(parts: list[bytes]) -> bytes:
    """A header that counts what comes after it, most of the time."""
    first, rest = parts[0] if parts else b"", b"".join(parts[1:])
    try:
        header = json.loads(first)
        one = min(max(0, header["bytes"][0]), len(rest))
        header |= {"bytes": [one, len(rest) - one], "version": parcel.version()}
        first = json.dumps(header).encode("utf-8", "surrogatepass")
    except (ValueError, TypeError, KeyError, RecursionError, AttributeError, IndexError):
        pass
    return first + b"\n" + rest


def shown(problems: Any) -> None:
    """Every diagnostic can be told."""
    for problem in problems:
        assert problem.summary, problem
        assert problem.detail, problem


class BesideStore:
    """A store in which something stands beside the state."""

    data = b""
    has_place_beside = True

    @property
    def client(self) -> BesideStore:
        return self

    def beside(self, name: str) -> bytes:
        return self.data

    def get_beside(self, name: str) -> bytes:
        return self.data

    def put_beside(self, name: str, data: bytes) -> None:
        pass


class BesideBackend:
    def __init__(self) -> None:
        self.kept = BesideStore()

    def store(self, workspace: str) -> BesideStore:
        return self.kept


def kinds(home: Path) -> list[Kind]:
    """What real commands write, once."""
    root = written(home / "root", {"main.tf": CONFIGURATION, "m/main.tf": MODULE})
    run(root, "init", "-input=false")
    run(root, "apply", "-auto-approve")
    first = (root / "terraform.tfstate").read_bytes()
    run(root, "apply", "-auto-approve", "-var=size=3")
    run(root, "plan", "-var=size=4", "-out=one")
    run(root, "plan", "-destroy", "-out=two")
    backend = 'terraform {\n  backend "local" {\n    path = "x.tfstate"\n  }\n}\n'
    pointed = written(home / "pointed", {"main.tf": backend})
    run(pointed, "init", "-input=false")
    secret = written(home / "secret", {"main.tf": ENCRYPTION + UNIT})
    run(secret, "apply", "-auto-approve")
    fleet = written(
        home / "fleet", {f"{u}/{n}": t for u in "ab" for n, t in (("main.tf", UNIT), (".planner-unit", ""))}
    )
    for number in (1, 2):
        run(fleet, "batch", "plan", f"-shard={number}/2", f"-out=o{number}")
    run(fleet, "batch", "join", "-out=whole", "o1", "o2")
    run(fleet, "batch", "apply", "-auto-approve", "whole")
    work = home / "work"
    (work / "data").mkdir(parents=True)
    os.chdir(work)
    state_bytes = (root / "terraform.tfstate").read_bytes()
    encryption = encryption_of_directory(str(secret), {}, "default")
    return [
        *of_states(root, first, state_bytes),
        *of_journals(work, first, state_bytes, PLAIN, "journal"),
        *of_journals(work, first, state_bytes, encryption.state, "sealed journal"),
        *of_plans(root, work),
        *of_fleets(fleet, work, state_bytes),
        *of_small_ones(root, pointed, work),
        *of_packs(),
    ]  # fmt: skip


def of_states(root: Path, first: bytes, last: bytes) -> list[Kind]:
    def read(data: bytes) -> None:
        state, problems = read_state(data, "x")
        shown(problems)
        if state is not None:
            write_state(state)
            again, _ = read_state(write_state(state, compact=True))
            assert again is not None
            list(state.instances())
            _, _, more = read_with_texts(data, "x")
            shown(more)

    def seen(data: bytes) -> None:
        Path("state").write_bytes(data)
        told, problems = show(OperationOptions(), "state")
        shown(problems)
        if told is not None:
            json.dumps(shown_json(told), default=str)

    old = [path.read_bytes() for path in (ROOT / "tests/state/data").glob("*.tfstate")]
    seeds = [first, last, write_state(read_state(last)[0] or State(), compact=True), *old]
    return [Kind("state", seeds, read, weight=20), Kind("shown state", seeds, seen, weight=5)]


def of_journals(work: Path, first: bytes, last: bytes, seal: Seal, name: str) -> list[Kind]:
    before, after = read_state(first)[0], read_state(last)[0]
    assert before is not None
    assert after is not None
    path = str(work / "made.journal")
    journal = Journal(path, before.lineage, before.serial, "apply", before, None, seal)
    for changed, key, instance in differences(State(), after):
        number = journal.start(changed.address, "", "create", durable=False)
        journal.instance(changed, key, instance)
        journal.end(number, durable=False)
    journal.snapshot(after, "ab" * 32, 2)
    journal.mark_kept(after)
    journal.instance(*next(iter(differences(after, State()))))
    journal.start("terraform_data.n[9]", "", "create", durable=False)
    journal.start("terraform_data.n[0]", "deadbeef", "delete", durable=False)
    seeds = [(work / "made.journal").read_bytes()]
    journal.saving(after, "cd" * 32)
    journal.close()
    seeds.append((work / "made.journal").read_bytes())

    def read(data: bytes) -> None:
        recorded, problems = journal_in(data, "x.journal", seal)
        shown(problems)
        if recorded is None:
            return
        for state in (before, after, None, State()):
            _summary("x.journal", recorded, state or State())
            for adopts in (False, True):
                recovery = recover(state, recorded, "x.journal", "x", False, "ab" * 32, adopts)
                shown(recovery.problems)
                if recovery.state is not None:
                    again, _ = read_state(write_state(recovery.state))
                    assert again is not None, "what was recovered cannot be read again"

    parts, whole = (line_parts, line_whole) if seal is PLAIN else sealed_parts(seal)
    return [Kind(name, seeds, read, parts, whole, weight=25 if seal is PLAIN else 5)]


def of_plans(root: Path, work: Path) -> list[Kind]:
    def read(data: bytes) -> None:
        Path("plan").write_bytes(data)
        plan, sources, problems = read_plan("plan")
        shown(problems)
        if plan is not None:
            stale(plan, plan.planned_state)
            with tempfile.TemporaryDirectory(dir=work) as folder:
                shown(unpack_sources(sources, folder)[1])

    def seen(data: bytes) -> None:
        Path("plan.tfplan").write_bytes(data)
        told, problems = show(OperationOptions(), "plan.tfplan")
        shown(problems)
        if told is not None:
            json.dumps(shown_json(told), default=str)

    seeds = [(root / name).read_bytes() for name in ("one", "two")]
    shelf, name = kept.shelf(), "0" * 32
    kept.write(
        shelf, name, kept.KeptPlan([["/x", "file", 1, 2, "ab"]], 0, "/x", "", None, ("abc",), {"a": (0, 3)}, b"abc")
    )
    place = Path(folder_path(shelf.folder) or "", name)
    sound = place.read_bytes()

    def renewed(data: bytes) -> None:
        place.write_bytes(data)
        assert kept.read(shelf, name) is None or data.startswith(sound), "a kept plan that nobody wrote is believed"

    return [
        Kind("plan", seeds, read, zip_parts, zip_whole, 15),
        Kind("shown plan", seeds, seen, zip_parts, zip_whole, 3),
        Kind("kept plan", [sound], renewed, weight=3),
    ]


def of_fleets(fleet: Path, work: Path, state: bytes) -> list[Kind]:
    def saved(data: bytes) -> None:
        Path("saved").mkdir(exist_ok=True)
        Path("saved/manifest.json").write_bytes(data)
        saved_plan.read("saved")

    def joined(data: bytes) -> None:
        Path("part").write_bytes(data)
        join.join(["part", str(fleet / "o2/report.json")])

    def shards(data: bytes) -> None:
        Path("shard").mkdir(exist_ok=True)
        Path("shard/manifest.json").write_bytes(data)
        Path("shard/report.json").write_bytes((fleet / "o1/report.json").read_bytes())
        join.join(["shard", str(fleet / "o2")], "joined")

    def known(data: bytes) -> None:
        Path(manifest.NAME).parent.mkdir(parents=True, exist_ok=True)
        Path(manifest.NAME).write_bytes(data)
        found = manifest.known_units(".")
        if found:
            manifest._write(".", found)
            assert manifest.known_units(".") is not None, "what was written cannot be read again"

    def record(data: bytes) -> None:
        folder = Path(".planner/batch/20261123T222605Z-000")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_bytes(run_json)
        (folder / "events.jsonl").write_bytes(data)
        last = Record.last(".")
        list(last.events())
        last.finished()

    def asked(data: bytes) -> None:
        folder = Path(".planner/batch/20261123T222605Z-000")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_bytes(data)
        Record.last(".").asked()

    def came(data: bytes) -> None:
        tree = str(work / "tree")
        host._refusal(parcel.received(data, tree).request, tree)

    def answer(data: bytes) -> None:
        parcel.parse_result(data, "/fleet")

    def leased(data: bytes) -> None:
        store = BesideStore()
        store.data = data
        host.take(store, "r", 1)  # type: ignore[arg-type]

    record_folder = max(p for p in (fleet / ".planner/batch").iterdir() if p.name.endswith("000"))
    run_json = (record_folder / "run.json").read_bytes()
    events = (record_folder / "events.jsonl").read_bytes()
    request = Request("a", "/fleet/a", "plan", environment=(("A", "b"),), upstream=(), plan_file="/fleet/p")
    sent = parcel.parcel_bytes(
        parcel.Parcel(request, "ab" * 32, "run", 1, ("a/main.tf",), ("a",), data=b"x", plan=b"y"), "/fleet"
    )
    results = [json.loads(line).get("done", {}).get("result") for line in events.splitlines()]
    found = [parcel.from_json(UnitResult, raw) for raw in results if raw]
    answers = [parcel.result_bytes(parcel.ParcelResult(result, plan=b"p", json=b"{}"), "/fleet") for result in found]
    manifests = [(fleet / name / "manifest.json").read_bytes() for name in ("whole", "o1")]
    answers.append(parcel.result_bytes(parcel.ParcelResult(problem="no"), "/fleet"))
    return [
        Kind("manifest of a saved plan", manifests, saved, whole=summed),
        Kind("manifest of a shard", manifests[1:], shards, whole=summed),
        Kind("report of a shard", [(fleet / "o1/report.json").read_bytes()], joined),
        Kind("manifest of a fleet", [(fleet / ".planner/batch/manifest.json").read_bytes(), FLEET], known, weight=5),
        Kind("events of a run", [events], record, bytes.splitlines, lambda parts: b"\n".join([*parts, b""]), 5),
        Kind("run", [run_json], asked, weight=3),
        Kind("parcel", [sent], came, header_parts, header_whole),
        Kind("answer", answers, answer, header_parts, header_whole),
        Kind("lease", [b'{"run": "r", "attempt": 3}'], leased, weight=2),
    ]  # fmt: skip


FLEET = b"""{"format_version": "1.0", "units": {"a": {"state": "s3://b/k", "workspace": "w", "after": ["b"],
 "backend": {"type": "s3", "settings": {"bucket": "b", "key": "k", "nested": {"a": [1, null]}}}}}}"""


def of_small_ones(root: Path, pointed: Path, work: Path) -> list[Kind]:
    def values(data: bytes) -> None:
        record = read_record(data)
        if record is not None:
            for run in record.runs.values():
                tree = RecordedTree(str(root), record, run)
                for name in run.files:
                    with suppress(OSError):
                        tree.read(str(root / name).lstrip("/"))

    def pointer(data: bytes) -> None:
        Path("data/terraform.tfstate").write_bytes(data)
        found, problems = read_pointer("data")
        shown(problems)
        if found is not None:
            _, problems = open_backend(found.type, found.settings, only_check=True)
            shown(problems)

    def lock(data: bytes) -> None:
        info = lock_info_of(data)
        if info is not None:
            info.describe().encode()
            info.to_json()

    def notes(data: bytes) -> None:
        backend = BesideBackend()
        backend.kept.data = data
        found = States(backend, "d").notes()  # type: ignore[arg-type]
        for names in found.made_from.values():
            for name in names:
                decoded(name)

    write_pointer(
        str(work / "data"), BackendPointer("s3", {"bucket": "b", "key": "k", "skip_region_validation": True}, 7)
    )
    pointers = [(pointed / ".terraform/terraform.tfstate").read_bytes(), (work / "data/terraform.tfstate").read_bytes()]
    infos = [new_lock_info("OperationTypeApply", str(root / "terraform.tfstate"), "x").to_json()]
    assert info_path("x")
    noted = [b'{"made_from":{"web~eu":["net~a.web","db"],"db":[]},"published":{"a":1}}']
    return [
        Kind("record of values", [(root / ".terraform.tfstate.applied.json").read_bytes()], values),
        Kind("pointer to a backend", pointers, pointer, weight=5),
        Kind("lock info", infos, lock, weight=5),
        Kind("notes of a stack", noted, notes, weight=5),
    ]


def of_packs() -> list[Kind]:
    def text(data: bytes) -> str:
        return data.decode("utf-8", "replace")

    def toml(data: bytes) -> None:
        read_manifest("pack.toml", text(data))
        gather([("p/pack.toml", text(data)), ("p/x.csv", "a,b\n1,2\n")])

    def rules(data: bytes) -> None:
        shown(parse_rules("x.dl", text(data))[1])

    def table(name: str, types: dict[str, str]) -> Callable[[bytes], None]:
        return lambda data: [*map(len, read_data(name, text(data), types))] and None

    packs = [path.read_bytes() for path in sorted((ROOT / "rules/packs").glob("*/pack.toml"))]
    packs.append(
        b'name = "a.b"\nversion = "1.0.0"\n[data.d]\nfile = "x.csv"\ncolumns = { a = "symbol", b = "number" }\n'
    )
    files = [path.read_bytes() for path in sorted((ROOT / "rules").rglob("*.dl")) if path.stat().st_size < 6000]
    tables = {
        "d.csv": [b'a,b\nx,1\n"y",2.5\n'],
        "d.json": [b'[{"a": "x", "b": 1}, {"a": "y", "b": 2.5}]', b'{"x": {"b": 1}, "y": [1, {"z": null}]}'],
        "d.yaml": [b"- a: x\n  b: 1\n- a: y\n  b: 2.5\n", b"x: {b: 1}\ny: [1, ~, 2020-01-01, 0x10, .inf]\n"],
    }
    kinds = [Kind("pack.toml", packs, toml, weight=8), Kind("rules", files, rules, weight=8)]
    for name, seeds in tables.items():
        kinds.append(Kind(name, seeds, table(name, {}), weight=3))
        kinds.append(Kind(f"{name} as a table", seeds, table(name, {"a": "symbol", "b": "number"}), weight=3))
    return kinds


# ---------------------------------------------------------------- running


ANSWERS = (Failure, parcel.BadParcel)


def handled(kind: Kind, data: bytes) -> str:
    """What happened, if a document is not handled well."""
    try:
        within(SECONDS, lambda: kind.read(data))
    except ANSWERS as answer:
        if isinstance(answer, Failure):
            shown(answer.diagnostics)
    except Slow:
        return f"took longer than {SECONDS} s"
    except Exception:
        return traceback.format_exc(limit=-5)
    return ""


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    random, bad, started = Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1), 0, time.monotonic()
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"XDG_CACHE_HOME": f"{folder}/cache", "XDG_STATE_HOME": f"{folder}/kept"}
        known = [kind for kind in kinds(Path(folder)) if not sys.argv[3:] or kind.name in sys.argv[3:]]
        chosen = random.choices(known, [kind.weight for kind in known], k=count)
        for done, kind in enumerate(chosen, 1):
            data = mutated(random, kind)
            what = handled(kind, data)
            if what:
                bad += 1
                seen[what.strip().splitlines()[-1][:80] + kind.name] += 1
                if seen[what.strip().splitlines()[-1][:80] + kind.name] <= 2:
                    print(f"--- {kind.name} {data[:1500]!r}\n{what}", flush=True)
            if done % 5000 == 0:
                used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
                print(f"{done} documents, {bad} bad, {used} MB, {time.monotonic() - started:.0f} s", flush=True)
                if used > MEGABYTES:
                    print(f"the process grew to {used} MB")
                    return 1
        os.chdir("/")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
