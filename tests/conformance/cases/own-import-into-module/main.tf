import { 
  to = module.m["a"].terraform_data.a[1]
  id = "iid"
}
module "m" { 
  for_each = toset(["a"])
  source = "./m" 
}
