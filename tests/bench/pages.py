"""Measure how soon pages of large graphs are painted, and how smoothly they are moved, in Chromium.

    python tests/bench/pages.py [-nodes 3000,20000] [-modules 0,200]

Prints the size of each page, its first paint, and the median and the slowest twentieth of the frames of a move.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from render.page.browser import opened
from render.page.test_drawing import PAINTED, large, written

PAN = """() => new Promise(done => {
  const times = [];
  let last = performance.now(), left = 90;
  const step = () => {
    const now = performance.now();
    times.push(now - last);
    last = now;
    drawing.move(left > 45 ? -9 : 9, -4);
    if (left--) requestAnimationFrame(step); else done(times.slice(1).sort((a, b) => a - b));
  };
  requestAnimationFrame(step);
})"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-nodes", default="3000,3000,20000")
    parser.add_argument("-modules", default="0,60,200")
    given = parser.parse_args(arguments)
    for nodes, modules in zip(given.nodes.split(","), given.modules.split(","), strict=True):
        with tempfile.TemporaryDirectory() as folder:
            page = written(Path(folder), large(int(nodes), int(modules)))
            with opened(page) as tab:
                tab.wait_for_function(PAINTED)
                painted = tab.evaluate("performance.getEntriesByType('paint').at(-1).startTime")
                frames = tab.evaluate(PAN)
            slow = frames[int(len(frames) * 0.95)]
            print(
                f"{nodes:>6} nodes {modules:>4} modules {page.stat().st_size / 1e6:5.1f} MB, "
                f"first paint {painted:4.0f} ms, frames {statistics.median(frames):4.1f} ms, slow ones {slow:4.1f} ms"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
