resource "terraform_data" "a" {
  count = 1
}
locals {
  a = terraform_data.a[0][0]
  b = try(terraform_data.a[0]["id"], "x")
}
output "j" {
  value = terraform_data.a[0][1] == sensitive("x") ? 1 : 2
}
