"""What is in a table? Types, how many rows are unique, and a job to start from: suggestions, each with its reason, for review.

Start with `inspection`. `profile` looks at one column, `name_hints` at column names, `cell_patterns` at what cells look like,
`roles` decides which role follows, `risk` counts unique rows, `job_draft` writes the job. In doubt a column is withheld.
"""
