"""Providers that run as plugins: separate processes that use gRPC with protocol 5 or 6.

locate (planner.world.provider.locate) -> process -> client, which uses http2 -> provider, which implements Provider

Only this package imports protobuf and msgpack, and only if a plugin is needed."""
