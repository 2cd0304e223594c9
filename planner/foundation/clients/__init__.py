"""HTTP with retries, signed requests to the large cloud providers, and other clients of services. Each client is
imported only where it is needed."""
