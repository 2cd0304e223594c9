"""Runs units on machines that do not share files with this machine: each unit's files are sent in a bundle.

`pack` collects the files in an archive named by its content. `parcel` defines the messages, `stores` are places for
archives, `shipping` sends work and receives results, and `host` does the work on the machine that receives it. A
carrier transports the bytes: a command for each unit, or a cluster."""
