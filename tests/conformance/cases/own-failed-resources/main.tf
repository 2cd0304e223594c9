resource "terraform_data" "z" { count = 0 }
resource "terraform_data" "b" { input = terraform_data.z[*].id }
resource "terraform_data" "p" {
  input = terraform_data.b.id
  lifecycle { 
    precondition { 
      condition = terraform_data.b.id == "x" 
      error_message = "no"
    } 
  }
}
module "m" {
  source = "./m"
  x = terraform_data.p.id
}
resource "terraform_data" "q" {
  count = 2
  input = terraform_data.p.id
}
