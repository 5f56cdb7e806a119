"""Hands a release, and what it was made from, to the auditor; and checks any other file the same way.

`expected` says what a release must hold, `verify` runs the audit of a run, `duckdb_views` shows a file to the auditor's SQL,
`any_file` prepares a file that somebody else made. The checks themselves are in `kohort.auditor`.
"""
