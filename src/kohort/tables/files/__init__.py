"""File formats, and tables that consist of several files.

Start with `file_format` (what a format must implement) and `registry` (the list of formats). Each format has its own module:
`csv_file`, `parquet_file`, `arrow_file`. The other `csv_` modules and `text_stream` belong to CSV. `whole_table` is for formats
that can only be read as a whole. `source_file` is one file of a source. `file_sets` reads folders and patterns of file names.
"""
