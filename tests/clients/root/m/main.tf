variable "name" {
  type = string
}

resource "terraform_data" "b" {
  input = "bad-${var.name}"
}
