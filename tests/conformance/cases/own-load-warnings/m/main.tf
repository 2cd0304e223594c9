variable "y" {
  type = list(object({ k = number }))
}
resource "terraform_data" "a" {
  input      = var.y
  depends_on = ["terraform_data.b"]
}
resource "terraform_data" "b" {}

