"""Convert groups to published text: the box of each group, the text of each box, and the rows of the release.

Start with `boxes`, then `texts`, then `published_rows`. `explanation` describes the cuts that made the groups, with published
values only (`published_ranges`). `kohort.schema.published_text` parses published text, `kohort.tables` writes files.
"""
