"""Kernels that scan text: quotes and line ends of a CSV file, hashes of texts."""
