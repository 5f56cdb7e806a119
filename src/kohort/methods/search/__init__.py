"""What several methods share: cuts, groups that grow, centroids, levels, and the work after a method has run.

`median_cuts` and `gain_cuts` split a table, `grow_groups` builds groups record by record, `kmeans_clusters` and
`centroid_features` serve the k-means variants, `full_domain_levels` the methods that recode a whole column. `finish` repairs
and suppresses groups that fail, `improve` lowers the loss of finished groups. `decisions` keeps what they decided, for an
explanation. Compiled loops are in `kohort.kernels`.
"""
