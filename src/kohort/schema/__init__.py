"""What is known about a table before any of its rows is looked at: columns and roles, promises, presets, trees, workloads.

Start with `columns` (roles, types, trees of each column) and `promises` (k, l, t, ...). Text that a release publishes is read
by `published_text`, which the auditor uses too. Reading rows is `kohort.tables`; turning cells into codes is `kohort.encoding`.
"""
