"""The disk engine: a table of any size under a given memory limit. Start with `engine`."""
