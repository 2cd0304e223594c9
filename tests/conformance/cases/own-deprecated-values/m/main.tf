variable "old" {
  default    = null
  deprecated = "leave it out"
}
output "gone" {
  value      = "g"
  deprecated = "use new"
}
output "new" {
  value = var.old
}
