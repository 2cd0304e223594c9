"""The operations of commands, one verb a file, joined from the stages."""
