provider "terraform" {
  alias = "y"
}
resource "terraform_data" "a" { provider = terraform.y }
