output "x" {
  value = { y = 1 }
}
