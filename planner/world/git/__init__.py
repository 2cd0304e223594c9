"""Git repositories: their files at a revision, and the revision that a working directory is compared with."""
