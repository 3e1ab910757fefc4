"""One diagnosis, of which `moot check`, `moot doctor` and `moot agents` show their part."""
