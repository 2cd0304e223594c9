"""For all tests."""

from __future__ import annotations

import os

os.environ["PLANNER_STANDBY"] = "0"  # every command is run by the code under test; tests of standing by say otherwise
