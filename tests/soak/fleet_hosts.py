"""A fleet on several hosts: a scheduler and three workers, each in a network namespace and with a /tmp of its own,
states in PostgreSQL; as root, with iproute2 and the extras batch-dask and pg.

    python tests/soak/fleet_hosts.py [UNITS [SEED]]

Applies the fleet while a busy worker is killed, while the network of one is cut for 30 s, while the scheduler and while
the client is killed (`batch resume` goes on then). In the end each object was made once, every unit is unchanged, and
no host has a file of another one's.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

BRIDGE, NET = "plbr0", "10.213.7"
HOSTS = {"client": 10, "scheduler": 11, "w1": 21, "w2": 22, "w3": 23}
POSTGRES = 5499
PYTHON = sys.executable


def sh(*words: str, check: bool = True) -> str:
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    if check and ran.returncode:
        raise SystemExit(f"{' '.join(words)}: {ran.stderr}")
    return ran.stdout


@contextmanager
def hosts() -> Iterator[Path]:
    """Namespaces on one bridge; a folder for each, which is its /tmp."""
    base = Path(tempfile.mkdtemp(prefix="fleet-hosts-", dir="/var/tmp"))
    try:
        sh("ip", "link", "add", BRIDGE, "type", "bridge")
        sh("ip", "addr", "add", f"{NET}.1/24", "dev", BRIDGE)
        sh("ip", "link", "set", BRIDGE, "up")
        for name, number in HOSTS.items():
            (base / name).mkdir()
            sh("ip", "netns", "add", f"pl-{name}")
            sh("ip", "link", "add", f"v{name}"[:12], "type", "veth", "peer", "name", "eth0", "netns", f"pl-{name}")
            sh("ip", "link", "set", f"v{name}"[:12], "master", BRIDGE, "up")
            within(name, "ip", "addr", "add", f"{NET}.{number}/24", "dev", "eth0")
            within(name, "ip", "link", "set", "eth0", "up")
            within(name, "ip", "link", "set", "lo", "up")
        yield base
    finally:
        for name in HOSTS:
            for pid in sh("ip", "netns", "pids", f"pl-{name}", check=False).split():
                os.kill(int(pid), signal.SIGKILL)
            sh("ip", "netns", "del", f"pl-{name}", check=False)
        sh("ip", "link", "del", BRIDGE, check=False)
        shutil.rmtree(base, ignore_errors=True)


def within(name: str, *words: str) -> str:
    return sh("ip", "netns", "exec", f"pl-{name}", *words)


class Host:
    """Programs on a host, which see a /tmp of their own and nothing of the others'."""

    def __init__(self, base: Path, name: str) -> None:
        self.base, self.name = base, name

    def start(self, *words: str, folder: str = "/tmp", **more: str) -> subprocess.Popen[bytes]:
        quoted = " ".join(f"'{word}'" for word in words)
        hide = (
            f"mount --bind {self.base / self.name} /tmp && mount -t tmpfs none /var/tmp && cd {folder} && exec {quoted}"
        )
        return subprocess.Popen(
            ["ip", "netns", "exec", f"pl-{self.name}", "unshare", "-m", "sh", "-c", hide],
            stdin=subprocess.DEVNULL,
            stdout=open(self.base / f"{self.name}.log", "ab"),
            stderr=subprocess.STDOUT,
            env={**os.environ, "NO_COLOR": "1", "TF_CLI_CONFIG_FILE": "/dev/null", **more},
            start_new_session=True,
        )

    def log(self) -> str:
        return (self.base / f"{self.name}.log").read_text(errors="replace")


class Cluster:
    def __init__(self, base: Path) -> None:
        self.base = base
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self.begin_scheduler()
        for name in ("w1", "w2", "w3"):
            self.begin_worker(name)

    def begin_scheduler(self) -> None:
        words = (
            PYTHON,
            "-m",
            "distributed.cli.dask_scheduler",
            "--host",
            f"{NET}.11",
            "--port",
            "8786",
            "--no-dashboard",
        )
        self.scheduler = Host(self.base, "scheduler").start(*words)
        time.sleep(4)

    def begin_worker(self, name: str) -> None:
        words = (
            PYTHON,
            "-m",
            "distributed.cli.dask_worker",
            f"tcp://{NET}.11:8786",
            "--nthreads",
            "1",
            "--no-dashboard",
        )
        self.workers[name] = Host(self.base, name).start(
            *words, "--host", f"{NET}.{HOSTS[name]}", "--no-nanny", "--death-timeout", "120"
        )

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def fleet(folder: Path, units: int) -> None:
    """Units in layers of four, each of which waits for all of the layer before. What an object's making does is noted
    in the database that has the states."""
    folder.mkdir(parents=True)
    said = ""
    for number in range(units):
        name, layer = f"u{number:02}", number // 4
        before = [f"u{other:02}" for other in range((layer - 1) * 4, layer * 4)] if layer else []
        joined = ", ".join(f"unit.{one}.id" for one in before)
        inputs = f"  inputs = {{ up = [{joined}] }}\n" if before else ""
        said += f'unit "{name}" {{\n  path = "{name}"\n{inputs}}}\n'
        (folder / name).mkdir()
        note = f"insert into notes values ('{name}')"
        (folder / name / "main.tf").write_text(
            f'terraform {{\n  backend "pg" {{\n    schema_name = "{name}"\n  }}\n}}\n'
            'variable "up" { default = [] }\n'
            'resource "terraform_data" "main" {\n  input = var.up\n  provisioner "local-exec" {\n'
            f'    command = "sleep 1.5; psql -q -c \\"{note}\\" $PG_CONN_STR"\n    quiet = true\n  }}\n}}\n'
            f'output "id" {{ value = "{name}-${{terraform_data.main.id}}" }}\n'
        )
    (folder / "planner.batch.hcl").write_text(said)


class Trial:
    def __init__(self, base: Path, units: int, random: Random) -> None:
        from state.backends.servers import postgres

        self.random = random
        self.base = base
        folder = base / "pg"
        folder.mkdir()
        os.chmod(base, 0o755)
        self.postgres = postgres(str(folder), POSTGRES, listen=f"127.0.0.1,{NET}.1")
        self.database = f"postgres://postgres@{NET}.1:{POSTGRES}/postgres?sslmode=disable"
        with open(folder / "data/pg_hba.conf", "a") as hba:
            hba.write(f"host all all {NET}.0/24 trust\n")
        self.sql("select pg_reload_conf()")
        self.sql("create table notes (unit text)")
        fleet(base / "client/fleet", units)
        os.environ["PG_CONN_STR"] = self.database
        self.cluster = Cluster(base)
        time.sleep(6)

    def sql(self, text: str) -> list[tuple[object, ...]]:
        import psycopg

        with psycopg.connect(f"postgres://postgres@127.0.0.1:{POSTGRES}/postgres?sslmode=disable") as session:
            cursor = session.execute(text)
            return list(cursor.fetchall()) if cursor.description else []

    def batch(self, *words: str) -> subprocess.Popen[bytes]:
        executor = (f"-executor=dask://{NET}.11:8786", "-bundles=scheduler")
        extra = executor if words[0] != "resume" else ()
        return Host(self.base, "client").start(PYTHON, "-m", "planner", "batch", *words, *extra, folder="/tmp/fleet")

    def noted(self) -> list[str]:
        return sorted(str(row[0]) for row in self.sql("select unit from notes"))

    def wait_for_notes(self, count: int, seconds: float = 120) -> None:
        deadline = time.monotonic() + seconds
        while len(self.noted()) < count and time.monotonic() < deadline:
            time.sleep(0.2)

    def finished(self, process: subprocess.Popen[bytes], what: str) -> int:
        try:
            code = process.wait(300)
        except subprocess.TimeoutExpired:
            print(Host(self.base, "client").log()[-3000:])
            raise SystemExit(f"{what}: it hangs") from None
        print(f"{what}: exit {code}, {len(self.noted())} objects noted", flush=True)
        return code

    def on(self) -> None:
        """Apply and resume until it is done."""
        for _ in range(8):
            if self.finished(self.batch("apply", "-auto-approve", "-lock-timeout=60s"), "  apply goes on") == 0:
                return
        print(Host(self.base, "client").log()[-6000:])
        raise SystemExit("it never comes to an end")

    def run(self, units: int) -> None:
        running = self.batch("apply", "-auto-approve")
        self.wait_for_notes(2)
        time.sleep(self.random.random())
        self.cluster.kill(self.cluster.workers["w1"])
        self.finished(running, "a busy worker is killed")
        self.cluster.begin_worker("w1")
        self.on()
        counts = {name: self.noted().count(name) for name in {f"u{n:02}" for n in range(units)}}
        twice = sorted(name for name, count in counts.items() if count > 1)
        print("made twice:", twice or "nothing")
        self.again("the network of a worker is cut for 30 s", self.cut)
        self.again("the scheduler is killed", self.kill_scheduler)
        self.again("the client is killed", None)
        ended = self.finished(self.batch("plan", "-detailed-exitcode", "-no-cache"), "the last plan")
        foreign = [p for name in ("w1", "w2", "w3") for p in (self.base / name).rglob("planner.batch.hcl")]
        if ended or foreign:
            print(Host(self.base, "client").log()[-3000:])
            raise SystemExit(f"something is left: exit {ended}, {foreign}")

    def again(self, what: str, trouble: object) -> None:
        """Replace all objects, with some trouble in between."""
        self.sql("delete from notes")
        for file in (self.base / "client/fleet").glob("u*/main.tf"):
            file.write_text(
                file.read_text().replace('"main" {', '"main" {\n  triggers_replace = "x"', 1)
                if "triggers_replace" not in file.read_text()
                else file.read_text().replace('triggers_replace = "', 'triggers_replace = "y')
            )
        running = self.batch("apply", "-auto-approve")
        self.wait_for_notes(2)
        time.sleep(self.random.random())
        if trouble is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            time.sleep(3)
            self.finished(self.batch("resume"), f"{what}, resume")
        else:
            trouble()  # type: ignore[operator]
            self.finished(running, what)
        self.on()
        noted = self.noted()
        print("  made twice:", sorted({name for name in noted if noted.count(name) > 1}) or "nothing", flush=True)

    def cut(self) -> None:
        sh("ip", "link", "set", "vw2", "down")
        time.sleep(30)
        sh("ip", "link", "set", "vw2", "up")

    def kill_scheduler(self) -> None:
        self.cluster.kill(self.cluster.scheduler)
        time.sleep(1)
        for worker in self.cluster.workers.values():
            if worker.poll() is None:
                self.cluster.kill(worker)
        self.cluster.begin_scheduler()
        for name in self.cluster.workers:
            self.cluster.begin_worker(name)
        time.sleep(6)


def main() -> None:
    units = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    random = Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    with hosts() as base:
        trial = Trial(base, units, random)
        try:
            trial.run(units)
        finally:
            trial.postgres.terminate()
            if os.environ.get("LOGS"):
                for log in base.glob("*.log"):
                    print(f"==== {log.name}\n{log.read_text(errors='replace')[-4000:]}")


if __name__ == "__main__":
    main()
