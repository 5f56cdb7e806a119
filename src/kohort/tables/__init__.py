"""Tables from where people keep them, and releases back to there: files, folders of files, data frames.

Start with `tables` (read a whole table, write a release) and `streams` (the same batch by batch). `files` has one file a
format, `frames` one file a library. `staging` writes a file so that it appears whole or not at all. Cells are not
interpreted here.
"""
