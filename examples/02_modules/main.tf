module "network" {
  source   = "./network"
  for_each = { blue = "10.1.0.0/16", green = "10.2.0.0/16" }

  name = each.key
  cidr = each.value
}

resource "terraform_data" "gateway" {
  input = { for name, network in module.network : name => network.id }
}

output "networks" {
  value = { for name, network in module.network : name => network.cidr }
}
