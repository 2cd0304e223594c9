resource "terraform_data" "network" {
  input = "10.3.0.0/16"
}

output "cidr" {
  value = terraform_data.network.output
}
