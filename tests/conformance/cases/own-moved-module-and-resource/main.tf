module "n" { 
  source = "./m"
}
moved {
  from = terraform_data.a
  to = module.n.terraform_data.a
}
moved {
  from = module.m
  to = module.n
}
