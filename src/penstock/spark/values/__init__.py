"""Values of records as columns, by a schema that is given."""
