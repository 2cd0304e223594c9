resource "terraform_data" "s" {
  input = "v"
}
locals {
  id  = terraform_data.s.id
  out = terraform_data.s.output
}
resource "terraform_data" "many" {
  input = {
    cond     = local.id == "x" ? [1] : [2, 3]
    prefix   = local.id == "x" ? "pre-a" : "pre-b"
    mapped   = { for c in ["p", "q"] : c => "${c}${local.id}" }
    filtered = [for c in ["p", "q"] : c if c == local.id]
    splat    = [terraform_data.s][*].id
    nonnull  = local.id != null
    maybe    = local.out == null
    coalesce = coalesce(null, local.out, "q")
    try      = try(local.out.foo, "dflt")
    lookup   = lookup({ a = local.id }, local.id, "d")
    set      = toset([local.id, "zz"])
    setlen   = length(toset(["zz", local.id]))
    index    = ["a", "b"][length(local.id) > 3 ? 0 : 1]
    short    = false && local.id == "x"
    object   = { (local.id) = 1 }
    heredoc  = <<-EOT
      hello ${local.id}
      %{ if local.id == "x" }yes%{ else }no%{ endif }
    EOT
  }
}
output "m" {
  value = terraform_data.many.input
}
output "n" {
  value = [terraform_data.many.output, terraform_data.s]
}

