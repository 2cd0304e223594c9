"""The report for reviewers: one document about a plan, and its forms."""
