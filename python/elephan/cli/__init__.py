"""The command line: one file for each verb, a thin layer over the Python API."""
