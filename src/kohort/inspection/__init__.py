"""`kohort inspect`: the types of columns, the number of unique rows, and a draft of a job with a reason for each suggestion.

Start with `inspection`. `profile` examines one column, `name_hints` column names, `cell_patterns` the form of cells. `roles`
suggests a role for each column, `risk` counts unique rows, `job_draft` writes the job. If in doubt, a column is not published.
"""
