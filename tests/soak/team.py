"""A team's days: two users on two machines, both programs, one state in a service.

    TOFU=PATH python tests/soak/team.py [-backend pg|s3|http] [ROUNDS [SEED]]

Machines are directories with a path, a user, a home (present, read-only or none) and a time zone of their own. In each
round the configuration changes, and then it is applied by one of them with one of the programs, or planned here and
applied there, or an apply is killed and somebody goes on: the same machine or the other one, planner or OpenTofu, with
the machine or after it was lost.

Each object writes to a ledger when it is made and when it is destroyed. What planner made must be in the state at the
end of a round, or have been named in a warning. After each round both programs see no changes, and pull the same state.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import cast

sys.path.insert(0, str(Path(__file__).parents[1]))

from state.backends.servers import SERVERS, Server, block

ROOT = Path(__file__).parents[2]
PLANNER = [sys.executable, str(Path(__file__).with_name("often.py"))]
TOFU = [os.environ.get("TOFU") or shutil.which("tofu") or "tofu"]
COPIED_AFTER = 3.0
"""seconds after which a service has what a machine that was lost had done"""
CONFIGURATION = """
resource "terraform_data" "n" {
  for_each         = toset(%s)
  triggers_replace = [%d]
  provisioner "local-exec" {
    command = "sleep 0.05; echo create ${each.key} ${self.id} $(date +%%s.%%N) >> LEDGER"
    quiet   = true
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo destroy ${each.key} ${self.id} $(date +%%s.%%N) >> LEDGER"
    quiet   = true
  }
}
output "keys" { value = keys(terraform_data.n) }
"""


class Machine:
    """A working directory with its user and home. Numbers of users need not be in the list of users."""

    def __init__(self, base: Path, name: str, server: Server, settings: dict[str, object], random: Random) -> None:
        self.name, self.server, self.settings = name, server, settings
        self.folder = base / name / "deep" / "er" if name == "two" else base / name
        self.user = 4711 if name == "two" and _may_run(4711) else None
        kind = random.choice(["home", "none", "read-only"])
        home = base / f"home-{name}"
        home.mkdir(exist_ok=True)
        self.environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "TF_CLI_CONFIG_FILE", "USER")}
        self.environment |= {"NO_COLOR": "1", "TZ": "Asia/Tokyo" if name == "two" else "UTC", **server.environment}
        self.environment |= {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        if kind != "none":
            self.environment["HOME"] = str(home)
        self.own(home, 0o555 if kind == "read-only" else 0o755)
        self.set_up()

    def own(self, path: Path, mode: int) -> None:
        path.chmod(mode)
        if self.user is not None:
            os.chown(path, self.user, self.user)

    def set_up(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.own(self.folder, 0o755)
        (self.folder / "backend.tf").write_text(block(self.server.type, self.settings))
        (self.folder / "main.tf").write_text("")
        self.good(PLANNER, "init", "-input=false")

    def start(self, program: list[str], *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*program, *words], cwd=self.folder, env=self.environment, text=True, user=self.user, group=self.user,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def run(self, program: list[str], *words: str) -> tuple[int, str]:
        began = datetime.now(UTC).isoformat(" ")
        process = self.start(program, *words)
        text, _ = process.communicate(timeout=300)
        digest = re.search(r"update\s+the\s+Digest\s+value.*?\b([0-9a-f]{32})\b", text, re.S)
        if process.returncode and digest is not None:
            self.put_digest(digest[1])  # somebody was killed between state and digest: what the message says is done
            return self.run(program, *words)
        held = re.search(r"ID:\s+([-0-9a-f]{36}).*?Created:\s+(\S+ \S+)", text, re.S)
        if process.returncode and program is TOFU and held is not None and held[2] > began:
            # its library asks DynamoDB a second time when an answer is late, and finds its own lock
            self.run(PLANNER, "force-unlock", "-force", held[1])  # it may have found out by itself
            return self.run(program, *words)
        return process.returncode, text

    def put_digest(self, digest: str) -> None:
        from planner.foundation.clients.aws import Credentials, Service
        from planner.foundation.clients.http import Http

        url = cast("dict[str, str]", self.settings["endpoints"])["dynamodb"]
        keys = Credentials("test", "test")
        item = {"LockID": {"S": f"{self.settings['bucket']}/{self.settings['key']}-md5"}, "Digest": {"S": digest}}
        service = Service("dynamodb", "DynamoDB", url, "us-east-1", lambda: keys, Http())
        service.target("PutItem", "DynamoDB_20120810", {"TableName": "locks", "Item": item})

    def good(self, program: list[str], *words: str) -> str:
        code, text = self.run(program, *words)
        if code:
            raise Complaint(f"{self.name}: {_name(program)} {' '.join(words)}: {text}")
        return text


def _may_run(user: int) -> bool:
    """Whether another user can run our interpreter: only the superuser can try, and its files may be private."""
    if os.geteuid() != 0:
        return False
    try:
        return not subprocess.run([sys.executable, "-c", "import planner"], user=user, cwd="/", check=False).returncode
    except OSError:
        return False


class Complaint(Exception):
    """Something that must not be."""


class Team:
    """Two machines, and what happened so far."""

    def __init__(self, base: Path, backend: str, random: Random) -> None:
        self.random, self.base = random, base
        server = SERVERS[backend]()
        settings = server.settings()
        self.machines = [Machine(base, name, server, settings, random) for name in ("one", "two")]
        self.ledger = base / "ledger"
        self.ledger.touch()
        self.ledger.chmod(0o666)
        self.keys, self.version = {"a", "b"}, 0
        self.excused: set[str] = set()
        """ids that OpenTofu lost when it was killed, or a machine that was lost just then"""
        self.named = ""

    @property
    def some(self) -> Machine:
        return self.random.choice(self.machines)

    def write(self) -> None:
        for key in self.random.sample("abcdefghijklmnopqrst", 6):
            (self.keys.discard if key in self.keys else self.keys.add)(key)
        self.version += self.random.random() < 0.3
        text = CONFIGURATION % (json.dumps(sorted(self.keys)), self.version)
        for machine in self.machines:
            (machine.folder / "main.tf").write_text(text.replace("LEDGER", str(self.ledger)))

    def lines(self) -> list[list[str]]:
        return [line.split() for line in self.ledger.read_text().splitlines()]

    # ---- what happens

    def apply(self) -> str:
        program = self.random.choice([PLANNER, TOFU])
        self.say(self.some.good(program, "apply", "-auto-approve"))
        return "apply"

    def plan_here_apply_there(self) -> str:
        here, there = self.random.sample(self.machines, 2)
        self.say(here.good(PLANNER, "plan", "-out=saved"))
        shutil.copy(here.folder / "saved", there.folder / "saved")
        there.own(there.folder / "saved", 0o644)
        self.say(there.good(PLANNER, "apply", "saved"))
        code, text = here.run(PLANNER, "apply", "saved")
        if not code and "0 added, 0 changed, 0 destroyed" not in text:
            raise Complaint(f"a plan was applied twice: {text}")
        return "plan here, apply there"

    def kill(self) -> str:
        killed = self.some
        program = self.random.choice([PLANNER, PLANNER, TOFU])
        known = len(self.lines())
        process = killed.start(program, "apply", "-auto-approve")
        wanted, early = known + self.random.randint(0, 5), time.monotonic() + self.random.uniform(0.3, 4)
        while process.poll() is None and time.monotonic() < early and len(self.lines()) < wanted:
            time.sleep(0.002)
        time.sleep(self.random.uniform(0, 0.05))
        stopped = self.random.random() < 0.3
        if stopped:
            process.send_signal(signal.SIGINT)
            time.sleep(self.random.uniform(0, 0.3))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        when = time.time()
        is_lost = self.random.random() < 0.3
        if is_lost:
            main = (killed.folder / "main.tf").read_text()
            killed.set_up()
            (killed.folder / "main.tf").write_text(main)
        made = [line for line in self.lines()[known:] if line[0] == "create"]
        if program is TOFU:
            self.excused |= {line[2] for line in made}
        elif is_lost:
            self.excused |= {line[2] for line in made if float(line[3]) > when - COPIED_AFTER}
        next_machine, next_program = self.some, self.random.choice([PLANNER, TOFU])
        self.unlock(next_machine)
        self.say(next_machine.good(next_program, "apply", "-auto-approve"))
        self.say(killed.good(PLANNER, "plan"))
        self.say(killed.good(PLANNER, "state", "journal", "-adopt"))
        self.say(killed.good(PLANNER, "apply", "-auto-approve"))
        where = "the same machine" if next_machine is killed else "the other machine"
        what = f"kill {_name(program)}{' and its machine' if is_lost else ''}"
        return f"{what}, {_name(next_program)} goes on on {where}"

    def unlock(self, machine: Machine) -> None:
        code, text = machine.run(PLANNER, "plan", "-lock-timeout=0s")
        held = re.search(r"^\s*ID:\s+(\S+)", text, re.M)
        if code and held:
            machine.good(PLANNER, "force-unlock", "-force", held[1])

    def say(self, text: str) -> None:
        self.named += text

    # ---- what must be

    def check(self) -> None:
        one, two = self.random.sample(self.machines, 2)
        for machine, program in ((one, PLANNER), (two, TOFU)):
            code, text = machine.run(program, "plan", "-detailed-exitcode")
            if code:
                raise Complaint(f"there are changes left: {text}")
        pulled = [json.loads(_document(m.good(p, "state", "pull"))) for m, p in ((one, PLANNER), (two, TOFU))]
        if pulled[0] != pulled[1]:
            raise Complaint("the two programs pull different states")
        (instances,) = [r["instances"] for r in pulled[0]["resources"]] or [[]]
        ids = {i["index_key"]: i["attributes"]["id"] for i in instances}
        if set(ids) != self.keys:
            raise Complaint(f"the state has {sorted(ids)}, the configuration {sorted(self.keys)}")
        gone = {line[2] for line in self.lines() if line[0] == "destroy"}
        for _, key, id, *_ in [line for line in self.lines() if line[0] == "create"]:
            is_known = id in ids.values() or id in gone or id in self.excused or id in self.named
            if not is_known and f'terraform_data.n["{key}"]' not in self.warnings:
                raise Complaint(f'terraform_data.n["{key}"] with id {id} is in no state and was never named')

    @property
    def warnings(self) -> str:
        """What was said of operations that were under way."""
        return "".join(part for part in self.named.split("Warning: ") if part.startswith("Operation interrupted"))


def _name(program: list[str]) -> str:
    return "OpenTofu" if program is TOFU else "planner"


def _document(text: str) -> str:
    return text[text.index("{") : text.rindex("}") + 1]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("-backend", default="pg")
    parser.add_argument("rounds", nargs="?", type=int, default=30)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    words = parser.parse_args()
    bad = 0
    for number in range(0, words.rounds, 10):
        random = Random(words.seed * 1000 + number)
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            team = Team(Path(directory), words.backend, random)
            for _ in range(min(10, words.rounds - number)):
                team.write()
                what = "?"
                try:
                    what = random.choice([team.apply, team.plan_here_apply_there, team.kill, team.kill])()
                    team.check()
                except Complaint as complaint:
                    bad += 1
                    print(f"seed {words.seed * 1000 + number}, {what}: {complaint}", flush=True)
                    break
                print(f"{words.backend}: {what}", flush=True)
    print(f"{bad} complaints")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
