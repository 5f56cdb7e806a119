"""The Spark engine: rows stay on the cluster; only counts, dictionaries and figures come to the driver. Start with `engine`.

`tasks` is what runs on the workers, `sources` reads tables, `release_folder` writes releases, `release_audit` runs
the auditor's SQL on Spark.
"""
