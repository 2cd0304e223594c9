"""Key providers: where keys come from. One file each, with the name that configurations use."""
