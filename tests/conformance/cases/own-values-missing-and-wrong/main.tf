variable "a" {}
variable "b" {
  type = list(string)
}
variable "c" {
  default = 1
}
