"""Prepare a release and its source for the auditor. Any other file can be audited in the same way.

`expected` describes what a release must contain. `verify` runs the audit of a release that kohort made. `duckdb_views` opens a
file for the SQL of the auditor. `any_file` audits a file of any origin. The checks themselves are in `kohort.auditor`.
"""
