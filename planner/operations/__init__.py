"""One verb a file: what commands do, joined from the stages."""
