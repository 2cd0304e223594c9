"""The language server for configuration and rule files. `server.py` implements the protocol."""
