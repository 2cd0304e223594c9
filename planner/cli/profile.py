"""`planner -cpu-profile COMMAND`: the time of a command, by stages of the pipeline, rules and files."""

from __future__ import annotations

import gzip
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, FrameType
from typing import Any

from planner.cli.finish import json_text
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.render.terminal import Terminal

SECONDS = 0.005
"""seconds between two samples"""
Stack = tuple[CodeType | str, ...]
"""frames, the outermost first; a string after a frame describes the rule or file that the frame processes"""


class Sampler:
    """Samples the stacks of all threads except its own. `about` returns a description of what a frame processes; "" for
    frames without a description. `samples`: {name of a thread: [(stack, seconds)]}, in chronological order."""

    def __init__(self, about: Callable[[FrameType], str]) -> None:
        self.about = about
        self.samples: dict[str, list[tuple[Stack, float]]] = {}
        self.seconds = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, name="sampler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop sampling, and wait for the end of the sampling thread."""
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        me = threading.get_ident()
        last = begin = time.perf_counter()
        while not self._stop.wait(SECONDS):
            now = time.perf_counter()
            names = {thread.ident: thread.name for thread in threading.enumerate()}
            for ident, frame in sys._current_frames().items():
                if ident != me:
                    self._add(names.get(ident, str(ident)), tuple(self._stack(frame)), now - last)
            last = now
        self.seconds = time.perf_counter() - begin

    def _add(self, name: str, stack: Stack, seconds: float) -> None:
        samples = self.samples.setdefault(name, [])
        if samples and samples[-1][0] == stack:
            samples[-1] = (stack, samples[-1][1] + seconds)
        else:
            samples.append((stack, seconds))

    def _stack(self, frame: FrameType) -> Iterator[CodeType | str]:
        frames: list[FrameType] = []
        at: FrameType | None = frame
        while at is not None:
            frames.append(at)
            at = at.f_back
        for one in reversed(frames):
            yield one.f_code
            word = self.about(one)
            if word:
                yield word


MOST = 10
"""maximum number of listed rules and files"""
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_RULE, _FILE = "rule ", "file "
STAGES = {
    "load": "operations/load.py load",
    "open": "operations/state_access.py open_backend",
    "read": "operations/state_access.py read_state",
    "facts": "operations/graphs.py graph_facts",
    "derive": "logic/graph/build.py build_graph",
    "validate": "engine/validate/walk.py validate_walk",
    "plan": "engine/plan/make_plan.py make_plan",
    "judge": "operations/policies.py judged",
    "order": "operations/graphs.py apply_graph",
    "apply": "engine/apply/walk.py apply_walk",
}
"""{stage of the pipeline: function that begins it}"""


def profiled(path: str, command: Callable[[], int], terminal: Terminal) -> int:
    """Run a command, and print on standard error how its time was spent. With a path, write the profile to this path,
    for speedscope (https://www.speedscope.app/file-format-schema.json). Raises Failure if the file cannot be
    written."""
    path = os.path.abspath(path) if path else ""
    _write(path, b"")
    before = time.process_time()
    sampler = Sampler(_about)
    sampler.start()
    try:
        return command()
    finally:
        sampler.stop()
        terminal.err(_text(sampler, before))
        _write(path, f"{json_text(_document(sampler))}\n".encode())


def with_pprof(path: str, command: Callable[[], int]) -> int:
    """Run a command, and write its profile for `go tool pprof`. Raises Failure if the file cannot be written."""
    path, begin = os.path.abspath(path), time.time()
    _write(path, b"")
    sampler = Sampler(lambda frame: "")
    sampler.start()
    try:
        return command()
    finally:
        sampler.stop()
        _write(path, pprof(sampler.samples, begin, sampler.seconds, SECONDS))


def _write(path: str, data: bytes) -> None:
    if not path:
        return
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as problem:
        detail = f"{path}: {problem.strerror or problem}."
        raise Failure(error("cli.profile", "The profile cannot be written", detail)) from None


def _about(frame: FrameType) -> str:
    """The rule that a frame evaluates, or the file that it parses; "" for other frames."""
    code = frame.f_code
    if code.co_name == "call" and code.co_filename.endswith("datalog/engine/evaluate.py"):
        evaluation, function = frame.f_locals.get("self"), frame.f_locals.get("function")
        if evaluation is None or function is None:
            return ""
        return f"{_RULE}{evaluation.program.rules[function.rule].name}"
    if code.co_name == "parse_config" and code.co_filename.endswith("syntax/parse.py"):
        source = frame.f_locals.get("source")
        return f"{_FILE}{source.filename}" if source is not None else ""
    return ""


def _stage(stack: Stack, functions: Mapping[str, str]) -> str:
    """The innermost stage in a stack; if there is none, `start` (imports), `show` (planner.render) or `rest`."""
    result = "rest"
    for code in stack:
        if isinstance(code, str):
            continue
        if code.co_filename.startswith("<frozen importlib"):
            return "start"
        if code.co_filename.startswith(_HERE):
            name = code.co_filename[len(_HERE) + 1 :]
            if name.startswith("render/"):
                result = "show"
            result = functions.get(f"{name} {code.co_name}", result)
    return result


def _text(sampler: Sampler, before: float) -> str:
    """Tables of the time that the main thread spent in each stage, rule and file."""
    functions = {function: stage for stage, function in STAGES.items()}
    stages: dict[str, float] = defaultdict(float, start=before)
    words: dict[str, float] = defaultdict(float)
    for stack, seconds in sampler.samples.get(threading.main_thread().name, ()):
        stages[_stage(stack, functions)] += seconds
        for word in {part for part in stack if isinstance(part, str)}:
            words[word] += seconds
    total = sampler.seconds + before
    order = ("start", *STAGES, "show", "rest")
    lines = [f"\nTime of the main thread, {total:.2f} s, sampled every {SECONDS * 1000:.0f} ms:"]
    lines += [f"  {name:<10}{stages[name]:7.2f} s {stages[name] / total:6.1%}" for name in order if stages[name] > 0]
    for kind, title in ((_RULE, "Rules"), (_FILE, "Files")):
        most = [(word, s) for word, s in words.items() if word.startswith(kind)]
        most.sort(key=lambda item: (-item[1], item[0]))
        if most:
            lines.append(f"{title} that took the most time:")
            lines += [f"  {seconds:7.2f} s  {word.removeprefix(kind)}" for word, seconds in most[:MOST]]
    return "\n".join(lines)


def _document(sampler: Sampler) -> dict[str, Any]:
    """The profile of all threads in speedscope's format, in seconds."""
    numbers: dict[CodeType | str, int] = {}
    frames: list[dict[str, Any]] = []

    def number(part: CodeType | str) -> int:
        if part not in numbers:
            numbers[part] = len(frames)
            frames.append({"name": part} if isinstance(part, str) else _frame(part))
        return numbers[part]

    profiles = [
        {
            "type": "sampled",
            "name": name,
            "unit": "seconds",
            "startValue": 0,
            "endValue": sum(seconds for _, seconds in samples),
            "samples": [[number(part) for part in stack] for stack, _ in samples],
            "weights": [seconds for _, seconds in samples],
        }
        for name, samples in sorted(sampler.samples.items())
    ]
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "planner",
        "shared": {"frames": frames},
        "profiles": profiles,
    }


def _frame(code: CodeType) -> dict[str, Any]:
    name = code.co_filename
    file = f"planner{name[len(_HERE) :]}" if name.startswith(_HERE) else os.path.basename(name)
    return {"name": code.co_qualname, "file": file, "line": code.co_firstlineno}


# profiles in the format of Go's pprof (github.com/google/pprof, profile.proto), for the file named by TOFU_CPU_PROFILE

Stacks = Mapping[str, Iterable[tuple[tuple[CodeType | str, ...], float]]]
"""{thread: (stack from the outermost frame, seconds)}"""


def pprof(samples: Stacks, begin: float, duration: float, period: float) -> bytes:
    """Convert samples to a profile for pprof. `begin`: the start time, in seconds since 1970. `duration`, `period`: in
    seconds."""
    strings: dict[str, int] = {"": 0}
    functions: dict[CodeType, int] = {}
    out = bytearray()

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings))

    def location(code: CodeType) -> int:
        if code not in functions:
            functions[code] = number = len(functions) + 1
            line = _field(1, number) + _field(2, code.co_firstlineno)
            out.extend(_message(4, _field(1, number) + _message(4, line)))
            name, file = text(code.co_qualname), text(code.co_filename)
            described = _field(1, number) + _field(2, name) + _field(4, file) + _field(5, code.co_firstlineno)
            out.extend(_message(5, described))
        return functions[code]

    value_type = _field(1, text("wall")) + _field(2, text("nanoseconds"))
    out.extend(_message(1, value_type))
    for stacks in samples.values():
        for stack, seconds in stacks:
            codes = [location(part) for part in reversed(stack) if isinstance(part, CodeType)]
            values = _packed(2, [int(seconds * 1e9)])
            out.extend(_message(2, _packed(1, codes) + values))
    out.extend(_field(9, int(begin * 1e9)) + _field(10, int(duration * 1e9)))
    out.extend(_message(11, value_type) + _field(12, int(period * 1e9)))
    out.extend(b"".join(_message(6, value.encode()) for value in strings))
    return gzip.compress(bytes(out))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _packed(number: int, values: Iterable[int]) -> bytes:
    return _message(number, b"".join(map(_varint, values)))
