package main

import rego.v1

wanted := {"Owner", "CostCenter"}

tagged := {"aws_instance", "aws_s3_bucket", "aws_db_instance"}

allowed := {"t3.micro", "t3.small", "m5.large"}

made contains change if {
	some change in input.resource_changes
	change.mode == "managed"
	some action in change.change.actions
	action in {"create", "update"}
}

deny contains msg if {
	some change in made
	change.type in tagged
	some tag in wanted
	not change.change.after.tags[tag]
	msg := sprintf("tags %s has no tag %s", [change.address, tag])
}

deny contains msg if {
	some change in made
	change.type == "aws_security_group"
	some i, rule in change.change.after.ingress
	some j, "0.0.0.0/0" in rule.cidr_blocks
	msg := sprintf("ingress %s admits everybody at ingress[%d].cidr_blocks[%d]", [change.address, i, j])
}

deny contains msg if {
	some change in made
	change.type == "aws_db_instance"
	not change.change.after.storage_encrypted == true
	msg := sprintf("encryption %s is not encrypted", [change.address])
}

deny contains msg if {
	some change in made
	change.type == "aws_ebs_volume"
	not change.change.after.encrypted == true
	msg := sprintf("encryption %s is not encrypted", [change.address])
}

deny contains msg if {
	some change in made
	change.type == "aws_iam_policy"
	some statement in json.unmarshal(change.change.after.policy).Statement
	statement.Effect == "Allow"
	statement.Action == "*"
	statement.Resource == "*"
	msg := sprintf("wildcards %s allows every action on every resource", [change.address])
}

deny contains msg if {
	some change in made
	change.type == "aws_instance"
	not change.change.after.instance_type in allowed
	msg := sprintf("instance_types %s has the type %s", [change.address, change.change.after.instance_type])
}
