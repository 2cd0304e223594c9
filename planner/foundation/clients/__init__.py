"""Clients of services, imported where they are used: HTTP with retries, and the signatures of the large providers."""
