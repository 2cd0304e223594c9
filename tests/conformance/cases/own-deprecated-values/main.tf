module "m" {
  source = "./m"
  old    = 1
}
locals {
  l = module.m.gone
}
output "a" {
  value = "${module.m.gone}!"
}
output "b" {
  value = local.l
}
output "c" {
  value      = module.m.new
  deprecated = "use a"
}
check "c" {
  assert {
    condition     = module.m.gone == "x"
    error_message = "is ${module.m.gone}"
  }
}
