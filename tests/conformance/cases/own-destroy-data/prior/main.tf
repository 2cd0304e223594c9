variable "v" { default = 1 }
locals { l = var.v }
resource "terraform_data" "a" { input = local.l }
data "terraform_remote_state" "d" {
  backend = "local"
  config = { path = "${path.module}/other.tfs" }
}
resource "terraform_data" "b" { input = data.terraform_remote_state.d.outputs.x }
module "m" { 
  source = "./m"
  i = terraform_data.b.id
}
output "o" { value = module.m.o }
