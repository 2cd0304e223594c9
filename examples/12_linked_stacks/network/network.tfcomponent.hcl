variable "zone" {
  type = string
}

component "vpc" {
  source = "./vpc"
  inputs = { zone = var.zone }
}

output "vpc" {
  type  = object({ id = string, zone = string })
  value = { id = component.vpc.id, zone = component.vpc.zone }
}
