"""Plans, states, proofs, verdicts and diagnostics as text and JSON lines; usable without the command line."""
