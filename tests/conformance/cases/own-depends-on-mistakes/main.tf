output "p" {
  value      = 1
  depends_on = [terraform_data.nope, terraform_data.nope2]
}
resource "terraform_data" "a" {
  depends_on = [local.nope, module.m.x.y, each.key, terraform_data.zz]
}
resource "terraform_data" "b" {
  depends_on = [local.nope, local.nope2]
}
module "m" {
  source     = "./m"
  depends_on = [terraform_data.a.input, terraform_data.zz]
}
