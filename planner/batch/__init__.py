"""Many root modules as one graph."""

import os

FOLDER = os.path.join(".planner", "batch")
"""of the records of runs and of the cache, below the root of a fleet"""
CACHE = os.path.join(FOLDER, "cache.json")
