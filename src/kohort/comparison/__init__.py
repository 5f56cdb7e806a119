"""Comparison of methods on one table: how much detail each method loses, how long it takes, how useful its release is.

Start with `comparison`. `variants` parses which methods and settings to compare. `journal` stores results, so that a stopped run
can continue. `group_rectangles` draws the groups on two columns. The page is in `kohort.report`.
"""
