"""Every call that changes something on the disk goes wrong once: the process is killed before it, or it fails.

    python tests/soak/disk_faults.py [SCENARIO...] [-how=kill,full,...] [-part=I/N]      all of everything by default

What counts are calls of `os` on files in the working directory: journal, state, backup, lock info, plan. For each
scenario (a command on a prepared directory), each kind of fault and each N, the N-th call is hit; then whatever was
said is done (push the state that was kept elsewhere), and an ordinary apply follows. Provisioners keep a ledger. In the
end everything is as the configuration says; no object in the ledger is lost and nothing was done twice without being
reported; nobody saw a traceback; no file is left over.

A case takes a few hundredths of a second, because every command runs in a fork of this process.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.dont_write_bytecode = True  # a fault in the writing of a compiled module would hit every later command

CONFIGURATION = """
resource "terraform_data" "n" {
  count            = 2
  triggers_replace = VERSION
  provisioner "local-exec" {
    command = "echo create ${count.index} ${self.id} >> ledger"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo destroy ${count.index} ${self.id} >> ledger"
  }
  lifecycle {
    create_before_destroy = FIRST
  }
}
resource "terraform_data" "NAME" {
  input = "VERSION ${join(" ", terraform_data.n[*].id)}"
}
MORE
output "ids" {
  value = terraform_data.n[*].id
}
"""
MOVED = """
moved {
  from = terraform_data.plain
  to   = terraform_data.other
}
"""
IMPORTED = """
resource "terraform_data" "imported" {}
"""
APPLY = ["apply", "-auto-approve", "-parallelism=1", "-no-color"]


def configure(directory: Path, version: int, first: bool = False, name: str = "plain", more: str = "") -> None:
    text = CONFIGURATION.replace("VERSION", str(version)).replace("FIRST", str(first).lower())
    (directory / "main.tf").write_text(text.replace("NAME", name).replace("MORE", more))


# ---------------------------------------------------------------- faults

HOWS: dict[str, tuple[int, bool]] = {
    "kill": (0, False),
    "full": (errno.ENOSPC, True),  # from the N-th call on nothing grows any more
    "full-once": (errno.ENOSPC, False),
    "broken": (errno.EIO, True),
    "broken-once": (errno.EIO, False),
    "read-only": (errno.EROFS, True),
    "short": (-1, False),  # a write takes only a part
}
CALLS = ("write", "fsync", "replace", "remove", "truncate", "ftruncate", "open", "fchmod")


class Fault:
    """Hits the N-th call of this process that changes something in a folder."""

    def __init__(self, how: str, number: int, folder: str) -> None:
        self.code, self.lasts = HOWS[how]
        self.how, self.left, self.folder = how, number, os.path.realpath(folder)
        self.real = {name: getattr(os, name) for name in CALLS}
        for name in CALLS:
            setattr(os, name, self.counted(name))

    def counted(self, name: str) -> Callable[..., object]:
        real = self.real[name]

        def call(*arguments: object, **named: object) -> object:
            if self.concerns(name, arguments):
                self.left -= 1
                if self.left == 0 or (self.left < 0 and self.lasts):
                    answer = self.hit(name, arguments)
                    if answer is not None:
                        return answer
            return real(*arguments, **named)

        return call

    def concerns(self, name: str, arguments: tuple[object, ...]) -> bool:
        target = arguments[0]
        if name == "open":
            flags = arguments[1]
            if not isinstance(flags, int) or not flags & (os.O_WRONLY | os.O_RDWR):
                return False
        if isinstance(target, int):
            try:
                path = os.readlink(f"/proc/self/fd/{target}")
            except OSError:
                return False
        else:
            path = os.path.abspath(os.fspath(target))  # type: ignore[call-overload]
        return path.startswith(self.folder)

    def hit(self, name: str, arguments: tuple[object, ...]) -> object:
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "short":
            if name != "write":
                return None
            data = bytes(arguments[1])  # type: ignore[call-overload]
            return self.real["write"](arguments[0], data[: max(1, len(data) // 2)])
        if self.code == errno.ENOSPC and name in ("remove", "ftruncate", "truncate", "fchmod", "replace"):
            return None  # a full disk still lets these happen
        if self.code == errno.EROFS and name in ("write", "fsync", "fchmod") and self.left == 0:
            self.left += 1  # the next call that opens or renames something
            return None
        raise OSError(self.code, os.strerror(self.code), arguments[0] if isinstance(arguments[0], str) else None)


def planner(directory: Path, words: list[str], fault: tuple[str, int] | None = None) -> tuple[int, str, bool]:
    """Run a command line in a fork: its exit code (negative: the signal that ended it), what it printed, and whether
    the fault came."""
    out, told = directory / ".." / f"{directory.name}.out", directory / ".." / f"{directory.name}.hit"
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.chdir(directory)
            os.environ["PLANNER_DEBUG"] = "1"
            descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8", write_through=True)
            sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), encoding="utf-8", write_through=True)
            sys.stdin = open(os.devnull)  # noqa: SIM115 (for the whole process)
            from planner.cli.main import run

            hooks = Fault(*fault, str(directory)) if fault is not None else None
            code = run(words)
            if hooks is not None:
                told.write_text("hit" if hooks.left <= 0 else "")
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    hit = code < 0 or (told.exists() and told.read_text() == "hit")
    told.unlink(missing_ok=True)
    return code, out.read_text(), hit


# ---------------------------------------------------------------- scenarios


class Scenario:
    """A directory as it is before (made by `prepare`), the command that is hit, and what makes everything right."""

    def __init__(self, prepare: Callable[[Path], None], words: list[str], mend: list[str] | None = None) -> None:
        self.prepare, self.words, self.mend = prepare, words, mend or APPLY


def applied(directory: Path) -> None:
    configure(directory, 1)
    must(directory, APPLY)


def changed(first: bool = False, name: str = "plain", more: str = "") -> Callable[[Path], None]:
    def prepare(directory: Path) -> None:
        configure(directory, 1, first)
        must(directory, APPLY)
        configure(directory, 2, first, name, more)

    return prepare


def planned(directory: Path) -> None:
    changed()(directory)
    must(directory, ["plan", "-out=p", "-no-color"])


def killed(directory: Path) -> None:
    """A journal is there."""
    configure(directory, 1)
    must(directory, APPLY)
    configure(directory, 2)
    code, text, _ = planner(directory, APPLY, ("kill", 12))
    assert code == -signal.SIGKILL, text
    assert list(directory.glob("*.journal"))


def extended(directory: Path) -> None:
    configure(directory, 1)
    must(directory, APPLY)
    configure(directory, 1, more=IMPORTED)


def must(directory: Path, words: list[str]) -> str:
    code, text, _ = planner(directory, words)
    assert code == 0, text
    return text


SCENARIOS = {
    "create": Scenario(lambda directory: configure(directory, 1), APPLY),
    "replace": Scenario(changed(), APPLY),
    "replace-first": Scenario(changed(first=True), APPLY),
    "move": Scenario(changed(name="other", more=MOVED), APPLY),
    "recover": Scenario(killed, APPLY),
    "destroy": Scenario(applied, ["destroy", *APPLY[1:]], ["destroy", *APPLY[1:]]),
    "plan": Scenario(changed(), ["plan", "-out=p", "-no-color"]),
    "apply-plan": Scenario(planned, ["apply", "-no-color", "p"]),
    "import": Scenario(extended, ["import", "-no-color", "terraform_data.imported", "some-id"]),
    "state-mv": Scenario(applied, ["state", "mv", "terraform_data.plain", "terraform_data.other"]),
    "state-rm": Scenario(applied, ["state", "rm", "terraform_data.plain"]),
    "taint": Scenario(applied, ["taint", "-no-color", "terraform_data.plain"]),
    "workspace": Scenario(applied, ["workspace", "new", "-no-color", "w"]),
}


def attempt(base: Path, scenario: Scenario, how: str, number: int, folder: Path) -> tuple[bool, list[str]]:
    """One case; whether there was an N-th call, and complaints."""
    shutil.copytree(base, folder)
    bad: list[str] = []
    code, text, hit = planner(folder, scenario.words, (how, number))
    said = text
    if not hit:
        return False, bad
    if "Traceback" in text or "Internal error" in text:
        bad.append(f"traceback:\n{text}")
    if how == "kill":
        if code != -signal.SIGKILL:
            bad.append(f"exit code {code}:\n{text}")
    elif code != ("Error: " in text):
        bad.append(f"exit code {code} with:\n{text}")
    if how == "short" and code:
        bad.append(f"a short write is not a reason to fail:\n{text}")
    state = folder / "terraform.tfstate"
    if state.exists() and state.read_text():
        json.loads(state.read_text())  # never half a state
    elif (base / "terraform.tfstate").exists():
        bad.append("the state is gone")
    flat = " ".join(text.split())
    if "State could not be saved" in flat:
        (folder / "errored.tfstate").write_text(text[text.index("\n{\n") : text.rindex("\n}\n") + 2])
    if "State could not be saved" in flat or "State saved to a local file" in flat:
        said += must(folder, ["state", "push", "errored.tfstate"])
    if "workspace" in scenario.words:
        (folder / ".terraform" / "environment").unlink(missing_ok=True)
    after, text, _ = planner(folder, ["plan", "-no-color"])
    said += text
    if after:
        bad.append(f"the plan afterwards:\n{text}")
    after, text, _ = planner(folder, scenario.mend)
    said += text
    if after:
        bad.append(f"the apply afterwards:\n{text}")
    if (
        "No changes"
        not in planner(folder, ["plan", "-no-color", *(["-destroy"] if "destroy" in scenario.mend else [])])[1]
    ):
        bad.append("there are changes left")
    planner(folder, ["state", "list"] if "plan" not in scenario.words else ["plan", "-out=p"])
    left = [p.name for pattern in ("*.journal", "*.tmp", ".*.tmp", ".*.lock.info") for p in folder.glob(pattern)]
    if left and not (how != "kill" and all(name.endswith(".tmp") for name in left)):
        bad.append(f"left over: {left}")
    before = (base / "ledger").read_text() if (base / "ledger").exists() and "first" in base.name else ""
    bad += audit(folder, before, said, 2 if "VERSION" not in CONFIGURATION or "\n  triggers_replace = 2" in
                 (folder / "main.tf").read_text().replace("            ", " ") else 1)  # fmt: skip
    return True, bad


def audit(folder: Path, before: str, said: str, version: int) -> list[str]:
    """What the ledger knows and neither the state nor any report does. `before` is the part of the ledger about objects
    that no destroy provisioner is run for, since they are deposed."""
    bad: list[str] = []
    ledger = folder / "ledger"
    lines = [line.split() for line in ledger.read_text().splitlines()] if ledger.exists() else []
    state = json.loads((folder / "terraform.tfstate").read_text() or "{}")
    there = {
        i["attributes"]["id"] for r in state.get("resources", ()) if r["name"] == "n" for i in r["instances"]
    }  # fmt: skip
    flat = " ".join(said.split())
    reported = Counter(re.findall(r"began at|is tainted", flat))
    doubtful = set(re.findall(r"terraform_data\.n\[(\d)\]\"?,? (?:The \w+ of|is tainted)", flat))
    doubtful |= set(re.findall(r"The \w+ of (?:deposed object \w+ of )?terraform_data\.n\[(\d)\] began at", flat))
    gone = {id for what, _, id in lines if what == "destroy"} | {line.split()[2] for line in before.splitlines()}
    for what, index, id in lines:
        if what == "create" and id not in there and id not in gone and index not in doubtful:
            bad.append(f"n[{index}] {id} is lost; reported: {dict(reported)}:\n{said}")
    if not there <= {id for what, _, id in lines if what == "create"}:
        bad.append("the state has objects that were never created")
    for (what, index, id), count in Counter(map(tuple, lines)).items():
        if count > 1 and index not in doubtful:
            bad.append(f"{what} of n[{index}] {id} happened {count} times:\n{said}")
    made = Counter(index for what, index, _ in lines if what == "create")
    for index, count in made.items():
        if count > version and index not in doubtful:
            bad.append(f"n[{index}] was created {count} times:\n{said}")
    return bad


def main() -> int:
    names = [word for word in sys.argv[1:] if not word.startswith("-")] or list(SCENARIOS)
    options = dict(word[1:].split("=") for word in sys.argv[1:] if word.startswith("-"))
    hows = options["how"].split(",") if "how" in options else list(HOWS)
    part, parts = map(int, options.get("part", "0/1").split("/"))
    began, cases, complaints = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as root:
        warm = Path(root) / "warm"
        warm.mkdir()
        configure(warm, 1)
        here = os.getcwd()
        os.chdir(warm)
        from planner.cli.main import run

        real = sys.stdout
        sys.stdout = io.StringIO()
        run(APPLY)  # so that everything is imported once
        run(["plan", "-out=p"])
        sys.stdout = real
        os.chdir(here)
        for name in names:
            scenario = SCENARIOS[name]
            base = Path(root) / name
            base.mkdir()
            scenario.prepare(base)
            for how in hows:
                number, count = 1 + part, 0
                while True:
                    folder = Path(root) / f"{name}-{how}-{number}"
                    hit, bad = attempt(base, scenario, how, number, folder)
                    shutil.rmtree(folder)
                    if not hit:
                        break
                    for text in bad:
                        print(f"{name}, {how} at call {number}: {text[:200]} ... {text[-1500:]}", flush=True)
                    complaints += len(bad)
                    number, count = number + parts, count + 1
                cases += count
                print(f"{name}, {how}: {count} cases", flush=True)
    print(f"{cases} cases, {complaints} complaints, {time.monotonic() - began:.0f} s")
    return int(complaints > 0)


if __name__ == "__main__":
    sys.exit(main())
