"""Git repositories: their files at a revision, and the revision against which a working directory is compared."""
