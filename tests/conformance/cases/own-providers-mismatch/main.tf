provider "terraform" {
  alias = "x"
}
provider "terraform" {
  alias = "y"
}
module "m" {
  source = "./m"
  providers = {
    terraform.a = terraform.y
    terraform.b = terraform.x
  }
}
