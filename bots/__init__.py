"""A platform each: native event in, ingest message out; text in, post, edit, ask out."""
