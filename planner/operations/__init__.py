"""The operations of commands, each composed of stages; one module for each verb."""
