output "h" {
  value = terraform.workspace
}
output "i" {
  value = "${tofu.workspace}!"
}
resource "terraform_data" "x" {
  input = tofu.workspace
}
