"""Kernels that split a set of records in two: by the median, by gain, from counts, for a workload."""
