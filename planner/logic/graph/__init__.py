"""What the graph rules derived: built, read, asked, and explained where it cannot be walked."""
