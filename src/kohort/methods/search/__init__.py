"""Code that several methods share: cuts, growing groups, centroids, levels, and the steps after a method has run.

`median_cuts` and `gain_cuts` cut a table. `grow_groups` builds groups row by row. `kmeans_clusters` and `centroid_features` serve
the k-means methods, `full_domain_levels` the methods that recode whole columns. `finish` repairs or suppresses invalid groups.
`improve` lowers the loss of finished groups. `decisions` records the cuts for an explanation. Compiled loops are in
`kohort.kernels`.
"""
