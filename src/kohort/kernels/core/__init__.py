"""Kernels that every method needs: widths, boxes, promises, random numbers."""
