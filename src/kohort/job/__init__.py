"""The settings of a run: one `Job`, built and checked the same way from Python, from the command line and from job files.

Start with `job`. `settings` merges flat settings (`weight={"age": 2}`) into columns and promises, `validation` finds mistakes,
`files` reads and writes job files. Columns, promises and workloads are defined in `kohort.schema`.
"""
