"""How tables lie in files, one format each: what is particular to text, CSV, Arrow and folders of Parquet."""
