variable "zones" {
  type = set(string)
}

resource "terraform_data" "subnet" {
  for_each = var.zones
  input    = each.key
}

output "subnets" {
  value = { for subnet in terraform_data.subnet : subnet.output => subnet.id }
}
