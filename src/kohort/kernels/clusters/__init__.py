"""Kernels that build, join, improve and suppress groups record by record."""
