deployment "eu" {
  inputs = { zone = "eu-west" }
}

deployment "us" {
  inputs = { zone = "us-east" }
}

publish_output "eu" {
  value = deployment.eu.vpc
}

publish_output "us" {
  value = deployment.us.vpc
}
