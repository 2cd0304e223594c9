"""Methods: how bytes are encrypted. One file each, with the name that configurations use."""
