module "m" { 
  source = "./m"
}
resource "terraform_data" "a" { input = 3 }
