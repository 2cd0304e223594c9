"""An earlier plan, made again from the stored data: unchanged but for the blocks that were edited."""
