# A placeholder: a real smoke test would send a request to the service.
echo "$PLANNER_UNIT answers"
