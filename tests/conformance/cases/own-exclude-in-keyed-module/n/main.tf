variable "v" { default = null }
resource "terraform_data" "g" {
  for_each = toset(["x", "y", "z"])
  input = var.v
  triggers_replace = var.v
}
resource "terraform_data" "d" {
  for_each = toset([])
  input = each.key
  triggers_replace = var.v
}
output "o" { value = [for k, v in terraform_data.g : v.id] }
