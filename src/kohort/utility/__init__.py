"""Measures of a release: how much information it lost, and how useful it still is."""
