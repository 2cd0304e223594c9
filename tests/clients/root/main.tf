variable "name" {
  type    = string
  default = "one"
}

variable "tags" {
  type    = map(string)
  default = {}
}

resource "terraform_data" "a" {
  input = var.name
}

module "m" {
  source = "./m"
  name   = var.name
}

output "name" {
  value = terraform_data.a.output
}

output "secret" {
  value     = "s3cret"
  sensitive = true
}

output "tags" {
  value = var.tags
}
