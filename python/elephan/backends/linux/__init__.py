"""The Linux backend: real Linux TCP in virtual time, in a User Mode Linux that is built from the user's own sources."""
