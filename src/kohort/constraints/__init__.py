"""May this group of rows be published? The fast check used during the search.

Start with `constraints`. `kernel_rules` hands the promises to compiled code as plain numbers. The
audit (`kohort.auditor`) repeats every check independently, on the published text.
"""
