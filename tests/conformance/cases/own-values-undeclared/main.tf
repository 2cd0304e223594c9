variable "a" {
  default = "0"
}
output "a" {
  value = var.a
}
