"""Code shared by the engines that do not keep all rows in memory: packed codes, cuts from counts, work on one part at a time.

Start with `packed_table`, then `method_run`.
"""
