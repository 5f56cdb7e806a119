"""What a job says about a table: columns and roles, promises, presets, trees, workloads.

Start with `columns` (role, type and tree of each column) and `promises` (k, l, t, ...). `published_text` parses the text of
releases for the auditor. `kohort.tables` reads rows; `kohort.encoding` converts cells to codes.
"""
