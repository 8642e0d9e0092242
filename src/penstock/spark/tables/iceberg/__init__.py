"""Topics as Iceberg tables, through pyiceberg; that comes with the extra `iceberg`."""
