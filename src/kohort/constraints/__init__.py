"""Check whether groups of rows satisfy the promises: the fast check used during the search.

Start with `constraints`. `kernel_rules` converts the promises to plain numbers for compiled code. The audit (`kohort.auditor`)
repeats every check independently, on the published text.
"""
