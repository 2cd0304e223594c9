upstream_input "network" {
  type   = "stack"
  source = "../network"
}

deployment "eu" {
  inputs           = { vpc = upstream_input.network.eu }
  deployment_group = deployment_group.careful
}

deployment "us" {
  inputs           = { vpc = upstream_input.network.us }
  deployment_group = deployment_group.careful
}

deployment_group "careful" {
  auto_approve_checks = [deployment_auto_approve.nothing_goes]
}

deployment_auto_approve "nothing_goes" {
  check {
    condition = context.plan.changes.remove == 0
    reason    = "${context.plan.changes.remove} objects would be destroyed."
  }
}
