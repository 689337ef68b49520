"""The Linux backend: real Linux TCP in virtual time, in a User Mode Linux kernel built from the user's own sources."""
