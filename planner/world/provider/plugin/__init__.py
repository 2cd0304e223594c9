"""Providers that run as plugins: processes of their own that speak gRPC, protocols 5 and 6.

    locate (planner.world.provider.locate) -> process -> client, over http2 -> provider, which answers like any Provider

Only this package imports protobuf and msgpack, and only when a plugin is really needed.
"""
