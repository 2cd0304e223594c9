"""Applies a plan, or prints the causes and exits with 1 if the plan replaces or destroys an object that keeps data."""

import sys

import planner

KEEPS_DATA = ("terraform_data.database",)
ENDS = {"delete", "delete-then-create", "create-then-delete"}

variables = dict(word.split("=", 1) for word in sys.argv[1:])
try:
    with planner.load(variables=variables).plan() as plan:
        refused = [c for c in plan.changes if c.action in ENDS and c.address.startswith(KEEPS_DATA)]
        for change in refused:
            print(f"{change.address}: {change.action} is not allowed")
            for cause in change.causes:
                print(f"  because of {cause.what} {cause.before} -> {cause.value}")
        if refused:
            sys.exit(1)
        result = plan.apply()
        print(f"{result.added} added, {result.changed} changed, {result.destroyed} destroyed")
except planner.Failure as failure:
    sys.exit(f"The plan failed:\n{failure}")
