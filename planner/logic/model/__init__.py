"""Types that several parts of planner use: Plan, Graph, and the sources of facts."""
