"""Stacks: planning and applying deployments. Each component of a deployment is planned and applied like a root
module."""
