"""The files of an installation, changed by Moot: made as texts first, then put in place."""
