"""Runs units on machines that do not share files with this machine: each unit's files are sent in a bundle.

`pack` collects the files in an archive that is identified by its digest. `parcel` defines the messages, `stores` stores
archives, `shipping` sends work and receives results, and `host` runs the unit on the machine that receives the work. A
carrier transports the messages: either a command that is started for each unit, or a cluster."""
