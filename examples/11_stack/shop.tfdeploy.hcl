deployment "test" {
  inputs           = { zones = ["a"] }
  deployment_group = deployment_group.careful
}

deployment "production" {
  inputs = { zones = ["a", "b"] }
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

publish_output "services" {
  value = deployment.production.services
}
