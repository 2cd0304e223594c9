"""Reports each object that differs from the state, attribute by attribute."""

import planner

plan = planner.load().plan(mode="refresh-only")
for change in plan.drift:
    print(f"{change.address}: {change.action}")
    for name, value in sorted((change.after or {}).items()):
        if value != change.before[name]:
            print(f"  {name}: {change.before[name]} -> {value}")
if not plan.drift:
    print(f"All {len(planner.load().state().resources)} objects match the state.")
