"""Kernels that form, join and improve groups, and suppress rows, one row at a time."""
