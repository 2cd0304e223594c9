terraform {
  backend "local" {}
}

resource "terraform_data" "issuer" {
  input = { bucket = "audit" }
}

output "issuer" {
  value = terraform_data.issuer.id
}
