a = local.x
b = [
  "x",
  upper("y"),
]
c = nope
