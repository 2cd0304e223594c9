# Three root modules with states in one PostgreSQL database, each in its own schema. The environment variable
# PG_CONN_STR has the address of the database. The order of the units is derived from the states that they read.
unit "network" {
  path = "live/network"
}

unit "database" {
  path = "live/database"
}

unit "service" {
  path   = "live/service"
  inputs = { database = unit.database.address }
}
