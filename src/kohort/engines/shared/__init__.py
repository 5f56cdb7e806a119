"""What engines share that do not keep all rows in memory: packed codes, cuts from counts, parts finished one by one.

Start with `packed_table`, then `method_run`.
"""
