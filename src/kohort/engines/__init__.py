"""Where rows live: in memory, on disk, or on a Spark cluster. The same job gives the same release on each.

Start with `base`, the protocol, then `memory`, the plainest engine. `choose` picks one for a job. `disk` and `spark` are a
folder each, with the same file names inside; `shared` is what they have in common. What a group must satisfy, how groups are
made and what is published is decided elsewhere: `kohort.constraints`, `kohort.methods`, `kohort.publishing`.
"""
