"""What the user asks for, validated: one frozen `Job` behind the Python functions, the command line and job files.

Start with `job`. `settings` folds flat settings (`weight={"age": 2}`) into columns and promises. What a column, a promise or a
workload is stands in `kohort.schema`.
"""
