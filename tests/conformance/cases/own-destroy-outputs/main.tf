module "m" {
  source = "./m"
  count = 2
}
output "o" { value = module.m[0].o }
