variable "e" {
  type      = string
  ephemeral = true
  default   = "tok"
}
locals {
  b = { k = var.e, p = 1 }
}
output "isnull" {
  value = ephemeralasnull(local.b)
}
resource "terraform_data" "a" {
  input = ephemeralasnull("x-${var.e}")
}
resource "terraform_data" "c" {
  input = local.b.p
}
