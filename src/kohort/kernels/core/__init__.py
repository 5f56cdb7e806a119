"""Kernels that all methods use: widths, boxes, checks of promises, random numbers."""
