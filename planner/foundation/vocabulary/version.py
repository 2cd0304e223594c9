"""The version of OpenTofu whose behaviour, files and flags this product follows."""

COMPATIBLE_VERSION = "1.12.6"
