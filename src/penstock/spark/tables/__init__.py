"""Topics as tables: files of records that a Delta log names, and what is done with them."""
