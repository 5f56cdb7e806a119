"""Engines run a job with the rows in memory, on disk or on a Spark cluster. The same job gives the same release on each engine.

Start with `base`, the protocol, then `memory`, the simplest engine. `choose` selects the engine for a job. `disk` and `spark` are
folders with similar file names. `shared` holds the code that both use. The engines do not decide what a group must satisfy
(`kohort.constraints`), how groups are made (`kohort.methods`) or what is published (`kohort.publishing`).
"""
