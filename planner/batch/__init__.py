"""Many root modules as one graph."""

import os

FOLDER = os.path.join(".planner", "batch")
"""of the records of runs, below the root of a fleet"""
