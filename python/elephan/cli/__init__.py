"""The command line: one file a verb, each thin over the Python API."""
