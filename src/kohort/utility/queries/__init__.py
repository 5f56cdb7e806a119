"""How well a release answers counting queries, and how a workload of queries steers the cuts.

Start with `answers`. `predicates` reads the conditions of a query, `value_domains` knows what values a column has,
`random_workload` draws queries, `cut_targets` tells methods where cuts would help the answers.
"""
