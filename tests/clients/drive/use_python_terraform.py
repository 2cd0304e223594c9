"""The life of a root module through python-terraform; prints what it saw as JSON. Arguments: root module, program."""

import json
import pathlib
import sys

import python_terraform

root, program = sys.argv[1:]
seen = {}
tf = python_terraform.Terraform(working_dir=root, terraform_bin_path=program, variables={"name": "two"})
seen["init"] = tf.init()[0]
seen["plan"] = tf.plan()[0]
seen["apply"] = tf.apply(skip_plan=True)[0]
state = json.loads(pathlib.Path(root, "terraform.tfstate").read_text())
seen["state"] = sorted({r["type"] for r in state["resources"]})
seen["tfstate"] = len(tf.tfstate.resources)
seen["outputs"] = tf.output()
seen["plan again"] = tf.plan()[0]
seen["show"] = sorted(json.loads(tf.show_cmd("-json")[1] if hasattr(tf, "show_cmd") else tf.cmd("show -json")[1]))
seen["workspaces"] = [tf.create_workspace("w")[0], tf.set_workspace("default")[0], tf.delete_workspace("w")[0]]
seen["missing workspace"] = tf.set_workspace("missing")[0]
seen["destroy with -force"] = tf.destroy()[0]
seen["destroy"] = tf.destroy(force=python_terraform.IsNotFlagged, auto_approve=True)[0]
print(json.dumps(seen))
