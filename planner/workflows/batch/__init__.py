"""Fleets: many root modules that are planned and applied in the order of one graph."""

import os

FOLDER = os.path.join(".planner", "batch")
"""directory of the run records, relative to the root of the fleet"""
OF_UNIT = frozenset(("rules", "policies", "policy.toml", "waivers.toml", "policy.lock", "packs"))
"""names below .planner that are part of a unit's configuration"""
