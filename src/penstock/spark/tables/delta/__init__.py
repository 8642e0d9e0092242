"""Topics as Delta tables, through deltalake."""
