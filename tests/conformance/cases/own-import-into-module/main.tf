import {
  to = module.m["a"].terraform_data.x[0]
  id = "imported"
}
module "m" {
  source   = "./m"
  for_each = toset(["a", "b"])
}
