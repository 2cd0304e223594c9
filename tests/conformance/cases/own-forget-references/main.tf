resource "terraform_data" "d" {
  input = { p = 1 }
  triggers_replace = 1
  lifecycle {
    destroy = false
  }
}
module "m" {
  source = "./m"
  v = terraform_data.d.triggers_replace
}
module "n" {
  source = "./n"
  v = null
  depends_on = [module.m]
}
resource "terraform_data" "e" {
  input = module.n.o
  triggers_replace = null
  lifecycle {
    enabled = true
    destroy = false
  }
}
output "out0" { value = module.m.o }
output "out1" { value = one(terraform_data.e[*].id) }
