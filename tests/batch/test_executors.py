"""The same fleet in this process, in processes, and on a Dask cluster: identical results. And processes that die."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from batch.fleets import batch, chain, unit, write

from planner.workflows.batch import executors
from planner.workflows.batch.processes import Processes, start_server
from planner.workflows.batch.session import Batch, BatchOptions

EXAMPLE = Path(__file__).parents[2] / "examples" / "09_fleet"
PASSING = ("run", "seconds", "workers", "peak_memory", "plan_file", "reused")
"""what may differ between runs; a plan is made anew when files around it changed while it was made"""


def stable(document: Any) -> Any:
    """A report without what differs from run to run."""
    if isinstance(document, dict):
        return {k: stable(v) for k, v in document.items() if k not in PASSING}
    return [stable(item) for item in document] if isinstance(document, list) else document


def story(folder: Path, executor: str) -> list[Any]:
    """What a fleet does from the first plan to the last, with an executor."""
    found = []
    words = [f"-executor={executor}", "-json", "-workers=2"]
    for command, *more in (("plan",), ("validate",), ("apply", "-auto-approve"), ("plan", "-no-cache")):
        found.append(stable(batch(folder, command, *words, *more).json))
    write(folder, {"live/dns/main.tf": (folder / "live/dns/main.tf").read_text().replace("dns-logs", "logs")})
    found.append(stable(batch(folder, "plan", *words).json))
    rows = batch(folder, "query", f"-executor={executor}", "-json", 'unit_planned(U, A, "input.bucket", B)').json
    found.append(rows)
    found.append(stable(batch(folder, "destroy", *words, "-auto-approve").json))
    return found


def work(rounds: int) -> None:
    for _ in range(rounds):
        sum(range(100))


def test_the_first_work_is_done_here_and_the_rest_in_other_processes() -> None:
    few = executors.open_executor("", 2, jobs=2)
    assert few.submit(os.getpid).result() == os.getpid() == few.submit(os.getpid).result() and few.keep() is None
    many = executors.open_executor("", 2, jobs=1000)
    assert isinstance(many, executors.Nearby) and many.submit(work, 1).result() is None and not many.ready
    many.submit(work, 10000)
    assert many.ready > 0 and many.submit(os.getpid).result() == os.getpid()
    many.ready = 1.0  # the other processes have loaded everything
    assert many.submit(os.getpid).result() != os.getpid() != many.submit(os.getpid).result()
    assert many.keep() is many.pool is not None
    many.shutdown()


def test_units_with_locked_providers_or_hooks_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {f"{name}/main.tf": unit() for name in ("net", "app", "web")} | {"app/.terraform.lock.hcl": ""})
    hook = 'hook "h" {\n  when = "before"\n  run  = ["true"]\n}\n'
    write(tmp_path, {"planner.batch.hcl": f'unit "net" {{}}\nunit "app" {{}}\nunit "web" {{\n{hook}}}\n'})
    monkeypatch.chdir(tmp_path)
    session = Batch(BatchOptions(executor="inline"), "plan")
    session.survey()
    assert [name for name in session.fleet.units if session.waits(name)] == ["app", "web"]
    session.close()


@pytest.mark.slow
def test_processes_and_dask_give_identical_results(tmp_path: Path, cluster: str) -> None:
    stories = {}
    for name, executor in (("inline", "inline"), ("processes", "processes"), ("dask", f"dask://{cluster}")):
        folder = tmp_path / name / "fleet"
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".terraform*", "*.tfstate*", ".planner"))
        text = json.dumps(story(folder, executor)).replace(str(tmp_path / name), "")
        stories[name] = json.loads(text)
    assert stories["processes"] == stories["inline"]
    assert stories["dask"] == stories["inline"]
    plans = [found["outcomes"] for found in stories["inline"] if "outcomes" in found]
    assert plans == [
        {"changes": 3, "incomplete": 6},
        {"unchanged": 9},
        {"applied": 9},
        {"unchanged": 9},
        {"changes": 1, "unchanged": 8},
        {"applied": 9},
    ]


@pytest.mark.slow
def test_no_scheduler(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the extra batch-dask is not installed")
    chain(tmp_path, "a")
    ran = batch(tmp_path, "plan", "-executor=dask://127.0.0.1:1")
    assert ran.code == 1 and "Cannot reach the Dask scheduler" in ran.errors
    assert "is not one of: processes, inline, dask://" in batch(tmp_path, "plan", "-executor=threads").errors


def killer(condition: str) -> str:
    """A resource whose provisioner ends the process that runs it, on a condition."""
    return (
        'resource "terraform_data" "killer" {\n  provisioner "local-exec" {\n'
        f'    command = "{condition} kill -9 $PPID; sleep 1"\n    quiet = true\n  }}\n}}\n'
    )


def ender(version: int, condition: str = "") -> str:
    """A resource whose destruction, when the version changes, ends the process that runs it, on a condition."""
    return (
        f'resource "terraform_data" "ender" {{\n  triggers_replace = {version}\n  provisioner "local-exec" {{\n'
        f'    when    = destroy\n    command = "{condition} kill -9 $PPID; sleep 1"\n    quiet   = true\n  }}\n}}\n'
    )


def test_processes_have_the_environment_of_their_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    start_server()  # which lives on, with the environment of its start
    monkeypatch.setenv("OF_A_PROVIDER", "set later")
    pool = Processes(1)
    assert pool.submit(os.getenv, "OF_A_PROVIDER").result() == "set later"
    pool.shutdown()


def test_a_process_that_dies_is_made_up_for(tmp_path: Path) -> None:
    chain(tmp_path, "a", "b")
    for version in (1, 2):
        more = ender(version, "test -e ../flag && exit 0; touch ../flag;")
        write(tmp_path, {"b/main.tf": unit({"up": "a"}, more=more)})
        if version == 1:
            assert batch(tmp_path, "apply", "-auto-approve").code == 0
    ran = batch(tmp_path, "apply", "-auto-approve", "-executor=processes", "-json")
    assert (ran.code, ran.outcomes) == (0, {"a": "unchanged", "b": "applied"})
    found = ran.unit("b")
    assert found["attempts"] == 2
    assert found["diagnostics"][0]["summary"] == "A process ended unexpectedly"


def test_what_was_being_made_is_not_replaced_unasked(tmp_path: Path) -> None:
    chain(tmp_path, "a", "b")
    write(tmp_path, {"b/main.tf": unit({"up": "a"}, more=killer("test -e ../flag && exit 0; touch ../flag;"))})
    ran = batch(tmp_path, "apply", "-auto-approve", "-executor=processes", "-json")
    assert (ran.code, ran.outcomes) == (1, {"a": "applied", "b": "died"})
    said = json.dumps(ran.unit("b")["diagnostics"])
    assert "Tainted objects are not replaced without approval" in said and "terraform_data.killer" in said
    assert batch(tmp_path, "apply", "-auto-approve", "-json").outcomes["b"] == "applied"  # now it was requested


@pytest.mark.slow
def test_what_a_whole_batch_was_making_is_not_replaced_by_resuming_it(tmp_path: Path) -> None:
    chain(tmp_path, "a", "b", "c")
    write(tmp_path, {"b/main.tf": unit({"up": "a"}, more=killer("test -e ../flag && exit 0; touch ../flag;"))})
    command = [sys.executable, "-m", "planner", "batch", "apply", "-auto-approve", "-executor=inline"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL
    resumed = batch(tmp_path, "resume", "-json")
    assert (resumed.code, resumed.outcomes) == (1, {"a": "applied", "b": "died", "c": "skipped"})
    said = json.dumps(resumed.unit("b")["diagnostics"])
    assert "Tainted objects are not replaced without approval" in said and "terraform_data.killer" in said
    again = batch(tmp_path, "resume", "-json")  # now it was requested
    assert (again.code, again.outcomes) == (0, {"a": "applied", "b": "applied", "c": "applied"})


@pytest.mark.slow
def test_who_always_kills_is_reported_and_nobody_else(tmp_path: Path) -> None:
    """Those in work beside it go on: each is run once, and what it made stays as it is."""
    chain(tmp_path, "a", "b", "c")
    slow = 'resource "terraform_data" "slow" {\n  provisioner "local-exec" {\n    command = "sleep 1.5"\n  }\n}\n'
    write(tmp_path, {"b/main.tf": unit({"up": "a"}, more=ender(1))})
    assert batch(tmp_path, "apply", "-auto-approve", "deps(b)").code == 0
    write(tmp_path, {"b/main.tf": unit({"up": "a"}, more=ender(2))})
    write(tmp_path, {f"other{i}/main.tf": unit(more=slow) for i in range(2)})
    ran = batch(tmp_path, "apply", "-auto-approve", "-executor=processes", "-workers=3", "-json")
    assert ran.code == 1
    others = [f"other{i}" for i in range(2)]
    assert ran.outcomes == {"a": "unchanged", "b": "died", "c": "skipped", **dict.fromkeys(others, "applied")}
    assert [ran.unit(name)["attempts"] for name in others] == [1, 1]
    for name in others:
        state = json.loads((tmp_path / name / "terraform.tfstate").read_text())
        assert "tainted" not in json.dumps(state)
    assert "ended without a result, 2 times" in ran.unit("b")["diagnostics"][0]["detail"]
    write(tmp_path, {"b/main.tf": unit({"up": "a"}, more=ender(1))})
    resumed = batch(tmp_path, "resume", "-json").outcomes
    assert {resumed[name] for name in (*others, "c")} == {"applied"}


FORKS = """
import os, signal, time
from subprocess import check_output
from planner.workflows.batch import executors

def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def workers(pool):
    works = [pool.submit(check_output, ["sh", "-c", "sleep 0.5; echo $PPID"]) for _ in range(2)]
    return {int(one.result()) for one in works}

many = executors.open_executor("", 2, jobs=100)
many.submit(busy, 0.0)
many.submit(busy, 0.01)
assert many.pool is not None and not many.ready
forks = workers(many)
assert len(forks) == 2 and os.getpid() not in forks
"""
REPLACED = """
os.kill(min(forks), signal.SIGKILL)
os.waitid(os.P_PID, min(forks), os.WEXITED | os.WNOWAIT)
others = workers(many)
assert len(others) == 2 and len(others - forks) == 1
many.shutdown()
print("done")
"""
ORPHANED = """
print(*forks, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux")
def test_a_fork_that_was_killed_is_replaced_and_all_end_with_their_pool() -> None:
    ran = subprocess.run([sys.executable, "-c", FORKS + REPLACED], capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("done\n", "", 0)


@pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux")
def test_forks_end_when_their_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", FORKS + ORPHANED], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        forks = parent.stdout.readline().split()
        parent.kill()
    assert len(forks) == 2
    while any(os.path.exists(f"/proc/{fork}") and not _is_zombie(fork) for fork in forks):
        time.sleep(0.05)


def _is_zombie(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
