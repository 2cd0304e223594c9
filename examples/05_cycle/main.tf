locals {
  first = local.third
  next  = local.first
  third = local.next
}

output "round_and_round" {
  value = local.first
}
