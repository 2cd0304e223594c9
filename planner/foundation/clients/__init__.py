"""Clients of services, imported only where needed: HTTP with retries, and the request signatures of the large cloud
providers."""
