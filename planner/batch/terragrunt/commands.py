"""Lists of commands that Terragrunt's functions give, and the errors that it tries again by itself."""

_VARS = ("apply", "console", "destroy", "import", "plan", "push", "refresh")
_LOCKING = ("apply", "destroy", "import", "init", "plan", "refresh", "taint", "untaint")
NEED = {
    "vars": _VARS,
    "locking": _LOCKING,
    "input": ("apply", "import", "init", "plan", "refresh"),
    "parallelism": ("apply", "plan", "destroy"),
}
RETRYABLE = (
    "(?s).*Failed to load state.*tcp.*timeout.*",
    "(?s).*Failed to load backend.*TLS handshake timeout.*",
    "(?s).*Creating metric alarm failed.*request to update this alarm is in progress.*",
    "(?s).*Error installing provider.*TLS handshake timeout.*",
    "(?s).*Error configuring the backend.*TLS handshake timeout.*",
    "(?s).*Error installing provider.*tcp.*timeout.*",
    "(?s).*Error installing provider.*tcp.*connection reset by peer.*",
    "NoSuchBucket: The specified bucket does not exist",
    "(?s).*Error creating SSM parameter: TooManyUpdates:.*",
    "(?s).*429 Too Many Requests.*",
    "(?s).*Client\\.Timeout exceeded while awaiting headers.*",
    "(?s).*Could not download module.*The requested URL returned error: 429.*",
)
"""what is worth another try: the network and services that come late"""
