variable "x" {
  type    = object({ a = string })
  default = { a = 1, b = 2 }
}
resource "terraform_data" "a" {
  input      = var.x
  depends_on = ["terraform_data.b"]
}
resource "terraform_data" "b" {}
module "m" {
  source = "./m"
  y      = [{ k = 1 }]
}
