# The units of the fleet. Remote states need no entry here: planner derives those edges from the configuration.
locals {
  services = {
    orders = { size = 3 }
    users  = { size = 1 }
  }
}

unit "network" {
  path = "live/network"
  tags = ["core"]
}

unit "dns" {
  path = "live/dns"
  tags = ["core"]
}

unit "identity" {
  path = "live/identity"
  tags = ["core"]
}

unit "queue" {
  path = "live/queue"
}

# Each service has a database, and both are repeated. Each repetition uses the same module with different variables, and
# has its own workspace and state. The units are database/orders, database/users, service/orders and service/users.
template "repeated" {
  for_each   = local.services
  workspace  = each.key
  variables  = { name = each.key }
  time_limit = "10m"
}

unit "database" {
  template  = "repeated"
  path      = "live/database"
  tags      = ["stateful"]
  variables = { size = each.value.size }
  inputs    = { network_id = unit.network.id }
}

unit "service" {
  template = "repeated"
  path     = "live/service"
  tags     = ["web"]
  inputs = {
    database = unit.database[each.key].address
    domain   = "${each.key}.${unit.dns.zone}"
  }
  depends_on = [unit.queue]

  # If the service does not respond, the unit fails, and units that depend on it are not applied.
  hook "smoke" {
    when     = "after"
    commands = ["apply"]
    run      = ["sh", "../../smoke-test.sh"]
  }
}

unit "monitoring" {
  path = "live/monitoring"
}

group "shop" {
  units     = ["database/*", "service/*"]
  variables = { team = "shop" }
}
