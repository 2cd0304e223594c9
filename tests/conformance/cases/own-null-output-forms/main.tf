variable "a" {
  type    = string
  default = null
}
output "a" {
  value = var.a
}
output "b" {
  value = tolist(null)
}
output "c" {
  value = var.a == null ? "none" : var.a
}
