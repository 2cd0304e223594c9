"""Many root modules as one graph."""

import os

FOLDER = os.path.join(".planner", "batch")
"""the directory with records of runs, below the root of a fleet"""
OF_UNIT = frozenset(("rules", "policies", "policy.toml", "waivers.toml", "policy.lock", "packs"))
"""files below .planner that are part of the configuration of a unit"""
