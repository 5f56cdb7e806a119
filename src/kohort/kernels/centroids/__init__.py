"""Kernels for centroids and square error: k-means, MDAV, microaggregation."""
