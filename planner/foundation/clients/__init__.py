"""Clients of services, imported by what needs them: HTTP with retries, and what the large providers sign."""
