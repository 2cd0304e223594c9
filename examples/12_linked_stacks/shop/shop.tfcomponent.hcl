variable "vpc" {
  type = object({ id = string, zone = string })
}

component "service" {
  source = "./service"
  inputs = { vpc = var.vpc.id, name = "shop-${var.vpc.zone}" }
}

output "name" {
  type  = string
  value = component.service.name
}
