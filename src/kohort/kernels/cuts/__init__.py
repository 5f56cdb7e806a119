"""Kernels that cut a set of rows in two: at the median, by gain, from counts, for a workload."""
