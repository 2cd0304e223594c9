"""The operations of commands, composed of stages, with one module for each verb."""
