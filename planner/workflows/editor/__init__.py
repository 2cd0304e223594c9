"""The language server for rule files: what an editor asks, answered from the rules; `server.py` speaks the protocol."""
