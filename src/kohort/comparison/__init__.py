"""Methods side by side on one table: what each loses, how long it takes, what its release is still good for.

Start with `comparison`. `variants` reads which methods and settings to compare, `journal` lets a stopped run go on,
`class_rectangles` draws groups on two columns. The page itself is in `kohort.report`.
"""
