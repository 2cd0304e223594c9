"""Reports on pull requests: the comment that is kept up to date, and annotations at lines."""
