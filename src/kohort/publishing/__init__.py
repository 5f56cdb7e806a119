"""Groups to published text: the box of each group, the text of each box, and the rows of the release.

Start with `boxes`, then `texts`, then `published_rows`. `explanation` says which cuts led to the groups, in published values
only (`published_ranges`). How a text is read back is `kohort.schema.published_text`; writing files is `kohort.tables`.
"""
