variable "zones" {
  type = set(string)
}

component "network" {
  source = "./network"
  inputs = { zones = var.zones }
}

component "service" {
  for_each = component.network.subnets # known after the network is applied
  source   = "./service"
  inputs = {
    zone   = each.key
    subnet = each.value
  }
}

output "services" {
  type  = map(string)
  value = { for zone, service in component.service : zone => service.name }
}
