"""The disk engine processes a table of any size within a memory limit. Start with `engine`."""
