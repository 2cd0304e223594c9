"""Types that several stages share: Plan, Graph, and the sources of facts."""
