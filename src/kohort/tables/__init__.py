"""Reads tables from files, folders of files and data frames, and writes releases to files.

Start with `tables` (open a source, write a release). Then read `source` (the table that a user gave) and `streams` (a table read
batch by batch). `files` has one module for each file format, `frames` one module for each data frame library. `staging` writes a
file completely or not at all. The modules here do not interpret cells: see `kohort.encoding`.
"""
