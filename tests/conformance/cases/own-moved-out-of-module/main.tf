module "k" {
  source = "./k"
}
moved {
  from = module.m.module.k
  to = module.k
}
