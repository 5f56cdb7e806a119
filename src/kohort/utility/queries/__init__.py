"""How well a release answers queries, and how methods use a workload of queries to choose their cuts.

Start with `answers`. `predicates` reads the conditions of a query. `value_domains` describes the values of a column.
`random_workload` draws queries. `cut_targets` prepares a workload for the methods.
"""
