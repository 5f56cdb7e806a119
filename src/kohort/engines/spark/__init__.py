"""The Spark engine. Rows stay on the cluster; the driver gets only counts, dictionaries and figures. Start with `engine`.

`tasks` holds the code that runs on the workers, `sources` reads tables, `release_folder` writes releases, and `release_audit`
runs the auditor's SQL on Spark.
"""
