"""Cells to integer codes: every quasi-identifier becomes an ordered axis, so that one set of kernels serves every type.

Start with `encode`, then `axes`. `sensitive` encodes what promises are about, `row_order` puts rows in an order that does not
depend on the file, `groups` has the arithmetic of labels. Deciding which rows form a group is `kohort.methods`.
"""
