"""The report for reviewers: a document about a plan, and its forms."""
