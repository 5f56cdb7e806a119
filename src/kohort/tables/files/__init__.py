"""File formats, and several files as one table.

Start with `file_format` (what a format must do) and `registry` (the list of formats). One file a format: `csv_file`,
`parquet_file`, `arrow_file`; the other `csv_` files and `text_stream` are parts of CSV. `whole_table` is for formats that can
only be read as a whole. `source_file` is one file of a source, `file_sets` are folders and patterns.
"""
