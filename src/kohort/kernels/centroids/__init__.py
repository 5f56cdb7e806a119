"""Kernels for centroids and squared error: k-means, MDAV, microaggregation."""
