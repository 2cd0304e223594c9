"""The life of a root module through tftest; prints what it saw as JSON. Arguments: the root module."""

import json
import sys

import tftest

root = sys.argv[1]
seen = {}
tf = tftest.TerraformTest(root)
tf.setup(workspace_name="w", cleanup_on_exit=False)
seen["plan text"] = "Plan: 2 to add, 0 to change, 0 to destroy." in tf.plan()
plan = tf.plan(output=True, tf_vars={"name": "two", "tags": {"a": "b"}})
seen["root resources"] = sorted(plan.root_module.resources)
seen["child resources"] = sorted(plan.modules["module.m"].resources)
seen["changes"] = sorted(plan.resource_changes)
seen["variables"] = dict(plan.variables)
seen["planned outputs"] = sorted(plan.outputs)
tf.apply(tf_vars={"name": "two", "tags": {"a": "b"}})
outputs = tf.output()
seen["outputs"] = dict(outputs)
seen["sensitive"] = sorted(outputs.sensitive)
seen["pulled"] = sorted(tf.state_pull().resources)
again = tf.plan(output=True, tf_vars={"name": "three"})
seen["prior"] = sorted(r["address"] for r in again["prior_state"]["values"]["root_module"]["resources"])
tf.refresh()
try:
    tf.plan(targets=["no address at all"])
except tftest.TerraformTestError as problem:
    seen["error"] = [problem.cmd_error if isinstance(problem.cmd_error, str) else str(problem)]
tf.destroy(tf_vars={"name": "two"})
seen["left"] = dict(tf.output())
print(json.dumps(seen))
