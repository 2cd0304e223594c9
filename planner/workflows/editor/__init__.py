"""The language server for rule files: an editor's requests, answered from the rules; `server.py` speaks the
protocol."""
