variable "name" {
  type = string
}

resource "terraform_data" "bucket" {
  input = { bucket = "${var.name}-data" }
}

output "bucket" {
  value = terraform_data.bucket.input.bucket
}
