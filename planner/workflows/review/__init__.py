"""Reports on pull requests: a comment that is updated, and annotations at lines."""
