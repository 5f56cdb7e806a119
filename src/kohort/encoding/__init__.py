"""Convert cells to integer codes. Every quasi-identifier becomes an ordered axis, so the same kernels work for every data type.

Start with `encode`, then `axes`. `sensitive` encodes the sensitive columns and the person of each row. `row_order` sorts rows
in an order that does not depend on the order in the file. `groups` computes with group labels. `kohort.methods` forms groups.
"""
