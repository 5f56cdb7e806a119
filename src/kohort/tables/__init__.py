"""Reads tables from files, folders of files and data frames, and writes releases to files.

Start with `tables` (open a source, write a release), then `source` (what a user gave, opened once) and `streams` (a table batch
by batch). `files` has one file a format, `frames` one file a library. `staging` makes files appear whole or not at all. Cells are
not interpreted here: see `kohort.encoding`.
"""
