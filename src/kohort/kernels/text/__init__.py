"""Kernels that scan text: the marks of a CSV file, hashes of texts."""
