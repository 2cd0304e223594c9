terraform {
  required_providers {
    terraform = {
      source = "terraform.io/builtin/terraform"
      configuration_aliases = [terraform.a, terraform.b]
    }
  }
}
module "k" {
  source = "./k"
  providers = {
    terraform = terraform.b
  }
}
resource "terraform_data" "a" { provider = terraform.a }
