"""How tables lie in files, one format each: what is particular to text, CSV, Parquet, Arrow, and to many files as one table."""
