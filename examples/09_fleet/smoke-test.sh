# A stand-in: a real one would ask the service how it is.
echo "$PLANNER_UNIT answers"
